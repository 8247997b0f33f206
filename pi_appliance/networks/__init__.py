"""Social networks, one file each: Options, wants, rules, connect, and login where it has keys. Floor 3."""
