"""Cron expressions: parsing, checks, local times and descriptions.

Only this file imports cronsim, and only for local times without a zone (scheduling/instants.py adds
daylight saving). Expressions that Debian's cron reads differently are rejected, so that cron and
the daemon agree on a job.
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
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
STEP_FIELD = re.compile(r"\*/(\d+)")
"""A field that is a single step."""

_NAMES = {
    "month": dict(zip(MONTHS, range(1, 13), strict=True)),
    "day-of-week": dict(zip(WEEKDAYS, range(7), strict=True)),
}
_RANGES = {"minute": "0-59", "hour": "0-23", "day-of-month": "1-31", "month": "1-12 or jan-dec"}
_RANGES["day-of-week"] = "0-7 or sun-sat, where 0 and 7 are Sunday"
_SIZES = (60, 24, 31, 12, 7)  # values of each field
_ANY_TIME = datetime(2001, 1, 1)  # noqa: DTZ001 - a local time
_MAX_GAP = timedelta(days=3653)  # ten years
_MAX_DAY_STEPS = 4  # days of a month that are listed instead of described as a step
_WRONG_ORDINAL = re.compile(r"\b([2-9][123])th\b")
_ORDINALS = {"1": "st", "2": "nd", "3": "rd"}


@dataclass(frozen=True, slots=True)
class CronFields:
    """The numbers that the five fields of an expression name."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    """0 is Sunday. 7 may be Sunday too."""

    @property
    def every_day(self) -> bool:
        """Whether the dates are all dates of a month."""
        return len(self.days) == 31

    @property
    def every_weekday(self) -> bool:
        """Whether the weekdays are all seven."""
        return len({day % 7 for day in self.weekdays}) == 7


def parse_expression(text: str) -> str:
    """Return the five fields of `text`.

    Raises:
        ValueError: the expression is not valid, or cron would read it differently.

    """
    shorthand = text.strip().lower()
    if shorthand.startswith("@"):
        if shorthand not in SHORTHANDS:
            raise ValueError(f"{text.strip()!r} is not a keyword of cron: {', '.join(SHORTHANDS)}, @reboot")
        return SHORTHANDS[shorthand]
    parts = text.split()
    if len(parts) != 5:
        raise ValueError(f"a cron expression has five fields (minute hour day month weekday), this has {len(parts)}")
    for name, field in zip(_RANGES, parts, strict=True):
        _reject_unlike_cron(name, field)
    expression = " ".join(parts)
    if wrong := _wrong_field(parts):
        raise ValueError(f"invalid {wrong} in {expression!r}: {_RANGES[wrong]}")
    _reject_rare_days(expression)
    return expression


def parse_fields(expression: str) -> CronFields:
    """Return the numbers that `expression` names. `parse_expression` has accepted it."""
    parsed = CronSim(expression, _ANY_TIME)
    sets = (parsed.minutes, parsed.hours, parsed.days, parsed.months, parsed.weekdays)
    return CronFields(*(frozenset(item for item in items if isinstance(item, int)) for items in sets))


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
    return CronSim(expression, first - timedelta(seconds=1))


def local_times_before(expression: str, end: datetime) -> Iterator[datetime]:
    """Yield the local times of `expression` before `end`, in reverse order."""
    return CronSim(expression, end, reverse=True)


def describe_expression(expression: str) -> str:
    """Describe `expression` in English."""
    text = CronSim(_simplify_expression(expression), _ANY_TIME).explain()
    return _WRONG_ORDINAL.sub(lambda match: match[1] + _ORDINALS[match[1][-1]], text)


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
        raise ValueError(f"{name} {field!r}: cron reads numbers of four digits at most")
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


def _reject_rare_days(expression: str) -> None:
    """Raise ValueError for days that no month has, or that are too rare to be intended."""
    try:
        first, second = islice(CronSim(expression, _ANY_TIME), 2)
    except CronSimError:
        minute, hour, _, month, weekday = expression.split()
        named = sorted(parse_fields(f"{minute} {hour} * {month} {weekday}").months)
        months, last = ", ".join(MONTHS[each - 1] for each in named), max(MONTH_LENGTHS[each] for each in named)
        raise ValueError(f"{expression!r} never runs: {months}: {last} days at most; write {last} or less") from None
    if second - first > _MAX_GAP:
        raise ValueError(f"{expression!r} runs only once in {(second - first).days // 365} years; widen its days")


def _simplify_expression(expression: str) -> str:
    """Return `expression` with * for full fields and lists for uneven steps."""
    parts, fields = expression.split(), parse_fields(expression)
    sets = (fields.minutes, fields.hours, fields.days, fields.months, fields.weekdays)
    runs_daily = matches_dom_or_dow(expression) and (fields.every_day or fields.every_weekday)
    for number, (field, named, size) in enumerate(zip(parts, sets, _SIZES, strict=True)):
        if len({each % size for each in named}) == size or (number in (2, 4) and runs_daily):
            parts[number] = "*"
        elif (step := STEP_FIELD.fullmatch(field)) and _is_better_listed(number, int(step[1]), size):
            parts[number] = ",".join(map(str, sorted({each % 7 if number == 4 else each for each in named})))
    return " ".join(parts)


def _is_better_listed(number: int, step: int, size: int) -> bool:
    return step * _MAX_DAY_STEPS > size if number == 2 else size % step != 0 or number == 4
