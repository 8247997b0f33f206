"""Starts the daemon's jobs at their slots, by the wall clock, looking at it at least once a minute.

Until the clock is trusted, slots of the wall clock wait; intervals, starts of the machine and chains do not. A clock
that is put forward or back is noticed, and every slot is accounted for all the same (scheduling/slot_ledger.py).
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from pi_appliance.config import units
from pi_appliance.config.model import ConcurrencyPolicy, Job, StartedBy
from pi_appliance.config.notifications import NotifyTargets
from pi_appliance.errors import ApplianceError, Unavailable
from pi_appliance.scheduling import cron
from pi_appliance.scheduling import due as chance
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.scheduling.child_runs import Runs
from pi_appliance.scheduling.due import Start
from pi_appliance.scheduling.model import AtBoot, Cron, Every
from pi_appliance.scheduling.slot_ledger import NEVER, CursorState, Ledger
from pi_appliance.storage.model import Outcome, Trigger
from pi_appliance.storage.slots import AccountedSlots, Pause, slot_key
from pi_appliance.system import clock as machine
from pi_appliance.system import locks
from pi_appliance.system.clock import Clock, ClockState, ClockWatch

_BEGIN = "after:"


@dataclass(frozen=True, slots=True)
class Due:
    """The successes that a job was waiting for, by the name they have in the history; WHY it is too late, if it is."""

    name: str
    why: str = ""


def name_of(runs: list[int]) -> str:
    """Return the name of the slot that RUNS, one for each job under `after`, make together."""
    return _BEGIN + "+".join(map(str, runs))


def dependency_due(appliance: Appliance, job: Job, now: datetime) -> Due | None:
    """Return what JOB is to run for now, None if it waits. One that is new waits for the successes to come."""
    store = appliance.store
    text = name_of([]) + " ".join(job.depends_on)
    known = store.slots.cursors().get(job.name)
    if known is None or known.schedule != text:
        store.slots.start_cursor(job.name, text, since=now)
        return None
    found = [store.last_success(before) for before in job.depends_on]
    runs = [run for run in found if run is not None and run.ended is not None and run.ended > known.since]
    name = name_of([run.id for run in runs])
    if len(runs) < len(job.depends_on) or store.is_claimed(slot_key(job.name, name)):
        return None
    used = store.slots.last_slot_with_prefix(job.name, _BEGIN)
    if used is not None and any(run.id <= before for run, before in zip(runs, _numbers(used), strict=False)):
        return None  # one of them has not succeeded again yet
    age = now - max(run.ended for run in runs if run.ended is not None)
    limit = max(job.misfire_grace, job.catch_up.max_age)
    late = units.format_duration(timedelta(seconds=int(age.total_seconds())))
    return Due(name, f"{late} late, more than {units.format_duration(limit)}" if age > limit else "")


def settle(appliance: Appliance, job: Job, due: Due, now: datetime) -> None:
    """Write down that DUE came to nothing."""
    what = AccountedSlots(
        job=job.name,
        kind=job.kind,
        trigger=Trigger.DAEMON,
        first=due.name,
        last=due.name,
        count=1,
        outcome=Outcome.MISFIRED,
        summary=due.why,
        notify_targets=NotifyTargets.for_job(appliance.config, job),
    )
    appliance.store.slots.record_unused([what], now=now)


def names(job: Job, due: str, appliance: Appliance) -> bool:
    """Say whether DUE names successes of the jobs under `after`."""
    numbers = _numbers(due)
    if not due.startswith(_BEGIN) or len(numbers) != len(job.depends_on):
        return False
    runs = [appliance.store.find_run(number) for number in numbers]
    return all(
        run is not None and run.job == before and run.outcome is Outcome.SUCCEEDED
        for run, before in zip(runs, job.depends_on, strict=True)
    )


def _numbers(due: str) -> list[int]:
    return [int(number) for number in due.removeprefix(_BEGIN).split("+") if number.isdigit()]


MOST = 10  # slots of one job that wait


@dataclass(frozen=True, slots=True)
class _Turn:
    slot: datetime
    not_before: float


class StartQueue:
    """The queues, one a job, each in the order in which its slots came."""

    def __init__(self) -> None:
        self._turns: dict[str, list[_Turn]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._turns.values()))

    def waits(self, job: str) -> bool:
        """Say whether a slot of JOB waits."""
        return bool(self._turns.get(job))

    def add(self, job: str, slot: datetime, not_before: float) -> bool:
        """Let SLOT of JOB wait, NOT_BEFORE at least. False if too many of that job wait already."""
        turns = self._turns.setdefault(job, [])
        if len(turns) >= MOST:
            return False
        turns.append(_Turn(slot, not_before))
        return True

    def come(self, steady: float) -> Iterator[str]:
        """Yield the jobs whose first slot may start by now."""
        yield from [job for job, turns in self._turns.items() if turns and turns[0].not_before <= steady]

    def take(self, job: str) -> datetime:
        """Return the first slot of JOB; it waits no more."""
        return self._turns[job].pop(0).slot

    def drop(self, job: str) -> None:
        """Let no slot of JOB wait any more."""
        self._turns.pop(job, None)

    def moments(self, steady: float) -> list[float]:
        """Return in how many seconds a moment comes for which a slot waits. The end of a run is none: that is news."""
        firsts = [turns[0].not_before for turns in self._turns.values() if turns]
        return [first - steady for first in firsts if first > steady]


log = logging.getLogger("pi_appliance.scheduler")
_LONGEST_NAP = 60.0  # seconds; the wall clock may be set at any time, and not every kernel tells
_NAP_UNTRUSTED = 5.0  # seconds; nobody tells that the clock was set where it was right already
_AGAIN = timedelta(minutes=1)  # until what could not be written or started is tried once more

Nap = Callable[[float], Awaitable[object]]


async def _nothing_else() -> float:
    return float("inf")


class Scheduler:
    """One loop. NAP sleeps up to that many seconds, LONGEST at the most, less when there is news.

    ALSO is done each time the loop comes round, and says in how many seconds it has more to do.
    """

    def __init__(
        self,
        appliance: Appliance,
        runs: Runs,
        *,
        clock: Clock,
        nap: Nap,
        also: Callable[[], Awaitable[float]] = _nothing_else,
        longest: float = _LONGEST_NAP,
    ) -> None:
        self._appliance, self._runs, self._clock, self._nap, self._longest = appliance, runs, clock, nap, longest
        self._also = also
        self._ledger = Ledger(appliance)
        self._watch = ClockWatch(appliance.config.clock.max_wait_for_sync)
        self._turns = StartQueue()
        self._cause = "nothing ran here"  # why slots were missed, at this look
        self._troubled: dict[str, str] = {}
        self._boots: list[str] = []  # jobs of the start of the machine that have not begun
        self._not_before: dict[str, float] = {}  # when a job may be tried again that could not begin
        self._mended = appliance.store.repair_count
        self.clock_state = ClockState.UNTRUSTED
        self.steps = 0
        """How often the clock was put forward or back."""
        self.last_step = ""
        """The last time that happened, in words."""
        self.beat = clock.monotonic()
        """When the loop came round last, by the steady clock."""

    @property
    def appliance(self) -> Appliance:
        """The appliance whose jobs are started."""
        return self._appliance

    def take_over(self, appliance: Appliance) -> None:
        """Go on with a configuration that was read again."""
        self._appliance, held = appliance, self._ledger.held
        self._ledger = Ledger(appliance)
        self._ledger.held |= held
        self._mended = appliance.store.repair_count
        self._watch.max_wait = appliance.config.clock.max_wait_for_sync

    @property
    def waiting(self) -> int:
        """How many slots wait for a run before them, or for their moment."""
        return len(self._turns)

    @property
    def clock_wait(self) -> float:
        """For how many seconds more a clock that nobody has set is waited for."""
        return self._watch.seconds_left(self._clock.monotonic())

    @property
    def trouble(self) -> str:
        """Why some slot cannot be started or told of just now; '' if all is well."""
        return next(iter(self._troubled.values()), "")

    async def run(self, alive: Callable[[], None]) -> None:
        """Start what is due, for ever. ALIVE is called each time the loop comes round."""
        await self.at_boot()
        while True:
            await self.look()
            more = await self._also()
            alive()
            await self._nap(min(self._until_next(), max(0.0, more)))

    async def at_boot(self) -> None:
        """Start the jobs that run once each time the machine starts, if they have not."""
        self._boots = [job.name for job in self._daemons() if isinstance(job.schedule, AtBoot)]
        await self._start_boots()

    async def _start_boots(self) -> None:
        """Start those of them that have not begun: when the machine started there may have been no room."""
        name = machine.boot_id()
        for job in list(self._boots):
            with self._told(job):
                if job not in self._appliance.config.jobs or self._appliance.store.is_claimed(slot_key(job, name)):
                    self._boots.remove(job)
                elif self._may_start(job):
                    await self._start_named(job, name)

    async def look(self) -> None:
        """Start or record all that came due since the last look."""
        now = self._clock.now()
        self._look_at_the_clock(now)
        if self._mended != self._appliance.store.repair_count:  # what was known may have been lost
            self.take_over(self._appliance)
        with self._told("-"):  # of all jobs
            await self._look_at_all(self._appliance.store.slots.pauses(), now)
        await self._start_waiting()
        await self._start_boots()
        self._cause = ""
        self.beat = self._clock.monotonic()

    async def _look_at_all(self, pauses: Mapping[str, Pause], now: datetime) -> None:
        for job in self._daemons():
            pause = pauses.get(job.name)
            if pause is None and self._ledger.rests(job.name, now):
                continue
            with self._told(job.name):
                if job.depends_on:
                    await self._chain(job, pause, now)
                elif isinstance(job.schedule, Every) or (isinstance(job.schedule, Cron) and self._watch.is_trusted):
                    await self._look_at(job, pause, now)

    def next(self) -> tuple[datetime, str] | None:
        """Return the next slot and the job it belongs to."""
        now, config = self._clock.now(), self._appliance.config
        coming = [
            (slot, job.name)
            for job in self._daemons()
            if job.schedule and (slot := next(cron.fire_times(job.schedule, now, config.zone_of(job)), None))
        ]
        return min(coming) if coming else None

    def _look_at_the_clock(self, now: datetime) -> None:
        steady, before = self._clock.monotonic(), self._watch.is_trusted
        sight = self._watch.read(now, steady, is_synchronized=before or self._clock.is_synchronized())
        self.clock_state = sight.state
        if sight.step:
            self.steps += 1
            way = "forward" if sight.step > timedelta(0) else "back"
            # Looking takes a moment too, so three hours are some milliseconds more or less.
            shift = timedelta(seconds=round(abs(sight.step).total_seconds(), 1))
            self._cause = self.last_step = f"the clock was put {way} by {units.format_duration(shift)}"
            log.warning("%s", self._cause)
        if self._watch.is_trusted and not before:
            log.info("the clock is trusted")

    async def _look_at(self, job: Job, pause: Pause | None, now: datetime) -> None:
        watch = self._ledger.watch(job, now)
        try:
            if pause is not None and pause.is_active(now):
                watch.wake = pause.until or NEVER
                return
            if pause is not None:
                self._end_pause(job, watch, pause.since, pause.until or now, now)
            if watch.wake is None or watch.wake <= now:
                await self._owed(job, watch, now)
                await asyncio.sleep(0)  # after a jump of years each job takes a while; the page is to live meanwhile
        except ApplianceError:
            watch.wake = now + _AGAIN
            raise

    async def _owed(self, job: Job, watch: CursorState, now: datetime) -> None:
        for start in self._ledger.owed(job, watch, now, self._cause):
            with self._told(job.name):
                busy = self._busy(job.name)
                if start.late or (job.concurrency is ConcurrencyPolicy.QUEUE and (busy or self._turns.waits(job.name))):
                    self._wait(job, start, now)
                elif busy and job.concurrency is ConcurrencyPolicy.SKIP:
                    self._nothing(job, start.slot, Outcome.SKIPPED, "the run before it still goes on", now)
                else:
                    await self._start(job.name, start.slot)

    def _wait(self, job: Job, start: Start, now: datetime) -> None:
        draw = chance.uniform(self._appliance.secret, f"{job.name} spread", cron.slot_key(start.slot))
        spread = draw * job.catch_up.stagger.total_seconds() if start.late else 0.0
        if not self._turns.add(job.name, start.slot, self._clock.monotonic() + spread):
            why = f"{MOST} slots before it wait for their turn already"
            self._nothing(job, start.slot, Outcome.SKIPPED, why, now)

    async def _start_waiting(self) -> None:
        """Start the slots whose turn has come, one a job."""
        for name in self._turns.come(self._clock.monotonic()):
            if name not in self._appliance.config.jobs:
                self._turns.drop(name)
            elif not self._busy(name):
                with self._told(name):
                    await self._start(name, self._turns.take(name))

    def _busy(self, job: str) -> bool:
        return self._runs.is_running(job) or locks.is_locked(self._appliance.lock_path(job))

    async def _start(self, job: str, slot: datetime) -> None:
        """Start a run for SLOT. If that cannot be, the slot is looked at again in a minute."""
        try:
            self._appliance.require_room()
            await self._runs.start(
                job,
                Trigger.DAEMON,
                due=cron.slot_key(slot),
                ended=lambda status: self._ended_slot(job, slot, status),
            )
        except ApplianceError:
            self._again(job, slot)
            raise

    def _ended_slot(self, job: str, slot: datetime, status: int) -> None:
        if self._ended(job, cron.slot_key(slot), status):
            self._ledger.let_go(job, slot)
        else:
            self._again(job, slot)

    def _ended(self, name: str, due: str, status: int) -> bool:
        """Tell the history of a run that ended before it could do so itself: no slot goes without a word.

        Say whether the history knows of it now.
        """
        with self._told(name):
            store, job, now = self._appliance.store, self._appliance.job(name), self._clock.now()
            if not store.is_claimed(slot_key(name, due)):
                if status == Unavailable.exit_status:
                    return False  # there was nothing to write it into; it has said so
                how = f"by signal {-status}" if status < 0 else f"with status {status}"
                why = f"its process ended {how} before it began; the journal says why"
                run, _ = store.start_run(job=name, kind=job.kind, trigger=Trigger.DAEMON, due=due, now=now)
                told = NotifyTargets.for_job(self._appliance.config, job)
                store.finish_run(run, Outcome.FAILED, why, now=now, told=told)
                log.warning("job=%s run=%s %s", name, run, why)
            return True
        return False

    def _again(self, job: str, slot: datetime) -> None:
        self._ledger.let_go(job, slot)
        self._ledger.rewind(job, slot, again=self._clock.now() + _AGAIN)

    def _nothing(self, job: Job, slot: datetime, outcome: Outcome, why: str, now: datetime) -> None:
        try:
            self._ledger.came_to_nothing(job, slot, outcome, why, now)
        except ApplianceError:
            self._again(job.name, slot)
            raise

    def _end_pause(self, job: Job, watch: CursorState, since: datetime, until: datetime, now: datetime) -> None:
        zone = self._appliance.config.zone_of(job)
        span = f"{since.astimezone(zone):%Y-%m-%d %H:%M} to {until.astimezone(zone):%Y-%m-%d %H:%M}"
        self._turns.drop(job.name)
        self._ledger.paused(job, watch, until, f"paused from {span}", now)
        self._appliance.store.slots.delete_pause(job.name)

    async def _chain(self, job: Job, pause: Pause | None, now: datetime) -> None:
        due = dependency_due(self._appliance, job, now)
        if due is None or (pause is not None and pause.is_active(now)):
            return
        if due.why:
            settle(self._appliance, job, due, now)
        elif self._may_start(job.name):
            await self._start_named(job.name, due.name)

    async def _start_named(self, job: str, due: str) -> None:
        """Start a run for what is no instant: the start of the machine, or the successes it comes after."""
        self._not_before[job] = self._clock.monotonic() + _AGAIN.total_seconds()

        def ended(status: int) -> None:
            if self._ended(job, due, status):
                self._not_before.pop(job, None)

        self._appliance.require_room()
        await self._runs.start(job, Trigger.DAEMON, due=due, ended=ended)

    def _may_start(self, job: str) -> bool:
        return self._clock.monotonic() >= self._not_before.get(job, 0.0) and not self._busy(job)

    @contextlib.contextmanager
    def _told(self, job: str) -> Iterator[None]:
        """Log what goes wrong with one job, once: the others and the daemon go on."""
        try:
            yield
        except ApplianceError as error:
            if self._troubled.get(job) != str(error):
                self._troubled[job] = str(error)
                log.error("job=%s: %s", job, error)  # noqa: TRY400 - told to the owner, who needs no traceback
        else:
            self._troubled.pop(job, None)

    def _daemons(self) -> Iterator[Job]:
        for job in self._appliance.config.jobs.values():
            if job.started_by is StartedBy.DAEMON and (job.schedule is not None or job.depends_on):
                yield job

    def _until_next(self) -> float:
        """Return the seconds until there may be something to do."""
        now, steady = self._clock.now(), self._clock.monotonic()
        naps = [self._longest if self._watch.is_trusted else min(_NAP_UNTRUSTED, self._watch.seconds_left(steady))]
        naps += self._turns.moments(steady)
        wake = self._ledger.wake()
        if wake is not None:
            naps.append((wake - now).total_seconds())
        return max(0.0, min(naps))


async def nap_until(news: asyncio.Event, seconds: float) -> None:
    """Sleep SECONDS, or until there is NEWS."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):  # wait_for of Python 3.11 loses a cancellation that comes with the news
            await news.wait()
    news.clear()
