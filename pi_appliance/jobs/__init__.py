"""Job kinds, one file each: Options and run(options, context). Floor 3."""
