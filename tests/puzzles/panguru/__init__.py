"""Tests of Panguru."""
