"""The SQLite database: runs, slots, run requests, outbox and key-value pairs."""
