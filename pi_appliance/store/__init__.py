"""What must survive a power cut: the history, in SQLite. Floor 3."""
