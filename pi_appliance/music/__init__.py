"""Music: the player, its volume policy, the library, queue, playlists and radio."""
