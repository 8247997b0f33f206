"""The number of examples of a hypothesis test, scaled by the profile."""

from hypothesis import settings


def examples(number: int) -> int:
    """Return `number` with the profile `all`, and a fifth of it, at least 10, with `daily`."""
    return min(number, max(10, number * settings().max_examples // 100))
