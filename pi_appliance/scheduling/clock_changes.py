"""Effects of daylight saving changes on a schedule: times that do not exist or occur twice."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

from pi_appliance.scheduling import cron, dst
from pi_appliance.scheduling.dst import Span
from pi_appliance.scheduling.model import Cron, Schedule

AHEAD = timedelta(days=548)
"""How far to search: 18 months, so that both changes of a year are always found."""
_MIDNIGHT = "00:00"
_SHOWN = 4  # times that are listed individually


@dataclass(frozen=True, slots=True)
class DstEffect:
    """Effect of a clock change: `what` happens to the times, and `so` how the job runs."""

    what: str
    so: str

    def __str__(self) -> str:
        """Return both parts."""
        return f"{self.what}; {self.so}"


def ahead(zone: ZoneInfo, now: datetime) -> Iterator[Span]:
    """Return the clock changes of `zone` in the next 18 months, as the spans they begin."""
    return dst.changes(zone, now, now + AHEAD)


def touched(change: Span) -> tuple[datetime, datetime]:
    """Return the local times that `change` skips or repeats: the first, and the end."""
    after = change.local(change.start)
    before = after - change.jump
    return min(before, after), max(before, after)


def effect(expression: str, change: Span) -> DstEffect | None:
    """Return the effect of `change` on `expression` in Debian's cron, or None without one."""
    low, high = touched(change)
    times = list(takewhile(lambda local: local < high, cron.times(expression, low)))
    if not times:
        return None
    many, fixed = len(times) > 1, cron.is_fixed(expression)
    listed = _list_times(times)
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
    """Return a line for each of the next two clock changes in `zone`, with its effect."""
    changes = list(islice(ahead(zone, now), 2))
    if not changes:
        return [f"In {zone.key} the clock is not changed within 18 months"]
    return [_change_line(schedule, change) for change in changes]


def day(change: Span) -> str:
    """Return the day of `change`, such as Sun 2027-03-28."""
    return f"{touched(change)[0]:%a %Y-%m-%d}"


def ends(change: Span) -> tuple[str, str]:
    """Return the local times before and after `change`, such as 02:00 and 03:00."""
    low, high = touched(change)
    earlier, later = f"{low:%H:%M}", _format_end(low, high)
    return (earlier, later) if change.jump > timedelta(0) else (later, earlier)


def _format_end(low: datetime, high: datetime) -> str:
    """Return the time `high` as seen from the day of `low`: midnight is 24:00."""
    if low.date() == high.date():
        return f"{high:%H:%M}"
    if high - low < timedelta(days=1) and f"{high:%H:%M}" == _MIDNIGHT:
        return "24:00"
    return f"{high:%a %Y-%m-%d %H:%M}"


def listed(words: Sequence[str], *, most: int = _SHOWN) -> str:
    """Join `words` with commas and "and". Beyond `most` words, the middle is left out."""
    if len(words) > most:
        return f"{', '.join(words[: most - 1])} … {words[-1]}"
    return " and ".join((*([", ".join(words[:-1])] if words[:-1] else ()), words[-1]))


def _change_line(schedule: Schedule, change: Span) -> str:
    before, after = ends(change)
    return f"{day(change)} the clock goes from {before} to {after}: {_describe_effects(schedule, change)}"


def _describe_effects(schedule: Schedule, change: Span) -> str:
    if not isinstance(schedule, Cron):
        return "nothing changes, its slots do not go by the clock on the wall"
    effects = [each for expression in schedule.expressions if (each := effect(expression, change))]
    return "; ".join(map(str, effects)) or "nothing changes"


def _list_times(times: Sequence[datetime]) -> str:
    return listed([f"{each:%H:%M}" for each in times]) + (f" ({len(times)} times)" if len(times) > _SHOWN else "")
