"""The machine around us: files, processes, crontab, notify socket. Floor 3."""
