"""Tests of solitaire chess."""
