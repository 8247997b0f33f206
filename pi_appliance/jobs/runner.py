"""The only way a job ever runs: one call is one run, one row of the history, one child process an attempt."""

import contextlib
import signal
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random
from typing import Any

from pi_appliance import plugins
from pi_appliance.config import units
from pi_appliance.config.model import ConcurrencyPolicy, Job
from pi_appliance.errors import ApplianceError, Refused, Unavailable, UnknownName
from pi_appliance.jobs import attempts as pings
from pi_appliance.jobs import sessions
from pi_appliance.jobs.attempts import AttemptResult, Attempts, Listener
from pi_appliance.scheduling import conditions, cron, scheduler, slot_ledger
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.scheduling.due import BY_A_PERSON, is_selected, uniform
from pi_appliance.scheduling.model import AtBoot, Cron, Every
from pi_appliance.scheduling.slot_ledger import account_for_cron
from pi_appliance.storage import backup
from pi_appliance.storage.model import RESUME, Outcome, Run, Trigger
from pi_appliance.storage.run_requests import RunRequest, request_id
from pi_appliance.storage.runs import UNKNOWN_RUN
from pi_appliance.system import clock, locks, process

__all__ = ["Listener", "run"]

_LONGEST_REPLAY = timedelta(hours=4)  # cron itself looks back three hours after the clock was put forward
_REPLACED = 2 * process.TERM_TIMEOUT  # seconds that a run which is replaced has to end
_SWEEP = 1.0  # seconds; the page and the daemon hold the lock for a moment where they close what was cut off


def run(
    appliance: Appliance,
    name: str,
    trigger: Trigger,
    *,
    due: str | None = None,
    as_scheduled: bool = False,
    listener: Listener | None = None,
    random: Random,
) -> Run:
    """Run the job NAME and return how it went.

    DUE is the slot, or an ask; where a schedule started the run and none is given, it is the slot of this moment. A
    run by hand has none, and asks no chance, unless AS_SCHEDULED; one for what is LEFT neither. Raises UnknownName;
    Unavailable if the state folder is no use; Refused if such a job leaves nothing.
    """
    job = appliance.job(name)
    now = clock.now()
    misfire = ""
    given: Mapping[str, Any] = {}
    if request_id(due) is not None:
        given = _ask(appliance, name, due).arguments
    elif due == RESUME:
        _require_that_it_leaves(job)
    elif due is not None:
        _require_slot(appliance, job, due)
    if due is None and (trigger is not Trigger.MANUAL or as_scheduled):
        due, misfire = _slot_of(job, now, appliance, by_hand=trigger is Trigger.MANUAL)
    asked = _Asked(job, trigger, due, misfire, given)
    # From here on a signal ends the run, not this process: the history hears of it whenever it comes.
    with process.StopSignal().installed() as stop:
        stop.wait(asked.seconds_of_jitter(appliance, now))
        ended = _run(appliance, asked, stop, listener or Listener(), random)
    _forget(appliance, name)
    return ended


def skip_if_unselected(appliance: Appliance, name: str, *, random: Random) -> Run | None:
    """Record the slot of this moment as skipped if the probability leaves it out; for a run that cron starts.

    Nothing is started for it and no signal is handled, so that the daemon can call this in its own process.

    Returns:
        The run that was skipped. None if the job is to run, or if anything else has to be decided first.

    Raises:
        UnknownName: there is no such job.
        Unavailable: the history cannot be written.

    """
    job = appliance.job(name)
    slot, misfire = _slot_of(job, clock.now(), appliance, by_hand=False)
    request = _Asked(job, Trigger.CRON, slot, misfire, {})
    if slot is None or misfire or request.picked(appliance) or locks.is_locked(appliance.lock_path(name)):
        return None
    stop = process.StopSignal()
    try:
        skipped = _run(appliance, request, stop, Listener(), random)
    finally:
        stop.close()
    _forget(appliance, name)
    return skipped


def _require_that_it_leaves(job: Job) -> None:
    if not getattr(plugins.load("jobs", job.kind), "LEAVES", False):
        raise Refused(f"a job of kind {job.kind} leaves nothing to finish")


def _ask(appliance: Appliance, name: str, due: str | None) -> RunRequest:
    """Return the ask that DUE names. Raises UnknownName where something came of it already."""
    asks, number = appliance.store.requests, request_id(due) or 0
    ask = asks.find(number)
    if ask is None or ask.job != name:
        raise UnknownName(f"ask of {name}", str(number), [str(each.id) for each in asks.pending(name)])
    return ask


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is to be run, and for what."""

    job: Job
    trigger: Trigger
    named: str | None  # the slot, the ask, or what is left
    misfire: str
    given: Mapping[str, Any]  # the keys in place of those under `with:`

    @property
    def due(self) -> str | None:
        """The slot or the ask that the run belongs to."""
        return None if self.named == RESUME else self.named

    @property
    def is_ask(self) -> bool:
        """Whether a person wants it now, whatever schedule, chance and conditions say."""
        return request_id(self.named) is not None

    def picked(self, appliance: Appliance) -> bool:
        """Say whether the chance uses the slot."""
        job = self.job
        return (
            self.due is None
            or self.is_ask
            or is_selected(job.chance, secret=appliance.secret, job=job.name, due=self.due)
        )

    def seconds_of_jitter(self, appliance: Appliance, now: datetime) -> float:
        """Return the seconds until the slot begins by its jitter. The daemon has waited for it already; cron cannot."""
        if self.trigger is not Trigger.CRON or self.due is None or not self.due[:1].isdigit():
            return 0.0
        if not self.job.jitter or self.misfire or not self.picked(appliance):
            return 0.0
        begin = datetime.fromisoformat(self.due) + self.job.jitter * uniform(appliance.secret, self.job.name, self.due)
        return max(0.0, (begin - now).total_seconds())


def _run(appliance: Appliance, asked: _Asked, stop: process.StopSignal, listener: Listener, random: Random) -> Run:
    """Hold the job's lock, open a run, and see it through to its end."""
    job, store, path = asked.job, appliance.store, appliance.lock_path(asked.job.name)
    reason = _reason_not_to(appliance, asked, stop)
    waits = (
        job.concurrency is ConcurrencyPolicy.QUEUE and reason is None
    )  # what comes to nothing need not wait for its turn
    patience = job.timeout.total_seconds() if waits else _REPLACED if asked.is_ask else _SWEEP
    with contextlib.ExitStack() as held:
        if job.concurrency is ConcurrencyPolicy.REPLACE and reason is None and asked.named != RESUME:
            _end_the_one_before(appliance, job, asked.due)
            patience = _REPLACED
        lock = held.enter_context(locks.acquire(path, patience=patience, give_up=lambda: stop.signal))
        now = clock.now()
        if lock is not None:
            appliance.close_the_ones_before(job.name, lock)
            if reason is None:
                sessions.discard_signal(appliance, job, asked.named)
        number, used_by = store.start_run(job=job.name, kind=job.kind, trigger=asked.trigger, due=asked.due, now=now)
        with contextlib.suppress(Unavailable):  # what cannot be written is told of by the next run
            if asked.trigger is Trigger.CRON and asked.due is not None:
                account_for_cron(appliance, job, asked.due, now)
            slot_ledger.forget_until(appliance, job.name, asked.due)
        verdict = reason if used_by is None else _used(asked, used_by)
        if verdict is None and lock is None:
            verdict = AttemptResult(Outcome.SKIPPED, _overlap(appliance, job.name), {})
        attempts, start = 0, None
        if verdict is None:
            assert lock is not None
            start = pings.Start(appliance, job, number)
            lock.slot = asked.due
            lock.write_status(number, None, "starting")
            sessions.preempt_others(appliance, job, number, asked.named)
            once = sessions.on_run_started(appliance, job, asked.named, now)
            attempt = Attempts(appliance, job, number, asked.named, lock, stop, listener)
            attempt.given = asked.given
            verdict = attempt.until_done(random)
            why = lock.stop_reason(number)
            if verdict.outcome is Outcome.STOPPED and why:
                verdict = replace(verdict, summary=why + verdict.so_far)
            if why or stop.signal == signal.SIGINT or verdict.outcome is Outcome.TIMED_OUT:
                sessions.on_run_aborted(appliance, job)
            verdict = replace(verdict, summary=verdict.summary + once + attempt.unkept)
            attempts = attempt.count
        ended = Run(
            id=number,
            job=job.name,
            kind=job.kind,
            trigger=asked.trigger,
            scheduled_for=asked.due,
            started=now,
            ended=clock.now(),
            outcome=verdict.outcome,
            summary=verdict.summary,
            details=verdict.details,
            attempts=attempts,
        )
        ended = appliance.write_end(ended, lock)
    if start:
        start.wait()
    return ended


def _used(asked: _Asked, used_by: int) -> AttemptResult:
    if asked.is_ask:
        return AttemptResult(
            Outcome.SKIPPED, f"{asked.due} was taken already" + (f" by run {used_by}" if used_by else ""), {}
        )
    if used_by == UNKNOWN_RUN:
        return AttemptResult(
            Outcome.SKIPPED, f"its slot {asked.due} may have been used: the history was damaged since", {}
        )
    return AttemptResult(Outcome.SKIPPED, f"its slot {asked.due} was used by run {used_by}", {})


def _end_the_one_before(appliance: Appliance, job: Job, due: str | None) -> None:
    """Ask the run that goes on, if one does, to make room."""
    for run in appliance.store.active_runs(job.name):
        locks.request_stop(appliance.lock_path(job.name), run.id, f"replaced by {due or 'a run by hand'}")


def _forget(appliance: Appliance, name: str) -> None:
    """Let go of what is older than the owner wants to keep. Nothing depends on it, so no error of it counts."""
    with contextlib.suppress(ApplianceError, OSError):
        for job, number in appliance.store.prune(name, appliance.config.retention, now=clock.now()):
            appliance.log_path(job, number).unlink(missing_ok=True)
        backup.back_up_daily(appliance.store)
        prune = getattr(plugins.load("jobs", appliance.job(name).kind), "prune", None)
        if prune is not None:
            prune(appliance.store, appliance.config.retention.max_age, now=clock.now())


def has_pending_work(appliance: Appliance, name: str) -> bool:
    """Return whether a run that only resumes would have something to do now, such as a post to send again."""
    has_pending = getattr(plugins.load("jobs", appliance.job(name).kind), "has_pending_work", None)
    return has_pending is not None and bool(has_pending(appliance.store, name, now=clock.now()))


def _require_slot(appliance: Appliance, job: Job, due: str) -> None:
    """Raise UnknownName unless DUE names a slot of JOB: any other would be a second claim to the same post."""
    real = None
    match job.schedule:
        case AtBoot():
            real = clock.boot_id()
        case Cron() | Every():
            just_before = datetime.fromisoformat(due) - timedelta(microseconds=1) if due[:1].isdigit() else clock.now()
            real = cron.slot_key(next(cron.fire_times(job.schedule, just_before, appliance.config.zone_of(job))))
        case None if job.depends_on and scheduler.names(job, due, appliance):
            real = due
    if due != real:
        raise UnknownName(f"slot of {job.name}", due, [real] if real else [])


def _slot_of(job: Job, now: datetime, appliance: Appliance, *, by_hand: bool) -> tuple[str | None, str]:
    """Return the slot that a run started NOW belongs to, and why it is a misfire, if it is."""
    zone = appliance.config.zone_of(job)
    if job.schedule is None:
        return None, "its schedule is gone; take the entry out with: pi-appliance jobs install"
    if isinstance(job.schedule, AtBoot):
        return clock.boot_id(), ""
    slot = cron.last_slot(job.schedule, now, zone, within=job.misfire_grace)
    if slot is not None:
        return cron.slot_key(slot), ""
    if by_hand:  # between two slots: the next one, which is then used
        return cron.slot_key(next(cron.fire_times(job.schedule, now, zone))), ""
    slot = cron.last_slot(job.schedule, now, zone, within=max(job.misfire_grace, _LONGEST_REPLAY))
    if slot is None:
        return None, "its schedule names no slot here; bring cron in step with: pi-appliance jobs install"
    late = units.format_duration(timedelta(seconds=int((now - slot).total_seconds())))
    return cron.slot_key(slot), f"{late} late, more than its grace of {units.format_duration(job.misfire_grace)}"


def _reason_not_to(appliance: Appliance, asked: _Asked, stop: process.StopSignal) -> AttemptResult | None:
    """Return why what is asked comes to nothing, None if it does not. By hand nothing is asked but the overlap."""
    job = asked.job
    if asked.misfire:
        return AttemptResult(Outcome.MISFIRED, asked.misfire, {})
    pause = appliance.store.slots.pauses().get(job.name)
    if asked.is_ask or (asked.named == RESUME and appliance.store.requests.checkpoint(job.name) is not None):
        return None
    if pause is not None and pause.is_active(clock.now()) and asked.trigger is not Trigger.MANUAL:
        return AttemptResult(Outcome.SKIPPED, "paused", {})
    if asked.trigger is not Trigger.MANUAL and slot_ledger.is_skipped(appliance, job.name, asked.due):
        return AttemptResult(Outcome.SKIPPED, BY_A_PERSON, {})
    if not asked.picked(appliance):
        return AttemptResult(Outcome.SKIPPED, f"by chance ({job.chance})", {})
    if asked.due is not None and (unmet := conditions.unmet_here(job, appliance.config, stop)):
        return AttemptResult(Outcome.SKIPPED, unmet, {})
    return None


def _overlap(appliance: Appliance, name: str) -> str:
    going_on = appliance.store.active_runs(name)
    return f"run {going_on[0].id} of it still goes on" if len(going_on) > 1 else "another run of it still goes on"
