"""The system page: facts, the log, restarts, backups and restoring them."""
