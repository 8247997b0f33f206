"""Schedules to instants: the same as Debian's cron, daylight saving included.

cron_expression.py follows the clock on the wall; wall_clock.py knows where that clock jumps and what cron does there.
This file puts them together, so that a job has the same instants by cron and by the daemon.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from heapq import merge
from itertools import groupby, islice
from zoneinfo import ZoneInfo

from pi_appliance.core import cron_expression, durations, wall_clock
from pi_appliance.core.wall_clock import Span
from pi_appliance.model.schedule import AtBoot, Cron, Every, Schedule

_END_OF_TIME = int(datetime(9999, 1, 1, tzinfo=UTC).timestamp())  # the last year there is may not exist in each zone
_SECOND = timedelta(seconds=1)


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
    """Yield the instants of EXPRESSION from FIRST on."""
    fixed = cron_expression.is_fixed(expression)
    for span in wall_clock.spans(zone, first):
        if span.start >= first and _is_made_up_for(expression, span, fixed=fixed):
            yield span.start
        low, end = max(span.local(max(first, span.start)), span.begins(fixed=fixed)), span.local(span.end)
        for local in cron_expression.times(expression, low):
            if local >= end:
                break
            yield span.instant(local)


def _backwards(expression: str, last: datetime, zone: ZoneInfo) -> Iterator[datetime]:
    """Yield the instants of EXPRESSION that are not after LAST, the newest first."""
    fixed = cron_expression.is_fixed(expression)
    for span in wall_clock.spans_back(zone, last):
        low, end = span.begins(fixed=fixed), span.local(min(last + _SECOND, span.end))
        for local in cron_expression.times_back(expression, end):
            if local < low:
                break
            yield span.instant(local)
        if _is_made_up_for(expression, span, fixed=fixed):
            yield span.start


def _is_made_up_for(expression: str, span: Span, *, fixed: bool) -> bool:
    left_out = span.made_up_from(fixed=fixed)
    return left_out is not None and next(cron_expression.times(expression, left_out)) < span.local(span.start)


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
            return "; ".join(map(cron_expression.in_words, expressions))
        case Every(interval):
            return f"Every {durations.render(interval)}, counted from midnight of 1970-01-01 UTC"
        case AtBoot():
            return "Once each time the machine starts"


def upcoming(schedule: Schedule, after: datetime, zone: ZoneInfo, count: int) -> list[datetime]:
    """Return the first COUNT slots after AFTER."""
    return list(islice(slots(schedule, after, zone), count))
