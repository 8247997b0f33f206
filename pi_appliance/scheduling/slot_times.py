"""The times of the slots of a schedule, with the daylight saving rules of Debian's cron.

Cron follows the local time. An entry that names its minute and hour is *fixed*. When the clock
goes forward, it runs at the change for the skipped times. When the clock goes back, it does not run
again for the repeated times. An entry whose minute or hour begins with * follows the local time.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from heapq import merge
from itertools import groupby, islice, pairwise, takewhile
from zoneinfo import ZoneInfo

from pi_appliance.scheduling.schedule import Cron, Every, Schedule, is_fixed, local_times, local_times_before

_DAY = 86_400  # seconds
_SECOND = timedelta(seconds=1)
# Limits of Debian's cron for a clock change: it catches up smaller ones. Its main loop adds the
# minute that has passed.
_MAX_WILDCARD_CATCH_UP = timedelta(minutes=4)
_MAX_FIXED_CATCH_UP = timedelta(minutes=179)
_MAX_SKIPPED_REPEAT = timedelta(minutes=180)
_YEARS = range(1970, 9900)  # date arithmetic fails at the end of the calendar
_END_OF_TIME = int(datetime(9999, 1, 1, tzinfo=UTC).timestamp())  # year 10000 is out of range


@dataclass(frozen=True, slots=True)
class OffsetSpan:
    """A span of constant UTC offset, at most a year, from `start` until before `end`, in UTC."""

    start: datetime
    end: datetime
    offset: timedelta
    """Local time minus UTC."""
    shift: timedelta
    """Change of the offset at `start`: negative if the clock goes back, 0 without a change."""

    def to_local(self, instant: datetime) -> datetime:
        """Return the local time at `instant`, without a zone."""
        return instant.replace(tzinfo=None) + self.offset

    def to_utc(self, local: datetime) -> datetime:
        """Return the instant in UTC at which the clock shows `local`."""
        return (local - self.offset).replace(tzinfo=UTC)

    def first_local_time(self, *, fixed: bool) -> datetime:
        """Return the local time from which entries run. Fixed entries skip the repeated times."""
        is_skipped = fixed and -_MAX_SKIPPED_REPEAT <= self.shift < timedelta(0)
        return self.to_local(self.start) - (self.shift if is_skipped else timedelta(0))

    def skipped_from(self, *, fixed: bool) -> datetime | None:
        """Return the first skipped local time that entries run for at `start`, or None."""
        longest = _MAX_FIXED_CATCH_UP if fixed else _MAX_WILDCARD_CATCH_UP
        return self.to_local(self.start) - self.shift if timedelta(0) < self.shift <= longest else None


def offset_spans(zone: ZoneInfo, first: datetime) -> Iterator[OffsetSpan]:
    """Yield the spans of `zone` from the one that contains `first`. They start in 1970."""
    for year in range(max(first.year, _YEARS.start), _YEARS.stop):
        yield from (span for span in _year_spans(zone, year) if span.end > first)


def clock_changes(zone: ZoneInfo, first: datetime, end: datetime) -> Iterator[OffsetSpan]:
    """Return the spans of `zone` that begin with a change, from `first` until before `end`."""
    return (span for span in _spans_until(zone, first, end) if span.start >= first and span.shift)


def have_same_offsets(one: ZoneInfo, other: ZoneInfo, first: datetime, end: datetime) -> bool:
    """Return whether two zones show the same local time from `first` until before `end`."""
    offsets = [
        [(max(span.start, first), span.offset) for span in _spans_until(zone, first, end)] for zone in (one, other)
    ]
    return offsets[0] == offsets[1]


def fire_times(schedule: Schedule, after: datetime, zone: ZoneInfo) -> Iterator[datetime]:
    """Yield the times of `schedule` in `zone` after `after`, in order; none for `AtBoot`.

    The times are in UTC. Python compares two times of one zone by their clock time, which occurs
    twice when the clock goes back.
    """
    first = _whole_seconds(after) + _SECOND
    if isinstance(schedule, Cron):
        yield from _drop_repeats(merge(*(_times_forward(each, first, zone) for each in schedule.expressions)))
    elif isinstance(schedule, Every):
        step = int(schedule.interval.total_seconds())  # integers, so that the times do not drift
        for seconds in range(-(-int(first.timestamp()) // step) * step, _END_OF_TIME, step):
            yield datetime.fromtimestamp(seconds, UTC)


def fire_times_before(schedule: Schedule, before: datetime, zone: ZoneInfo) -> Iterator[datetime]:
    """Yield the times of `fire_times` that are not after `before`, the newest first, to 1970."""
    last = _whole_seconds(before)
    if isinstance(schedule, Cron):
        times = (_times_backward(each, last, zone) for each in schedule.expressions)
        yield from _drop_repeats(merge(*times, reverse=True))
    elif isinstance(schedule, Every):
        step = int(schedule.interval.total_seconds())
        for seconds in range(int(last.timestamp()) // step * step, -1, -step):
            yield datetime.fromtimestamp(seconds, UTC)


def next_slots(schedule: Schedule, after: datetime, zone: ZoneInfo, count: int) -> list[datetime]:
    """Return the first `count` slots after `after`."""
    return list(islice(fire_times(schedule, after, zone), count))


def last_slot(schedule: Schedule, now: datetime, zone: ZoneInfo, *, within: timedelta) -> datetime | None:
    """Return the latest slot not after `now` and not older than `within`."""
    slot = next(fire_times_before(schedule, now, zone), None)
    return slot if slot is not None and now - slot <= within else None


def format_slot(slot: datetime) -> str:
    """Return the key of `slot` in the history: its instant in UTC."""
    return slot.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _times_forward(expression: str, first: datetime, zone: ZoneInfo) -> Iterator[datetime]:
    fixed = is_fixed(expression)
    for span in offset_spans(zone, first):
        if span.start >= first and _runs_at_change(expression, span, fixed=fixed):
            yield span.start
        low = max(span.to_local(max(first, span.start)), span.first_local_time(fixed=fixed))
        end = span.to_local(span.end)
        yield from map(span.to_utc, takewhile(lambda local: local < end, local_times(expression, low)))  # noqa: B023


def _times_backward(expression: str, last: datetime, zone: ZoneInfo) -> Iterator[datetime]:
    fixed = is_fixed(expression)
    for span in _spans_before(zone, last):
        low, end = span.first_local_time(fixed=fixed), span.to_local(min(last + _SECOND, span.end))
        yield from map(span.to_utc, takewhile(lambda local: local >= low, local_times_before(expression, end)))  # noqa: B023
        if _runs_at_change(expression, span, fixed=fixed):
            yield span.start


def _runs_at_change(expression: str, span: OffsetSpan, *, fixed: bool) -> bool:
    """Return whether `expression` runs at the start of `span` for times that were skipped."""
    skipped = span.skipped_from(fixed=fixed)
    return skipped is not None and next(local_times(expression, skipped)) < span.to_local(span.start)


def _drop_repeats(slots: Iterator[datetime]) -> Iterator[datetime]:
    return (slot for slot, _ in groupby(slots))


def _whole_seconds(instant: datetime) -> datetime:
    return instant.astimezone(UTC).replace(microsecond=0)


def _spans_before(zone: ZoneInfo, last: datetime) -> Iterator[OffsetSpan]:
    """Yield the spans of `zone` in reverse order, from the one that contains `last` to 1970."""
    for year in range(min(last.year, _YEARS.stop - 1), _YEARS.start - 1, -1):
        yield from (span for span in reversed(_year_spans(zone, year)) if span.start <= last)


def _spans_until(zone: ZoneInfo, first: datetime, end: datetime) -> Iterator[OffsetSpan]:
    return takewhile(lambda span: span.start < end, offset_spans(zone, first))


@lru_cache(maxsize=256)
def _year_spans(zone: ZoneInfo, year: int) -> tuple[OffsetSpan, ...]:
    """Return the spans of a year. zoneinfo does not expose its rules, so each day is checked."""
    low, high = (int(datetime(each, 1, 1, tzinfo=UTC).timestamp()) for each in (year, year + 1))
    edges = [low]
    for morning in range(low, high, _DAY):
        edges += [edge for edge in _offset_changes(zone, morning, morning + _DAY) if edge < high]
    return tuple(
        OffsetSpan(
            datetime.fromtimestamp(start, UTC),
            datetime.fromtimestamp(end, UTC),
            _utc_offset(zone, start),
            _utc_offset(zone, start) - _utc_offset(zone, start - 1),
        )
        for start, end in pairwise([*edges, high])
    )


def _offset_changes(zone: ZoneInfo, low: int, high: int) -> Iterator[int]:
    """Yield the seconds after `low`, up to `high`, at which the offset changes."""
    while (offset := _utc_offset(zone, low)) != _utc_offset(zone, high):
        changed = high
        while changed - low > 1:
            middle = (low + changed) // 2
            low, changed = (middle, changed) if _utc_offset(zone, middle) == offset else (low, middle)
        yield changed
        low = changed


def _utc_offset(zone: ZoneInfo, second: int) -> timedelta:
    return datetime.fromtimestamp(second, zone).utcoffset() or timedelta(0)
