"""Accounting of slots: each slot is recorded exactly once, whether it ran or not."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from pi_appliance.config.model import Job, NotifyTargets
from pi_appliance.errors import Refused
from pi_appliance.scheduling import cron
from pi_appliance.scheduling import due as chance
from pi_appliance.scheduling import due as plan
from pi_appliance.scheduling.appliance import Appliance, Slot
from pi_appliance.scheduling.model import Cron, Every
from pi_appliance.storage import model
from pi_appliance.storage.history import AccountedSlots, ScheduleCursor, slot_key
from pi_appliance.storage.model import Outcome, Run, Trigger

_TICK = timedelta(microseconds=1)
NEVER = datetime.max.replace(tzinfo=UTC)
_SAVE = timedelta(hours=1)  # between saves; a restart checks this time again


@dataclass(slots=True)
class CursorState:
    """Time up to which the slots of a job are accounted for, in memory and on the disk.

    `wake` is the time of the next check.
    """

    until: datetime
    saved: datetime
    wake: datetime | None = None


class Ledger:
    """The slot accounting of one appliance, used by the daemon."""

    def __init__(self, appliance: Appliance) -> None:
        self.appliance = appliance
        self._watches: dict[str, CursorState] = {}
        self.held: dict[str, set[datetime]] = {}
        """Slots that are about to start, or wait for an active run."""

    def watch(self, job: Job, now: datetime) -> CursorState:
        """Return the cursor of `job`. A new job begins at `now`."""
        cursor = self._watches.get(job.name)
        if cursor is None:
            cursor = self._watches[job.name] = self._load_cursor(job, now)
        if cursor.until > now:  # the clock went back: slots repeat, and claims mark the used ones
            cursor.until, cursor.wake = now, None
            known = self.appliance.store.slots.cursors().get(job.name)
            if known is not None and known.since > now:
                self.appliance.store.slots.start_cursor(job.name, known.schedule, since=now)
        return cursor

    def rests(self, job: str, now: datetime) -> bool:
        """Return whether `job` needs no check at `now`."""
        known = self._watches.get(job)
        return known is not None and known.until <= now and known.wake is not None and now < known.wake

    def rewind(self, job: str, slot: datetime, *, again: datetime) -> None:
        """Account for `slot` again, not before `again`. Its failure could not be saved."""
        watch = self._watches.get(job)
        if watch is not None:
            watch.until, watch.wake = min(watch.until, slot - _TICK), again

    def owed(self, job: Job, watch: CursorState, now: datetime, cause: str) -> list[plan.Start]:
        """Record unused slots and return the slots to start. They are held until `let_go`.

        Raises:
            Unavailable: nothing was recorded.

        """
        assert job.schedule is not None
        zone, secret, held = self.appliance.config.zone_of(job), self.appliance.secret, self._held(job.name)
        known = plan.SlotHistory(
            used=self.appliance.store.slots.claimed_slots(job.name, watch.until, now),
            held=held,
            picked=lambda due: chance.is_selected(job.chance, secret=secret, job=job.name, due=due),
            share=lambda due: chance.uniform(secret, job.name, due),
            cause=cause,
            skipped=self.appliance.store.requests.skipped_slot(job.name),
        )
        slot_plan = plan.decide(job, zone, watch.until, now, known)
        safe = min([slot_plan.until, *(start.slot - _TICK for start in slot_plan.starts)])
        self._record_missed(job, slot_plan.gone, watch, now, safe)
        if slot_plan.starts and safe - watch.saved > _SAVE:
            self.appliance.store.slots.advance_cursor(job.name, safe)
            watch.saved = safe
        watch.until = slot_plan.until
        if known.skipped is not None and known.skipped <= cron.slot_key(slot_plan.until):
            self.appliance.store.requests.set_skipped_slot(job.name, None)
        held.update(start.slot for start in slot_plan.starts)
        coming = next(cron.fire_times(job.schedule, now, zone), None)
        watch.wake = min([each for each in (coming, slot_plan.wake) if each], default=NEVER)
        return slot_plan.starts

    def let_go(self, job: str, slot: datetime) -> None:
        """Release `slot`: it neither starts nor waits any more."""
        self._held(job).discard(slot)

    def came_to_nothing(self, job: Job, slot: datetime, outcome: Outcome, why: str, now: datetime) -> None:
        """Record that nothing was started for the held `slot`. Raises Unavailable."""
        watch = self.watch(job, now)
        waiting = self._held(job.name) - {slot}
        safe = min([watch.until, *(each - _TICK for each in waiting)])
        self._record_missed(job, [plan.MissedSlots(slot, slot, 1, outcome, why)], watch, now, safe)
        self.let_go(job.name, slot)

    def paused(self, job: Job, watch: CursorState, until: datetime, why: str, now: datetime) -> None:
        """Record the slots of `job` up to `until` that a pause left unused. Raises Unavailable."""
        assert job.schedule is not None
        span = watch.until, min(until, now)
        used = self.appliance.store.slots.claimed_slots(job.name, *span)
        gone = plan.missed_slots(job.schedule, self.appliance.config.zone_of(job), span, used, (Outcome.SKIPPED, why))
        self._record_missed(job, gone, watch, now, min(until, now))
        watch.until, watch.wake = max(watch.until, min(until, now)), None
        self._held(job.name).clear()

    def wake(self) -> datetime | None:
        """Return the time of the next check of any job."""
        known = self.appliance.config.jobs
        return min((watch.wake for job, watch in self._watches.items() if watch.wake and job in known), default=None)

    def _held(self, job: str) -> set[datetime]:
        """Return the held slots of `job`. A slot that its run has claimed is removed."""
        held = self.held.setdefault(job, set())
        held -= {slot for slot in held if self.appliance.store.is_claimed(slot_key(job, cron.slot_key(slot)))}
        return held

    def _record_missed(
        self, job: Job, gone: Sequence[plan.MissedSlots], watch: CursorState, now: datetime, safe: datetime
    ) -> None:
        if gone:
            targets = NotifyTargets.for_job(self.appliance.config, job)
            entries = [_build_entry(job, Trigger.DAEMON, each, targets) for each in gone]
            self.appliance.store.slots.record_unused(entries, now=now, until=safe)
            watch.saved = safe

    def _load_cursor(self, job: Job, now: datetime) -> CursorState:
        assert job.schedule is not None
        slots, text = self.appliance.store.slots, plan.dump(job.schedule, self.appliance.config.zone_of(job))
        known = slots.cursors().get(job.name)
        if known is None or known.schedule != text:
            if known is not None:
                self._close_old_schedule(job, known, now)
            slots.start_cursor(job.name, text, since=now)
            return CursorState(now, now)
        return CursorState(known.accounted_until, known.accounted_until)

    def _close_old_schedule(self, job: Job, known: ScheduleCursor, now: datetime) -> None:
        """Account for slots of a replaced schedule that were due while the daemon was down."""
        before = plan.load(known.schedule)
        if before is not None and known.accounted_until < now:
            used = self.appliance.store.slots.claimed_slots(job.name, known.accounted_until, now)
            why = Outcome.SKIPPED, "its schedule was changed before it could run"
            gone = plan.missed_slots(*before, (known.accounted_until, now), used, why)
            self._record_missed(job, gone, CursorState(now, now), now, now)


def _build_entry(job: Job, trigger: Trigger, gone: plan.MissedSlots, targets: NotifyTargets) -> AccountedSlots:
    return AccountedSlots(
        job=job.name,
        kind=job.kind,
        trigger=trigger,
        first=cron.slot_key(gone.first),
        last=cron.slot_key(gone.last),
        count=gone.count,
        outcome=gone.outcome,
        summary=gone.why,
        notify_targets=targets,
    )


def account_for_cron(appliance: Appliance, job: Job, due: str, now: datetime) -> None:
    """Record the slots before `due` that cron did not start."""
    if not isinstance(job.schedule, Cron) or not due[:1].isdigit():
        return
    zone, slot = appliance.config.zone_of(job), datetime.fromisoformat(due)
    slots, text = appliance.store.slots, plan.dump(job.schedule, zone)
    known = slots.cursors().get(job.name)
    if known is None or known.schedule != text:
        slots.start_cursor(job.name, text, since=slot)
    elif known.accounted_until < slot:
        used = slots.claimed_slots(job.name, known.accounted_until, slot)
        why = Outcome.MISFIRED, "cron did not start it: the machine was off, or cron was"
        gone = plan.missed_slots(job.schedule, zone, (known.accounted_until, slot - _TICK), used, why)
        if gone:
            targets = NotifyTargets.for_job(appliance.config, job)
            slots.record_unused([_build_entry(job, Trigger.CRON, each, targets) for each in gone], now=now, until=slot)
        else:  # otherwise each run would check all slots since the first, and old claims are deleted
            slots.advance_cursor(job.name, slot)


_PIECE = timedelta(days=30)  # of the history, read at a time
_PAUSED = "paused"  # prefix of the summary of a slot that a pause left unused


@dataclass(frozen=True, slots=True)
class SlotStatus:
    """The result of one slot: its run, or an explanation without one."""

    job: str
    at: datetime
    run: Run | None
    explanation: str = ""

    @property
    def reason(self) -> str:
        """The summary of its run, or the explanation."""
        return (self.run.summary or self.run.status_text) if self.run else self.explanation

    @property
    def status(self) -> str:
        """The result in one word: an outcome, running, paused or unknown."""
        if self.reason.startswith(_PAUSED) and (self.run is None or self.run.outcome is Outcome.SKIPPED):
            return "paused"
        if self.run is None:
            return "unknown"
        return str(self.run.outcome or "running")


@dataclass(slots=True)
class RunIndex:
    """The runs that account for slots from `oldest` on."""

    oldest: str = ""
    single: dict[str, Run] = field(default_factory=dict)
    ranges: Sequence[Run] = ()

    def of(self, slot: str) -> Run | None:
        """Return the run that accounts for `slot`."""
        return self.single.get(slot) or next((run for run in self.ranges if _covers_slot(run, slot)), None)


def values(account: SlotStatus) -> dict[str, Any]:
    """Return `account` as JSON values."""
    return {
        "job": account.job,
        "slot": model.iso_time(account.at),
        "run": account.run.id if account.run else None,
        "outcome": account.run.outcome if account.run else None,
        "summary": account.reason,
    }


def accounts(appliance: Appliance, job: Job, now: datetime) -> Iterator[SlotStatus]:
    """Yield the results of the slots of `job` up to `now`, the newest first."""
    if not isinstance(job.schedule, (Cron, Every)):
        return
    known = appliance.store.slots.cursors().get(job.name)
    pause = appliance.store.slots.pauses().get(job.name)
    past = RunIndex()
    for at in cron.fire_times_before(job.schedule, now, appliance.config.zone_of(job)):
        name = cron.slot_key(at)
        if not past.oldest or name < past.oldest:
            past = look_up(appliance, job.name, cron.slot_key(at - _PIECE), name)
        run = past.of(name)
        if run is None and (known is None or at <= known.since):
            return
        if run is not None:
            yield SlotStatus(job.name, at, run)
        elif pause is not None and at > pause.since:
            yield SlotStatus(job.name, at, None, _PAUSED)
        elif known is not None and at > known.accounted_until:
            yield SlotStatus(job.name, at, None, "not accounted for yet: it waits, or the daemon is down")
        else:
            yield SlotStatus(job.name, at, None, "no longer known: older than what is kept")


def look_up(appliance: Appliance, job: str, oldest: str, newest: str) -> RunIndex:
    """Return the runs for the slots of `job` from `oldest` to `newest`."""
    past, ranges = RunIndex(oldest), list[Run]()
    for run in appliance.store.slots.find_runs(job, oldest, newest):
        if run.slot_count > 1:
            ranges.append(run)
        elif run.scheduled_for and (run.scheduled_for not in past.single or _has_started(run)):  # prefer runs that ran
            past.single[run.scheduled_for] = run
    past.ranges = ranges
    return past


def _has_started(run: Run) -> bool:
    return run.outcome is None or run.attempts > 0


def _covers_slot(run: Run, slot: str) -> bool:
    return run.first_slot is not None and run.scheduled_for is not None and run.first_slot <= slot <= run.scheduled_for


_FAR_ENOUGH = 1000  # slots searched for one that the chance selects


def skip(appliance: Appliance, name: str, *, now: datetime) -> Slot:
    """Skip the next slot of the job `name`, and return it. A second call has no effect.

    Raises:
        UnknownName: there is no such job.
        Refused: its slots cannot be predicted, or it is paused.

    """
    job = appliance.job(name)
    pause = appliance.store.slots.pauses().get(name)
    if not isinstance(job.schedule, (Cron, Every)):
        raise Refused(f"{name} has no times of its own, so there is no next one to skip")
    if pause is not None and pause.is_active(now):
        raise Refused(f"{name} pauses, so there is nothing to skip; go on with: pi-appliance jobs resume {name}")
    for _, slot in zip(range(_FAR_ENOUGH), appliance.slots(name, now - job.jitter), strict=False):
        if slot.starts_at > now and (slot.selected or (slot.skipped and not slot.used)):
            appliance.store.requests.set_skipped_slot(name, cron.slot_key(slot.at))
            return slot
    raise Refused(f"{name} has no slot to come that would be used")


def unskip(appliance: Appliance, name: str, *, now: datetime) -> Slot:
    """Use the slot of the job `name` that was to be skipped, and return it.

    Raises:
        UnknownName: there is no such job.
        Refused: no slot is to be skipped.

    """
    job = appliance.job(name)
    slot = skipped(appliance, name, now - job.jitter)
    if slot is None:
        raise Refused(f"no slot of {name} is to be skipped")
    appliance.store.requests.set_skipped_slot(name, None)
    return slot


def skipped(appliance: Appliance, name: str, after: datetime) -> Slot | None:
    """Return the slot of the job `name` after `after` that is to be skipped."""
    due = appliance.store.requests.skipped_slot(name)
    if due is None:
        return None
    for slot in appliance.slots(name, after):
        if slot.skipped or cron.slot_key(slot.at) > due:
            return slot if slot.skipped else None
    return None


def is_skipped(appliance: Appliance, name: str, due: str | None) -> bool:
    """Return whether the slot `due` of the job `name` is to be skipped."""
    return due is not None and appliance.store.requests.skipped_slot(name) == due


def forget_until(appliance: Appliance, name: str, due: str | None) -> None:
    """Delete the mark of a slot to skip up to the slot `due`, which is accounted for."""
    skip_ = appliance.store.requests.skipped_slot(name)
    if skip_ is not None and due is not None and due[:1].isdigit() and skip_ <= due:
        appliance.store.requests.set_skipped_slot(name, None)
