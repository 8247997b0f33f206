"""Tests of peg solitaire."""
