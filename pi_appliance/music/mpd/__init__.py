"""The MPD player, the silent fallback MPD and the MPD proxy."""
