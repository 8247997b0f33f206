"""The player, the jobs and the scheduler as JSON values, for the API and the events."""

import math
from datetime import datetime
from typing import Any

from pi_appliance.music.serializers import music
from pi_appliance.scheduling.appliance import Appliance, JobView, Slot
from pi_appliance.storage import model
from pi_appliance.storage.history import Pause
from pi_appliance.storage.model import Outcome, Run
from pi_appliance.web.interface import Daemon, Scheduler

_MAX_SLOTS = 200  # searched for one that the probability selects
BAD = (Outcome.FAILED, Outcome.TIMED_OUT, Outcome.MISFIRED, Outcome.UNCERTAIN, Outcome.ABANDONED)
"""Outcomes that are reported to the owner. A stopped run is not: a person stopped it."""


def state(daemon: Daemon, now: datetime) -> dict[str, Any]:
    """Return everything that the page updates live."""
    return {**music(daemon.hub), "scheduler": scheduler(daemon.scheduler), "jobs": jobs(daemon.appliance, now)}


def scheduler(scheduler: Scheduler) -> dict[str, Any]:
    """Return the state of the clock and the scheduler. The wait for the clock is in seconds, rounded up to a minute."""
    return {
        "clock": scheduler.clock_state,
        "clock-wait": 60 * math.ceil(scheduler.clock_wait / 60),
        "steps": scheduler.steps,
        "last-step": scheduler.last_step,
        "trouble": scheduler.error,
        "waiting": scheduler.waiting,
    }


def jobs(appliance: Appliance, now: datetime) -> list[dict[str, Any]]:
    """Return every job: its next slot, its newest run, and whether it is failing."""
    return [_job(appliance, view, now) for view in appliance.jobs(now)]


def next_used(appliance: Appliance, view: JobView, now: datetime) -> Slot | None:
    """Return the next slot that the probability selects, if one is near enough."""
    if view.next is None or view.next.selected:
        return view.next
    coming = zip(range(_MAX_SLOTS), appliance.slots(view.job.name, now), strict=False)
    return next((slot for _, slot in coming if slot.selected), None)


def failure(appliance: Appliance, view: JobView) -> Run | None:
    """Return the newest run that was not skipped, if its outcome is bad."""
    newest = view.last
    if newest is not None and newest.outcome is Outcome.SKIPPED:
        newest = appliance.store.last_unskipped_run(view.job.name)
    return newest if newest is not None and newest.outcome in BAD else None


def pause(pause: Pause | None) -> dict[str, Any] | None:
    """Return the pause of a job; it has no end where `until` is None."""
    return {"since": model.iso_time(pause.since), "until": model.iso_time(pause.until)} if pause else None


def _job(appliance: Appliance, view: JobView, now: datetime) -> dict[str, Any]:
    used = next_used(appliance, view, now)
    return {
        "job": view.job.name,
        "kind": view.job.kind,
        "started_by": view.job.started_by if view.job.schedule else None,
        "chance": str(view.job.chance) if view.job.chance else None,
        "depends_on": view.job.depends_on,
        "paused": pause(view.pause),
        "next": _slot(view.next) if view.next else None,
        "next_used": model.iso_time(used.at) if used else None,
        "running": view.last.id if view.last and view.last.outcome is None else None,
        "failing": failure(appliance, view) is not None,
        "last": model.run_fields(view.last),
    }


def _slot(slot: Slot) -> dict[str, Any]:
    return {
        "slot": model.iso_time(slot.at),
        "starts_at": model.iso_time(slot.starts_at),
        "selected": slot.selected,
        "skipped": slot.skipped,
    }
