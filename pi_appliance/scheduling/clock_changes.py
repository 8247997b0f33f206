"""What a change of the clock does to a schedule, in words: the times left out, the times that come twice."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

from pi_appliance.scheduling import cron, dst
from pi_appliance.scheduling.dst import Span
from pi_appliance.scheduling.model import Cron, Schedule

AHEAD = timedelta(days=548)
"""How far changes are looked for: 18 months, so that both of a year are told whenever one asks."""
_MIDNIGHT = "00:00"
_SHOWN = 4  # times that are listed one by one


@dataclass(frozen=True, slots=True)
class DstEffect:
    """What a change of the clock does to an expression: `what` happens to its times, and `so` how it runs."""

    what: str
    so: str

    def __str__(self) -> str:
        """Return both."""
        return f"{self.what}; {self.so}"


def ahead(zone: ZoneInfo, now: datetime) -> Iterator[Span]:
    """Return the changes of the clock of ZONE in the next 18 months, as the spans that begin with them."""
    return dst.changes(zone, now, now + AHEAD)


def touched(change: Span) -> tuple[datetime, datetime]:
    """Return the local times that CHANGE leaves out or shows twice: the first of them, and the first after them."""
    after = change.local(change.start)
    before = after - change.jump
    return min(before, after), max(before, after)


def effect(expression: str, change: Span) -> DstEffect | None:
    """Say what CHANGE does to EXPRESSION, as Debian's cron does it; None: nothing."""
    low, high = touched(change)
    times = list(takewhile(lambda local: local < high, cron.times(expression, low)))
    if not times:
        return None
    many, fixed = len(times) > 1, cron.is_fixed(expression)
    listed = _listed(times)
    if change.jump > timedelta(0):
        what = f"{listed} {'do' if many else 'does'} not exist"
        if change.made_up_from(fixed=fixed) is None:
            return DstEffect(what, f"it does not run for {'them' if many else 'it'}")
        return DstEffect(what, f"it runs {'once for them, ' if many else ''}at {high:%H:%M}")
    what = f"{listed} {'come' if many else 'comes'} twice"
    if change.begins(fixed=fixed) < high:
        return DstEffect(what, "it runs both times")
    return DstEffect(what, f"it runs once{' for each' if many else ''}, the first time")


def lines(schedule: Schedule, zone: ZoneInfo, now: datetime) -> list[str]:
    """Return a line for each of the next two changes of the clock in ZONE: when, from what to what, what happens."""
    found = list(islice(ahead(zone, now), 2))
    if not found:
        return [f"In {zone.key} the clock is not changed within 18 months"]
    return [_line(schedule, change) for change in found]


def day(change: Span) -> str:
    """Return the day of CHANGE, such as Sun 2027-03-28."""
    return f"{touched(change)[0]:%a %Y-%m-%d}"


def ends(change: Span) -> tuple[str, str]:
    """Return what the clock shows as CHANGE comes, and what instead, such as 02:00 and 03:00."""
    low, high = touched(change)
    earlier, later = f"{low:%H:%M}", _later(low, high)
    return (earlier, later) if change.jump > timedelta(0) else (later, earlier)


def _later(low: datetime, high: datetime) -> str:
    """Return the time HIGH as one says it who speaks of the day of LOW: midnight is its 24:00."""
    if low.date() == high.date():
        return f"{high:%H:%M}"
    if high - low < timedelta(days=1) and f"{high:%H:%M}" == _MIDNIGHT:
        return "24:00"
    return f"{high:%a %Y-%m-%d %H:%M}"


def listed(words: Sequence[str], *, most: int = _SHOWN) -> str:
    """Return WORDS with commas and an `and`; of more than MOST the middle is left out."""
    if len(words) > most:
        return f"{', '.join(words[: most - 1])} … {words[-1]}"
    return " and ".join((*([", ".join(words[:-1])] if words[:-1] else ()), words[-1]))


def _line(schedule: Schedule, change: Span) -> str:
    before, after = ends(change)
    return f"{day(change)} the clock goes from {before} to {after}: {_happens(schedule, change)}"


def _happens(schedule: Schedule, change: Span) -> str:
    if not isinstance(schedule, Cron):
        return "nothing changes, its slots do not go by the clock on the wall"
    found = [each for expression in schedule.expressions if (each := effect(expression, change))]
    return "; ".join(map(str, found)) or "nothing changes"


def _listed(times: Sequence[datetime]) -> str:
    return listed([f"{each:%H:%M}" for each in times]) + (f" ({len(times)} times)" if len(times) > _SHOWN else "")
