"""Cron expressions: parsing, checks, local times and descriptions.

Only this file imports cronsim, and only for local times without a zone. Expressions that Debian's
cron reads differently are rejected, so that cron and the daemon agree on a job.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from cronsim import CronSim, CronSimError

SHORTHANDS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
MONTH_LENGTHS = (0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
"""Maximum number of days of each month. Index 1 is January."""
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_NAMES = {
    "month": dict(zip(_MONTHS, range(1, 13), strict=True)),
    "day-of-week": dict(zip(_DAYS, range(7), strict=True)),
}
_RANGES = {"minute": "0-59", "hour": "0-23", "day-of-month": "1-31", "month": "1-12 or jan-dec"}
_RANGES["day-of-week"] = "0-7 or sun-sat, where 0 and 7 are Sunday"
_ANY_TIME = datetime(2001, 1, 1)  # noqa: DTZ001 - a local time
STEP_FIELD = re.compile(r"\*/(\d+)")
"""A field that is a single step."""
_NEVER = timedelta(days=3653)  # ten years
_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class CronFields:
    """The numbers that the five fields of an expression name."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    """0 is Sunday. 7 may be Sunday too."""


def parse_expression(text: str) -> str:
    """Return the five fields of `text`.

    Raises:
        ValueError: the expression is not valid, or cron would read it differently.

    """
    word = text.strip().lower()
    if word.startswith("@"):
        if word not in SHORTHANDS:
            raise ValueError(f"{text.strip()!r} is not a word cron knows: {', '.join(SHORTHANDS)}, @reboot")
        return SHORTHANDS[word]
    parts = text.split()
    if len(parts) != 5:
        raise ValueError(f"a cron expression has five fields (minute hour day month weekday), this has {len(parts)}")
    for name, field in zip(_RANGES, parts, strict=True):
        _reject_unlike_cron(name, field)
    expression = " ".join(parts)
    if wrong := _wrong_field(parts):
        raise ValueError(f"bad {wrong} in {expression!r}: {_RANGES[wrong]}")
    _reject_never_due(expression)
    return expression


def parse_fields(expression: str) -> CronFields:
    """Return the numbers that `expression` names. `parse` has accepted it."""
    read = CronSim(expression, _ANY_TIME)
    named = (read.minutes, read.hours, read.days, read.months, read.weekdays)
    return CronFields(*(frozenset(each for each in part if isinstance(each, int)) for part in named))


def _wrong_field(parts: Sequence[str]) -> str:
    """Return the name of the first invalid field, or ''."""
    for number, (name, field) in enumerate(zip(_RANGES, parts, strict=True)):
        try:
            CronSim(" ".join(field if place == number else "*" for place in range(5)), _ANY_TIME)
        except CronSimError:
            return name
    return ""


def _reject_unlike_cron(name: str, field: str) -> None:
    """Raise ValueError for forms that Debian's cron rejects or misreads (tested on cron 3.0pl1)."""
    if not field.isascii():
        raise ValueError(f"{name} {field!r}: cron reads plain letters and digits only")
    if "#" in field or re.search(r"\bL\b|\dL|LW", field, re.IGNORECASE):
        raise ValueError(f"{name} {field!r}: cron knows neither # nor L")
    if "~" in field:
        raise ValueError(f"{name} {field!r}: Debian's cron reads a~b as a; use `chance:` to look less like a clock")
    if re.search(r"\d{5}", field):
        raise ValueError(f"{name} {field!r}: cron counts in numbers of four digits at the most")
    for part in field.split(","):
        _reject_odd_range(name, field, *part.partition("/")[::2])


def _reject_odd_range(name: str, field: str, ends: str, step: str) -> None:
    first, dash, last = ends.partition("-")
    low, high = _parse_number(name, first), _parse_number(name, last)
    if step and not dash and low is not None:
        raise ValueError(f"{name} {field!r}: cron does not know N/step; write a range, such as 5-59/15")
    if low is None or high is None:
        return
    if low == high:
        raise ValueError(f"{name} {field!r}: a range from {first} to {last}; write {first}")
    if low > high:
        raise ValueError(f"{name} {field!r}: {ends} runs backwards, cron would never start it; write two ranges")


def _parse_number(name: str, text: str) -> int | None:
    return int(text) if text.isdigit() else _NAMES.get(name, {}).get(text.lower())


def _reject_never_due(expression: str) -> None:
    """Raise ValueError for days that no month has, or that are too rare to be intended."""
    try:
        first, second = islice(CronSim(expression, _ANY_TIME), 2)
    except CronSimError:
        named = sorted(parse_fields(" ".join((*expression.split()[:2], "*", *expression.split()[3:]))).months)
        months = ", ".join(_MONTHS[each - 1] for each in named)
        last = max(MONTH_LENGTHS[each] for each in named)
        raise ValueError(f"{expression!r} never comes: {months}: {last} days at most; write {last} or less") from None
    if second - first > _NEVER:
        raise ValueError(f"{expression!r} comes once in {(second - first).days // 365} years; widen its days")


def is_fixed(expression: str) -> bool:
    """Return whether `expression` names its minute and its hour. It matters at clock changes."""
    minute, hour, *_ = expression.split()
    return not minute.startswith("*") and not hour.startswith("*")


def matches_dom_or_dow(expression: str) -> bool:
    """Return whether a match of either the date or the weekday of `expression` is enough."""
    _, _, day, _, weekday = expression.split()
    return not day.startswith("*") and not weekday.startswith("*")


def local_times(expression: str, first: datetime) -> Iterator[datetime]:
    """Yield the local times of `expression` from `first` on, until it has none in fifty years."""
    return CronSim(expression, first - _SECOND)


def local_times_before(expression: str, end: datetime) -> Iterator[datetime]:
    """Yield the local times of `expression` before `end`, in reverse order."""
    return CronSim(expression, end, reverse=True)


def describe_expression(expression: str) -> str:
    """Describe `expression` in English."""
    return _TH.sub(
        lambda found: found[1] + _ENDINGS[found[1][-1]], CronSim(_simplify_expression(expression), _ANY_TIME).explain()
    )


_TH = re.compile(r"\b([2-9][123])th\b")
_ENDINGS = {"1": "st", "2": "nd", "3": "rd"}
_FEW = 4  # days of a month that are listed instead of described as a step


def _simplify_expression(expression: str) -> str:
    """Return `expression` in its most readable form.

    A full field becomes *, and uneven steps become a list.
    """
    parts, read = expression.split(), parse_fields(expression)
    sets = (read.minutes, read.hours, read.days, read.months, read.weekdays)
    for number, (field, named, length) in enumerate(zip(parts, sets, (60, 24, 31, 12, 7), strict=True)):
        full = len({each % length for each in named}) == length
        if full or (number in (2, 4) and matches_dom_or_dow(expression) and _names_every_day(read)):
            parts[number] = "*"
        elif (step := STEP_FIELD.fullmatch(field)) and _is_better_listed(number, int(step[1]), length):
            parts[number] = ",".join(
                str(each) for each in sorted({each % 7 if number == 4 else each for each in named})
            )
    return " ".join(parts)


def _names_every_day(read: CronFields) -> bool:
    return len(read.days) == 31 or len({each % 7 for each in read.weekdays}) == 7


def _is_better_listed(number: int, step: int, length: int) -> bool:
    return step * _FEW > length if number == 2 else length % step != 0 or number == 4
