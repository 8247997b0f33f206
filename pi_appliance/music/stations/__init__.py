"""Web radio stations."""
