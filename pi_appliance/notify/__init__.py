"""Notifications to the owner. Which results are reported: `storage/notification_rules.py`."""
