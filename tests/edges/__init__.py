"""Tests: edges."""
