"""Starts the daemon's jobs at their slots, by the wall clock, looking at it at least once a minute."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime, timedelta

from pi_appliance.core import cron, plan
from pi_appliance.engine.assemble import Appliance
from pi_appliance.engine.runs import Runs
from pi_appliance.errors import ApplianceError
from pi_appliance.model.config import RunsBy
from pi_appliance.model.run import Outcome, Trigger
from pi_appliance.model.schedule import AtBoot
from pi_appliance.store.sqlite import slot_key
from pi_appliance.system import clock

log = logging.getLogger("pi_appliance.scheduler")
_LONGEST_NAP = 60.0  # seconds; the wall clock may be set at any time, and nobody tells a sleeper

Nap = Callable[[float], Awaitable[object]]


class Scheduler:
    """One loop. NAP sleeps up to that many seconds, less when there is news; NOW is the wall clock."""

    def __init__(self, appliance: Appliance, runs: Runs, *, now: Callable[[], datetime], nap: Nap) -> None:
        self.appliance = appliance
        self._runs, self._now, self._nap = runs, now, nap
        self._looked = now()
        self._clock = clock.MachineClock()
        self.clock_state = "trusted"
        """What is thought of the wall clock: untrusted, trusted or stepped."""
        self.steps = 0
        """How often the wall clock was put forward or back."""
        self.waiting = 0
        """How many slots wait for the run before them."""
        self.beat = self._clock.steady()
        """When it looked last, in seconds since the machine started."""

    async def run(self, alive: Callable[[], None]) -> None:
        """Start what is due, for ever. ALIVE is called each time the loop comes round."""
        for job, slot in (*self._at_boot(), *self._from_before()):
            with self._told(job, slot):
                await self._start(job, slot)
        while True:
            await self.look()
            self.beat = self._clock.steady()
            alive()
            await self._nap(self._until_next())

    async def look(self) -> None:
        """Start or record all that came due since the last look."""
        now = self._now()
        config = self.appliance.config
        # Put back, the clock shows slots a second time. Those that were used are known by their claims, so looking
        # from here on is safe, and waiting for the clock to catch up would be silence.
        after, self._looked = min(self._looked, now), now
        for due in plan.due(config.jobs.values(), after, now, config.time_zone):
            with self._told(due.job, due.slot) as trouble:
                if due.misfire:
                    self._misfire(due, now)
                else:
                    await self._start(due.job, due.slot)
            if trouble:  # looked at once more next time; those that did start are known by their claims
                self._looked = after

    def next(self) -> tuple[datetime, str] | None:
        """Return the next slot and the job it belongs to."""
        config = self.appliance.config
        found = plan.next_slot(config.jobs.values(), self._now(), config.time_zone)
        return found and (found[0], found[1].name)

    def _until_next(self) -> float:
        coming = self.next()
        if coming is None:
            return _LONGEST_NAP
        return min(_LONGEST_NAP, max(0.0, (coming[0] - self._now()) / timedelta(seconds=1)))

    def _misfire(self, due: plan.Due, now: datetime) -> None:
        store, job = self.appliance.store, self.appliance.job(due.job)
        if store.claimed(slot_key(due.job, due.slot)):
            return
        run, _ = store.begin(job=job.name, kind=job.kind, trigger=Trigger.DAEMON, due=due.slot, now=now)
        store.end(run, Outcome.MISFIRED, due.misfire, now=now)
        log.warning("job=%s run=%s misfired: %s", job.name, run, due.misfire)

    async def _start(self, job: str, slot: str) -> None:
        if not self.appliance.store.claimed(slot_key(job, slot)):
            await self._runs.start(job, Trigger.DAEMON, due=slot, ended=lambda status: self._ended(job, slot, status))

    def _ended(self, name: str, slot: str, status: int) -> None:
        """Tell the history of a run that never came so far as to do it itself: no slot goes without a word."""
        with self._told(name, slot):
            store, job = self.appliance.store, self.appliance.job(name)
            if store.claimed(slot_key(name, slot)):
                return
            how = f"by signal {-status}" if status < 0 else f"with status {status}"
            run, _ = store.begin(job=name, kind=job.kind, trigger=Trigger.DAEMON, due=slot, now=self._now())
            store.end(
                run, Outcome.FAILED, f"its process ended {how} before it began; the journal says why", now=self._now()
            )
            log.warning("job=%s run=%s ended %s before it began", name, run, how)

    @contextlib.contextmanager
    def _told(self, job: str, slot: str) -> Iterator[list[ApplianceError]]:
        """Log what goes wrong with one slot, and give it: the other slots and the daemon go on."""
        trouble: list[ApplianceError] = []
        try:
            yield trouble
        except ApplianceError as error:
            trouble.append(error)
            log.error("job=%s due=%s: %s", job, slot, error)  # noqa: TRY400 - told to the owner, who needs no traceback

    def _at_boot(self) -> Iterator[tuple[str, str]]:
        for job in self.appliance.config.jobs.values():
            if isinstance(job.schedule, AtBoot) and job.runs_by is RunsBy.DAEMON:
                yield job.name, clock.boot_name()

    def _from_before(self) -> Iterator[tuple[str, str]]:
        """Yield the slots that came while no daemon was there, as when it was restarted, and are within their grace.

        Only for jobs that have run before: a new one begins with its next slot.
        """
        config = self.appliance.config
        for job in config.jobs.values():
            if job.schedule and job.runs_by is RunsBy.DAEMON and self.appliance.store.history(job=job.name, limit=1):
                slot = cron.last_slot(job.schedule, self._looked, config.time_zone, within=job.grace)
                if slot:
                    yield job.name, cron.due_name(slot)


async def nap_until(news: asyncio.Event, seconds: float) -> None:
    """Sleep SECONDS, or until there is NEWS."""
    try:
        await asyncio.wait_for(news.wait(), seconds)
    except TimeoutError:
        return
    news.clear()
