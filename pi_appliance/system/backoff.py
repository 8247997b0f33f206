"""How long to wait before trying again."""

from datetime import timedelta
from random import Random

LONGEST_BETWEEN_POSTS = timedelta(hours=1)


def wait(attempt: int, *, first: timedelta, at_most: timedelta, random: Random) -> timedelta:
    """Return the wait after failed try number ATTEMPT (from 1): doubled each time, capped, less up to a quarter.

    The jitter keeps ten Pis behind one router from coming back in step.
    """
    doublings = min(attempt - 1, 30)  # beyond that any cap is reached
    # In seconds: a length of time that was doubled so often may be longer than a calendar.
    longest = min(first.total_seconds() * 2.0**doublings, at_most.total_seconds())
    return timedelta(seconds=longest * random.uniform(0.75, 1.0))


def between_posts(tries: int) -> timedelta:
    """Return how long a post waits after that many TRIES, between runs: a minute, then twice as long each time."""
    return min(timedelta(minutes=1 << min(max(tries, 1) - 1, 10)), LONGEST_BETWEEN_POSTS)
