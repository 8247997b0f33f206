"""Delays between attempts: each twice as long as the one before, up to a limit, with jitter.

Jobs, notifications, the player, the triggers and the announcement in the network use them.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from random import Random

_MAX_DOUBLINGS = 30  # after this many doublings, every limit is reached


@dataclass(slots=True)
class Backoff:
    """Compute delays that double after each failure, up to `longest`, with jitter.

    The jitter takes away up to a quarter, so that ten Pis behind one router do not retry in step.
    """

    first: timedelta
    longest: timedelta
    random: Random = field(default_factory=Random)
    failures: int = 0

    def next_delay(self, limit: timedelta | None = None) -> timedelta:
        """Count one more failure and return the delay, at most `limit` instead of `longest`."""
        self.failures += 1
        return retry_delay(self.failures, first=self.first, at_most=limit or self.longest, random=self.random)

    def reset(self) -> None:
        """Start again with the first delay, after a success."""
        self.failures = 0


def retry_delay(attempt: int, *, first: timedelta, at_most: timedelta, random: Random) -> timedelta:
    """Return the delay after failed attempt number `attempt`, counted from 1."""
    doublings = min(attempt - 1, _MAX_DOUBLINGS)
    # In seconds, because a timedelta overflows if it is doubled so often.
    longest = min(first.total_seconds() * 2.0**doublings, at_most.total_seconds())
    return timedelta(seconds=longest * random.uniform(0.75, 1.0))
