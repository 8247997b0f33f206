"""Start runs that send the posts that could not be sent before."""

import logging
import time
from collections.abc import Callable
from datetime import datetime

from pi_appliance.errors import ApplianceError
from pi_appliance.posting.store import PostDatabase
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.scheduling.child_runs import ChildRuns
from pi_appliance.storage.model import RESUME, Trigger
from pi_appliance.system import clock

_REST_TIME = 60.0  # seconds between two runs of a job that the daemon starts for pending posts

log = logging.getLogger("pi_appliance.posts")


class PendingPostsRunner:
    """Start runs that send pending posts. The daemon calls `tick` in each of its rounds."""

    def __init__(
        self,
        appliance: Callable[[], Appliance],
        runs: ChildRuns,
        *,
        now: Callable[[], datetime] = clock.now,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._appliance, self._runs, self._now, self._monotonic = appliance, runs, now, monotonic
        self._rests: dict[str, float] = {}  # key: job; value: monotonic time of the earliest next run
        self._logged_error = ""

    async def tick(self) -> None:
        """Start a run of each job that has a post due. Reads a small index only."""
        try:
            for job in self._due_jobs():
                self._rests[job] = self._monotonic() + _REST_TIME
                await self._runs.start(job, Trigger.DAEMON, due=RESUME)
            self._logged_error = ""
        except (ApplianceError, OSError) as error:
            if str(error) != self._logged_error:
                log.warning("pending posts cannot be sent: %s", error)
            self._logged_error = str(error)

    def _due_jobs(self) -> list[str]:
        appliance, now = self._appliance(), self._now()
        due = PostDatabase(appliance.store).jobs_due(now)
        if not due:
            return []
        paused = {name for name, pause in appliance.store.slots.pauses().items() if pause.is_active(now)}
        resting = {job for job, until in self._rests.items() if until > self._monotonic()}
        return [
            job
            for job in due
            if job in appliance.config.jobs and job not in paused | resting and not self._runs.is_running(job)
        ]
