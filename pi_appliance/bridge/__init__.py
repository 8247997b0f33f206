"""The ways in that other programs speak. Floor 5."""
