"""Tests of radio stations."""
