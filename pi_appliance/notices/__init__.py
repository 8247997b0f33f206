"""Who is told when a job fails, one kind a file: Options, lacks(options, secrets), connect(options, secrets)."""
