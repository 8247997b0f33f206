"""Notifier plug-ins, one per file."""
