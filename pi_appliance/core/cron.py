"""Schedules to instants: the same as Debian's cron, daylight saving included.

cronsim does the reckoning (it agrees with Debian's cron on expressions and on daylight saving); this file is the thin
front that expands @words and refuses what cron itself would read differently, so that a job means the same to both.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from heapq import merge
from itertools import islice
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from pi_appliance.core import durations
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
_LONGEST_BACK = timedelta(days=3660)  # ten years: 29 February comes at least every eight


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
    match schedule:
        case Cron(expressions):
            start = after.astimezone(zone)
            last = None
            for slot in merge(*(_in_utc(CronSim(each, start)) for each in expressions)):
                if slot != last:
                    yield slot
                last = slot
        case Every(interval):
            # Whole seconds in whole numbers, so that no slot drifts.
            step = int(interval.total_seconds())
            count = int(after.timestamp()) // step + 1
            while count * step < _END_OF_TIME:
                yield datetime.fromtimestamp(count * step, UTC)
                count += 1
        case AtBoot():
            return


def _in_utc(slots: Iterator[datetime]) -> Iterator[datetime]:
    return (slot.astimezone(UTC) for slot in slots)


def last_slot(schedule: Schedule, now: datetime, zone: ZoneInfo, *, within: timedelta) -> datetime | None:
    """Return the latest slot not after NOW and not older than WITHIN.

    Looked for further and further back, so that a grace of years costs nothing where slots are frequent.
    """
    within, back, found = min(within, _LONGEST_BACK), timedelta(hours=1), None
    while found is None:
        for slot in slots(schedule, now - min(back, within) - timedelta(microseconds=1), zone):
            if slot > now:
                break
            found = slot
        if back >= within:
            break
        back *= 8
    return found


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
