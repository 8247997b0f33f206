"""Runs jobs. Each call is one run, with one row in the history and a child process per attempt."""

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
from pi_appliance.scheduling import conditions, instants, slot_ledger
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.scheduling.due import SKIPPED_BY_USER
from pi_appliance.scheduling.schedule import AtBoot, Cron, Every, is_selected, uniform_for_slot
from pi_appliance.scheduling.slot_ledger import account_for_cron
from pi_appliance.storage import backup
from pi_appliance.storage.history import UNKNOWN_RUN
from pi_appliance.storage.model import RESUME, Outcome, Run, Trigger
from pi_appliance.storage.queues import RunRequest, request_id
from pi_appliance.system import clock, locks, process

__all__ = ["Listener", "run"]

_LONGEST_REPLAY = timedelta(hours=4)  # cron catches up three hours after a clock change
_REPLACED = 2 * process.TERM_TIMEOUT  # seconds that a replaced run has to end
_SWEEP = 1.0  # seconds; page and daemon lock a job briefly to close interrupted runs


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
    """Run the job `name` and return the run.

    Args:
        appliance: the appliance.
        name: the name of the job.
        trigger: the cause of the run.
        due: a slot, a run request, or `RESUME`. None is the current slot of a scheduled run.
        as_scheduled: treat a manual run like a scheduled one, with its slot and its chance.
        listener: receives output and progress.
        random: varies the delay between attempts.

    Raises:
        UnknownName: there is no such job, slot or request.
        Unavailable: the state directory cannot be used.
        Refused: a job of this kind has nothing to resume.

    """
    job = appliance.job(name)
    now = clock.now()
    misfire = ""
    given: Mapping[str, Any] = {}
    if request_id(due) is not None:
        given = _find_request(appliance, name, due).arguments
    elif due == RESUME:
        _require_that_it_leaves(job)
    elif due is not None:
        _require_slot(appliance, job, due)
    if due is None and (trigger is not Trigger.MANUAL or as_scheduled):
        due, misfire = _current_slot(job, now, appliance, by_hand=trigger is Trigger.MANUAL)
    asked = _RunSpec(job, trigger, due, misfire, given)
    # From here on a signal ends the run instead of this process, so that the end is recorded.
    with process.StopSignal().installed() as stop:
        stop.wait(asked.seconds_of_jitter(appliance, now))
        ended = _execute_run(appliance, asked, stop, listener or Listener(), random)
    _delete_old_data(appliance, name)
    return ended


def skip_if_unselected(appliance: Appliance, name: str, *, random: Random) -> Run | None:
    """Record the current slot of a run by cron as skipped if the chance excludes it.

    Nothing is started for it and no signal is handled, so that the daemon can call this in its own
    process.

    Returns:
        The skipped run. None if the job is to run, or if anything else has to be decided first.

    Raises:
        UnknownName: there is no such job.
        Unavailable: the history cannot be written.

    """
    job = appliance.job(name)
    slot, misfire = _current_slot(job, clock.now(), appliance, by_hand=False)
    request = _RunSpec(job, Trigger.CRON, slot, misfire, {})
    if slot is None or misfire or request.picked(appliance) or locks.is_locked(appliance.lock_path(name)):
        return None
    stop = process.StopSignal()
    try:
        skipped = _execute_run(appliance, request, stop, Listener(), random)
    finally:
        stop.close()
    _delete_old_data(appliance, name)
    return skipped


def _require_that_it_leaves(job: Job) -> None:
    if not getattr(plugins.load("jobs", job.kind), "LEAVES", False):
        raise Refused(f"a job of kind {job.kind} leaves nothing to finish")


def _find_request(appliance: Appliance, name: str, due: str | None) -> RunRequest:
    """Return the request that `due` names. Raises UnknownName if it was consumed already."""
    asks, number = appliance.store.requests, request_id(due) or 0
    ask = asks.find(number)
    if ask is None or ask.job != name:
        raise UnknownName(f"ask of {name}", str(number), [str(each.id) for each in asks.pending(name)])
    return ask


@dataclass(frozen=True, slots=True)
class _RunSpec:
    """The job to run, with its cause and its slot."""

    job: Job
    trigger: Trigger
    named: str | None  # the slot, the request, or `RESUME`
    misfire: str
    given: Mapping[str, Any]  # options that override those under `with:`

    @property
    def due(self) -> str | None:
        """The slot or request that the run belongs to."""
        return None if self.named == RESUME else self.named

    @property
    def is_ask(self) -> bool:
        """Whether a person requested it. Schedule, chance and conditions do not apply then."""
        return request_id(self.named) is not None

    def picked(self, appliance: Appliance) -> bool:
        """Return whether the chance selects the slot."""
        job = self.job
        return (
            self.due is None
            or self.is_ask
            or is_selected(job.chance, secret=appliance.secret, job=job.name, due=self.due)
        )

    def seconds_of_jitter(self, appliance: Appliance, now: datetime) -> float:
        """Return the seconds until the slot starts with its jitter.

        Only runs of cron wait here. The daemon has waited already.
        """
        if self.trigger is not Trigger.CRON or self.due is None or not self.due[:1].isdigit():
            return 0.0
        if not self.job.jitter or self.misfire or not self.picked(appliance):
            return 0.0
        begin = datetime.fromisoformat(self.due) + self.job.jitter * uniform_for_slot(
            appliance.secret, self.job.name, self.due
        )
        return max(0.0, (begin - now).total_seconds())


def _execute_run(
    appliance: Appliance, request: _RunSpec, stop: process.StopSignal, listener: Listener, random: Random
) -> Run:
    """Lock the job, record a run, and execute it to its end."""
    job, store, path = request.job, appliance.store, appliance.lock_path(request.job.name)
    reason = _skip_reason(appliance, request, stop)
    waits = job.concurrency is ConcurrencyPolicy.QUEUE and reason is None  # a run that is skipped need not wait
    patience = job.timeout.total_seconds() if waits else _REPLACED if request.is_ask else _SWEEP
    with contextlib.ExitStack() as held:
        if job.concurrency is ConcurrencyPolicy.REPLACE and reason is None and request.named != RESUME:
            _stop_active_run(appliance, job, request.due)
            patience = _REPLACED
        lock = held.enter_context(locks.acquire(path, patience=patience, give_up=lambda: stop.signal))
        now = clock.now()
        if lock is not None:
            appliance.close_interrupted_runs(job.name, lock)
            if reason is None:
                sessions.discard_signal(appliance, job, request.named)
        number, used_by = store.start_run(
            job=job.name, kind=job.kind, trigger=request.trigger, due=request.due, now=now
        )
        with contextlib.suppress(Unavailable):  # the next run records it
            if request.trigger is Trigger.CRON and request.due is not None:
                account_for_cron(appliance, job, request.due, now)
            appliance.clear_skip(job.name, request.due)
        verdict = reason if used_by is None else _skipped_result(request, used_by)
        if verdict is None and lock is None:
            verdict = AttemptResult(Outcome.SKIPPED, _overlap_reason(appliance, job.name), {})
        attempts, start = 0, None
        if verdict is None:
            assert lock is not None
            start = pings.Start(appliance, job, number)
            lock.slot = request.due
            lock.write_status(number, None, "starting")
            sessions.preempt_others(appliance, job, number, request.named)
            once = sessions.on_run_started(appliance, job, request.named, now)
            attempt = Attempts(appliance, job, number, request.named, lock, stop, listener)
            attempt.given = request.given
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
            trigger=request.trigger,
            scheduled_for=request.due,
            started=now,
            ended=clock.now(),
            outcome=verdict.outcome,
            summary=verdict.summary,
            details=verdict.details,
            attempts=attempts,
        )
        ended = appliance.save_result(ended, lock)
    if start:
        start.wait()
    return ended


def _skipped_result(request: _RunSpec, used_by: int) -> AttemptResult:
    if request.is_ask:
        return AttemptResult(
            Outcome.SKIPPED, f"{request.due} was taken already" + (f" by run {used_by}" if used_by else ""), {}
        )
    if used_by == UNKNOWN_RUN:
        return AttemptResult(
            Outcome.SKIPPED, f"its slot {request.due} may have been used: the history was damaged since", {}
        )
    return AttemptResult(Outcome.SKIPPED, f"its slot {request.due} was used by run {used_by}", {})


def _stop_active_run(appliance: Appliance, job: Job, due: str | None) -> None:
    """Ask an active run of the job to stop."""
    for run in appliance.store.active_runs(job.name):
        locks.request_stop(appliance.lock_path(job.name), run.id, f"replaced by {due or 'a run by hand'}")


def _delete_old_data(appliance: Appliance, name: str) -> None:
    """Delete old runs and logs, and make the daily backup. Errors are ignored."""
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
    """Raise UnknownName unless `due` is a slot of `job`. Other names could repeat a post."""
    real = None
    match job.schedule:
        case AtBoot():
            real = clock.boot_id()
        case Cron() | Every():
            just_before = datetime.fromisoformat(due) - timedelta(microseconds=1) if due[:1].isdigit() else clock.now()
            real = instants.format_slot(
                next(instants.fire_times(job.schedule, just_before, appliance.config.zone_of(job)))
            )
        case None if job.depends_on and slot_ledger.is_dependency_key(job, due, appliance):
            real = due
    if due != real:
        raise UnknownName(f"slot of {job.name}", due, [real] if real else [])


def _current_slot(job: Job, now: datetime, appliance: Appliance, *, by_hand: bool) -> tuple[str | None, str]:
    """Return the slot of a run started at `now`, and the reason if it is a misfire."""
    zone = appliance.config.zone_of(job)
    if job.schedule is None:
        return None, "its schedule is gone; take the entry out with: pi-appliance jobs install"
    if isinstance(job.schedule, AtBoot):
        return clock.boot_id(), ""
    slot = instants.last_slot(job.schedule, now, zone, within=job.misfire_grace)
    if slot is not None:
        return instants.format_slot(slot), ""
    if by_hand:  # between two slots: the next one, which is then used
        return instants.format_slot(next(instants.fire_times(job.schedule, now, zone))), ""
    slot = instants.last_slot(job.schedule, now, zone, within=max(job.misfire_grace, _LONGEST_REPLAY))
    if slot is None:
        return None, "its schedule names no slot here; bring cron in step with: pi-appliance jobs install"
    late = units.format_duration(timedelta(seconds=int((now - slot).total_seconds())))
    return instants.format_slot(slot), f"{late} late, more than its grace of {units.format_duration(job.misfire_grace)}"


def _skip_reason(appliance: Appliance, request: _RunSpec, stop: process.StopSignal) -> AttemptResult | None:
    """Return why the run is not executed, or None. A manual run checks only the overlap."""
    job = request.job
    if request.misfire:
        return AttemptResult(Outcome.MISFIRED, request.misfire, {})
    pause = appliance.store.slots.pauses().get(job.name)
    if request.is_ask or (request.named == RESUME and appliance.store.requests.checkpoint(job.name) is not None):
        return None
    if pause is not None and pause.is_active(clock.now()) and request.trigger is not Trigger.MANUAL:
        return AttemptResult(Outcome.SKIPPED, "paused", {})
    is_skipped = request.due is not None and request.due == appliance.store.requests.skipped_slot(job.name)
    if is_skipped and request.trigger is not Trigger.MANUAL:
        return AttemptResult(Outcome.SKIPPED, SKIPPED_BY_USER, {})
    if not request.picked(appliance):
        return AttemptResult(Outcome.SKIPPED, f"by chance ({job.chance})", {})
    if request.due is not None and (unmet := conditions.find_unmet_condition(job, appliance.config, stop)):
        return AttemptResult(Outcome.SKIPPED, unmet, {})
    return None


def _overlap_reason(appliance: Appliance, name: str) -> str:
    going_on = appliance.store.active_runs(name)
    return f"run {going_on[0].id} of it still goes on" if len(going_on) > 1 else "another run of it still goes on"
