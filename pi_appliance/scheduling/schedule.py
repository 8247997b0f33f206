"""Schedules: their types, and the values of `schedule:`.

A schedule is a cron expression or @word, "@reboot", "every 15m" or {every: 15m}, a list of times
["06:00", "18:00"], {times: [...], days: [mon, fri]} or a list of cron expressions.

Only this file imports cronsim, and only for local times without a zone (`slot_times.py` adds
daylight saving). Expressions that Debian's cron reads differently are rejected, so that cron and
the daemon agree on a job.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from pi_appliance.config import units
from pi_appliance.config.units import EVERY_DAY, Days
from pi_appliance.errors import suggest

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
_SIZES = (60, 24, 31, 12, 7)  # number of values of each field
_ANY_TIME = datetime(2001, 1, 1)  # noqa: DTZ001 - a local time
_MAX_GAP = timedelta(days=3653)  # ten years
_MAX_DAY_STEPS = 4  # days of a month that are listed; more are described as a step
_WRONG_ORDINAL = re.compile(r"\b([2-9][123])th\b")
_ORDINALS = {"1": "st", "2": "nd", "3": "rd"}


@dataclass(frozen=True, slots=True)
class CronFields:
    """The numbers that the five fields of a cron expression stand for."""

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
    try:
        first, second = islice(CronSim(expression, _ANY_TIME), 2)
    except CronSimError:
        raise ValueError(_explain_invalid(parts)) from None
    if second - first > _MAX_GAP:
        raise ValueError(f"{expression!r} runs only once in {(second - first).days // 365} years; widen its days")
    return expression


def parse_fields(expression: str) -> CronFields:
    """Return the numbers that the fields of a valid `expression` stand for."""
    parsed = CronSim(expression, _ANY_TIME)
    sets = (parsed.minutes, parsed.hours, parsed.days, parsed.months, parsed.weekdays)
    return CronFields(*(frozenset(item for item in items if isinstance(item, int)) for items in sets))


def is_fixed(expression: str) -> bool:
    """Return whether `expression` has a fixed minute and hour, which matters at clock changes."""
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


def _explain_invalid(parts: Sequence[str]) -> str:
    """Return the first invalid field; without one, no month has the days."""
    expression = " ".join(parts)
    for number, (name, field) in enumerate(zip(_RANGES, parts, strict=True)):
        try:
            CronSim(" ".join(field if place == number else "*" for place in range(5)), _ANY_TIME)
        except CronSimError:
            return f"invalid {name} in {expression!r}: {_RANGES[name]}"
    minute, hour, _, month, weekday = parts
    named = sorted(parse_fields(f"{minute} {hour} * {month} {weekday}").months)
    months, last = ", ".join(MONTHS[each - 1] for each in named), max(MONTH_LENGTHS[each] for each in named)
    return f"{expression!r} never runs: {months}: {last} days at most; write {last} or less"


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


_DAY_NAMES = (*WEEKDAYS, "sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_DAY_GROUPS = {"weekdays": "1-5", "weekends": "0,6", "daily": "*"}
_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
_LIKE_A_TIME = re.compile(r"\d{1,2}[:.h]\d{0,2}")
_FORMS = 'write a cron expression "0 6 * * *", a list of times ["06:00", "18:00"], "@daily", "@reboot" or "every 15m"'
_EXAMPLES = {"times": '["07:00", "19:30"]', "days": "[mon, fri]", "schedule": '["06:00", "18:00"]'}


@dataclass(frozen=True, slots=True)
class Cron:
    """Slots by the wall clock: the times of any of the cron expressions, of five fields each."""

    expressions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Every:
    """One slot each interval, counted from 1970-01-01 00:00 UTC and so independent of restarts."""

    interval: timedelta


@dataclass(frozen=True, slots=True)
class AtBoot:
    """One slot each time the machine boots."""


Schedule = Cron | Every | AtBoot


class ScheduleError(ValueError):
    """An item of a list in `schedule:` is not valid. `item` is its index from 0."""

    def __init__(self, item: int, message: str) -> None:
        self.item = item
        super().__init__(message)


def parse_schedule(value: object) -> Schedule:
    """Parse `value`. Raises ValueError with the correct form."""
    if isinstance(value, str):
        return _from_text(value.strip())
    if isinstance(value, Mapping):
        return _from_mapping(value)
    if isinstance(value, Sequence) and value:
        return _from_list(value)
    raise ValueError(_FORMS)


def find_expressions(value: object) -> Iterator[tuple[tuple[str | int, ...], Cron]]:
    """Yield the cron expressions in a valid `schedule:` value, each with its path."""
    if isinstance(value, Mapping) and "times" in value:
        days, is_single = _days_of(value), isinstance(value["times"], str)
        for number, text in enumerate(_require_texts(value["times"], "times")):
            yield (("times",) if is_single else ("times", number)), _cron_from_times([text], days)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for number, item in enumerate(value):
            yield from (((number,), entry) for _, entry in find_expressions(item))
    elif isinstance(schedule := parse_schedule(value), Cron):
        yield (), schedule


def parse_days(value: object) -> Days:
    """Parse a day or a list of days such as [mon-fri, sun]. Raises ValueError with advice."""
    days = _parse_days_field(_require_texts(value, "days"))
    if days == "*":
        return EVERY_DAY
    ends = [[int(end) for end in part.split("-")] for part in days.split(",")]
    return Days(day for part in ends for day in range(part[0], part[-1] + 1))


def weekly_times(schedule: Schedule | None) -> tuple[tuple[str, ...], Days] | None:
    """Return the times of day of `schedule` and its weekdays, or None if it has another form."""
    if not isinstance(schedule, Cron):
        return None
    times, days = set[str](), set[Days]()
    for expression in schedule.expressions:
        fields = parse_fields(expression)
        if not is_fixed(expression) or expression.split()[2] != "*" or len(fields.months) < 12:
            return None
        times |= {f"{hour:02}:{minute:02}" for hour in fields.hours for minute in fields.minutes}
        days.add(Days(day % 7 for day in fields.weekdays))
    return (tuple(sorted(times)), days.pop()) if len(days) == 1 else None


def group_days(days: Days, *, across_sunday: bool = False) -> list[str]:
    """Return `days` from Monday on, with three or more in a row as a range such as mon-fri.

    A range ends on Saturday, as `parse_days` requires, unless it may go on `across_sunday`.
    """
    runs: list[list[int]] = []
    for day in sorted(days, key=lambda day: (day - 1) % 7):
        if runs and runs[-1][-1] == (day - 1) % 7 and (day or across_sunday):
            runs[-1].append(day)
        else:
            runs.append([day])
    groups = [[run] if len(run) > 2 else [[day] for day in run] for run in runs]
    return ["-".join(WEEKDAYS[day] for day in dict.fromkeys((run[0], run[-1]))) for group in groups for run in group]


def parse_time(text: str) -> time:
    """Parse a time of day such as 22:00. Raises ValueError with advice."""
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise ValueError(f'{text!r} is not a valid time of day; write "00:00" to "23:59"')
    return time(int(match[1]), int(match[2]))


def next_time(text: str, now: datetime) -> datetime:
    """Return the next local time `text`, such as 06:00, after `now`, without a time zone."""
    local = now.replace(tzinfo=None, fold=0)
    moment = datetime.combine(local, parse_time(text))
    return moment if moment > local else moment + timedelta(days=1)


def seconds_until(local: datetime, now: datetime) -> float:
    """Return the seconds from `now`, with a zone, until the local time `local`.

    A time that the clock shows twice means its first occurrence. A time that it skips counts from
    the clock before the change: 2:30 is then 3:30.
    """
    instant = local.replace(tzinfo=now.tzinfo)
    return (instant.astimezone(UTC) - now.astimezone(UTC)).total_seconds()


def _from_text(text: str) -> Schedule:
    if text.lower() == "@reboot":
        return AtBoot()
    if text.lower().startswith("every "):
        return _parse_interval(text[6:])
    return _from_list([text]) if _LIKE_A_TIME.fullmatch(text) else Cron((parse_expression(text),))


def _from_mapping(value: Mapping[object, object]) -> Schedule:
    unknown = [str(key) for key in value if key not in ("every", "times", "days")]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not known here; {suggest(unknown[0], ('every', 'times', 'days'))}")
    if "every" in value:
        if len(value) > 1:
            raise ValueError("`every` cannot be combined with `days` or `times`")
        return _parse_interval(str(value["every"]))
    if "times" not in value:
        raise ValueError('`days` needs `times`, such as {times: ["07:00"], days: [mon, fri]}')
    return _cron_from_times(_require_texts(value["times"], "times"), _days_of(value))


def _from_list(values: Sequence[object]) -> Schedule:
    texts = _require_texts(values, "schedule")
    for number, text in enumerate(texts):
        if _LIKE_A_TIME.fullmatch(text) and not _TIME.fullmatch(text):
            raise ScheduleError(number, f"{text!r} is not a valid time of day; write 00:00 to 23:59")
    times = [text for text in texts if _TIME.fullmatch(text)]
    expressions = [parse_expression(text) for text in texts if text not in times]
    return Cron((*expressions, *(_cron_from_times(times, "*").expressions if times else ())))


def _require_texts(value: object, key: str) -> list[str]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, Sequence) or not texts or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"`{key}` is a list of texts, such as {_EXAMPLES[key]}")
    return [str(text).strip() for text in texts]


def _parse_interval(text: str) -> Every:
    try:
        interval = units.parse_duration(text)
    except ValueError as error:
        raise ValueError(f"{error}; for times of day write a list such as {_EXAMPLES['times']}") from None
    if interval < timedelta(seconds=1):
        raise ValueError("`every` is at least 1s")
    return Every(interval)


def _cron_from_times(texts: Sequence[str], days: str) -> Cron:
    """Convert times to cron expressions, one for each minute of the hour."""
    hours_by_minute: dict[int, set[int]] = {}
    for text in texts:
        moment = parse_time(text)
        hours_by_minute.setdefault(moment.minute, set()).add(moment.hour)
    hours = {minute: ",".join(map(str, sorted(hours))) for minute, hours in sorted(hours_by_minute.items())}
    return Cron(tuple(f"{minute} {hours[minute]} * * {days}" for minute in hours))


def _days_of(value: Mapping[object, object]) -> str:
    return _parse_days_field(_require_texts(value.get("days", ["daily"]), "days"))


def _parse_days_field(names: Sequence[str]) -> str:
    fields = []
    for name in names:
        ends = [_day_number(end) for end in name.lower().split("-")] if name.lower() not in _DAY_GROUPS else []
        if len(ends) == 2 and ends[0] > ends[1]:
            raise ValueError(f"{name!r} runs backwards for cron; list the days one by one")
        fields.append(_DAY_GROUPS.get(name.lower()) or "-".join(map(str, ends)))
    return "*" if "*" in fields else ",".join(fields)


def _day_number(name: str) -> int:
    if name in _DAY_NAMES:
        return _DAY_NAMES.index(name) % 7
    raise ValueError(f"{name!r} is not a day; {suggest(name, (*WEEKDAYS, *_DAY_GROUPS))}")


def dump_schedule(schedule: Schedule, zone: ZoneInfo) -> str:
    """Return `schedule` in `zone` as text, for `load_schedule` and for comparison."""
    match schedule:
        case Cron(expressions):
            return json.dumps({"cron": expressions, "zone": zone.key})
        case Every(interval):
            return json.dumps({"every": int(interval.total_seconds())})
        case AtBoot():
            return json.dumps({"boot": True})


def load_schedule(text: str) -> tuple[Schedule, ZoneInfo] | None:
    """Parse the output of `dump_schedule`, or return None if it is not valid."""
    try:
        known = json.loads(text)
        if "every" in known:
            return Every(timedelta(seconds=int(known["every"]))), ZoneInfo("UTC")
        return Cron(tuple(known["cron"])), ZoneInfo(known["zone"])
    except (ValueError, KeyError, TypeError, OSError):
        return None
