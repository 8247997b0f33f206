"""Notifications to the owner."""
