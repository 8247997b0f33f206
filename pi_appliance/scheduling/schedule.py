"""Parse the value of `schedule:` into a Schedule.

Accepted: a cron expression or @word, "@reboot", "every 15m" or {every: 15m}, a list of times
["06:00", "18:00"], {times: [...], days: [mon, fri]} and lists of cron expressions.
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
    """The probability that a slot is used: `hits` out of `draws`."""

    hits: int
    draws: int

    def __post_init__(self) -> None:
        if not 0 < self.hits <= self.draws:
            raise ValueError("a chance is more than 0 and at most 1, such as 1/4")

    @property
    def fraction(self) -> Fraction:
        """The probability, exactly."""
        return Fraction(self.hits, self.draws)

    def __str__(self) -> str:
        """Return it as it is written in the YAML, such as 1/4."""
        return f"{self.hits}/{self.draws}"


_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_LONG = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_GROUPS = {"weekdays": "1-5", "weekends": "0,6", "daily": "*"}
_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
_LIKE_A_TIME = re.compile(r"\d{1,2}[:.h]\d{0,2}")
_FORMS = 'write a cron expression "0 6 * * *", a list of times ["06:00", "18:00"], "@daily", "@reboot" or "every 15m"'


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
        days = _parse_days_field(_require_texts(value.get("days", ["daily"]), "days"))
        alone = isinstance(value["times"], str)
        for number, text in enumerate(_require_texts(value["times"], "times")):
            yield (("times",) if alone else ("times", number)), _cron_from_times([text], days)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for number, item in enumerate(value):
            yield from (((number,), found) for _, found in find_expressions(item))
    elif isinstance(found := parse_schedule(value), Cron):
        yield (), found


def _from_text(text: str) -> Schedule:
    if text.lower() == "@reboot":
        return AtBoot()
    if text.lower().startswith("every "):
        return _parse_interval(text[6:])
    if _LIKE_A_TIME.fullmatch(text):
        return _from_list([text])
    if _TIME.fullmatch(text):
        return _cron_from_times([text], "*")
    return Cron((cron.parse_expression(text),))


def _from_mapping(value: Mapping[object, object]) -> Schedule:
    unknown = [str(key) for key in value if key not in ("every", "times", "days")]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not known here; {suggest(unknown[0], ('every', 'times', 'days'))}")
    if "every" in value:
        if len(value) > 1:
            raise ValueError("`every` goes alone; days and times go together")
        return _parse_interval(str(value["every"]))
    if "times" not in value:
        raise ValueError('`days` needs `times`, such as {times: ["07:00"], days: [mon, fri]}')
    return _cron_from_times(
        _require_texts(value["times"], "times"), _parse_days_field(_require_texts(value.get("days", ["daily"]), "days"))
    )


def _from_list(values: Sequence[object]) -> Schedule:
    texts = _require_texts(values, "schedule")
    for number, text in enumerate(texts):
        if _LIKE_A_TIME.fullmatch(text) and not _TIME.fullmatch(text):
            raise ScheduleError(number, f"{text!r} is no time of day; write 00:00 to 23:59")
    if all(_TIME.fullmatch(text) for text in texts):
        return _cron_from_times(texts, "*")
    times = [text for text in texts if _TIME.fullmatch(text)]
    expressions = [cron.parse_expression(text) for text in texts if text not in times]
    return Cron((*expressions, *(_cron_from_times(times, "*").expressions if times else ())))


def _require_texts(value: object, key: str) -> list[str]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, Sequence) or not listed or not all(isinstance(item, str) for item in listed):
        raise ValueError(f"`{key}` is a list of texts, such as {_EXAMPLES[key]}")
    return [str(item).strip() for item in listed]


_EXAMPLES = {"times": '["07:00", "19:30"]', "days": "[mon, fri]", "schedule": '["06:00", "18:00"]'}


def _parse_interval(text: str) -> Every:
    try:
        interval = units.parse_duration(text)
    except ValueError as error:
        raise ValueError(f"{error}; for times of day write a list such as {_EXAMPLES['times']}") from None
    if interval < timedelta(seconds=1):
        raise ValueError("`every` is at least 1s")
    return Every(interval)


def _cron_from_times(times: Sequence[str], days: str) -> Cron:
    """Convert times to cron expressions, one for each minute of the hour."""
    hours_by_minute: dict[int, set[int]] = {}
    for text in times:
        match = _TIME.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is no time of day; write 00:00 to 23:59")
        hours_by_minute.setdefault(int(match[2]), set()).add(int(match[1]))
    return Cron(
        tuple(
            f"{minute} {','.join(map(str, sorted(hours)))} * * {days}"
            for minute, hours in sorted(hours_by_minute.items())
        )
    )


def _parse_days_field(names: Sequence[str]) -> str:
    fields = []
    for name in names:
        ends = [_day_number(end) for end in name.lower().split("-")] if name.lower() not in _GROUPS else []
        if len(ends) == 2 and ends[0] > ends[1]:
            raise ValueError(f"{name!r} runs backwards for cron; list the days one by one")
        fields.append(_GROUPS.get(name.lower()) or "-".join(map(str, ends)))
    return "*" if "*" in fields else ",".join(fields)


def _day_number(name: str) -> int:
    for known in (_DAYS, _LONG):
        if name in known:
            return known.index(name)
    raise ValueError(f"{name!r} is not a day; {suggest(name, (*_DAYS, *_GROUPS))}")


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
        raise ValueError(f'{text!r} is no time of day; write "00:00" to "23:59"')
    return time(int(match[1]), int(match[2]))


def parse_chance(value: object) -> Chance:
    """Parse 1/4, or a number such as 0.25. Raises ValueError with advice."""
    match = re.fullmatch(r"\s*(\d{1,9})\s*/\s*(\d{1,9})\s*", str(value))
    if match:
        return Chance(int(match[1]), int(match[2]))
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= 1:
        hits, draws = value.as_integer_ratio() if value == 1 else (round(value * 1_000_000), 1_000_000)
        return Chance(hits, draws)
    raise ValueError("a chance is more than 0 and at most 1, such as 1/4")


_SHAPE = re.compile(r"(\d{1,2}):(\d{2})")


def parse_wall_time(text: str) -> tuple[int, int]:
    """Parse hours and minutes. Raises ValueError with advice."""
    match = _SHAPE.fullmatch(text.strip())
    if match is None or int(match[1]) > 23 or int(match[2]) > 59:
        raise ValueError('write a time such as "23:30"')
    return int(match[1]), int(match[2])


def next_time(text: str, now: datetime) -> datetime:
    """Return the next local time `text` after `now`, without a zone. `now` has a zone."""
    hour, minute = parse_wall_time(text)
    local = now.replace(tzinfo=None, fold=0)
    then = local.replace(hour=hour, minute=minute, second=0, microsecond=0)
    return then if then > local else then + timedelta(days=1)


def seconds_until(then: datetime, now: datetime) -> float:
    """Return the seconds from `now`, with a zone, until the local time `then`.

    A repeated time means its first occurrence. A skipped time counts from the clock before the
    change: 2:30 is 3:30 then.
    """
    instant = then.replace(tzinfo=now.tzinfo)
    return (instant.astimezone(UTC) - now.astimezone(UTC)).total_seconds()


# Different prefixes make the three draws independent.
_SHARE, _DRAW = "share", "uniform_for_label"


def is_selected(chance: Chance | None, *, secret: bytes, job: str, due: str) -> bool:
    """Return whether the slot `due` of `job` is used. Without a chance every slot is."""
    if chance is None:
        return True
    digest = hmac.digest(secret, f"{job}\n{due}".encode(), hashlib.sha256)
    # Integers avoid rounding: 1/1 is always selected, and the rest is as uniform as HMAC.
    return int.from_bytes(digest[:16]) * chance.draws < chance.hits << 128


def uniform_for_slot(secret: bytes, job: str, due: str) -> float:
    """Return a uniform number from 0 to below 1: always the same for the slot `due` of `job`."""
    return _uniform_draw(secret, _SHARE, job, due)


def uniform_for_label(secret: bytes, job: str, slot: str, label: str) -> float:
    """Return a uniform number from 0 to below 1: always the same for `label` at `slot` of `job`."""
    return _uniform_draw(secret, _DRAW, job, slot, label)


def _uniform_draw(secret: bytes, *about: str) -> float:
    digest = hmac.digest(secret, "\n".join(about).encode(), hashlib.sha256)
    return (int.from_bytes(digest[:8]) >> 11) / (1 << 53)  # as many bits as a float holds
