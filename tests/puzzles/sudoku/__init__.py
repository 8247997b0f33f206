"""Tests of sudoku."""
