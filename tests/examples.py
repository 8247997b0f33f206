"""The number of examples of a hypothesis test, and of repetitions of others, limited by the profile."""

from hypothesis import settings


def _daily() -> int:
    return settings.get_profile("daily").max_examples


def _is_daily() -> bool:
    return settings().max_examples == _daily()


def examples(number: int) -> int:
    """Return `number` with the profile `all`; with `daily` at most its number of examples."""
    return min(number, _daily()) if _is_daily() else number


def repetitions(number: int) -> int:
    """Return `number` with the profile `all`; with `daily` a fifth of that."""
    return number // 5 if _is_daily() else number
