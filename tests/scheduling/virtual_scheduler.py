"""A scheduler in virtual time: the test sets the clocks and the durations of runs."""

import asyncio
import heapq
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

from pi_appliance.errors import Unavailable
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.scheduling.child_runs import ChildRuns, RequestRunner, RunStart
from pi_appliance.scheduling.scheduler import Scheduler
from pi_appliance.storage.model import RESUME, Outcome
from pi_appliance.system.clock import ClockState
from tests.installation import Installation

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


class VirtualClock:
    """The clocks of a machine; `wall` can be set, `monotonic` only advances."""

    def __init__(self, wall: datetime = NOON, *, is_synchronized: bool = True) -> None:
        self.wall, self.ticks, self.known = wall, 1000.0, is_synchronized

    def now(self) -> datetime:
        return self.wall

    def monotonic(self) -> float:
        return self.ticks

    def is_synchronized(self) -> bool:
        return self.known

    def advance(self, seconds: float) -> None:
        self.wall += timedelta(seconds=seconds)
        self.ticks += seconds

    def step(self, by: timedelta) -> None:
        self.wall += by


class VirtualRuns(ChildRuns):
    """Runs that claim slots and write the history like real ones, and end after their duration."""

    def __init__(
        self,
        appliance: Appliance,
        clock: VirtualClock,
        takes: Callable[[str], float] = lambda _: 0.0,
        *,
        limited: bool = False,
    ) -> None:
        super().__init__(Path("unused"), appliance=(lambda: self.appliance) if limited else None)
        self.appliance, self._clock, self._takes = appliance, clock, takes
        self.slots = list[str]()
        self.by_job = list[tuple[str, str]]()
        self.failing, self.falling = list[str](), list[int]()  # why the next do not start, or how they end at once
        self.beaten = 0  # how often a slot was used by the time its run began
        self._ends = list[tuple[float, int, str, int, int | None, Callable[[int], None]]]()
        self._number = count()

    def _is_active(self, job: str) -> bool:
        return any(each[2] == job for each in self._ends)

    async def _start_process(self, run: RunStart, place: int | None) -> None:
        if self.failing:
            raise Unavailable(self.failing.pop())
        if self.falling:
            run.ended(self.falling.pop())
            return
        job, due, now, store = run.job, run.due, self._clock.now(), self.appliance.store
        slot = None if due == RESUME else due
        number, used = store.start_run(job=job, kind="command", trigger=run.trigger, due=slot, now=now)
        if used is not None:
            self.beaten += 1
            store.finish_run(number, Outcome.SKIPPED, "used", now=now)
            run.ended(0)
            return
        self.slots.append(str(due))
        self.by_job.append((job, str(due)))
        held = None if place is None else os.dup(place)  # as the process inherits it
        end = self._clock.monotonic() + self._takes(job)
        heapq.heappush(self._ends, (end, next(self._number), job, number, held, run.ended))
        self.end_what_is_over()

    def end_what_is_over(self) -> None:
        """End the runs whose duration has passed."""
        while self._ends and self._ends[0][0] <= self._clock.monotonic():
            *_, run, held, ended = heapq.heappop(self._ends)
            if held is not None:
                os.close(held)
            self.appliance.store.finish_run(run, Outcome.SUCCEEDED, "", now=self._clock.now(), attempts=1)
            ended(0)

    def next_end(self) -> float:
        """Return the monotonic time of the next end of a run."""
        return self._ends[0][0] if self._ends else float("inf")

    def vanish(self) -> None:
        """Lose all runs, as in a power cut."""
        for *_, held, _ in self._ends:
            if held is not None:
                os.close(held)
        self._ends.clear()
        self._waiting.clear()


class VirtualAppliance:
    """A scheduler, its clocks and its runs."""

    def __init__(
        self,
        installation: Installation,
        jobs: str,
        rest: str = "",
        takes: Callable[[str], float] = lambda _: 0.0,
        *,
        limited: bool = False,
    ) -> None:
        installation.write(jobs, rest)
        self.appliance = Appliance.open(installation.config)
        self.clock = VirtualClock()
        self.runs = VirtualRuns(self.appliance, self.clock, takes, limited=limited)
        self.sleeps: list[float] = []
        self.restart()

    def restart(self) -> None:
        """Restart the scheduler, as after a restart of the daemon."""
        asking = RequestRunner(lambda: self.appliance, self.runs, clock=self.clock, trusted=self._is_trusted)
        self.scheduler = Scheduler(self.appliance, self.runs, clock=self.clock, sleep=self._sleep, on_tick=asking.tick)

    def _is_trusted(self) -> bool:
        return self.scheduler.clock_state is not ClockState.UNTRUSTED

    async def _sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        seconds = min(seconds, max(0.0, self.runs.next_end() - self.clock.monotonic()))
        self.clock.advance(seconds)
        self.runs.end_what_is_over()

    def tick(self) -> None:
        asyncio.run(self.scheduler.tick())

    def run_until(self, until: datetime) -> None:
        """Run the loop until the wall clock shows `until`."""

        def alive() -> None:
            if self.clock.now() >= until:
                raise StopAsyncIteration

        with pytest.raises((StopAsyncIteration, RuntimeError)):
            asyncio.run(self.scheduler.run(alive))

    def outcomes(self, job: str | None = None) -> list[tuple[str | None, Outcome | None]]:
        """Return slot and outcome of each run, oldest first."""
        return [(run.scheduled_for, run.outcome) for run in reversed(self.appliance.store.history(job=job, limit=1000))]


@contextmanager
def virtual_appliance(
    installation: Installation,
    jobs: str,
    rest: str = "",
    takes: Callable[[str], float] = lambda _: 0.0,
    *,
    limited: bool = False,
) -> Iterator[VirtualAppliance]:
    """Open a `VirtualAppliance` and close it afterwards. Its runs wait for places if it is `limited`."""
    simulation = VirtualAppliance(installation, jobs, rest, takes, limited=limited)
    try:
        yield simulation
    finally:
        simulation.runs.vanish()
        simulation.appliance.close()
