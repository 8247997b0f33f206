"""Runtime of long searches: process pool, cache, memory budget and deadline."""
