"""Tests of the runtime of searches."""
