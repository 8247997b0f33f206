"""USB drives with music."""
