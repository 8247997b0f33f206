"""Daylight saving: spans of a constant UTC offset, and the handling of changes in Debian's cron.

Cron follows the local time. An entry that names its minute and hour is called *fixed*. When the
clock goes forward, it runs at the change for the skipped times. When the clock goes back, it does
not run again for the repeated times. An entry whose minute or hour begins with * is a *wildcard*
and follows the local time.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import pairwise, takewhile
from zoneinfo import ZoneInfo

_DAY = 86_400
# Limits of cron's main loop for a change of the clock. Cron adds the minute that has passed.
_WOKE_LATE = timedelta(minutes=4)
_MADE_UP_FOR = timedelta(minutes=179)
_NOT_AGAIN = timedelta(minutes=180)
_YEARS = range(1970, 9900)  # date arithmetic fails near the end of the calendar


@dataclass(frozen=True, slots=True)
class Span:
    """A span of constant offset from `start` until before `end`, in UTC, up to a year."""

    start: datetime
    end: datetime
    offset: timedelta
    """Local time minus UTC."""
    jump: timedelta
    """Change of the offset at `start`: negative if the clock goes back, 0 without a change."""

    def local(self, instant: datetime) -> datetime:
        """Return the local time at `instant`, without a zone."""
        return instant.replace(tzinfo=None) + self.offset

    def instant(self, local: datetime) -> datetime:
        """Return the instant of the time `local`, in UTC."""
        return (local - self.offset).replace(tzinfo=UTC)

    def begins(self, *, fixed: bool) -> datetime:
        """Return the local time from which entries run. Fixed ones skip repeated times."""
        local_start = self.local(self.start)
        return local_start - self.jump if fixed and -_NOT_AGAIN <= self.jump < timedelta(0) else local_start

    def made_up_from(self, *, fixed: bool) -> datetime | None:
        """Return the first skipped local time that entries run for at `start`, or None."""
        longest = _MADE_UP_FOR if fixed else _WOKE_LATE
        return self.local(self.start) - self.jump if timedelta(0) < self.jump <= longest else None


def spans(zone: ZoneInfo, first: datetime) -> Iterator[Span]:
    """Yield the spans of `zone`, from the one that contains `first`. They start in 1970."""
    for year in range(max(first.year, _YEARS.start), _YEARS.stop):
        for span in _spans_of(zone, year):
            if span.end > first:
                yield span


def spans_back(zone: ZoneInfo, last: datetime) -> Iterator[Span]:
    """Yield the spans of `zone` in reverse order, from the one that contains `last` to 1970."""
    for year in range(min(last.year, _YEARS.stop - 1), _YEARS.start - 1, -1):
        for span in reversed(_spans_of(zone, year)):
            if span.start <= last:
                yield span


def changes(zone: ZoneInfo, first: datetime, end: datetime) -> Iterator[Span]:
    """Return the spans of `zone` that begin with a change, from `first` until before `end`."""
    return (span for span in _spans_until(zone, first, end) if span.start >= first and span.jump)


def agree(one: ZoneInfo, other: ZoneInfo, first: datetime, end: datetime) -> bool:
    """Return whether two zones show the same local time from `first` until before `end`."""
    offsets = [
        [(max(span.start, first), span.offset) for span in _spans_until(zone, first, end)] for zone in (one, other)
    ]
    return offsets[0] == offsets[1]


def _spans_until(zone: ZoneInfo, first: datetime, end: datetime) -> Iterator[Span]:
    return takewhile(lambda span: span.start < end, spans(zone, first))


@lru_cache(maxsize=256)
def _spans_of(zone: ZoneInfo, year: int) -> tuple[Span, ...]:
    """Return the spans of a year. zoneinfo does not expose its rules, so each day is checked."""
    low, high = (int(datetime(each, 1, 1, tzinfo=UTC).timestamp()) for each in (year, year + 1))
    edges = [low]
    for morning in range(low, high, _DAY):
        edges += [edge for edge in _offset_changes(zone, morning, morning + _DAY) if edge < high]
    return tuple(
        Span(
            _from_timestamp(start),
            _from_timestamp(end),
            _utc_offset(zone, start),
            _utc_offset(zone, start) - _utc_offset(zone, start - 1),
        )
        for start, end in pairwise([*edges, high])
    )


def _offset_changes(zone: ZoneInfo, low: int, high: int) -> Iterator[int]:
    """Yield the seconds after `low`, up to `high`, at which the offset changes."""
    while (offset := _utc_offset(zone, low)) != _utc_offset(zone, high):
        still, other = low, high
        while other - still > 1:
            middle = (still + other) // 2
            still, other = (middle, other) if _utc_offset(zone, middle) == offset else (still, middle)
        yield other
        low = other


def _utc_offset(zone: ZoneInfo, second: int) -> timedelta:
    return datetime.fromtimestamp(second, zone).utcoffset() or timedelta(0)


def _from_timestamp(second: int) -> datetime:
    return datetime.fromtimestamp(second, UTC)
