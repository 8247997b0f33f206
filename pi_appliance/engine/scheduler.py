"""Starts the daemon's jobs at their slots, by the wall clock, looking at it at least once a minute."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from pi_appliance.core import plan
from pi_appliance.engine.assemble import Appliance
from pi_appliance.engine.runs import Runs
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

    async def run(self, alive: Callable[[], None]) -> None:
        """Start what is due, for ever. ALIVE is called each time the loop comes round."""
        await self._at_boot()
        while True:
            await self.look()
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
            if due.misfire:
                self._misfire(due, now)
            elif not self.appliance.store.claimed(slot_key(due.job, due.slot)):
                await self._runs.start(due.job, Trigger.DAEMON, due=due.slot)

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

    async def _at_boot(self) -> None:
        boot = clock.boot_name()
        for job in self.appliance.config.jobs.values():
            here = isinstance(job.schedule, AtBoot) and job.runs_by is RunsBy.DAEMON
            if here and not self.appliance.store.claimed(slot_key(job.name, boot)):
                await self._runs.start(job.name, Trigger.DAEMON, due=boot)


async def nap_until(news: asyncio.Event, seconds: float) -> None:
    """Sleep SECONDS, or until there is NEWS."""
    try:
        await asyncio.wait_for(news.wait(), seconds)
    except TimeoutError:
        return
    news.clear()
