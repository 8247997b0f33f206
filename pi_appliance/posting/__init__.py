"""Posts to social networks: tweets and the Monkey Bard."""
