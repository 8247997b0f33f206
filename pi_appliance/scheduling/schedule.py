"""Schedules and chances: their types, and the values of `schedule:` and `chance:`.

A schedule is a cron expression or @word, "@reboot", "every 15m" or {every: 15m}, a list of times
["06:00", "18:00"], {times: [...], days: [mon, fri]} or a list of cron expressions.
"""

import hashlib
import hmac
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from fractions import Fraction

from pi_appliance.config import units
from pi_appliance.config.units import EVERY_DAY, Days
from pi_appliance.errors import suggest
from pi_appliance.scheduling import cron

_DAY_NAMES = (*cron.WEEKDAYS, "sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_DAY_GROUPS = {"weekdays": "1-5", "weekends": "0,6", "daily": "*"}
_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
_LIKE_A_TIME = re.compile(r"\d{1,2}[:.h]\d{0,2}")
_FRACTION = re.compile(r"\s*(\d{1,9})\s*/\s*(\d{1,9})\s*")
_FORMS = 'write a cron expression "0 6 * * *", a list of times ["06:00", "18:00"], "@daily", "@reboot" or "every 15m"'
_EXAMPLES = {"times": '["07:00", "19:30"]', "days": "[mon, fri]", "schedule": '["06:00", "18:00"]'}
_CHANCE_ERROR = "a chance is more than 0 and at most 1, such as 1/4"


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


@dataclass(frozen=True, slots=True)
class Chance:
    """The probability that a slot is used, as a fraction."""

    numerator: int
    denominator: int

    def __post_init__(self) -> None:
        if not 0 < self.numerator <= self.denominator:
            raise ValueError(_CHANCE_ERROR)

    @property
    def fraction(self) -> Fraction:
        """The probability, exactly."""
        return Fraction(self.numerator, self.denominator)

    def __str__(self) -> str:
        """Return it as in the configuration, such as 1/4."""
        return f"{self.numerator}/{self.denominator}"


class ScheduleError(ValueError):
    """An item of a list is not valid. `item` is its index from 0."""

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
    """Yield the cron expressions in `value` with their places. `parse_schedule` has accepted it."""
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


def parse_time(text: str) -> time:
    """Parse a time of day such as 22:00. Raises ValueError with advice."""
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise ValueError(f'{text!r} is not a valid time of day; write "00:00" to "23:59"')
    return time(int(match[1]), int(match[2]))


def parse_chance(value: object) -> Chance:
    """Parse 1/4, or a number such as 0.25. Raises ValueError with advice."""
    if match := _FRACTION.fullmatch(str(value)):
        return Chance(int(match[1]), int(match[2]))
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= 1:
        return Chance(1, 1) if value == 1 else Chance(round(value * 1_000_000), 1_000_000)
    raise ValueError(_CHANCE_ERROR)


def next_time(text: str, now: datetime) -> datetime:
    """Return the next local time `text` after `now`, without a zone. `now` has a zone."""
    local = now.replace(tzinfo=None, fold=0)
    moment = datetime.combine(local, parse_time(text))
    return moment if moment > local else moment + timedelta(days=1)


def seconds_until(local: datetime, now: datetime) -> float:
    """Return the seconds from `now`, with a zone, until the local time `local`.

    A repeated time means its first occurrence. A skipped time counts from the clock before the
    change: 2:30 is 3:30 then.
    """
    instant = local.replace(tzinfo=now.tzinfo)
    return (instant.astimezone(UTC) - now.astimezone(UTC)).total_seconds()


def is_selected(chance: Chance | None, *, secret: bytes, job: str, due: str) -> bool:
    """Return whether the slot `due` of `job` is used. Without a chance every slot is."""
    if chance is None:
        return True
    digest = hmac.digest(secret, f"{job}\n{due}".encode(), hashlib.sha256)
    # Integers avoid rounding: 1/1 is always selected, and the rest is as uniform as HMAC.
    return int.from_bytes(digest[:16]) * chance.denominator < chance.numerator << 128


def uniform_for_slot(secret: bytes, job: str, due: str) -> float:
    """Return a uniform number from 0 to below 1: always the same for the slot `due` of `job`."""
    return _uniform_draw(secret, "slot", job, due)


def uniform_for_label(secret: bytes, job: str, slot: str, label: str) -> float:
    """Return a uniform number from 0 to below 1: always the same for `label` at `slot` of `job`."""
    return _uniform_draw(secret, "label", job, slot, label)


def _uniform_draw(secret: bytes, *message: str) -> float:
    """Return a number drawn from `message`. Its first part separates the kinds of draws."""
    digest = hmac.digest(secret, "\n".join(message).encode(), hashlib.sha256)
    return (int.from_bytes(digest[:8]) >> 11) / (1 << 53)  # as many bits as a float holds


def _from_text(text: str) -> Schedule:
    if text.lower() == "@reboot":
        return AtBoot()
    if text.lower().startswith("every "):
        return _parse_interval(text[6:])
    return _from_list([text]) if _LIKE_A_TIME.fullmatch(text) else Cron((cron.parse_expression(text),))


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
    expressions = [cron.parse_expression(text) for text in texts if text not in times]
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
    raise ValueError(f"{name!r} is not a day; {suggest(name, (*cron.WEEKDAYS, *_DAY_GROUPS))}")
