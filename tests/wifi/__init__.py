"""Tests of Wi-Fi."""
