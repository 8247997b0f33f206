"""Start the daemon's jobs at their slots by the wall clock, checked at least once a minute.

Until the clock is trusted, slots of the wall clock wait. Intervals, boot jobs and dependencies do
not. Clock changes are detected, and every slot is still accounted for (scheduling/slot_ledger.py).
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import datetime, timedelta

from pi_appliance.config import units
from pi_appliance.config.options import Config, Job, NotifyTargets, StartedBy
from pi_appliance.errors import ApplianceError, Unavailable
from pi_appliance.scheduling import slot_times
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.scheduling.chance import uniform_for_slot
from pi_appliance.scheduling.child_runs import ChildRuns
from pi_appliance.scheduling.concurrency import MAX_QUEUED, OVERLAP_RULES, Places, StartQueue, describe_wait
from pi_appliance.scheduling.missed_slots import SlotStart
from pi_appliance.scheduling.schedule import AtBoot, Cron, Every
from pi_appliance.scheduling.slot_ledger import (
    NEVER,
    CursorState,
    SlotLedger,
    find_dependency_start,
    record_expired,
)
from pi_appliance.storage.history import Pause, slot_key
from pi_appliance.storage.model import Outcome, Trigger
from pi_appliance.system import clock as machine
from pi_appliance.system import files
from pi_appliance.system.clock import Clock, ClockState, ClockWatch

log = logging.getLogger("pi_appliance.scheduler")
MAX_SLEEP = 60.0  # seconds; not every kernel reports that the wall clock was set
_MAX_SLEEP_UNTRUSTED = 5.0  # seconds; setting a clock that was right already is not reported
_RETRY_DELAY = timedelta(minutes=1)  # time after which a failed write or start is tried again
_PLACE_INTERVAL = 2.0  # seconds; runs of other processes do not report that they free a place

Sleep = Callable[[float], Awaitable[object]]


async def _no_extra_work() -> float:
    return float("inf")


class Scheduler:
    """The loop of the daemon that starts jobs.

    Args:
        appliance: the appliance whose jobs are started.
        runs: starts the processes.
        clock: the clocks of this machine.
        sleep: sleeps up to the given seconds, less if there is an event.
        on_tick: is called in each round and returns the seconds until it must be called again.
        max_sleep: the longest sleep in seconds.
    """

    def __init__(
        self,
        appliance: Appliance,
        runs: ChildRuns,
        *,
        clock: Clock,
        sleep: Sleep,
        on_tick: Callable[[], Awaitable[float]] = _no_extra_work,
        max_sleep: float = MAX_SLEEP,
    ) -> None:
        self._appliance, self._runs, self._clock = appliance, runs, clock
        self._sleep, self._max_sleep, self._on_tick = sleep, max_sleep, on_tick
        self._ledger = SlotLedger(appliance)
        self._watch = ClockWatch(appliance.config.clock.max_wait_for_sync)
        self._queue = StartQueue()
        self._cause = "the daemon was not running"  # why slots were missed in this round
        self._errors: dict[str, str] = {}
        self._boot_jobs: list[str] = []  # boot jobs that have not begun
        self._not_before: dict[str, float] = {}  # key: job; value: time of the next attempt
        self._repair_count = appliance.store.repair_count
        self.clock_state = ClockState.UNTRUSTED
        self.steps = 0
        """Number of clock changes."""
        self.last_step = ""
        """Description of the last clock change."""
        self.last_tick = clock.monotonic()
        """Monotonic time of the last round."""

    @property
    def appliance(self) -> Appliance:
        """The appliance whose jobs are started."""
        return self._appliance

    def reload(self, appliance: Appliance) -> None:
        """Use a configuration that was read again."""
        self._drop_changed(self._appliance.config, appliance.config)
        self._appliance, reserved = appliance, self._ledger.reserved
        self._ledger = SlotLedger(appliance)
        self._ledger.reserved |= reserved
        self._repair_count = appliance.store.repair_count
        self._watch.max_wait = appliance.config.clock.max_wait_for_sync

    @property
    def waiting(self) -> int:
        """Number of slots that wait for an active run, for a place or for their time."""
        return len(self._queue) + len(self._runs.waiting)

    @property
    def clock_wait(self) -> float:
        """Remaining seconds to wait until the clock is set."""
        return self._watch.seconds_left(self._clock.monotonic())

    @property
    def error(self) -> str:
        """Why some slot cannot be started or recorded now, or ''."""
        return next(iter(self._errors.values()), "")

    async def run(self, alive: Callable[[], None]) -> None:
        """Start due jobs until cancelled. `alive` is called in each round."""
        await self.start_boot_jobs()
        while True:
            await self.tick()
            more = await self._on_tick()
            await self._start_waiting()
            alive()
            await self._sleep(min(self._seconds_to_next(), max(0.0, more)))

    async def start_boot_jobs(self) -> None:
        """Start the jobs that run once at each boot, if they have not run."""
        self._boot_jobs = [job.name for job in self._daemon_jobs() if isinstance(job.schedule, AtBoot)]
        await self._start_boot_jobs()

    async def _start_boot_jobs(self) -> None:
        """Start the boot jobs that have not begun, for example because the disk was full."""
        name = machine.boot_id()
        for job in list(self._boot_jobs):
            with self._log_errors(job):
                if job not in self._appliance.config.jobs or self._appliance.store.is_claimed(slot_key(job, name)):
                    self._boot_jobs.remove(job)
                elif self._may_start(job):
                    await self._start_named(job, name)

    async def tick(self) -> None:
        """Start or record everything that was due since the last call."""
        now = self._clock.now()
        self._check_clock(now)
        if self._repair_count != self._appliance.store.repair_count:  # the database was replaced by a backup
            self.reload(self._appliance)
        with self._log_errors("-"):  # "-" stands for all jobs
            await self._check_jobs(self._appliance.store.slots.pauses(), now)
        await self._start_queued()
        await self._start_boot_jobs()
        self._expire_waiting(self._clock.now())
        await self._start_waiting()
        self._cause = ""
        self.last_tick = self._clock.monotonic()

    async def _check_jobs(self, pauses: Mapping[str, Pause], now: datetime) -> None:
        for job in self._daemon_jobs():
            pause = pauses.get(job.name)
            if pause is None and self._ledger.is_idle(job.name, now):
                continue
            with self._log_errors(job.name):
                if job.depends_on:
                    await self._start_dependent(job, pause, now)
                elif isinstance(job.schedule, Every) or (isinstance(job.schedule, Cron) and self._watch.is_trusted):
                    await self._check_job(job, pause, now)

    def next(self) -> tuple[datetime, str] | None:
        """Return the next slot and its job."""
        now, config = self._clock.now(), self._appliance.config
        coming = [
            (slot, job.name)
            for job in self._daemon_jobs()
            if job.schedule and (slot := next(slot_times.fire_times(job.schedule, now, config.zone_of(job)), None))
        ]
        return min(coming) if coming else None

    def _check_clock(self, now: datetime) -> None:
        monotonic, before = self._clock.monotonic(), self._watch.is_trusted
        reading = self._watch.read(now, monotonic, is_synchronized=before or self._clock.is_synchronized())
        self.clock_state = reading.state
        if reading.step:
            self.steps += 1
            way = "forward" if reading.step > timedelta(0) else "back"
            # Rounded, because reading the clocks takes milliseconds.
            shift = timedelta(seconds=round(abs(reading.step).total_seconds(), 1))
            self._cause = self.last_step = f"the clock was put {way} by {units.format_duration(shift)}"
            log.warning("%s", self._cause)
        if self._watch.is_trusted and not before:
            log.info("the clock is trusted")

    async def _check_job(self, job: Job, pause: Pause | None, now: datetime) -> None:
        cursor = self._ledger.get_cursor(job, now)
        try:
            if pause is not None and pause.is_active(now):
                cursor.wake = pause.until or NEVER
                return
            if pause is not None:
                self._end_pause(job, cursor, pause.since, pause.until or now, now)
            if cursor.wake is None or cursor.wake <= now:
                await self._start_due_slots(job, cursor, now)
                await asyncio.sleep(0)  # lets the page respond, because a clock step of years takes long
        except ApplianceError:
            cursor.wake = now + _RETRY_DELAY
            raise

    async def _start_due_slots(self, job: Job, cursor: CursorState, now: datetime) -> None:
        for start in self._ledger.take_due_slots(job, cursor, now, self._cause):
            with self._log_errors(job.name):
                busy, rule = self._is_busy(job.name), OVERLAP_RULES[job.concurrency]
                if start.late or (rule.waits and (busy or self._queue.has_slots(job.name))):
                    self._queue_slot(job, start, now)
                elif busy and not rule.replaces:
                    before = "waits for other runs to end" if self._runs.is_waiting(job.name) else "is still active"
                    self._record_unused(job, start.slot, Outcome.SKIPPED, f"the previous run {before}", now)
                else:
                    await self._start_slot(job.name, start.slot)

    def _queue_slot(self, job: Job, start: SlotStart, now: datetime) -> None:
        draw = uniform_for_slot(self._appliance.secret, f"{job.name} spread", slot_times.format_slot(start.slot))
        spread = draw * job.catch_up.stagger.total_seconds() if start.late else 0.0
        if not self._queue.add(job.name, start.slot, self._clock.monotonic() + spread):
            reason = f"{MAX_QUEUED} slots are waiting before it already"
            self._record_unused(job, start.slot, Outcome.SKIPPED, reason, now)

    async def _start_queued(self) -> None:
        for name in self._queue.ready_jobs(self._clock.monotonic()):
            if name not in self._appliance.config.jobs:
                self._queue.remove_job(name)
            elif not self._is_busy(name):
                with self._log_errors(name):
                    await self._start_slot(name, self._queue.pop_slot(name))

    async def _start_waiting(self) -> None:
        with self._log_errors("waiting runs"):
            await self._runs.start_waiting()

    def _skip_waiting(self, job: str, why: str, now: datetime) -> None:
        """Record the runs of `job` that wait for a place as skipped."""
        for run in self._runs.waiting:
            if run.job == job:
                self._runs.close_waiting(run, Outcome.SKIPPED, why, now=now)

    def _expire_waiting(self, now: datetime) -> None:
        """Record the slots that have waited for a place longer than the misfire grace allows."""
        for run in self._runs.waiting:
            job, slot = self._appliance.config.jobs.get(run.job), run.slot
            if job is None or slot is None:
                continue
            share = (
                uniform_for_slot(self._appliance.secret, job.name, slot_times.format_slot(slot)) if job.jitter else 0.0
            )
            if now - slot - job.jitter * share > job.max_lateness:
                late = units.format_duration(timedelta(seconds=int((now - slot).total_seconds())))
                wait = describe_wait(Places(self._appliance.config).count)
                reason = f"{late} late, more than its {units.format_duration(job.max_lateness)}: it {wait}"
                with self._log_errors(job.name):
                    self._runs.close_waiting(run, Outcome.MISFIRED, reason, now=now)

    def _drop_changed(self, before: Config, after: Config) -> None:
        """Drop the waiting runs of removed jobs and changed schedules.

        The slot ledger records them.
        """
        for run in self._runs.waiting:
            old, new = before.jobs.get(run.job), after.jobs.get(run.job)
            if new is None or old is None or (old.schedule, before.zone_of(old)) != (new.schedule, after.zone_of(new)):
                self._runs.drop_waiting(run)

    def _is_busy(self, job: str) -> bool:
        return self._runs.is_running(job) or files.is_locked(self._appliance.lock_path(job))

    async def _start_slot(self, job: str, slot: datetime) -> None:
        """Start a run for `slot`, which replaces an active or waiting one.

        After an error, the slot is tried again in a minute.
        """
        try:
            self._appliance.require_free_space()
            due = slot_times.format_slot(slot)
            self._skip_waiting(job, f"replaced by {due}", self._clock.now())
            await self._runs.start(
                job,
                Trigger.DAEMON,
                due=due,
                at_once=self._is_busy(job),
                ended=lambda status: self._ended_slot(job, slot, status),
            )
        except ApplianceError:
            self._retry_slot(job, slot)
            raise

    def _ended_slot(self, job: str, slot: datetime, status: int) -> None:
        if self._record_end(job, slot_times.format_slot(slot), status):
            self._ledger.release(job, slot)
        else:
            self._retry_slot(job, slot)

    def _record_end(self, name: str, due: str, status: int) -> bool:
        """Record a run whose process ended too early. Return whether the history has the run."""
        with self._log_errors(name):
            store, job, now = self._appliance.store, self._appliance.job(name), self._clock.now()
            if not store.is_claimed(slot_key(name, due)):
                if status == Unavailable.exit_status:
                    return False  # the database was not available, and the run has logged that
                ending = f"by signal {-status}" if status < 0 else f"with status {status}"
                reason = f"its process ended {ending} before it began; see the journal"
                run, _ = store.start_run(job=name, kind=job.kind, trigger=Trigger.DAEMON, due=due, now=now)
                targets = NotifyTargets.for_job(self._appliance.config, job)
                store.finish_run(run, Outcome.FAILED, reason, now=now, targets=targets)
                log.warning("job=%s run=%s %s", name, run, reason)
            return True
        return False

    def _retry_slot(self, job: str, slot: datetime) -> None:
        self._ledger.release(job, slot)
        self._ledger.rewind(job, slot, again=self._clock.now() + _RETRY_DELAY)

    def _record_unused(self, job: Job, slot: datetime, outcome: Outcome, why: str, now: datetime) -> None:
        try:
            self._ledger.record_unused(job, slot, outcome, why, now)
        except ApplianceError:
            self._retry_slot(job.name, slot)
            raise

    def _end_pause(self, job: Job, cursor: CursorState, since: datetime, until: datetime, now: datetime) -> None:
        zone = self._appliance.config.zone_of(job)
        span = f"{since.astimezone(zone):%Y-%m-%d %H:%M} to {until.astimezone(zone):%Y-%m-%d %H:%M}"
        self._queue.remove_job(job.name)
        self._skip_waiting(job.name, f"paused from {span}", now)
        self._ledger.record_pause(job, cursor, until, f"paused from {span}", now)
        self._appliance.store.slots.delete_pause(job.name)

    async def _start_dependent(self, job: Job, pause: Pause | None, now: datetime) -> None:
        due = find_dependency_start(self._appliance, job, now)
        if due is None or (pause is not None and pause.is_active(now)):
            return
        if due.reason:
            record_expired(self._appliance, job, due, now)
        elif self._may_start(job.name):
            await self._start_named(job.name, due.key)

    async def _start_named(self, job: str, due: str) -> None:
        """Start a run for a slot without a time: a boot, or successful dependencies."""
        self._not_before[job] = self._clock.monotonic() + _RETRY_DELAY.total_seconds()

        def ended(status: int) -> None:
            if self._record_end(job, due, status):
                self._not_before.pop(job, None)

        self._appliance.require_free_space()
        await self._runs.start(job, Trigger.DAEMON, due=due, ended=ended)

    def _may_start(self, job: str) -> bool:
        return self._clock.monotonic() >= self._not_before.get(job, 0.0) and not self._is_busy(job)

    @contextlib.contextmanager
    def _log_errors(self, job: str) -> Iterator[None]:
        """Log an error of one job, once while it repeats.

        The other jobs and the daemon continue.
        """
        try:
            yield
        except ApplianceError as error:
            if self._errors.get(job) != str(error):
                self._errors[job] = str(error)
                log.error("job=%s: %s", job, error)  # noqa: TRY400 - a message to the owner
        else:
            self._errors.pop(job, None)

    def _daemon_jobs(self) -> Iterator[Job]:
        for job in self._appliance.config.jobs.values():
            if job.started_by is StartedBy.DAEMON and (job.schedule is not None or job.depends_on):
                yield job

    def _seconds_to_next(self) -> float:
        now, monotonic = self._clock.now(), self._clock.monotonic()
        delays = [
            self._max_sleep
            if self._watch.is_trusted
            else min(_MAX_SLEEP_UNTRUSTED, self._watch.seconds_left(monotonic))
        ]
        delays += self._queue.start_delays(monotonic)
        if self._runs.waiting:
            delays.append(_PLACE_INTERVAL)
        wake = self._ledger.next_check()
        if wake is not None:
            delays.append((wake - now).total_seconds())
        return max(0.0, min(delays))


async def sleep_until_event(event: asyncio.Event, seconds: float) -> None:
    """Sleep `seconds`, or until `event` is set."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):  # not wait_for, which may lose a cancellation in Python 3.11
            await event.wait()
    event.clear()
