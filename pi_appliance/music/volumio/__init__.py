"""The Volumio player."""
