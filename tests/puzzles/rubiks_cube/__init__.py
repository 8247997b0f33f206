"""Tests of Rubik's cube."""
