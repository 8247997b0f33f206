"""Decide which slots of a job start, wait or are missed.

Slots are examined from the newest back. A slot within the misfire grace is on time. An older one
within the age of `catch-up` is run late. At most `max-runs` of both are started. The others are
recorded, one row a reason. For a job that cron starts, `slot_ledger.py` decides.
"""

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from pi_appliance.config import units
from pi_appliance.config.options import Job
from pi_appliance.scheduling import slot_times
from pi_appliance.scheduling.schedule import Schedule
from pi_appliance.storage.model import Outcome

MAX_COUNT = 200  # unused slots are counted up to this number only
SKIPPED_BY_USER = "skipped by a person"
"""The summary of a slot that a person skipped."""
_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class SlotStart:
    """A slot to start now. If it is `late`, it is a catch-up run, which need not start at once."""

    slot: datetime
    late: bool


@dataclass(frozen=True, slots=True)
class MissedSlots:
    """`count` unused slots from `first` to `last`, and the reason."""

    first: datetime
    last: datetime
    count: int
    outcome: Outcome
    reason: str


@dataclass(frozen=True, slots=True)
class SlotPlan:
    """The slots of one job to start and to record."""

    starts: list[SlotStart]  # oldest first
    missed: list[MissedSlots]
    until: datetime  # slots up to this time are accounted for afterwards
    wake: datetime | None  # when the next slot that waits for its jitter starts


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotHistory:
    """The facts that decide about a slot besides the clock."""

    used: Container[str]  # keys of slots claimed by a run
    reserved: Container[datetime]  # slots that are about to start, or wait for an active run
    is_selected: Callable[[str], bool]  # whether the chance selects the slot with this key
    jitter_share: Callable[[str], float]  # share of the jitter for the slot with this key, 0 to 1
    cause: str = ""  # why slots were missed, if that is known
    skipped: str | None = None  # the key of the slot that a person skips


@dataclass(slots=True)
class _Tally:
    """Counts the unused slots that have one reason, from the newest back."""

    outcome: Outcome
    reason: str
    first: datetime | None = None
    last: datetime | None = None
    count: int = 0

    def add(self, slot: datetime) -> None:
        self.first, self.last, self.count = slot, self.last or slot, self.count + 1

    def add_all(self, slot: datetime, first: datetime) -> None:
        """Add `slot` and all older ones down to `first`, without counting them."""
        self.add(slot)
        self.first, self.count = first, max(self.count, MAX_COUNT)

    def describe(self) -> str:
        """Return the beginning of a reason, such as "3 slots since …, the last one"."""
        assert self.first is not None
        if self.count == 1:
            return "its slot is"
        more = "more than " if self.count >= MAX_COUNT else ""
        return f"{more}{self.count} slots since {slot_times.format_slot(self.first)}, the last one"


def plan_slots(job: Job, zone: ZoneInfo, after: datetime, now: datetime, known: SlotHistory) -> SlotPlan:
    """Return the plan for the slots of `job` after `after` and up to `now`."""
    assert job.schedule is not None
    until, wake = now, None
    starts: list[SlotStart] = []
    by_chance = _Tally(Outcome.SKIPPED, f"by chance ({job.chance})")
    by_user = _Tally(Outcome.SKIPPED, SKIPPED_BY_USER)
    older, missed = _Tally(Outcome.SKIPPED, ""), _Tally(Outcome.SKIPPED, "")
    for slot in slot_times.fire_times_before(job.schedule, now, zone):
        if slot <= after:
            break
        if older.count + missed.count + by_chance.count // 20 >= MAX_COUNT:
            missed.add_all(slot, next(slot_times.fire_times(job.schedule, after, zone)))
            break
        key = slot_times.format_slot(slot)
        if key in known.used or _is_skipped(key, slot, known, by_user):
            continue
        if slot in known.reserved:
            until = slot - _TICK
            continue
        ready = slot + job.jitter * (known.jitter_share(key) if job.jitter else 0.0)
        if ready > now:
            until, wake = slot - _TICK, ready
            continue
        late = now - ready > job.misfire_grace
        if late and now - slot > job.catch_up.max_age:
            missed.add(slot)
        elif not known.is_selected(key):
            by_chance.add(slot)
        elif len(starts) < job.catch_up.max_runs:
            starts.append(SlotStart(slot, late))
        else:
            older.add(slot)
    starts.reverse()
    _set_older_reason(older, starts)
    _set_missed_reason(missed, job, now, starts, known.cause)
    return SlotPlan(starts, [*_nonempty_tallies(missed, older, by_chance, by_user)], until, wake)


def missed_slots(
    schedule: Schedule, zone: ZoneInfo, span: tuple[datetime, datetime], used: Container[str], why: tuple[Outcome, str]
) -> list[MissedSlots]:
    """Return the unused slots in `span`, without its first moment, as at most one entry."""
    after, until = span
    tally = _Tally(*why)
    for slot in slot_times.fire_times_before(schedule, until, zone):
        if slot <= after:
            break
        if tally.count >= MAX_COUNT:
            tally.add_all(slot, next(slot_times.fire_times(schedule, after, zone)))
            break
        if slot_times.format_slot(slot) not in used:
            tally.add(slot)
    return list(_nonempty_tallies(tally))


def _is_skipped(key: str, slot: datetime, known: SlotHistory, tally: _Tally) -> bool:
    """Return whether a person skips `slot`. If so, add it to `tally`."""
    if key == known.skipped:
        tally.add(slot)
    return key == known.skipped


def _set_older_reason(older: _Tally, starts: list[SlotStart]) -> None:
    if older.first is not None:
        newest = slot_times.format_slot(starts[-1].slot) if starts else "a newer slot"
        slots = f"{older.count} slots since {slot_times.format_slot(older.first)}: " if older.count > 1 else ""
        older.reason = f"{slots}{newest} runs instead"


def _set_missed_reason(missed: _Tally, job: Job, now: datetime, starts: list[SlotStart], cause: str) -> None:
    """Set the reason of the slots that are too old.

    They count as misfired, unless a newer slot starts or the job catches up.
    """
    if missed.last is None:
        return
    late = units.format_duration(timedelta(seconds=int((now - missed.last).total_seconds())))
    window = job.catch_up.max_age
    limit = f"window of {units.format_duration(window)}" if window else None
    limit = limit or f"grace of {units.format_duration(job.misfire_grace)}"
    instead = f"{slot_times.format_slot(starts[-1].slot)} runs instead" if starts else ""
    missed.reason = units.join_clauses(f"{missed.describe()} {late} late, more than its {limit}", cause, instead)
    if not starts and not window:
        missed.outcome = Outcome.MISFIRED


def _nonempty_tallies(*tallies: _Tally) -> Iterator[MissedSlots]:
    for each in tallies:
        if each.first is not None and each.last is not None:
            yield MissedSlots(each.first, each.last, each.count, each.outcome, each.reason)
