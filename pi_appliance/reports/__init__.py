"""Data to text, SVG and JSON. Floor 3."""
