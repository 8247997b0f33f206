"""The clock on the wall: in which spans of time it goes evenly, and what a jump of it means to Debian's cron.

Cron goes by the minutes that the clock shows. Where the clock is put forward, an entry that names its minute and its
hour (a *fixed* one) runs at the jump for the times left out; where the clock is put back, it does not run again for
the times that come twice. An entry whose minute or hour begins with * (a *wildcard*) runs by what the clock shows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import pairwise, takewhile
from zoneinfo import ZoneInfo

_DAY = 86_400
# What cron's main loop tells apart, in terms of the jump: it counts a minute more, the one that passed anyway.
_WOKE_LATE = timedelta(minutes=4)
_MADE_UP_FOR = timedelta(minutes=179)
_NOT_AGAIN = timedelta(minutes=180)
_YEARS = range(1970, 9900)  # before: nobody's slots; after: close to the end of the calendar nothing can be reckoned


@dataclass(frozen=True, slots=True)
class Span:
    """A time in which the clock goes evenly: from `start` until just before `end`, both in UTC; a year at the most."""

    start: datetime
    end: datetime
    offset: timedelta
    """What the clock shows more than UTC."""
    jump: timedelta
    """How far the clock is put forward at `start`: less than 0 if it is put back, 0 if nothing happens there."""

    def local(self, instant: datetime) -> datetime:
        """Return what the clock shows at INSTANT, without a zone."""
        return instant.replace(tzinfo=None) + self.offset

    def instant(self, local: datetime) -> datetime:
        """Return when the clock shows LOCAL, in UTC."""
        return (local - self.offset).replace(tzinfo=UTC)

    def begins(self, *, fixed: bool) -> datetime:
        """Return the local time from which entries run: fixed ones not again by what the clock has shown before."""
        shown = self.local(self.start)
        return shown - self.jump if fixed and -_NOT_AGAIN <= self.jump < timedelta(0) else shown

    def made_up_from(self, *, fixed: bool) -> datetime | None:
        """Return the first local time of those left out that entries run for at `start`; None: for none of them."""
        longest = _MADE_UP_FOR if fixed else _WOKE_LATE
        return self.local(self.start) - self.jump if timedelta(0) < self.jump <= longest else None


def spans(zone: ZoneInfo, first: datetime) -> Iterator[Span]:
    """Yield the spans of ZONE, from the one that holds FIRST on. Those before 1970 are left out."""
    for year in range(max(first.year, _YEARS.start), _YEARS.stop):
        for span in _spans_of(zone, year):
            if span.end > first:
                yield span


def spans_back(zone: ZoneInfo, last: datetime) -> Iterator[Span]:
    """Yield the spans of ZONE backwards, from the one that holds LAST to 1970."""
    for year in range(min(last.year, _YEARS.stop - 1), _YEARS.start - 1, -1):
        for span in reversed(_spans_of(zone, year)):
            if span.start <= last:
                yield span


def changes(zone: ZoneInfo, first: datetime, end: datetime) -> Iterator[Span]:
    """Return the spans of ZONE that begin with a jump, from FIRST until before END."""
    return (span for span in _until(zone, first, end) if span.start >= first and span.jump)


def agree(one: ZoneInfo, other: ZoneInfo, first: datetime, end: datetime) -> bool:
    """Answer whether the clocks of two zones show the same from FIRST until before END."""
    shown = [[(max(span.start, first), span.offset) for span in _until(zone, first, end)] for zone in (one, other)]
    return shown[0] == shown[1]


def _until(zone: ZoneInfo, first: datetime, end: datetime) -> Iterator[Span]:
    return takewhile(lambda span: span.start < end, spans(zone, first))


@lru_cache(maxsize=256)
def _spans_of(zone: ZoneInfo, year: int) -> tuple[Span, ...]:
    """Return the spans of a year. A zone keeps its rules to itself, so each day is asked, and the jump looked for."""
    low, high = (int(datetime(each, 1, 1, tzinfo=UTC).timestamp()) for each in (year, year + 1))
    edges = [low]
    for morning in range(low, high, _DAY):
        edges += [edge for edge in _jumps(zone, morning, morning + _DAY) if edge < high]
    return tuple(
        Span(_instant(start), _instant(end), _offset(zone, start), _offset(zone, start) - _offset(zone, start - 1))
        for start, end in pairwise([*edges, high])
    )


def _jumps(zone: ZoneInfo, low: int, high: int) -> Iterator[int]:
    """Yield the seconds after LOW, up to HIGH, at which the offset becomes another."""
    while (offset := _offset(zone, low)) != _offset(zone, high):
        still, other = low, high
        while other - still > 1:
            middle = (still + other) // 2
            still, other = (middle, other) if _offset(zone, middle) == offset else (still, middle)
        yield other
        low = other


def _offset(zone: ZoneInfo, second: int) -> timedelta:
    return datetime.fromtimestamp(second, zone).utcoffset() or timedelta(0)


def _instant(second: int) -> datetime:
    return datetime.fromtimestamp(second, UTC)
