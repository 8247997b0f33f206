"""The banner: what currently needs the owner's attention, in sentences."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pi_appliance.jobs.serializers import failed_run
from pi_appliance.music.alarms.service import Alarm, alarms
from pi_appliance.scheduling.appliance import JobView
from pi_appliance.storage.model import Run
from pi_appliance.system.clock import ClockState
from pi_appliance.web.interface import Daemon, Scheduler

_MAX_FAILURES = 3  # shown


@dataclass(frozen=True, slots=True)
class Banner:
    """Sentences about the appliance, alarms that ring or snooze, the newest failed runs, and how many more."""

    sentences: Sequence[str]
    ringing: Sequence[Alarm]
    failing: Sequence[Run]
    more: int


def of(daemon: Daemon, views: Sequence[JobView], now: datetime) -> Banner:
    """Return the banner of `daemon`, whose jobs are `views`."""
    found = [run for view in views if (run := failed_run(daemon.appliance, view))]
    found.sort(key=lambda run: (run.started, run.id), reverse=True)
    ringing = [alarm for alarm in alarms(daemon.appliance, now) if alarm.session]
    return Banner(_sentences(daemon.scheduler), ringing, found[:_MAX_FAILURES], len(found[_MAX_FAILURES:]))


def _sentences(scheduler: Scheduler) -> list[str]:
    said = []
    if scheduler.clock_state is ClockState.UNTRUSTED:
        minutes = math.ceil(scheduler.clock_wait / 60)
        most = f", at most {minutes} minute{'s' * (minutes != 1)} more" if minutes else ""
        said.append(f"The clock is not set yet. Jobs at a time of day wait for it{most}.")
    if scheduler.error:
        said.append(f"A job cannot be started or recorded: {scheduler.error}")
    return said
