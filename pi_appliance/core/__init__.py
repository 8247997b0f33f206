"""Pure rules: no clock, disk, network or thread. Floor 1."""
