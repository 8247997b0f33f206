"""The platform: files, locks, clock, processes, limits, sensors, network and systemd."""
