"""Tests of the system services: clock, processes, sensors, files and units."""
