"""Exponential backoff: how long to wait before trying again."""

from dataclasses import dataclass, field
from datetime import timedelta
from random import Random

LONGEST_BETWEEN_POSTS = timedelta(hours=1)
_MAX_DOUBLINGS = 30  # every cap is reached by then


@dataclass(slots=True)
class Backoff:
    """Compute waits that double after each failure, up to `longest`, less up to a quarter of jitter.

    The jitter keeps ten Pis behind one router from retrying in step.
    """

    first: timedelta
    longest: timedelta
    random: Random = field(default_factory=Random)
    failures: int = 0

    def next_delay(self, limit: timedelta | None = None) -> timedelta:
        """Count one more failure and return how long to wait after it, `limit` instead of `longest` at most."""
        self.failures += 1
        return wait(self.failures, first=self.first, at_most=limit or self.longest, random=self.random)

    def reset(self) -> None:
        """Start again with the first wait, after a success."""
        self.failures = 0


def wait(attempt: int, *, first: timedelta, at_most: timedelta, random: Random) -> timedelta:
    """Return the wait after failed attempt number `attempt`, counted from 1."""
    doublings = min(attempt - 1, _MAX_DOUBLINGS)
    # In seconds: a `timedelta` that is doubled this often overflows.
    longest = min(first.total_seconds() * 2.0**doublings, at_most.total_seconds())
    return timedelta(seconds=longest * random.uniform(0.75, 1.0))


def between_posts(tries: int) -> timedelta:
    """Return how long a post waits after that many TRIES, between runs: a minute, then twice as long each time."""
    return min(timedelta(minutes=1 << min(max(tries, 1) - 1, 10)), LONGEST_BETWEEN_POSTS)
