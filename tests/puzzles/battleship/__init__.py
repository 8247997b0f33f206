"""Tests of battleship."""
