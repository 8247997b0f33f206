"""Music players, one file each: Options and connect(options). Floor 3."""
