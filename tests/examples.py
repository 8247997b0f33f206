"""The number of examples of a hypothesis test, limited by the profile."""

from hypothesis import settings


def examples(number: int) -> int:
    """Return `number` with the profile `all`; with `daily` at most its number of examples."""
    daily = settings.get_profile("daily").max_examples
    return min(number, daily) if settings().max_examples == daily else number
