"""The player, the jobs and the scheduler as JSON values, for the API and the events."""

import math
from datetime import datetime
from typing import Any

from pi_appliance.jobs.serializers import jobs
from pi_appliance.music.serializers import music
from pi_appliance.web.interface import Daemon, Scheduler


def state(daemon: Daemon, now: datetime) -> dict[str, Any]:
    """Return everything that the page updates live."""
    return {**music(daemon.hub), "scheduler": scheduler(daemon.scheduler), "jobs": jobs(daemon.appliance, now)}


def scheduler(scheduler: Scheduler) -> dict[str, Any]:
    """Return the state of the clock and the scheduler. The wait for the clock is in seconds, rounded up to a minute."""
    return {
        "clock": scheduler.clock_state,
        "clock_wait": 60 * math.ceil(scheduler.clock_wait / 60),
        "steps": scheduler.steps,
        "last_step": scheduler.last_step,
        "trouble": scheduler.error,
        "waiting": scheduler.waiting,
    }
