"""Tests of the page and its API."""
