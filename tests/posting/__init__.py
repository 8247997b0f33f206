"""Tests of posting: jobs, networks, commands and pages."""
