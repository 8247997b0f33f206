"""A typical first bot: cron starts it, and it imports everything before it skips most of its slots."""

import random
import sys

import tweepy


def main(lines: str) -> None:
    """Post a line of the file `lines` one time in a million, so that a benchmark never does."""
    if random.randrange(1_000_000) != 0:
        return
    with open(lines, encoding="utf-8") as file:
        text = random.choice(file.read().splitlines())
    tweepy.Client(consumer_key="", consumer_secret="", access_token="", access_token_secret="").create_tweet(text=text)


if __name__ == "__main__":
    main(sys.argv[1])
