"""Parsing and formatting of durations, sizes, percentages and dollar amounts."""

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

_DURATION_UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_SHAPE = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")


def parse_duration(text: str) -> timedelta:
    """Parse `text` such as 15m or 1h30m. Raises ValueError with an example."""
    match = _SHAPE.fullmatch(text.replace(" ", ""))
    if match is None or not any(match.groups()):
        raise ValueError("write a duration such as 90s, 15m, 1h30m or 2d")
    parts = zip(match.groups(), _DURATION_UNITS.values(), strict=True)
    try:
        return timedelta(seconds=sum(int(count or 0) * unit for count, unit in parts))
    except OverflowError:
        raise ValueError("this duration is too long; write one such as 2d") from None


def format_duration(length: timedelta) -> str:
    """Format `length` for `parse_duration`: in seconds, with a tenth below ten seconds."""
    seconds = length.total_seconds()
    if 0 < seconds < 10 and seconds != int(seconds):
        return f"{seconds:.1f}s"
    rest, parts = int(seconds), []
    for unit, size in _DURATION_UNITS.items():
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


class Size(int):
    """Bytes."""


class Percent(int):
    """Hundredths of one processor core: 100 is one full core."""


class Money(Decimal):
    """US dollars."""


class Names(tuple[str, ...]):
    """Names of other entries without duplicates, written as one name or as a list."""


class Days(frozenset[int]):
    """Days of the week; 0 is Sunday, 6 is Saturday."""


EVERY_DAY = Days(range(7))


@dataclass(frozen=True, slots=True)
class Limits:
    """The smallest and the largest value of a key, for the check, the schema and forms.

    `wrong` completes the message about another value. `right` is the correction, if it is not the
    whole range.
    """

    minimum: int
    maximum: int | None = None
    wrong: str = field(kw_only=True)
    right: str = field(default="", kw_only=True)

    def find_problem(self, value: int) -> tuple[str, str] | None:
        """Return the problem of `value` and its correction; None if it is allowed."""
        if self.minimum <= value and (self.maximum is None or value <= self.maximum):
            return None
        allowed = f"{self.minimum} or more" if self.maximum is None else f"{self.minimum} to {self.maximum}"
        return f"{value} {self.wrong}", self.right or f"write {allowed}"

    @property
    def schema(self) -> dict[str, int]:
        """The limits as keywords of JSON Schema."""
        return {"minimum": self.minimum} | ({} if self.maximum is None else {"maximum": self.maximum})


VOLUME = Limits(0, 100, wrong="is not a valid volume")
PORT = Limits(0, 65535, wrong="is not a valid port", right="write 1024 to 65535")  # 0: any that is free

_SIZE_UNITS = {"": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_BY_SMALL = {unit.lower(): size for unit, size in _SIZE_UNITS.items()} | {"k": 10**3, "m": 10**6, "g": 10**9, "b": 1}


def parse_size(text: str) -> Size:
    """Parse `text` such as 500MB or 2GiB. Raises ValueError with an example."""
    match = re.fullmatch(r"(\d{1,12}(?:\.\d{1,3})?)\s*([A-Za-z]*)", text.strip())
    unit = _BY_SMALL.get(match[2].lower()) if match else None
    if match is None or unit is None or float(match[1]) == 0:
        raise ValueError(f"{text!r} is not an amount; write one such as 500MB or 2GB")
    return Size(float(match[1]) * unit)


def format_size(size: int) -> str:
    """Format `size` bytes in the largest fitting decimal unit, with one decimal if needed."""
    for unit in ("GB", "MB", "kB"):
        if size >= _SIZE_UNITS[unit]:
            return f"{size / _SIZE_UNITS[unit]:.1f}".removesuffix(".0") + unit
    return f"{size}B"


def parse_percent(text: str) -> Percent:
    """Parse `text` such as 50%. Raises ValueError with an example."""
    match = re.fullmatch(r"(\d{1,5})\s*%", text.strip())
    if match is None or int(match[1]) == 0:
        raise ValueError(f"{text!r} is not a share of a processor; write one such as 50%")
    return Percent(int(match[1]))


def parse_money(value: object) -> Money:
    """Parse US dollars such as 0.015, 5 or $5. Raises ValueError with an example."""
    text = str(value).strip().removeprefix("$") if isinstance(value, (int, float, str)) else ""
    if isinstance(value, bool) or re.fullmatch(r"\d{1,6}(?:\.\d{1,6})?", text) is None:
        raise ValueError(f"{value!r} is not an amount of dollars; write one such as 0.015 or 5")
    return Money(text)


def format_money(amount: Decimal) -> str:
    """Format dollars with two decimals, or more if needed: $5.00, $0.015."""
    text = f"{amount:.6f}".rstrip("0")
    whole, _, rest = text.partition(".")
    return f"${whole}.{rest:0<2}"


def pluralize(count: int, word: str) -> str:
    """Return `count` with `word`, such as "1 job" or "2 jobs"."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def join_clauses(*clauses: str) -> str:
    """Return the clauses of a message that are not empty, such as "it failed; see the log"."""
    return "; ".join(filter(None, clauses))


def format_time(when: datetime, zone: ZoneInfo) -> str:
    """Return `when` in `zone` with its weekday, to the minute."""
    return when.astimezone(zone).strftime("%a %Y-%m-%d %H:%M")


def format_elapsed(elapsed: timedelta) -> str:
    """Return `elapsed` in seconds with a tenth below ten seconds, else as a duration."""
    seconds = elapsed.total_seconds()
    return f"{seconds:.1f}s" if seconds < 10 else format_duration(timedelta(seconds=round(seconds)))


def format_position(seconds: float) -> str:
    """Return a position in a track, or its length: 3:07, or 1:02:45."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
