"""The runtime of long searches: executors, caches, memory limits, signals and deadlines."""
