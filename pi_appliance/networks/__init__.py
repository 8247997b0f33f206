"""Social networks, one file each: Options and connect(options, secrets). Floor 3."""
