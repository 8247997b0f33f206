"""Run jobs: one row in the history per run, and one worker process per attempt."""

import contextlib
import logging
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

from pi_appliance import plugins
from pi_appliance.config import units
from pi_appliance.config.options import Config, Job
from pi_appliance.errors import ApplianceError, Refused, Unavailable, UnknownName
from pi_appliance.jobs import pings
from pi_appliance.jobs.attempts import AttemptResult, Attempts, Listener, LongWait
from pi_appliance.jobs.conditions import find_unmet_condition
from pi_appliance.scheduling import slot_ledger
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.scheduling.chance import is_selected, uniform_for_slot
from pi_appliance.scheduling.concurrency import (
    OVERLAP_RULES,
    REPLACE_TIMEOUT,
    Places,
    describe_overlap,
    describe_wait,
    inherited_place,
    is_limited,
    stop_active_runs,
)
from pi_appliance.scheduling.missed_slots import SKIPPED_BY_USER
from pi_appliance.scheduling.slot_ledger import account_for_cron
from pi_appliance.storage import daily_backups
from pi_appliance.storage.history import UNKNOWN_RUN
from pi_appliance.storage.model import EVENTS, PREEMPT, RESUME, SCHEDULED, Outcome, Run, Trigger
from pi_appliance.storage.notification_rules import Outbox
from pi_appliance.storage.run_requests import RunRequest, request_id
from pi_appliance.system import clock, files, process
from pi_appliance.system.long_wait import STOP_SIGNALS

log = logging.getLogger("pi_appliance.notices")
__all__ = ["BecomeSmall", "Listener", "LongRun", "resume", "run"]

_DELIVERY_TIMEOUT = 60.0  # seconds to send notifications at the end of a run
_MAX_WAIT = 86_400.0  # seconds that a run without a slot waits for a place
_SWEEP_TIMEOUT = 1.0  # seconds; page and daemon lock a job briefly to close interrupted runs
_PREEMPT_TIMEOUT = 10.0  # seconds; a slow Pi starts a process in three
_PREEMPT_INTERVAL = 0.1  # seconds between two checks whether the others have ended


def run(  # noqa: PLR0913 - all by name
    appliance: Appliance,
    name: str,
    trigger: Trigger,
    *,
    due: str | None = None,
    as_scheduled: bool = False,
    listener: Listener | None = None,
    random: Random,
    become_small: "BecomeSmall | None" = None,
) -> Run:
    """Run the job `name` and return the run.

    Args:
        appliance: The appliance.
        name: The name of the job.
        trigger: The cause of the run.
        due: A slot, a run request, or `RESUME`. None: the current slot of a scheduled run.
        as_scheduled: Treat a manual run like a scheduled one, with its slot and its chance.
        listener: Receives output and progress.
        random: Varies the delay between attempts.
        become_small: Called when a program runs for a long time. It may execute another program,
            from which `resume` continues, and then does not return.

    Raises:
        UnknownName: There is no such job, slot or request.
        Unavailable: The state directory cannot be used.
        Refused: Jobs of this kind cannot be resumed.
    """
    job = appliance.job(name)
    now = clock.now()
    misfire = ""
    options: Mapping[str, Any] = {}
    if request_id(due) is not None:
        options = _find_request(appliance, name, due).arguments
    elif due == RESUME:
        _require_resumable(job)
    elif due is not None:
        slot_ledger.require_slot(appliance, job, due)
    if due is None and (trigger in SCHEDULED or as_scheduled):
        due, misfire = slot_ledger.current_slot(appliance, job, now, is_manual=trigger is Trigger.MANUAL)
    place = inherited_place() if trigger in SCHEDULED else None
    spec = _RunSpec(job, trigger, due, misfire, options, place)
    # From here on a signal ends the run instead of this process, so that the end is recorded.
    with process.StopSignal().catch_signals() as stop:
        stop.wait(spec.remaining_jitter(appliance, now))
        ended = _execute_run(appliance, spec, stop, listener or Listener(), random, become_small)
    _delete_old_data(appliance, name)
    return ended


def resume(
    appliance: Appliance, long: "LongRun", log_error: int, *, random: Random, become_small: "BecomeSmall"
) -> Run:
    """Continue the run that `become_small` interrupted, and return it at its end.

    The stop signals are blocked until this process handles them.

    Args:
        appliance: The appliance, with the configuration of the run.
        long: The run.
        log_error: The number of the error by which its log could not be written, or 0.
        random: Varies the delay between attempts.
        become_small: As for `run`.
    """
    assert long.wait is not None
    with contextlib.ExitStack() as stack:
        for number in long.open_files:
            stack.callback(os.close, number)
        stop = stack.enter_context(process.StopSignal().catch_signals())
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
        lock = files.Lock(long.lock, long.spec.due)
        attempts = Attempts(appliance, long.spec.job, long.number, long.spec.target, lock, stop, Listener())
        attempts.resume(long.wait, log_error)
        ended = _run_attempts(appliance, long, attempts, random, become_small)
    _delete_old_data(appliance, ended.job)
    return ended


def skip_if_unselected(appliance: Appliance, name: str, *, random: Random) -> Run | None:
    """Record the current slot of a run by cron as skipped if the chance excludes it.

    Nothing is started for it and no signal is handled, so that the daemon can call this in its own
    process.

    Returns:
        The skipped run. None if the job is to run, or if anything else has to be decided first.

    Raises:
        UnknownName: There is no such job.
        Unavailable: The history cannot be written.
    """
    job = appliance.job(name)
    slot, misfire = slot_ledger.current_slot(appliance, job, clock.now(), is_manual=False)
    spec = _RunSpec(job, Trigger.CRON, slot, misfire, {})
    if slot is None or misfire or spec.is_selected(appliance) or files.is_locked(appliance.lock_path(name)):
        return None
    stop = process.StopSignal()
    try:
        skipped = _execute_run(appliance, spec, stop, Listener(), random)
    finally:
        stop.close()
    _delete_old_data(appliance, name)
    return skipped


def deliver_notifications(appliance: Appliance) -> None:
    """Send waiting notifications at the end of a run, for at most a minute. Errors are logged.

    Notifications that could not be sent wait for the daemon or the next run.
    """
    output = bytearray()
    try:
        if Outbox(appliance.store).is_due(clock.now()):
            with process.StopSignal().catch_signals() as stop:
                process.run_child(
                    pings.worker_command(appliance.config.path, appliance.config.state_dir),
                    stop=stop,
                    seconds=_DELIVERY_TIMEOUT,
                    on_output=output.extend,
                    on_line=lambda _: None,
                )
    except (ApplianceError, OSError) as error:
        output += f"notifications cannot be sent: {error}".encode()
    if output:
        log.warning("%s", output.decode(errors="replace").strip())


def _require_resumable(job: Job) -> None:
    if not getattr(plugins.load("jobs", job.kind), "RESUMABLE", False):
        raise Refused(f"a job of kind {job.kind} cannot be resumed")


class UnknownRequest(UnknownName):
    """The request was withdrawn, or another run has consumed it."""


def _find_request(appliance: Appliance, name: str, due: str | None) -> RunRequest:
    """Return the pending request that `due` names. Raises UnknownRequest."""
    requests, number = appliance.store.requests, request_id(due) or 0
    request = requests.find(number)
    if request is None or request.job != name:
        raise UnknownRequest(f"request of {name}", str(number), [str(each.id) for each in requests.pending(name)])
    return request


@dataclass(frozen=True, slots=True)
class _RunSpec:
    job: Job
    trigger: Trigger
    target: str | None  # the slot, the run request, or `RESUME`
    misfire: str
    options: Mapping[str, Any]  # they override those under `with:`
    place: int | None = None  # taken by the daemon

    @property
    def due(self) -> str | None:
        """The slot or request that the run belongs to."""
        return None if self.target == RESUME else self.target

    @property
    def is_request(self) -> bool:
        """Whether a person requested it. Schedule, chance and conditions do not apply then."""
        return request_id(self.target) is not None

    def is_selected(self, appliance: Appliance) -> bool:
        """Return whether the chance selects the slot."""
        job = self.job
        return (
            self.due is None
            or self.is_request
            or is_selected(job.chance, secret=appliance.secret, job=job.name, due=self.due)
        )

    def remaining_jitter(self, appliance: Appliance, now: datetime) -> float:
        """Return the seconds until the slot starts with its jitter; only runs of cron wait here."""
        if self.trigger is not Trigger.CRON or self.due is None or not self.due[:1].isdigit():
            return 0.0
        if not self.job.jitter or self.misfire or not self.is_selected(appliance):
            return 0.0
        begin = datetime.fromisoformat(self.due) + self.job.jitter * uniform_for_slot(
            appliance.secret, self.job.name, self.due
        )
        return max(0.0, (begin - now).total_seconds())


@dataclass(frozen=True, slots=True)
class LongRun:
    """The state of an active run, which one process pickles for the next."""

    config: Config
    secret: bytes
    spec: _RunSpec
    number: int
    started: datetime
    note: str
    """Appended to the summary."""
    lock: int
    """The descriptor of the lock."""
    wait: LongWait | None = None

    @property
    def open_files(self) -> tuple[int, ...]:
        """The descriptors that the run holds from its beginning to its end."""
        return (self.lock,) if self.spec.place is None else (self.lock, self.spec.place)


BecomeSmall = Callable[[LongRun, Path], None]
"""Receives the run and the path of its log."""


def _execute_run(
    appliance: Appliance,
    spec: _RunSpec,
    stop: process.StopSignal,
    listener: Listener,
    random: Random,
    become_small: BecomeSmall | None = None,
) -> Run:
    job, store, path = spec.job, appliance.store, appliance.lock_path(spec.job.name)
    reason = _find_skip_reason(appliance, spec, stop)
    rule = OVERLAP_RULES[job.concurrency]
    is_queued = rule.waits and reason is None  # a skipped run need not wait
    patience = job.timeout.total_seconds() if is_queued else REPLACE_TIMEOUT if spec.is_request else _SWEEP_TIMEOUT
    with contextlib.ExitStack() as stack:
        if rule.replaces and reason is None and spec.target != RESUME:
            stop_active_runs(appliance, job.name, f"replaced by {spec.due or 'a manual run'}")
            patience = REPLACE_TIMEOUT
        lock = stack.enter_context(files.acquire_lock(path, patience=patience, give_up=lambda: stop.signal))
        if lock is not None:
            appliance.close_interrupted_runs(job.name, lock)
            place, reason = stack.enter_context(_take_place(appliance, spec, stop, reason))
            if reason is None:
                _discard_signal(appliance, job, spec.target)
        now = clock.now()
        number, used_by = store.start_run(job=job.name, kind=job.kind, trigger=spec.trigger, due=spec.due, now=now)
        with contextlib.suppress(Unavailable):  # the next run records it
            if spec.trigger is Trigger.CRON and spec.due is not None:
                account_for_cron(appliance, job, spec.due, now)
            appliance.clear_skip(job.name, spec.due)
        result = reason if used_by is None else _skipped_result(spec, used_by)
        if result is None and lock is None:
            result = AttemptResult(Outcome.SKIPPED, describe_overlap(appliance, job.name), {})
        if result is not None:
            return _record(appliance, spec, number, now, result, lock)
        assert lock is not None
        start_ping = pings.StartPing(appliance, job.healthchecks_url, number) if job.healthchecks_url else None
        lock.slot = spec.due
        lock.write_status(number, None, "starting")
        _preempt_others(appliance, job, number, spec.target)
        note = _pause_one_shot(appliance, job, spec.target, now)
        attempts = Attempts(appliance, job, number, spec.target, lock, stop, listener)
        active = LongRun(appliance.config, appliance.secret, replace(spec, place=place), number, now, note, lock.fd)
        ended = _run_attempts(appliance, active, attempts, random, become_small)
    if start_ping:
        start_ping.wait()
    return ended


def _run_attempts(
    appliance: Appliance, active: LongRun, attempts: Attempts, random: Random, become_small: BecomeSmall | None
) -> Run:
    """Run the attempts, or the rest of them, and record the end of the run."""
    spec, lock = active.spec, attempts.lock
    attempts.place, attempts.options = spec.place, spec.options
    if become_small is not None:
        attempts.on_long_wait = lambda wait: become_small(replace(active, wait=wait), attempts.log_path)
    result = attempts.run(random)
    stop_reason = lock.stop_reason(active.number)
    if result.outcome is Outcome.STOPPED and stop_reason:
        result = replace(result, summary=units.join_clauses(stop_reason, result.progress))
    if stop_reason or attempts.stop.signal == signal.SIGINT or result.outcome is Outcome.TIMED_OUT:
        _delete_checkpoint(appliance, spec.job)
    result = replace(result, summary=units.join_clauses(result.summary, active.note, attempts.log_error))
    return _record(appliance, spec, active.number, active.started, result, lock, attempts.count)


def _record(
    appliance: Appliance,
    spec: _RunSpec,
    number: int,
    started: datetime,
    result: AttemptResult,
    lock: files.Lock | None,
    attempts: int = 0,
) -> Run:
    ended = Run(
        id=number,
        job=spec.job.name,
        kind=spec.job.kind,
        trigger=spec.trigger,
        scheduled_for=spec.due,
        started=started,
        ended=clock.now(),
        outcome=result.outcome,
        summary=result.summary,
        details=result.details,
        attempts=attempts,
    )
    return appliance.save_result(ended, lock)


@contextlib.contextmanager
def _take_place(
    appliance: Appliance, spec: _RunSpec, stop: process.StopSignal, reason: AttemptResult | None
) -> Iterator[tuple[int | None, AttemptResult | None]]:
    """Hold a place for the block, unless the run needs none, or there is a `reason` not to run.

    Yields the place, and the reason, which may be that the run waited too long.

    Raises:
        Unavailable: The run was stopped while it waited. Its slot is not used.
    """
    if reason is not None or spec.place is not None or spec.trigger not in SCHEDULED or not is_limited(spec.job):
        yield spec.place, reason
        return
    job, places, seconds = spec.job, Places(appliance.config), _MAX_WAIT
    if spec.due is not None and spec.due[:1].isdigit():
        late = clock.now() - datetime.fromisoformat(spec.due) - job.jitter
        seconds = max(0.0, (job.max_lateness - late).total_seconds())
    with places.wait(seconds, lambda: stop.signal) as place:
        if place is None and stop.signal:
            raise Unavailable(f"{job.name} was stopped while it waited for other runs to end; its slot is not used")
        wait = f"more than {units.format_duration(job.max_lateness)} late: it {describe_wait(places.count)}"
        yield place, AttemptResult(Outcome.MISFIRED, wait, {}) if place is None else None


def _skipped_result(spec: _RunSpec, used_by: int) -> AttemptResult:
    if spec.is_request:
        return AttemptResult(
            Outcome.SKIPPED, f"{spec.due} was used already" + (f" by run {used_by}" if used_by else ""), {}
        )
    if used_by == UNKNOWN_RUN:
        return AttemptResult(
            Outcome.SKIPPED, f"its slot {spec.due} may have been used: the history was damaged since", {}
        )
    return AttemptResult(Outcome.SKIPPED, f"its slot {spec.due} was used by run {used_by}", {})


def _delete_old_data(appliance: Appliance, name: str) -> None:
    """Delete old runs and logs, and make the daily backup. Errors are ignored."""
    with contextlib.suppress(ApplianceError, OSError):
        for job, number in appliance.store.prune(name, appliance.config.retention, now=clock.now()):
            appliance.log_path(job, number).unlink(missing_ok=True)
        daily_backups.back_up_daily(appliance.store)
        with contextlib.suppress(ApplianceError, OSError):  # the page and /health say why
            daily_backups.back_up_to_folder(appliance.config, clock.now())
        prune = getattr(plugins.load("jobs", appliance.job(name).kind), "prune", None)
        if prune is not None:
            prune(appliance.store, appliance.config.retention.max_age, now=clock.now())


def has_pending_work(appliance: Appliance, name: str) -> bool:
    """Return whether a run that only resumes is due now, for example to send a post again."""
    has_pending = getattr(plugins.load("jobs", appliance.job(name).kind), "has_pending_work", None)
    return has_pending is not None and bool(has_pending(appliance.store, name, now=clock.now()))


def _find_skip_reason(appliance: Appliance, spec: _RunSpec, stop: process.StopSignal) -> AttemptResult | None:
    """Return why the run is not executed, or None. A manual run checks only the overlap."""
    job = spec.job
    if spec.misfire:
        return AttemptResult(Outcome.MISFIRED, spec.misfire, {})
    pause = appliance.store.slots.pauses().get(job.name)
    if spec.is_request or (spec.target == RESUME and appliance.store.requests.checkpoint(job.name) is not None):
        return None
    if pause is not None and pause.is_active(clock.now()) and spec.trigger is not Trigger.MANUAL:
        return AttemptResult(Outcome.SKIPPED, "paused", {})
    is_skipped = spec.due is not None and spec.due == appliance.store.requests.skipped_slot(job.name)
    if is_skipped and spec.trigger is not Trigger.MANUAL:
        return AttemptResult(Outcome.SKIPPED, SKIPPED_BY_USER, {})
    if not spec.is_selected(appliance):
        return AttemptResult(Outcome.SKIPPED, f"by chance ({job.chance})", {})
    is_conditional = spec.due is not None or spec.trigger in EVENTS
    if is_conditional and (unmet := find_unmet_condition(job, appliance.config, stop)):
        return AttemptResult(Outcome.SKIPPED, unmet, {})
    return None


# Sessions, such as a ringing alarm


def _discard_signal(appliance: Appliance, job: Job, target: str | None) -> None:
    """Delete a signal to an earlier run of `job`. A run that resumes that one still gets it."""
    if target != RESUME:
        with contextlib.suppress(Unavailable):
            appliance.store.requests.take_signal(job.name)


def _pause_one_shot(appliance: Appliance, job: Job, target: str | None, now: datetime) -> str:
    """Pause a `one-shot` job before its run, so that it is not repeated; return a note."""
    with contextlib.suppress(Unavailable):  # the run is more important than the pause
        if getattr(job.options, "one_shot", False) and target is not None and target[:1].isdigit():
            appliance.pause(job.name, now=now)
            return "it is paused now, because it is one-shot"
    return ""


def _preempt_others(appliance: Appliance, job: Job, run: int, slot: str | None) -> None:
    """End conflicting sessions of other jobs, such as a sleep timer when an alarm rings.

    A kind of job that preempts others defines `preempts(job)` and `is_preemptible(checkpoint)`. Of
    two preempting jobs at the same minute, the later one stays. The wait is short, because an alarm
    must ring.
    """
    if slot == RESUME or not _preempts(job):
        return
    with contextlib.suppress(Unavailable):
        others = set(_find_preemptible(appliance, job, run))
        for name in others:
            appliance.store.requests.send_signal(name, PREEMPT)
        until = time.monotonic() + _PREEMPT_TIMEOUT
        while others & set(_find_preemptible(appliance, job, run)) and time.monotonic() < until:
            time.sleep(_PREEMPT_INTERVAL)


def _preempts(job: Job) -> bool:
    preempts = getattr(plugins.load("jobs", job.kind), "preempts", None)
    return preempts is not None and bool(preempts(job))


def _find_preemptible(appliance: Appliance, job: Job, run: int) -> Iterator[str]:
    """Yield the jobs that conflict with `job`. A recent alarm may have no checkpoint yet."""
    kind = plugins.load("jobs", job.kind)
    for checkpoint in appliance.store.requests.checkpoints():
        if checkpoint.job != job.name and kind.is_preemptible(checkpoint.text):
            yield checkpoint.job
    for other in appliance.config.jobs.values():
        if other.name != job.name and _preempts(other):
            yield from (active.job for active in appliance.store.active_runs(other.name) if active.id < run)


def _delete_checkpoint(appliance: Appliance, job: Job) -> None:
    """Delete the checkpoint of `job`: a person stopped its run, or it timed out."""
    with contextlib.suppress(Unavailable):
        appliance.store.requests.delete_checkpoint(job.name)
