"""Tests of the Monkey Bard."""
