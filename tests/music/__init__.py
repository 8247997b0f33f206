"""Tests of the music packages."""
