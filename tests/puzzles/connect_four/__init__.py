"""Tests of Connect Four."""
