"""Tests of the pages and operations of the machine."""
