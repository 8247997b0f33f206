"""Starts what persons asked for at its time, and what a run was in the middle of when it was cut off.

Whoever starts a run of an ask first takes it (`Store.begin`); a second one finds it gone. An ask for a time goes by the
wall clock at every look, so it moves with a clock that is put right.
"""

import contextlib
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta

from pi_appliance.config import units
from pi_appliance.config.model import ConcurrencyPolicy, Job
from pi_appliance.config.notifications import NotifyTargets
from pi_appliance.errors import ApplianceError
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.scheduling.child_runs import Runs
from pi_appliance.storage.model import RESUME, Outcome, Trigger
from pi_appliance.storage.run_requests import JobCheckpoint, RunRequest
from pi_appliance.system import locks
from pi_appliance.system.clock import Clock

log = logging.getLogger("pi_appliance.asking")
NEVER = float("inf")
_FIRST_REST = 5.0  # seconds between two tries at the same; each is twice the last
_LONGEST_REST = 600.0  # seconds; a run that lasted longer was cut off anew
_LOOK = 5.0  # seconds; of a run that was not started here, nobody tells the end
_GRACE = timedelta(minutes=5)  # of an ask of a job that is not known here
_OLDEST = timedelta(days=2)  # nobody wants the alarm of last week to ring on


@dataclass(slots=True)
class _Tries:
    """How often something was started, when last by the steady clock, and when it may be again."""

    count: int = 0
    last: float = 0.0
    next: float = 0.0

    def start(self, steady: float) -> None:
        """Note one more, and let the next one wait."""
        self.count = 1 if steady - self.last > _LONGEST_REST else self.count + 1
        self.last = steady
        self.next = steady + min(_FIRST_REST * 2.0 ** min(self.count - 1, 30), _LONGEST_REST)


class RequestRunner:
    """For the daemon: call `look` at each of its rounds. APPLIANCE gives the configuration as it is by then.

    TRUSTED says whether the wall clock is believed: until then, what is to begin at a time of it waits.
    """

    def __init__(
        self, appliance: Callable[[], Appliance], runs: Runs, *, clock: Clock, trusted: Callable[[], bool]
    ) -> None:
        self._appliance, self._runs, self._clock, self._trusted = appliance, runs, clock, trusted
        self._tries: dict[str, _Tries] = {}  # by the name of the ask, or of the job that holds something
        self._under_way: set[str] = set()  # asks whose run is about to take them
        self._said = ""
        self._pruned: Appliance | None = None

    async def look(self) -> float:
        """Start what is to start by now; return the seconds until there is more. Costs two looks at small tables."""
        try:
            self._drop_what_is_nobodys()
            asks, helds = self._appliance().store.requests.pending(), self._appliance().store.requests.checkpoints()
            for ask in asks:
                await self._look_at_ask(ask)
            for held in helds:
                await self._look_at_held(held)
            self._forget_tries({ask.slot_name for ask in asks} | {held.job for held in helds})
            self._said = ""
        except (ApplianceError, OSError) as error:
            if str(error) != self._said:
                log.warning("what was asked for is not started: %s", error)
            self._said = str(error)
            return _LOOK
        return min([*self._moments(asks), *self._rests(helds)], default=NEVER)

    def sessions(self) -> set[str]:
        """Return the jobs that are in the middle of something with which the next daemon goes on."""
        with contextlib.suppress(ApplianceError):
            return {held.job for held in self._appliance().store.requests.checkpoints()}
        return set()

    async def _look_at_ask(self, ask: RunRequest) -> None:
        if not self._is_due(ask) or ask.slot_name in self._under_way or self._rests_still(ask.slot_name):
            return
        job = self._appliance().config.jobs.get(ask.job)  # None: one that the file has and we have not read yet
        if self._clock.now() - ask.run_at > (job.misfire_grace if job else _GRACE):
            self._misfire(ask, job)
            return
        if self._waits_its_turn(ask):
            return
        self._appliance().require_room()
        self._note_start(ask.slot_name)
        self._under_way.add(ask.slot_name)
        try:
            await self._runs.start(
                ask.job, Trigger.DAEMON, due=ask.slot_name, ended=lambda _: self._under_way.discard(ask.slot_name)
            )
        except BaseException:
            self._under_way.discard(ask.slot_name)
            raise

    def _waits_its_turn(self, ask: RunRequest) -> bool:
        """Say whether a run goes on that ASK is to come behind: two that waited would begin in any order."""
        job = self._appliance().config.jobs.get(ask.job)
        return job is not None and job.concurrency is ConcurrencyPolicy.QUEUE and self._goes_on(ask.job)

    def _is_due(self, ask: RunRequest) -> bool:
        return ask.immediate or (self._trusted() and ask.run_at <= self._clock.now())

    def _misfire(self, ask: RunRequest, job: Job | None) -> None:
        """Take ASK, which is too late, and tell the history, or the log where there is no such JOB."""
        appliance, now = self._appliance(), self._clock.now()
        store = appliance.store
        if job is None:
            store.requests.remove(ask.id)
            log.warning("job=%s is not in the file: what was asked of it is dropped", ask.job)
            return
        late = units.format_duration(timedelta(seconds=int((now - ask.run_at).total_seconds())))
        grace = units.format_duration(job.misfire_grace)
        why = f"asked for at a time that is {late} past, more than its grace of {grace}"
        run, before = store.start_run(job=job.name, kind=job.kind, trigger=Trigger.DAEMON, due=ask.slot_name, now=now)
        if before is None:
            store.finish_run(run, Outcome.MISFIRED, why, now=now, told=NotifyTargets.for_job(appliance.config, job))
        else:
            store.finish_run(run, Outcome.SKIPPED, f"{ask.slot_name} was taken already", now=now)

    async def _look_at_held(self, held: JobCheckpoint) -> None:
        """Start a run that goes on with what is HELD, unless one goes on or the last one was a moment ago."""
        appliance = self._appliance()
        if held.job not in appliance.config.jobs or self._goes_on(held.job) or self._rests_still(held.job):
            return
        if self._clock.now() - held.saved_at > _OLDEST:
            appliance.store.requests.delete_checkpoint(held.job)
            log.warning(
                "job=%s what it was in the middle of on %s is dropped: too long ago", held.job, held.saved_at.date()
            )
            return
        appliance.require_room()
        self._note_start(held.job)
        await self._runs.start(held.job, Trigger.DAEMON, due=RESUME)

    def _goes_on(self, job: str) -> bool:
        return self._runs.is_running(job) or locks.is_locked(self._appliance().lock_path(job))

    def _drop_what_is_nobodys(self) -> None:
        """Forget what belongs to jobs that are not in the file, each time that was read."""
        appliance = self._appliance()
        if appliance is not self._pruned:
            for job in appliance.store.requests.prune(appliance.config.jobs):
                log.warning("job=%s is no longer in the file: what was asked of it, or held by it, is dropped", job)
            self._pruned = appliance

    def _rests_still(self, name: str) -> bool:
        return name in self._tries and self._clock.monotonic() < self._tries[name].next

    def _note_start(self, name: str) -> None:
        self._tries.setdefault(name, _Tries()).start(self._clock.monotonic())

    def _forget_tries(self, known: set[str]) -> None:
        self._tries = {name: tries for name, tries in self._tries.items() if name in known}

    def _moments(self, asks: list[RunRequest]) -> Iterator[float]:
        """Yield in how many seconds each of ASKS is to be looked at."""
        for ask in asks:
            if self._is_due(ask) and self._waits_its_turn(ask):
                yield NEVER if self._runs.is_running(ask.job) else _LOOK
            elif ask.slot_name in self._tries:
                yield max(_LOOK, self._tries[ask.slot_name].next - self._clock.monotonic())
            elif self._trusted():
                yield (ask.run_at - self._clock.now()).total_seconds()

    def _rests(self, helds: list[JobCheckpoint]) -> Iterator[float]:
        """Yield in how many seconds each of HELDS is to be looked at. The end of a run of ours is news by itself."""
        for held in helds:
            if not self._runs.is_running(held.job):
                tries = self._tries.get(held.job)
                yield max(_LOOK, tries.next - self._clock.monotonic() if tries else 0.0)
