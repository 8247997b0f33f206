"""Tests of USB drives."""
