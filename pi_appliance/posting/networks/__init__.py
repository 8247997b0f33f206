"""Social networks, one plug-in a file."""
