"""Handler of `jobs simulate`: the slots of any period with their results. Nothing is run."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from heapq import merge
from itertools import islice, takewhile
from typing import Annotated, TypedDict
from zoneinfo import ZoneInfo, available_timezones

from pi_appliance.config.options import Config, Job
from pi_appliance.errors import InvalidOption, UnknownName, suggest
from pi_appliance.json_schema import Instant
from pi_appliance.operations import Values
from pi_appliance.scheduling import explanation, missed_slots, slot_ledger, slot_times
from pi_appliance.scheduling.chance import is_selected, uniform_for_slot
from pi_appliance.scheduling.daemon_interface import Services
from pi_appliance.scheduling.schedule import AtBoot
from pi_appliance.scheduling.slot_times import OffsetSpan
from pi_appliance.storage.model import RunJson, iso_time, run_fields

_FORMATS = ("%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M", "%Y-%m-%d")
_YEARS = range(1970, 9000)
_TICK = timedelta(microseconds=1)
_MAX_COUNTED = 10_000  # slots counted beyond the limit: counting a year of seconds would take minutes


@dataclass(frozen=True, slots=True)
class _LocalTime:
    """A local time without a time zone, or a whole day."""

    local: datetime
    is_day: bool

    @classmethod
    def parse(cls, name: str, text: str) -> "_LocalTime":
        for form in _FORMATS:
            try:
                local = datetime.strptime(text.strip(), form)  # noqa: DTZ007 - its zone is another argument
            except ValueError:
                continue
            if local.year in _YEARS:
                return cls(local, form == _FORMATS[-1])
        raise InvalidOption(f"{name!r} must be a date such as 2027-03-28, not {text!r}")

    def start(self, zone: ZoneInfo) -> datetime:
        """Return the start of a period that begins at this time or day."""
        return self.local.replace(tzinfo=zone).astimezone(UTC)

    def end(self, zone: ZoneInfo) -> datetime:
        """Return the end of a period that includes this time or day.

        Of a time that the clock shows twice, it is the second one.
        """
        if self.is_day:
            return (self.local + timedelta(days=1)).replace(tzinfo=zone).astimezone(UTC)
        return self.local.replace(tzinfo=zone, fold=1).astimezone(UTC) + timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class _SimulatedSlot:
    """A slot at `at` in UTC, whether the chance selects it, and when it would start."""

    job: str
    at: datetime
    zone: ZoneInfo
    selected: bool
    starts_at: datetime

    @property
    def key(self) -> str:
        """The key of the slot in the database."""
        return slot_times.format_slot(self.at)


class SimulatedSlotJson(TypedDict):
    """A slot of a simulated period."""

    job: str
    slot: str
    local: Annotated[Instant, "the slot in the time zone of its job"]
    zone: str
    result: str
    starts_at: Annotated[Instant | None, "with the random delay; null if it does not start"]
    run: RunJson | None


class ClockChangeJson(TypedDict):
    """A clock change of a simulated period."""

    at: Instant
    day: str
    zone: str
    before: str
    after: str


SimulationJson = TypedDict(
    "SimulationJson",
    {
        "from": Instant,
        "to": Instant,
        "slots": list[SimulatedSlotJson],
        "changes": list[ClockChangeJson],
        "omitted": Annotated[int, "slots beyond the limit, counted up to 10,000"],
        "notes": list[str],
    },
)
"""The slots and clock changes of a period."""


async def simulate_slots(services: Services, values: Values) -> SimulationJson:
    """Return the slots of a period, its clock changes, and how many slots exceed the limit."""
    appliance = services.appliance
    start, end = _LocalTime.parse("from", values["from"]), _LocalTime.parse("to", values["to"])
    config = replace(appliance.config, time_zone=_parse_zone(values["zone"]) or appliance.config.time_zone)
    names = dict.fromkeys(values["job"] or ())
    jobs = [appliance.job(name) for name in names] or list(config.jobs.values())
    period = start.start(config.time_zone), end.end(config.time_zone)
    if period[0] >= period[1]:
        raise InvalidOption("'to' is before 'from'")
    # In a thread, because computing the slots of a long period takes seconds.
    slots, omitted, changes = await asyncio.to_thread(
        _simulate, config, jobs, period, values["limit"], appliance.secret
    )
    appliance.sweep()
    keys = (slots[0].key, slots[-1].key) if slots else ("", "")
    runs = {name: slot_ledger.load_run_index(appliance, name, *keys) for name in {slot.job for slot in slots}}
    skipped = {name: appliance.store.requests.skipped_slot(name) for name in runs}

    def convert(slot: _SimulatedSlot) -> SimulatedSlotJson:
        run = runs[slot.job].find(slot.key)
        if run:
            result = "used"
        elif skipped[slot.job] == slot.key:
            result = missed_slots.SKIPPED_BY_USER
        elif not slot.selected:
            result = "skipped by chance"
        else:
            result = "would have run" if slot.at < services.now() else "runs"
        return {
            "job": slot.job,
            "slot": slot.key,
            "local": slot.at.astimezone(slot.zone).isoformat(),
            "zone": slot.zone.key,
            "result": result,
            "starts_at": iso_time(slot.starts_at) if slot.selected and not run else None,
            "run": run_fields(run) if run else None,
        }

    return {
        "from": iso_time(period[0]),
        "to": iso_time(period[1]),
        "slots": [convert(slot) for slot in slots],
        "changes": [_change(change, zone) for change, zone in changes],
        "omitted": omitted,
        "notes": [note for job in jobs if names and (note := _missing_slots_note(job))],
    }


def _simulate(
    config: Config, jobs: Sequence[Job], period: tuple[datetime, datetime], limit: int, secret: bytes
) -> tuple[list[_SimulatedSlot], int, list[tuple[OffsetSpan, ZoneInfo]]]:
    """Return at most `limit` slots, how many more there are, and the clock changes meanwhile."""
    start, end = period
    coming = _simulate_jobs(config, jobs, start, end, secret=secret)
    slots = list(islice(coming, limit))
    omitted = sum(1 for _ in islice(coming, _MAX_COUNTED))
    zones = {config.zone_of(job).key: config.zone_of(job) for job in jobs if job.schedule}
    last = slots[-1].at if omitted else end
    return (
        slots,
        omitted,
        [(change, zone) for zone in zones.values() for change in slot_times.clock_changes(zone, start, last)],
    )


def _simulate_jobs(
    config: Config, jobs: Iterable[Job], first: datetime, end: datetime, *, secret: bytes
) -> Iterator[_SimulatedSlot]:
    """Yield the slots of `jobs` from `first` to before `end`, in order."""
    each = (_simulate_job(job, config.zone_of(job), first, end, secret) for job in jobs if job.schedule)
    return merge(*each, key=lambda slot: slot.at)


def _simulate_job(job: Job, zone: ZoneInfo, first: datetime, end: datetime, secret: bytes) -> Iterator[_SimulatedSlot]:
    assert job.schedule is not None
    for at in takewhile(lambda slot: slot < end, slot_times.fire_times(job.schedule, first - _TICK, zone)):
        due = slot_times.format_slot(at)
        selected = is_selected(job.chance, secret=secret, job=job.name, due=due)
        delay = job.jitter * uniform_for_slot(secret, job.name, due) if job.jitter else timedelta(0)
        yield _SimulatedSlot(job.name, at, zone, selected, at + delay)


def _parse_zone(name: str | None) -> ZoneInfo | None:
    """Return the time zone `name`. Raises UnknownName with the most similar name."""
    try:
        return ZoneInfo(name) if name is not None else None
    except (KeyError, ValueError, OSError):  # the zone is unknown, a path, or a folder such as "Europe"
        similar = suggest(str(name), tuple(available_timezones()))
        hint = similar if similar.startswith("did") else "write an IANA name such as Europe/London"
        raise UnknownName("time zone", str(name), (), hint) from None


def _change(change: OffsetSpan, zone: ZoneInfo) -> ClockChangeJson:
    before, after = explanation.format_change_times(change)
    return {
        "at": iso_time(change.start),
        "day": explanation.format_change_day(change),
        "zone": zone.key,
        "before": before,
        "after": after,
    }


def _missing_slots_note(job: Job) -> str:
    if job.schedule is None:
        return f"{job.name} has no schedule, so it has no slots"
    return (
        f"{job.name} runs when the machine starts, which has no fixed time" if isinstance(job.schedule, AtBoot) else ""
    )
