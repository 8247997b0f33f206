"""Notifiers, one plug-in a file."""
