"""Debian's cron 3.0pl1 in a few lines: the parser of an entry, and the main loop, minute by minute.

An oracle for tests. It shares nothing with pi_appliance and knows no cronsim: the fields are read letter by letter as
entry.c reads them, and the loop keeps a virtual clock as main() does. Its thresholds and its silences (`mon#1`, `0~30`,
`22-2`) were compared with the program of Debian 12, 3.0pl1-162.
"""

import string
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import product
from zoneinfo import ZoneInfo

MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun"]
FIELDS = ((0, 59, []), (0, 23, []), (1, 31, []), (1, 12, MONTHS), (0, 7, DAYS))
ALPHANUMERIC = string.ascii_letters + string.digits


class BadEntry(Exception):
    """Cron does not load the line."""


@dataclass(frozen=True)
class Entry:
    """One line of a crontab: the values of each field, and cron's flags for how it was written."""

    minutes: frozenset[int]
    hours: frozenset[int]
    dates: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    """0 is Sunday, and so is 7."""
    wild: bool
    """MIN_STAR or HR_STAR: the minute or the hour begins with a star."""
    both: bool
    """DOM_STAR or DOW_STAR: date and weekday must both fit. Else either is enough."""

    def on(self, day: date) -> bool:
        """Return whether the entry matches `day`."""
        by_date, by_weekday = day.day in self.dates, day.isoweekday() % 7 in self.weekdays
        return day.month in self.months and ((by_date and by_weekday) if self.both else (by_date or by_weekday))

    def at(self, local: datetime) -> bool:
        """Return whether the entry matches the minute `local`."""
        return local.minute in self.minutes and local.hour in self.hours and self.on(local.date())

    def times(self, first: datetime, end: datetime) -> Iterator[datetime]:
        """Yield the matching local minutes from `first` until before `end`, on a steady clock."""
        of_a_day = sorted(product(self.hours, self.minutes))
        for number in range((end - first).days + 2):
            day = first.date() + timedelta(days=number)
            for hour, minute in of_a_day if self.on(day) else ():
                if first <= (local := datetime(day.year, day.month, day.day, hour, minute)) < end:  # noqa: DTZ001
                    yield local


def read(line: str) -> Entry:
    """Read five fields. Raises `BadEntry` where cron reports `bad minute` and the like."""
    words = line.split()
    if len(words) != 5:
        raise BadEntry("five fields")
    sets = [_field(word, *bounds) for word, bounds in zip(words, FIELDS, strict=True)]
    weekdays = sets[4] | ({0, 7} if sets[4] & {0, 7} else set())
    stars = [word.startswith("*") for word in words]
    return Entry(*map(frozenset, (*sets[:4], weekdays)), wild=stars[0] or stars[1], both=stars[2] or stars[4])


def _field(word: str, low: int, high: int, names: list[str]) -> set[int]:
    """Read one field: ranges with commas between. Text after the last range is ignored."""
    named, at = set[int](), 0
    while True:
        result, at = _range(word, at, low, high, names)
        named |= result
        if word[at : at + 1] != ",":
            return named
        at += 1


def _range(word: str, at: int, low: int, high: int, names: list[str]) -> tuple[set[int], int]:
    if word[at : at + 1] == "*":
        first, last, at = low, high, at + 1
    else:
        first, at = _number(word, at, low, names)
        if word[at : at + 1] == "/":
            raise BadEntry("a step wants a range")
        if word[at : at + 1] != "-":
            return {_within(first, low, high)}, at
        last, at = _number(word, at + 1, low, names)
        _within(first, low, high), _within(last, low, high)
    step = 1
    if word[at : at + 1] == "/":
        step, at = _number(word, at + 1, 0, [])
        if not step:
            raise BadEntry("a step of nothing")
    return set(range(first, last + 1, step)), at  # empty if the range runs backwards: the entry never fires


def _number(word: str, at: int, low: int, names: list[str]) -> tuple[int, int]:
    end = at
    while end < len(word) and word[end] in ALPHANUMERIC:
        end += 1
    text = word[at:end].lower()
    if text in names:
        return names.index(text) + low, end
    if not text.isdigit():
        raise BadEntry(f"{text!r} is no number")
    return int(text), end


def _within(number: int, low: int, high: int) -> int:
    if not low <= number <= high:
        raise BadEntry(f"{number} is not from {low} to {high}")
    return number


Minutes = list[tuple[datetime, int]]
"""Instants in UTC, a minute apart, and what the clock on the wall shows then, in minutes since 1970."""


def clock(zone: ZoneInfo, first: datetime, end: datetime) -> Minutes:
    """Return every minute from `first` until before `end` with the local time of `zone`."""
    count = int((end - first).total_seconds()) // 60
    instants = [first + timedelta(minutes=number) for number in range(count)]
    return [(each, int(each.timestamp() + _offset(each, zone)) // 60) for each in instants]


def _offset(instant: datetime, zone: ZoneInfo) -> float:
    return (instant.astimezone(zone).utcoffset() or timedelta(0)).total_seconds()


def fired(entry: Entry, minutes: Minutes) -> list[datetime]:
    """Run cron's main loop through `minutes` and return when it starts `entry`."""
    started = []
    virtual = minutes[0][1] - 1
    for instant, shown in minutes:
        late = shown - virtual
        if late == 1 or late > 180 or late < -179:  # the normal case; or a large step, after which cron starts again
            virtual = shown
            due = entry.at(_wall(virtual))
        elif late <= 0:  # moved back: wildcards continue, the others have already run
            due = entry.wild and entry.at(_wall(shown))
        elif late <= 5:  # woke late: every minute in between
            due = any(entry.at(_wall(each)) for each in range(virtual + 1, shown + 1))
            virtual = shown
        else:  # moved forward: wildcards for now, the others for every skipped minute
            passed = (shown,) if entry.wild else range(virtual + 1, shown + 1)
            due = any(entry.at(_wall(each)) for each in passed)
            virtual = shown
        if due:
            started.append(instant)
    return started


def _wall(minute: int) -> datetime:
    return datetime.fromtimestamp(minute * 60, UTC)
