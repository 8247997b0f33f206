"""Accounting of slots: each slot is recorded exactly once, whether it ran or not."""

import contextlib
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from pi_appliance.config import units
from pi_appliance.config.options import Job, NotifyTargets
from pi_appliance.errors import UnknownName
from pi_appliance.scheduling import missed_slots, slot_times
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.scheduling.chance import is_selected, uniform_for_slot
from pi_appliance.scheduling.schedule import AtBoot, Cron, Every, dump_schedule, load_schedule
from pi_appliance.storage.history import AccountedSlots, ScheduleCursor, slot_key
from pi_appliance.storage.model import Outcome, Run, Trigger
from pi_appliance.system import clock

_TICK = timedelta(microseconds=1)
NEVER = datetime.max.replace(tzinfo=UTC)
_MAX_CRON_DELAY = timedelta(hours=4)  # lateness; cron itself catches up within three hours after a clock change
_SAVE_INTERVAL = timedelta(hours=1)  # after a restart, at most this time is checked again
_HISTORY_PART = timedelta(days=30)  # time that one query of the history covers
_WAITS = "waits for other runs to end"
_PAUSED = "paused"  # prefix of the summary of a slot that a pause left unused
_DEPENDENCY = "after:"  # prefix of the key that names the successful runs of dependencies


@dataclass(slots=True)
class CursorState:
    """The time up to which the slots of a job are accounted for, and the next check at `wake`."""

    until: datetime
    saved: datetime
    wake: datetime | None = None


class SlotLedger:
    """The slot accounting of one appliance, used by the daemon."""

    def __init__(self, appliance: Appliance) -> None:
        self.appliance = appliance
        self._cursors: dict[str, CursorState] = {}
        self.reserved: dict[str, set[datetime]] = {}
        """Slots that are about to start, or wait for an active run."""

    def get_cursor(self, job: Job, now: datetime) -> CursorState:
        """Return the cursor of `job`. A new job begins at `now`."""
        cursor = self._cursors.get(job.name)
        if cursor is None:
            cursor = self._cursors[job.name] = self._load_cursor(job, now)
        if cursor.until > now:  # the clock was set back: slots occur again, and their claims mark the used ones
            cursor.until, cursor.wake = now, None
            known = self.appliance.store.slots.cursors().get(job.name)
            if known is not None and known.since > now:
                self.appliance.store.slots.start_cursor(job.name, known.schedule, since=now)
        return cursor

    def is_idle(self, job: str, now: datetime) -> bool:
        """Return whether `job` needs no check at `now`."""
        known = self._cursors.get(job)
        return known is not None and known.until <= now and known.wake is not None and now < known.wake

    def rewind(self, job: str, slot: datetime, *, again: datetime) -> None:
        """Account for `slot` again, not before `again`. Its failure could not be saved."""
        cursor = self._cursors.get(job)
        if cursor is not None:
            cursor.until, cursor.wake = min(cursor.until, slot - _TICK), again

    def take_due_slots(self, job: Job, cursor: CursorState, now: datetime, cause: str) -> list[missed_slots.SlotStart]:
        """Record unused slots and return the slots to start. They are reserved until `release`.

        Raises:
            Unavailable: nothing was recorded.
        """
        assert job.schedule is not None
        zone, secret, store = self.appliance.config.zone_of(job), self.appliance.secret, self.appliance.store
        reserved = self._reserved_slots(job.name)
        known = missed_slots.SlotHistory(
            used=store.slots.claimed_slots(job.name, cursor.until, now),
            reserved=reserved,
            is_selected=lambda key: is_selected(job.chance, secret=secret, job=job.name, due=key),
            jitter_share=lambda key: uniform_for_slot(secret, job.name, key),
            cause=cause,
            skipped=store.requests.skipped_slot(job.name),
        )
        plan = missed_slots.plan_slots(job, zone, cursor.until, now, known)
        safe = min([plan.until, *(start.slot - _TICK for start in plan.starts)])
        self._record_missed(job, plan.missed, cursor, now, safe)
        if plan.starts and safe - cursor.saved > _SAVE_INTERVAL:
            store.slots.advance_cursor(job.name, safe)
            cursor.saved = safe
        cursor.until = plan.until
        if known.skipped is not None and known.skipped <= slot_times.format_slot(plan.until):
            store.requests.set_skipped_slot(job.name, None)
        reserved.update(start.slot for start in plan.starts)
        coming = next(slot_times.fire_times(job.schedule, now, zone), None)
        cursor.wake = min([each for each in (coming, plan.wake) if each], default=NEVER)
        return plan.starts

    def release(self, job: str, slot: datetime) -> None:
        """Release `slot`, which neither starts nor waits any more."""
        self._reserved_slots(job).discard(slot)

    def record_unused(self, job: Job, slot: datetime, outcome: Outcome, why: str, now: datetime) -> None:
        """Record that nothing was started for the reserved `slot`. Raises Unavailable."""
        cursor = self.get_cursor(job, now)
        waiting = self._reserved_slots(job.name) - {slot}
        safe = min([cursor.until, *(each - _TICK for each in waiting)])
        self._record_missed(job, [missed_slots.MissedSlots(slot, slot, 1, outcome, why)], cursor, now, safe)
        self.release(job.name, slot)

    def record_pause(self, job: Job, cursor: CursorState, until: datetime, why: str, now: datetime) -> None:
        """Record the slots of `job` up to `until` that a pause left unused. Raises Unavailable."""
        assert job.schedule is not None
        span = cursor.until, min(until, now)
        used = self.appliance.store.slots.claimed_slots(job.name, *span)
        zone = self.appliance.config.zone_of(job)
        missed = missed_slots.missed_slots(job.schedule, zone, span, used, (Outcome.SKIPPED, why))
        self._record_missed(job, missed, cursor, now, min(until, now))
        cursor.until, cursor.wake = max(cursor.until, min(until, now)), None
        self._reserved_slots(job.name).clear()

    def next_check(self) -> datetime | None:
        """Return the time of the next check of any job."""
        known = self.appliance.config.jobs
        return min((cursor.wake for job, cursor in self._cursors.items() if cursor.wake and job in known), default=None)

    def _reserved_slots(self, job: str) -> set[datetime]:
        """Return the reserved slots of `job`, after removing those that their run has claimed."""
        reserved = self.reserved.setdefault(job, set())
        reserved -= {
            slot for slot in reserved if self.appliance.store.is_claimed(slot_key(job, slot_times.format_slot(slot)))
        }
        return reserved

    def _record_missed(
        self, job: Job, missed: Sequence[missed_slots.MissedSlots], cursor: CursorState, now: datetime, safe: datetime
    ) -> None:
        if missed:
            entries = [_build_entry(self.appliance, job, Trigger.DAEMON, each) for each in missed]
            self.appliance.store.slots.record_unused(entries, now=now, until=safe)
            cursor.saved = safe

    def _load_cursor(self, job: Job, now: datetime) -> CursorState:
        assert job.schedule is not None
        slots, text = self.appliance.store.slots, dump_schedule(job.schedule, self.appliance.config.zone_of(job))
        known = slots.cursors().get(job.name)
        if known is None or known.schedule != text:
            if known is not None:
                self._close_old_schedule(job, known, now)
            slots.start_cursor(job.name, text, since=now)
            return CursorState(now, now)
        return CursorState(known.accounted_until, known.accounted_until)

    def _close_old_schedule(self, job: Job, known: ScheduleCursor, now: datetime) -> None:
        """Account for slots of a replaced schedule that were due while the daemon was down."""
        before = load_schedule(known.schedule)
        if before is not None and known.accounted_until < now:
            used = self.appliance.store.slots.claimed_slots(job.name, known.accounted_until, now)
            reason = Outcome.SKIPPED, "its schedule was changed before it could run"
            missed = missed_slots.missed_slots(*before, (known.accounted_until, now), used, reason)
            self._record_missed(job, missed, CursorState(now, now), now, now)


def _build_entry(appliance: Appliance, job: Job, trigger: Trigger, missed: missed_slots.MissedSlots) -> AccountedSlots:
    return AccountedSlots(
        job=job.name,
        kind=job.kind,
        trigger=trigger,
        first=slot_times.format_slot(missed.first),
        last=slot_times.format_slot(missed.last),
        count=missed.count,
        outcome=missed.outcome,
        summary=missed.reason,
        notify_targets=NotifyTargets.for_job(appliance.config, job),
    )


def account_for_cron(appliance: Appliance, job: Job, key: str, now: datetime) -> None:
    """Record the slots before the slot `key` that cron did not start."""
    if not isinstance(job.schedule, Cron) or not key[:1].isdigit():
        return
    zone, slot = appliance.config.zone_of(job), datetime.fromisoformat(key)
    slots, text = appliance.store.slots, dump_schedule(job.schedule, zone)
    known = slots.cursors().get(job.name)
    if known is None or known.schedule != text:
        slots.start_cursor(job.name, text, since=slot)
    elif known.accounted_until < slot:
        used = slots.claimed_slots(job.name, known.accounted_until, slot)
        reason = Outcome.MISFIRED, "cron did not start it: the machine was off, or cron was"
        missed = missed_slots.missed_slots(job.schedule, zone, (known.accounted_until, slot - _TICK), used, reason)
        entries = [_build_entry(appliance, job, Trigger.CRON, each) for each in missed]
        if entries:
            slots.record_unused(entries, now=now, until=slot)
        else:  # otherwise each run would check all slots since the first one, whose claims may be deleted
            slots.advance_cursor(job.name, slot)


def current_slot(appliance: Appliance, job: Job, now: datetime, *, is_manual: bool) -> tuple[str | None, str]:
    """Return the slot of a run started at `now`, and the reason if it is a misfire."""
    zone = appliance.config.zone_of(job)
    if job.schedule is None:
        return None, "it has no schedule any more; remove its cron entry with: pi-appliance jobs install"
    if isinstance(job.schedule, AtBoot):
        return clock.boot_id(), ""
    slot = slot_times.last_slot(job.schedule, now, zone, within=job.misfire_grace)
    if slot is not None:
        return slot_times.format_slot(slot), ""
    if is_manual:  # a manual run between two slots uses the next one
        return slot_times.format_slot(next(slot_times.fire_times(job.schedule, now, zone))), ""
    slot = slot_times.last_slot(job.schedule, now, zone, within=max(job.misfire_grace, _MAX_CRON_DELAY))
    if slot is None:
        return None, "its schedule has no slot now; update its cron entry with: pi-appliance jobs install"
    late = units.format_duration(timedelta(seconds=int((now - slot).total_seconds())))
    return slot_times.format_slot(
        slot
    ), f"{late} late, more than its grace of {units.format_duration(job.misfire_grace)}"


def require_slot(appliance: Appliance, job: Job, key: str) -> None:
    """Raise UnknownName unless `key` is a slot of `job`. Other names could repeat a post."""
    nearest = None
    match job.schedule:
        case AtBoot():
            nearest = clock.boot_id()
        case Cron() | Every():
            just_before = clock.now()
            with contextlib.suppress(ValueError):  # the text is not a slot, or a day like February 30
                just_before = datetime.fromisoformat(key) - timedelta(microseconds=1)
            nearest = slot_times.format_slot(
                next(slot_times.fire_times(job.schedule, just_before, appliance.config.zone_of(job)))
            )
        case None if job.depends_on and is_dependency_key(job, key, appliance):
            nearest = key
    if key != nearest:
        raise UnknownName(f"slot of {job.name}", key, [nearest] if nearest else [])


@dataclass(frozen=True, slots=True)
class SlotStatus:
    """The result of one slot: its run, or an explanation without one."""

    job: str
    at: datetime
    run: Run | None
    explanation: str = ""

    @property
    def reason(self) -> str:
        """The summary of the slot's run, or the explanation if there is no run."""
        return (self.run.summary or self.run.status_text) if self.run else self.explanation

    @property
    def status(self) -> str:
        """The result in one word: an outcome, running, waiting, paused or unknown."""
        if self.reason.startswith(_PAUSED) and (self.run is None or self.run.outcome is Outcome.SKIPPED):
            return "paused"
        if self.run is None:
            return "waiting" if self.explanation == _WAITS else "unknown"
        return str(self.run.outcome or "running")


@dataclass(slots=True)
class RunIndex:
    """The runs that account for slots from `oldest` on: for one slot each, or for a range."""

    oldest: str = ""
    single: dict[str, Run] = field(default_factory=dict)
    ranges: Sequence[Run] = ()

    def find(self, slot: str) -> Run | None:
        """Return the run that accounts for `slot`."""
        return self.single.get(slot) or next((run for run in self.ranges if _covers_slot(run, slot)), None)


def slot_statuses(
    appliance: Appliance, job: Job, now: datetime, waiting: Container[datetime | None] = ()
) -> Iterator[SlotStatus]:
    """Yield the results of the slots of `job` up to `now`, the newest first.

    `waiting` are slots whose run waits for a place.
    """
    if not isinstance(job.schedule, (Cron, Every)):
        return
    known = appliance.store.slots.cursors().get(job.name)
    pause = appliance.store.slots.pauses().get(job.name)
    past = RunIndex()
    for at in slot_times.fire_times_before(job.schedule, now, appliance.config.zone_of(job)):
        name = slot_times.format_slot(at)
        if not past.oldest or name < past.oldest:
            past = load_run_index(appliance, job.name, slot_times.format_slot(at - _HISTORY_PART), name)
        run = past.find(name)
        if run is None and (known is None or at <= known.since):
            return
        if run is not None:
            yield SlotStatus(job.name, at, run)
        elif at in waiting:
            yield SlotStatus(job.name, at, None, _WAITS)
        elif pause is not None and at > pause.since:
            yield SlotStatus(job.name, at, None, _PAUSED)
        elif known is not None and at > known.accounted_until:
            yield SlotStatus(job.name, at, None, "not accounted for yet: it waits, or the daemon is down")
        else:
            yield SlotStatus(job.name, at, None, "no longer known: older than the stored history")


def load_run_index(appliance: Appliance, job: str, oldest: str, newest: str) -> RunIndex:
    """Return the runs for the slots of `job` from `oldest` to `newest`."""
    past, ranges = RunIndex(oldest), list[Run]()
    for run in appliance.store.slots.find_runs(job, oldest, newest):
        if run.slot_count > 1:
            ranges.append(run)
        # a run that really started is preferred
        elif run.scheduled_for and (run.scheduled_for not in past.single or _has_started(run)):
            past.single[run.scheduled_for] = run
    past.ranges = ranges
    return past


def _has_started(run: Run) -> bool:
    return run.outcome is None or run.attempts > 0


def _covers_slot(run: Run, slot: str) -> bool:
    return run.first_slot is not None and run.scheduled_for is not None and run.first_slot <= slot <= run.scheduled_for


@dataclass(frozen=True, slots=True)
class DependencyStart:
    """The start of a job that waits for others. `reason` is set if the start is too late.

    `key` names the successful runs of the other jobs.
    """

    key: str
    reason: str = ""


def dependency_key(runs: list[int]) -> str:
    """Return the key for `runs`: the successful runs of the jobs under `depends-on`."""
    return _DEPENDENCY + "+".join(map(str, runs))


def find_dependency_start(appliance: Appliance, job: Job, now: datetime) -> DependencyStart | None:
    """Return the dependencies for which `job` runs now, or None. A new job waits for new runs."""
    store = appliance.store
    text = dependency_key([]) + " ".join(job.depends_on)
    known = store.slots.cursors().get(job.name)
    if known is None or known.schedule != text:
        store.slots.start_cursor(job.name, text, since=now)
        return None
    successes = [store.last_success(before) for before in job.depends_on]
    runs = [run for run in successes if run is not None and run.ended is not None and run.ended > known.since]
    name = dependency_key([run.id for run in runs])
    if len(runs) < len(job.depends_on) or store.is_claimed(slot_key(job.name, name)):
        return None
    used = store.slots.last_slot_with_prefix(job.name, _DEPENDENCY)
    if used is not None and any(run.id <= before for run, before in zip(runs, _run_numbers(used), strict=False)):
        return None  # one of the dependencies has not succeeded again yet
    age = now - max(run.ended for run in runs if run.ended is not None)
    late = units.format_duration(timedelta(seconds=int(age.total_seconds())))
    limit = units.format_duration(job.max_lateness)
    return DependencyStart(name, f"{late} late, more than {limit}" if age > job.max_lateness else "")


def record_expired(appliance: Appliance, job: Job, start: DependencyStart, now: datetime) -> None:
    """Record that the dependent job did not start, because `start` came too late."""
    slots = AccountedSlots(
        job=job.name,
        kind=job.kind,
        trigger=Trigger.DAEMON,
        first=start.key,
        last=start.key,
        count=1,
        outcome=Outcome.MISFIRED,
        summary=start.reason,
        notify_targets=NotifyTargets.for_job(appliance.config, job),
    )
    appliance.store.slots.record_unused([slots], now=now)


def is_dependency_key(job: Job, key: str, appliance: Appliance) -> bool:
    """Return whether `key` names successful runs of the jobs under `after`."""
    numbers = _run_numbers(key)
    if not key.startswith(_DEPENDENCY) or len(numbers) != len(job.depends_on):
        return False
    runs = [appliance.store.find_run(number) for number in numbers]
    return all(
        run is not None and run.job == before and run.outcome is Outcome.SUCCEEDED
        for run, before in zip(runs, job.depends_on, strict=True)
    )


def _run_numbers(key: str) -> list[int]:
    return [int(number) for number in key.removeprefix(_DEPENDENCY).split("+") if number.isdigit()]
