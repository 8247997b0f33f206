"""Tests of web radio."""
