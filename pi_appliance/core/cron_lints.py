"""Cron expressions that are right and yet do not do what they look like: what they do, and what says it better."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from pi_appliance.core import clock_changes, cron_expression
from pi_appliance.core.cron_expression import EVERY_NTH, LENGTHS, Fields, fields

Lint = tuple[str, str]
"""What is odd, and what would be better."""
_MONTHS = ("", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FEBRUARY, _LEAP_DAY, _SHORTEST = 2, 29, 28


def lints(expression: str) -> Iterator[Lint]:
    """Yield what is odd about EXPRESSION, which `cron_expression.parse` took, whatever the zone."""
    yield from _uneven_steps(expression)
    yield from _two_kinds_of_day(expression)
    yield from _days_some_months_lack(expression)


def change_lints(expression: str, zone: ZoneInfo, now: datetime) -> Iterator[Lint]:
    """Yield what the next changes of the clock in ZONE do to an EXPRESSION that names its hour; one at the most."""
    changes = list(clock_changes.ahead(zone, now))
    if not changes or expression.split()[1].startswith("*"):
        return  # one that runs hour by hour is not meant for an hour of its own
    if cron_expression.is_fixed(expression) and (full := _full(expression)):
        wrong = f"{full} is not * to cron: where the clock is put back it does not run in the hour that comes again"
        yield wrong, f"write * to have it run whenever the clock shows it: {expression.replace(full, '*', 1)!r}"
        return
    told: dict[bool, str] = {}  # the first change each way
    for change in changes:
        if found := clock_changes.effect(expression, change):
            told.setdefault(change.jump > timedelta(0), f"on {clock_changes.day(change)} {found.what}, {found.so}")
    if told:
        yield f"in {zone.key} {'; '.join(told.values())}", "write another time if that matters"


def _uneven_steps(expression: str) -> Iterator[Lint]:
    minute, hour, date, month, weekday = expression.split()
    read = fields(expression)
    for field, named, length, unit, whole in (
        (minute, read.minutes, 60, "minute", "hour"),
        (hour, read.hours, 24, "hour", "day"),
    ):
        if (step := _step(field)) and length % step:
            right = f"write a step that divides {length}; for even gaps: every {step}{unit[0]}"
            yield f"{field} means {unit} {_listed(named)} of each {whole}, not every {step} {unit}s", right
    if (step := _step(date)) and step > 1:
        wrong = f"{date} means day {_listed(read.days)} of each month, and then the 1st again"
        yield wrong, f"write the days; for even gaps: every {step}d"
    if (step := _step(month)) and 12 % step:
        wrong = f"{month} means {', '.join(_MONTHS[each] for each in sorted(read.months))} of each year"
        yield wrong, "write a step that divides 12, or the months"
    if (step := _step(weekday)) and step > 1:
        wrong = f"{weekday} means {_weekdays(read)} of each week, not every {step} days"
        yield wrong, "write the days, such as mon,wed,fri"


def _two_kinds_of_day(expression: str) -> Iterator[Lint]:
    minute, hour, date, month, weekday = expression.split()
    read = fields(expression)
    all_dates, all_weekdays = len(read.days) == 31, len({each % 7 for each in read.weekdays}) == 7
    if cron_expression.takes_either_day(expression):
        if all_dates != all_weekdays:
            full = date if all_dates else weekday
            yield f"{full} is not * to cron, and either day is enough: it runs every day", f"write * for {full}"
        elif not all_dates:
            right = f'to say so, write ["{minute} {hour} {date} {month} *", "{minute} {hour} * {month} {weekday}"]'
            yield f"cron takes either day: day {_listed(read.days)} of a month, and each {_weekdays(read)}", right
    elif not all_dates and not all_weekdays:
        starred, plain = (date, f"1-31{date[1:]}") if date.startswith("*") else (weekday, f"0-6{weekday[1:]}")
        wrong = f"{date} and {weekday} must both fit, for {starred} begins with *"
        yield wrong, f"if either day is enough, write {plain} for {starred}"


def _days_some_months_lack(expression: str) -> Iterator[Lint]:
    read = fields(expression)
    written = {int(part) for part in expression.split()[2].split(",") if part.isdigit()}
    day = max(written, default=0)
    if day <= _SHORTEST or _SHORTEST in read.days:  # with the 28th in it, it is meant for the last days of a month
        return
    right = "the last day that every month has is the 28th"
    if lacking := [_MONTHS[each] for each in sorted(read.months) if LENGTHS[each] < day]:
        yield f"there is no day {day} in {', '.join(lacking)}: it does not run then", right
    elif day == _LEAP_DAY and _FEBRUARY in read.months:
        yield f"there is a day {day} in feb in leap years only", right


def _step(field: str) -> int | None:
    found = EVERY_NTH.fullmatch(field)
    return int(found[1]) if found else None


def _full(expression: str) -> str:
    """Return the first of the minute and the hour that names all there are without a star; empty if neither does."""
    minute, hour, *_ = expression.split()
    read = fields(expression)
    return minute if len(read.minutes) == 60 else hour if len(read.hours) == 24 else ""


def _listed(numbers: frozenset[int]) -> str:
    return clock_changes.listed([str(each) for each in sorted(numbers)])


def _weekdays(read: Fields) -> str:
    return ", ".join(_DAYS[each] for each in sorted({each % 7 for each in read.weekdays}))
