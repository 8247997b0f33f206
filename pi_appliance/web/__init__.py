"""The page on the phone. Floor 5."""
