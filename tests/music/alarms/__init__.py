"""Tests of alarms, the sleep timer and announcements."""
