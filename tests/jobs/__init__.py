"""Tests of jobs and their runs."""
