"""Lengths of time as people write them: 90s, 15m, 1h30m, 2d."""

import re
from datetime import timedelta

_UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_SHAPE = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")


def parse(text: str) -> timedelta:
    """Read TEXT such as 15m or 1h30m. Raises ValueError with what would be right."""
    match = _SHAPE.fullmatch(text.replace(" ", ""))
    if match is None or not any(match.groups()):
        raise ValueError("write a length of time such as 90s, 15m, 1h30m or 2d")
    parts = zip(match.groups(), _UNITS.values(), strict=True)
    try:
        return timedelta(seconds=sum(int(count or 0) * unit for count, unit in parts))
    except OverflowError:
        raise ValueError("that is longer than a calendar; write something such as 2d") from None


def render(length: timedelta) -> str:
    """Write LENGTH the way `parse` reads it, to the second; under ten seconds with tenths."""
    seconds = length.total_seconds()
    if 0 < seconds < 10 and seconds != int(seconds):
        return f"{seconds:.1f}s"
    left, parts = int(seconds), []
    for unit, size in _UNITS.items():
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
