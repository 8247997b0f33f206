"""Schedules to instants: the same as Debian's cron, daylight saving included.

cronsim reckons by the clock on the wall, without a zone; wall_clock.py knows where that clock jumps and what Debian's
cron does there. This file puts them together, expands @words and refuses what cron itself would read differently, so
that a job means the same to both.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from heapq import merge
from itertools import groupby, islice
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from pi_appliance.core import durations, wall_clock
from pi_appliance.core.wall_clock import Span
from pi_appliance.model.schedule import AtBoot, Cron, Every, Schedule

WORDS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_RANGES = {"minute": "0-59", "hour": "0-23", "day-of-month": "1-31", "month": "1-12 or jan-dec"}
_RANGES["day-of-week"] = "0-7 or sun-sat, where 0 and 7 are Sunday"
_ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)
_END_OF_TIME = int(datetime(9999, 1, 1, tzinfo=UTC).timestamp())  # the last year there is may not exist in each zone
_SECOND = timedelta(seconds=1)


def parse(text: str) -> str:
    """Return the five fields of TEXT. Raises ValueError saying what is wrong, or what cron would read differently."""
    word = text.strip().lower()
    if word.startswith("@"):
        if word not in WORDS:
            raise ValueError(f"{text.strip()!r} is not a word cron knows: {', '.join(WORDS)}, @reboot")
        return WORDS[word]
    fields = text.split()
    if len(fields) != 5:
        raise ValueError(f"a cron expression has five fields (minute hour day month weekday), this has {len(fields)}")
    for name, field in zip(_RANGES, fields, strict=True):
        _refuse_what_cron_reads_differently(name, field)
    expression = " ".join(fields)
    try:
        next(CronSim(expression, _ANY_TIME))
    except CronSimError as error:
        name = str(error).removeprefix("Bad ")
        raise ValueError(f"bad {name} in {expression!r}: {_RANGES.get(name, 'five fields')}") from None
    except StopIteration:
        raise ValueError(f"{expression!r} never comes") from None
    return expression


def _refuse_what_cron_reads_differently(name: str, field: str) -> None:
    """Raise ValueError for forms that Debian's cron rejects or takes for something else (tried on cron 3.0pl1)."""
    if "#" in field or re.search(r"\bL\b|\dL|LW", field, re.IGNORECASE):
        raise ValueError(f"{name} {field!r}: cron knows neither # nor L")
    if "~" in field:
        raise ValueError(f"{name} {field!r}: Debian's cron reads a~b as a; use `chance:` to look less like a clock")
    if re.search(r"(?<![\d-])\d+/", field):
        raise ValueError(f"{name} {field!r}: cron does not know N/step; write a range, such as 5-59/15")
    for low, high in re.findall(r"(\w+)-(\w+)", field):
        if low.lower() == high.lower():
            raise ValueError(f"{name} {field!r}: a range from {low} to {low}; write {low}")


def slots(schedule: Schedule, after: datetime, zone: ZoneInfo) -> Iterator[datetime]:
    """Yield the instants after AFTER that SCHEDULE names in ZONE, in order, in UTC. AtBoot has none to foretell.

    In UTC, because two instants of one zone compare by the clock on the wall, which shows an hour twice in autumn.
    """
    first = _whole(after) + _SECOND
    match schedule:
        case Cron(expressions):
            yield from _each_once(merge(*(_forwards(each, first, zone) for each in expressions)))
        case Every(interval):
            # Whole seconds in whole numbers, so that no slot drifts.
            step = int(interval.total_seconds())
            for seconds in range(-(-int(first.timestamp()) // step) * step, _END_OF_TIME, step):
                yield datetime.fromtimestamp(seconds, UTC)
        case AtBoot():
            return


def slots_back(schedule: Schedule, before: datetime, zone: ZoneInfo) -> Iterator[datetime]:
    """Yield the same instants as `slots`, backwards: those not after BEFORE, the newest first, to the year 1970."""
    last = _whole(before)
    match schedule:
        case Cron(expressions):
            yield from _each_once(merge(*(_backwards(each, last, zone) for each in expressions), reverse=True))
        case Every(interval):
            step = int(interval.total_seconds())
            for seconds in range(int(last.timestamp()) // step * step, -1, -step):
                yield datetime.fromtimestamp(seconds, UTC)
        case AtBoot():
            return


def _forwards(expression: str, first: datetime, zone: ZoneInfo) -> Iterator[datetime]:
    """Yield the instants of EXPRESSION from FIRST on. cronsim reckons by the clock on the wall, without a zone."""
    fixed = is_fixed(expression)
    for span in wall_clock.spans(zone, first):
        if span.start >= first and _is_made_up_for(expression, span, fixed=fixed):
            yield span.start
        low, end = max(span.local(max(first, span.start)), span.begins(fixed=fixed)), span.local(span.end)
        for local in CronSim(expression, low - _SECOND):
            if local >= end:
                break
            yield span.instant(local)


def _backwards(expression: str, last: datetime, zone: ZoneInfo) -> Iterator[datetime]:
    """Yield the instants of EXPRESSION that are not after LAST, the newest first."""
    fixed = is_fixed(expression)
    for span in wall_clock.spans_back(zone, last):
        low, end = span.begins(fixed=fixed), span.local(min(last + _SECOND, span.end))
        for local in CronSim(expression, end, reverse=True):
            if local < low:
                break
            yield span.instant(local)
        if _is_made_up_for(expression, span, fixed=fixed):
            yield span.start


def is_fixed(expression: str) -> bool:
    """Answer whether EXPRESSION names its minute and its hour. It matters where the clock on the wall jumps."""
    minute, hour, *_ = expression.split()
    return not minute.startswith("*") and not hour.startswith("*")


def _is_made_up_for(expression: str, span: Span, *, fixed: bool) -> bool:
    left_out = span.made_up_from(fixed=fixed)
    return left_out is not None and next(CronSim(expression, left_out - _SECOND)) < span.local(span.start)


def _each_once(slots: Iterator[datetime]) -> Iterator[datetime]:
    return (slot for slot, _ in groupby(slots))


def _whole(instant: datetime) -> datetime:
    return instant.astimezone(UTC).replace(microsecond=0)


def last_slot(schedule: Schedule, now: datetime, zone: ZoneInfo, *, within: timedelta) -> datetime | None:
    """Return the latest slot not after NOW and not older than WITHIN."""
    slot = next(slots_back(schedule, now, zone), None)
    return slot if slot is not None and now - slot <= within else None


def due_name(slot: datetime) -> str:
    """Return the name of SLOT in the history: its instant in UTC, the same whatever the zone."""
    return slot.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def explain(schedule: Schedule) -> str:
    """Say SCHEDULE in words."""
    match schedule:
        case Cron(expressions):
            return "; ".join(CronSim(each, _ANY_TIME).explain() for each in expressions)
        case Every(interval):
            return f"Every {durations.render(interval)}, counted from midnight of 1970-01-01 UTC"
        case AtBoot():
            return "Once each time the machine starts"


def upcoming(schedule: Schedule, after: datetime, zone: ZoneInfo, count: int) -> list[datetime]:
    """Return the first COUNT slots after AFTER."""
    return list(islice(slots(schedule, after, zone), count))
