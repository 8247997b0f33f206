"""Sends what is left: posts that could not be sent, or that are perhaps sent already, by runs of their jobs."""

import logging
import time
from collections.abc import Callable
from datetime import datetime

from pi_appliance.engine.assemble import Appliance
from pi_appliance.engine.runs import Runs
from pi_appliance.errors import ApplianceError
from pi_appliance.model.run import LEFT, Trigger
from pi_appliance.store.posts import Posts
from pi_appliance.system import clock

log = logging.getLogger("pi_appliance.posts")
_REST = 60.0  # seconds between two such runs of a job, whatever became of the first


class Settling:
    """For the daemon: call `look` at each of its rounds. APPLIANCE gives the configuration as it is by then."""

    def __init__(
        self,
        appliance: Callable[[], Appliance],
        runs: Runs,
        *,
        now: Callable[[], datetime] = clock.now,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._appliance, self._runs, self._now, self._steady = appliance, runs, now, steady
        self._rests: dict[str, float] = {}  # by job, until when
        self._said = ""

    async def look(self) -> None:
        """Start a run of each job that has something to send by now. Costs one look at a small index."""
        try:
            for job in self._due():
                self._rests[job] = self._steady() + _REST
                await self._runs.start(job, Trigger.DAEMON, due=LEFT)
            self._said = ""
        except (ApplianceError, OSError) as error:
            if str(error) != self._said:
                log.warning("posts that are left are not sent: %s", error)
            self._said = str(error)

    def _due(self) -> list[str]:
        appliance, now = self._appliance(), self._now()
        due = Posts(appliance.store).due(now)
        if not due:
            return []
        pauses = {name for name, pause in appliance.store.slots.pauses().items() if pause.holds(now)}
        rest = {job for job, until in self._rests.items() if until > self._steady()}
        return [
            job
            for job in due
            if job in appliance.config.jobs and job not in pauses | rest and not self._runs.going_on(job)
        ]
