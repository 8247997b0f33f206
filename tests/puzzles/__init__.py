"""Tests: puzzles, each by itself."""
