"""How loud it may be: the rule of the volume policy, at a moment and for the time to come."""

from datetime import datetime, time, timedelta
from itertools import takewhile
from zoneinfo import ZoneInfo

from pi_appliance.core import wall_clock
from pi_appliance.model.config import QuietHours, VolumePolicy

LOUDEST = 100
_AHEAD = timedelta(days=9)
"""How far a change is looked for: quiet hours may hold on one day of the week, and the clock may leave that one out."""


def allowed(policy: VolumePolicy | None, local: datetime) -> int:
    """Return the loudest that is allowed, 0 to 100, where the clock on the wall shows LOCAL."""
    if policy is None:
        return LOUDEST
    return min([policy.maximum, *(hours.maximum for hours in policy.quiet if _holds(hours, local))])


def next_change(policy: VolumePolicy | None, now: datetime, zone: ZoneInfo) -> datetime | None:
    """Return the next instant after NOW, in UTC, from which something else is allowed in ZONE; None: no such comes.

    A change of the clock counts: it may jump into quiet hours, or out of them.
    """
    if policy is None or not policy.quiet:
        return None
    edges = sorted({edge for hours in policy.quiet for edge in (hours.from_, hours.to)})
    before = allowed(policy, now.astimezone(zone))
    for span in takewhile(lambda span: span.start < now + _AHEAD, wall_clock.spans(zone, now)):
        for instant in _looked_at(span, now, edges):
            if allowed(policy, span.local(instant)) != before:
                return instant
    return None


def _looked_at(span: wall_clock.Span, now: datetime, edges: list[time]) -> list[datetime]:
    """Return the instants of SPAN after NOW at which quiet hours may begin or end, in their order."""
    low, high = max(span.start, now), min(span.end, now + _AHEAD)
    first = span.local(low).date()
    days = (first + timedelta(days=number) for number in range((span.local(high).date() - first).days + 1))
    found = [span.start, *(span.instant(datetime.combine(day, edge)) for day in days for edge in edges)]
    return sorted(instant for instant in found if now < instant and span.start <= instant < high)


def _holds(hours: QuietHours, local: datetime) -> bool:
    shown = local.time().replace(tzinfo=None)
    today = local.isoweekday() % 7
    if hours.from_ < hours.to:
        return hours.from_ <= shown < hours.to and today in hours.days
    yesterday = (today - 1) % 7
    return (shown >= hours.from_ and today in hours.days) or (shown < hours.to and yesterday in hours.days)
