"""Runs as child processes, and the requests and checkpoints that start them.

A scheduled run waits here until it has a place (scheduling/concurrency.py). Its process claims the
slot or request when it begins. So a daemon that is killed before finds the slot or request again.

The run that starts a request first consumes it (`Store.start_run`), so a second run does not find
it. The time of a request is compared with the wall clock in each round, so it follows clock
corrections.
"""

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from pi_appliance.config import units
from pi_appliance.config.options import Job, NotifyTargets, Priority
from pi_appliance.errors import ApplianceError, Unavailable
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.scheduling.concurrency import OVERLAP_RULES, PLACE, Places, is_limited, priority_of
from pi_appliance.storage.model import RESUME, Outcome, Trigger
from pi_appliance.storage.run_requests import JobCheckpoint, RunRequest
from pi_appliance.system import files
from pi_appliance.system.clock import Clock
from pi_appliance.system.runtime_socket import NO_HANDOVER

log = logging.getLogger("pi_appliance.runs")
NEVER = float("inf")
_MIN_RETRY_DELAY = 5.0  # seconds before the second attempt; doubled after each
_MAX_RETRY_DELAY = 600.0  # seconds at most; after a run that lasts longer, the count starts again
_POLL_INTERVAL = 5.0  # seconds; runs of other processes do not report their end
_GRACE = timedelta(minutes=5)  # lateness at which a request for an unknown job is dropped
_MAX_CHECKPOINT_AGE = timedelta(days=2)  # an alarm of last week must not ring again


def start_detached(config: Path, job: str, trigger: Trigger, due: str) -> None:
    """Start a run of `job` for the slot or request `due` that continues when this process ends."""
    no_files = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
    argv, environment = _run_command(config, job, trigger, due), {**os.environ, NO_HANDOVER: "1"}
    os.posix_spawn(sys.executable, argv, environment, file_actions=no_files, setsid=True)


def _run_command(config: Path, job: str, trigger: Trigger, due: str | None) -> list[str]:
    arguments = ["jobs", "run", job, "--trigger", trigger, "--config", str(config)]
    if due is not None:
        arguments += ["--resume"] if due == RESUME else ["--slot", due]
    return [sys.executable, "-m", "pi_appliance", *arguments]


async def run_module(module: str, *arguments: str) -> Any:
    """Run `module` in a child process, and return the JSON that it prints.

    Raises:
        Unavailable: It ended without a result.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", module, *arguments), stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE
    )
    try:
        output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    try:
        return json.loads(output)
    except ValueError:
        raise Unavailable(f"{module} ended with status {process.returncode} and no result; see the log") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStart:
    """A run to start, with the arguments of `ChildRuns.start`.

    A later one has a higher `number`.
    """

    job: str
    trigger: Trigger
    due: str | None
    as_scheduled: bool
    ended: Callable[[int], None]
    number: int

    @property
    def slot(self) -> datetime | None:
        """The scheduled time of the run.

        It is None if the run has another cause, such as a boot or a request.
        """
        return datetime.fromisoformat(self.due) if self.due and self.due[0].isdigit() else None


class ChildRuns:
    """Starts runs, which survive a killed daemon, and knows which wait and which are active."""

    def __init__(
        self,
        config: Path,
        *,
        on_end: Callable[[], None] = lambda: None,
        appliance: Callable[[], Appliance] | None = None,
    ) -> None:
        """Create the object for the configuration file `config`.

        Args:
            config: The configuration file.
            on_end: Called after each run.
            appliance: Returns the appliance that limits the runs. Without it, none waits.
        """
        self._config, self._on_end, self._appliance = config, on_end, appliance
        self._active: dict[asyncio.Task[None], tuple[str, asyncio.subprocess.Process]] = {}
        self._waiting: list[RunStart] = []
        self._numbers = count()
        self._start_lock = asyncio.Lock()
        self._closed = False

    async def start(
        self,
        job: str,
        trigger: Trigger,
        *,
        due: str | None = None,
        as_scheduled: bool = False,
        at_once: bool = False,
        ended: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Start a run of `job` for the slot or request `due`, or to resume.

        A scheduled run of the daemon waits for `start_waiting`.

        Args:
            job: the name of the job.
            trigger: the cause of the run.
            due: a slot, a request, `RESUME` or None.
            as_scheduled: treat a manual run like a scheduled one.
            at_once: it replaces an active run, whose place it gets.
            ended: receives the exit status, as long as this process lives.

        Raises:
            Unavailable: no process can be started, or the daemon is stopping.
        """
        run = RunStart(
            job=job, trigger=trigger, due=due, as_scheduled=as_scheduled, ended=ended, number=next(self._numbers)
        )
        if not at_once and self._must_wait(run):
            self._waiting.append(run)
        else:
            await self._start_process(run, None)

    def _must_wait(self, run: RunStart) -> bool:
        # The daemon has no record of a waiting run of cron that survives a restart, so its process
        # waits instead.
        if self._appliance is None or run.trigger is not Trigger.DAEMON:
            return False
        known = self._appliance().config.jobs.get(run.job)
        return known is not None and is_limited(known)

    async def start_waiting(self) -> None:
        """Start the waiting runs that have a place, by priority, then by slot.

        A run whose job is active goes on waiting.

        Raises:
            Unavailable: A process could not be started. Its run goes on waiting.
        """
        if self._appliance is None or not self._waiting:
            return
        config = self._appliance().config
        places = Places(config)
        for run in sorted(self._waiting, key=lambda run: self._order(run, config.jobs.get(run.job))):
            if run not in self._waiting or self._is_active(run.job):
                continue
            place = places.take()
            if place is None:
                return
            self._waiting.remove(run)
            try:
                await self._start_process(run, place)
            except BaseException:
                self._waiting.append(run)
                raise
            finally:
                os.close(place)  # the child process has its own copy

    @staticmethod
    def _order(run: RunStart, job: Job | None) -> tuple[int, str, int]:
        priority = priority_of(job) if job else Priority.NORMAL
        return [*Priority].index(priority), run.due if run.slot and run.due else "", run.number

    async def _start_process(self, run: RunStart, place: int | None) -> None:
        argv = _run_command(self._config, run.job, run.trigger, run.due)
        if run.as_scheduled:
            argv.append("--as-scheduled")
        environment = {**os.environ, NO_HANDOVER: "1", **({} if place is None else {PLACE: str(place)})}
        async with self._start_lock:
            if self._closed:
                raise Unavailable(f"{run.job} is not started: the appliance is stopping")
            try:
                # In a session of its own, so that Ctrl-C in our terminal does not reach it.
                process = await asyncio.create_subprocess_exec(
                    *argv,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.DEVNULL,
                    start_new_session=True,
                    pass_fds=() if place is None else (place,),
                    env=environment,
                )
            except OSError as error:
                raise Unavailable(
                    f"{run.job} cannot be started: {error.strerror}; is this machine out of memory?"
                ) from None
            task = asyncio.create_task(self._wait_for_end(run.job, process, run.ended))
            self._active[task] = run.job, process
        log.info("job=%s by=%s due=%s started", run.job, run.trigger, run.due or "-")

    async def _wait_for_end(self, job: str, process: asyncio.subprocess.Process, ended: Callable[[int], None]) -> None:
        status = await process.wait()
        if (task := asyncio.current_task()) is not None:
            self._active.pop(task, None)
        log.info("job=%s ended status=%s", job, status)
        if not self._closed:  # while the daemon stops, the next daemon handles the slot
            ended(status)
        self._on_end()

    def is_running(self, job: str) -> bool:
        """Return whether a run of `job` that was started here waits or is active."""
        return self.is_waiting(job) or self._is_active(job)

    def _is_active(self, job: str) -> bool:
        return any(name == job for name, _ in self._active.values())

    @property
    def waiting(self) -> tuple[RunStart, ...]:
        """The runs that wait for a place."""
        return tuple(self._waiting)

    def is_waiting(self, job: str) -> bool:
        """Return whether a run of `job` waits for a place."""
        return any(run.job == job for run in self._waiting)

    def drop_waiting(self, run: RunStart) -> None:
        """Let `run` wait no longer. Nothing is recorded."""
        self._waiting.remove(run)
        run.ended(Unavailable.exit_status)

    def close_waiting(self, run: RunStart, outcome: Outcome, summary: str, *, now: datetime) -> int:
        """Record that `run` did not begin, and return its number. Its slot counts as used.

        Raises:
            Unavailable: Nothing was recorded, and it goes on waiting.
        """
        assert self._appliance is not None
        appliance = self._appliance()
        job, store = appliance.job(run.job), appliance.store
        due = None if run.due == RESUME else run.due
        number, before = store.start_run(job=job.name, kind=job.kind, trigger=run.trigger, due=due, now=now)
        if before is not None:
            outcome, summary = Outcome.SKIPPED, f"{run.due} was used already"
        store.finish_run(number, outcome, summary, now=now, targets=NotifyTargets.for_job(appliance.config, job))
        self._waiting.remove(run)
        run.ended(0)
        return number

    async def close(self) -> None:
        """Start no more runs. When this returns, a run that was being started has started."""
        async with self._start_lock:
            self._closed = True
            self._waiting.clear()

    async def stop(self, grace: float, *, at_once: Collection[str] = ()) -> None:
        """Start no more runs, wait `grace` seconds for active ones, then stop the rest.

        Runs of the jobs `at_once` are stopped immediately, because they are resumed later. A
        stopped run ends within a few seconds and records that it was stopped.
        """
        await self.close()
        self._send_stop(at_once)
        if self._active:
            log.info("waiting up to %.0f s for %d runs to end", grace, len(self._active))
            await asyncio.wait(list(self._active), timeout=grace)
        self._send_stop({job for job, _ in self._active.values()})
        if self._active:
            await asyncio.wait(list(self._active))

    def _send_stop(self, jobs: Collection[str]) -> None:
        for job, process in list(self._active.values()):
            if job in jobs:
                with contextlib.suppress(ProcessLookupError):
                    process.send_signal(signal.SIGTERM)


@dataclass(slots=True)
class _StartAttempts:
    """Number of starts, the last start by the monotonic clock, and the time of the next."""

    count: int = 0
    last: float = 0.0
    next: float = 0.0

    def start(self, monotonic: float) -> None:
        """Record one more start and delay the next one."""
        self.count = 1 if monotonic - self.last > _MAX_RETRY_DELAY else self.count + 1
        self.last = monotonic
        self.next = monotonic + min(_MIN_RETRY_DELAY * 2.0 ** min(self.count - 1, 30), _MAX_RETRY_DELAY)


class RequestRunner:
    """Starts requests and resumes checkpoints. The daemon calls `tick` in each round.

    Args:
        appliance: returns the appliance with the current configuration.
        runs: starts the processes.
        clock: the clocks of this machine.
        trusted: returns whether the wall clock is trusted. Timed requests wait until then.
    """

    def __init__(
        self, appliance: Callable[[], Appliance], runs: ChildRuns, *, clock: Clock, trusted: Callable[[], bool]
    ) -> None:
        self._appliance, self._runs, self._clock, self._trusted = appliance, runs, clock, trusted
        self._attempts: dict[str, _StartAttempts] = {}  # key: name of the request, or of the job with a checkpoint
        self._starting: set[str] = set()  # requests that a starting run is about to consume
        self._last_error = ""
        self._pruned: Appliance | None = None

    async def tick(self) -> float:
        """Start everything that is due. Return the seconds until the next start."""
        try:
            self._prune_removed_jobs()
            store = self._appliance().store.requests
            requests, checkpoints = store.pending(), store.checkpoints()
            for request in requests:
                await self._start_request(request)
            for checkpoint in checkpoints:
                await self._resume_checkpoint(checkpoint)
            known = {request.slot_name for request in requests} | {checkpoint.job for checkpoint in checkpoints}
            self._attempts = {name: attempt for name, attempt in self._attempts.items() if name in known}
            self._last_error = ""
        except (ApplianceError, OSError) as error:
            if str(error) != self._last_error:
                log.warning("a requested run could not be started: %s", error)
            self._last_error = str(error)
            return _POLL_INTERVAL
        return min([*self._request_delays(requests), *self._checkpoint_delays(checkpoints)], default=NEVER)

    def jobs_with_checkpoint(self) -> set[str]:
        """Return the jobs with a checkpoint, which the next daemon resumes."""
        with contextlib.suppress(ApplianceError):
            return {checkpoint.job for checkpoint in self._appliance().store.requests.checkpoints()}
        return set()

    async def _start_request(self, request: RunRequest) -> None:
        name = request.slot_name
        job = self._appliance().config.jobs.get(request.job)  # None if the configuration in use is outdated
        is_late = self._clock.now() - request.run_at > (job.misfire_grace if job else _GRACE)
        waiting = next((run for run in self._runs.waiting if run.due == name), None)
        if is_late and waiting is not None:
            self._runs.drop_waiting(waiting)
        elif not self._is_due(request) or name in self._starting or self._is_delayed(name):
            return
        if is_late:
            self._misfire(request, job)
            return
        if self._waits_for_run(request):
            return
        self._appliance().require_free_space()
        self._record_start(name)
        self._starting.add(name)
        try:
            # A person waits for a run that was requested for now. A later one is like a slot.
            trigger = Trigger.MANUAL if request.immediate else Trigger.DAEMON
            await self._runs.start(request.job, trigger, due=name, ended=lambda _: self._starting.discard(name))
        except BaseException:
            self._starting.discard(name)
            raise

    def _waits_for_run(self, request: RunRequest) -> bool:
        """Return whether `request` waits for an active run, which keeps requests in order."""
        job = self._appliance().config.jobs.get(request.job)
        return job is not None and OVERLAP_RULES[job.concurrency].waits and self._is_active(request.job)

    def _is_due(self, request: RunRequest) -> bool:
        return request.immediate or (self._trusted() and request.run_at <= self._clock.now())

    def _misfire(self, request: RunRequest, job: Job | None) -> None:
        """Consume `request`, which is too late, and record that for `job`.

        If the job is unknown, it is only logged.
        """
        appliance, now = self._appliance(), self._clock.now()
        store = appliance.store
        if job is None:
            store.requests.remove(request.id)
            log.warning("job=%s is not in the configuration; its request was deleted", request.job)
            return
        late = units.format_duration(timedelta(seconds=int((now - request.run_at).total_seconds())))
        grace = units.format_duration(job.misfire_grace)
        reason = f"requested for a time that is {late} past, more than its grace of {grace}"
        run, before = store.start_run(
            job=job.name, kind=job.kind, trigger=Trigger.DAEMON, due=request.slot_name, now=now
        )
        if before is None:
            store.finish_run(
                run, Outcome.MISFIRED, reason, now=now, targets=NotifyTargets.for_job(appliance.config, job)
            )
        else:
            store.finish_run(run, Outcome.SKIPPED, f"{request.slot_name} was started already", now=now)

    async def _resume_checkpoint(self, checkpoint: JobCheckpoint) -> None:
        """Resume `checkpoint`, unless a run is active or the last attempt is too recent."""
        appliance, job = self._appliance(), checkpoint.job
        if job not in appliance.config.jobs or self._is_active(job) or self._is_delayed(job):
            return
        if self._clock.now() - checkpoint.saved_at > _MAX_CHECKPOINT_AGE:
            appliance.store.requests.delete_checkpoint(checkpoint.job)
            saved_on = checkpoint.saved_at.date()
            log.warning("job=%s its checkpoint of %s was deleted: too old to resume", checkpoint.job, saved_on)
            return
        appliance.require_free_space()
        self._record_start(checkpoint.job)
        await self._runs.start(checkpoint.job, Trigger.DAEMON, due=RESUME)

    def _is_active(self, job: str) -> bool:
        return self._runs.is_running(job) or files.is_locked(self._appliance().lock_path(job))

    def _prune_removed_jobs(self) -> None:
        """Delete requests and checkpoints of removed jobs, once for each configuration."""
        appliance = self._appliance()
        if appliance is not self._pruned:
            for job in appliance.store.requests.prune(appliance.config.jobs):
                log.warning("job=%s was removed; its requests and its checkpoint were deleted", job)
            self._pruned = appliance

    def _is_delayed(self, name: str) -> bool:
        return name in self._attempts and self._clock.monotonic() < self._attempts[name].next

    def _record_start(self, name: str) -> None:
        self._attempts.setdefault(name, _StartAttempts()).start(self._clock.monotonic())

    def _request_delays(self, requests: list[RunRequest]) -> Iterator[float]:
        for request in requests:
            if self._is_due(request) and self._waits_for_run(request):
                yield NEVER if self._runs.is_running(request.job) else _POLL_INTERVAL
            elif request.slot_name in self._attempts:
                yield max(_POLL_INTERVAL, self._attempts[request.slot_name].next - self._clock.monotonic())
            elif self._trusted():
                yield (request.run_at - self._clock.now()).total_seconds()

    def _checkpoint_delays(self, checkpoints: list[JobCheckpoint]) -> Iterator[float]:
        for checkpoint in checkpoints:
            if not self._runs.is_running(checkpoint.job):
                attempt = self._attempts.get(checkpoint.job)
                yield max(_POLL_INTERVAL, attempt.next - self._clock.monotonic() if attempt else 0.0)
