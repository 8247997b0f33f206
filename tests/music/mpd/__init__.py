"""Tests of the MPD player."""
