"""Tests of the Volumio player."""
