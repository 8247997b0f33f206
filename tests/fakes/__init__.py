"""Test doubles of other programs and servers; see README.md."""
