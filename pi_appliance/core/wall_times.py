"""Times of the day on the wall: which instant '23:30' means next."""

import re
from datetime import UTC, datetime, timedelta

_SHAPE = re.compile(r"(\d{1,2}):(\d{2})")


def parse(text: str) -> tuple[int, int]:
    """Read hours and minutes. Raises ValueError with what would be right."""
    match = _SHAPE.fullmatch(text.strip())
    if match is None or int(match[1]) > 23 or int(match[2]) > 59:
        raise ValueError('write a time such as "23:30"')
    return int(match[1]), int(match[2])


def next_time(text: str, now: datetime) -> datetime:
    """Return when the wall shows TEXT next after NOW, which is in a zone: a time without one, to be kept."""
    hour, minute = parse(text)
    local = now.replace(tzinfo=None, fold=0)
    then = local.replace(hour=hour, minute=minute, second=0, microsecond=0)
    return then if then > local else then + timedelta(days=1)


def seconds_until(then: datetime, now: datetime) -> float:
    """Return how long it is from NOW, in a zone, until its wall shows THEN: the first time if it does so twice.

    A time that is left out counts from the clock of before the change: 2:30 is 3:30 then.
    """
    instant = then.replace(tzinfo=now.tzinfo)
    return (instant.astimezone(UTC) - now.astimezone(UTC)).total_seconds()
