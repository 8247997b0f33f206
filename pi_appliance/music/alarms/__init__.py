"""Alarms, sleep timer and announcements."""
