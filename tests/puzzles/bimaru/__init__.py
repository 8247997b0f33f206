"""Tests of Bimaru."""
