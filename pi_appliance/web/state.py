"""Player, jobs and scheduler as plain values, for the JSON API and the events."""

import math
from datetime import datetime
from typing import Any

from pi_appliance.music.serializers import music
from pi_appliance.scheduling.appliance import Appliance, JobView, Slot
from pi_appliance.storage import serializers
from pi_appliance.storage.model import Outcome, Run
from pi_appliance.storage.slots import Pause
from pi_appliance.web.interface import Daemon, Scheduler

_FAR_ENOUGH = 200  # slots looked at for one that the chance uses
BAD = (Outcome.FAILED, Outcome.TIMED_OUT, Outcome.MISFIRED, Outcome.UNCERTAIN, Outcome.ABANDONED)
"""How a run ends that its owner should know of. Who stopped one knows already."""


def state(daemon: Daemon, now: datetime) -> dict[str, Any]:
    """Return everything the page shows live."""
    return {**music(daemon.hub), "scheduler": scheduler(daemon.scheduler), "jobs": jobs(daemon.appliance, now)}


def scheduler(scheduler: Scheduler) -> dict[str, Any]:
    """Return what is thought of the clock and how it goes; `clock-wait` is in seconds, rounded up to a minute."""
    return {
        "clock": scheduler.clock_state,
        "clock-wait": 60 * math.ceil(scheduler.clock_wait / 60),
        "steps": scheduler.steps,
        "last-step": scheduler.last_step,
        "trouble": scheduler.trouble,
        "waiting": scheduler.waiting,
    }


def jobs(appliance: Appliance, now: datetime) -> list[dict[str, Any]]:
    """Return every job: what it waits for, its newest run, and whether it fails just now."""
    return [_job(appliance, view, now) for view in appliance.jobs(now)]


def next_used(appliance: Appliance, view: JobView, now: datetime) -> Slot | None:
    """Return the next slot that the chance uses, if there is one not too far away."""
    if view.next is None or view.next.picked:
        return view.next
    coming = zip(range(_FAR_ENOUGH), appliance.slots(view.job.name, now), strict=False)
    return next((slot for _, slot in coming if slot.picked), None)


def failure(appliance: Appliance, view: JobView) -> Run | None:
    """Return the newest run that tells how the job is, if that is badly; one that was skipped tells nothing."""
    newest = view.last
    if newest is not None and newest.outcome is Outcome.SKIPPED:
        newest = appliance.store.last_not_skipped(view.job.name)
    return newest if newest is not None and newest.outcome in BAD else None


def pause(pause: Pause | None) -> dict[str, Any] | None:
    """Return since and until when a job pauses; for good where `until` is None."""
    return {"since": serializers.instant(pause.since), "until": serializers.instant(pause.until)} if pause else None


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
        "next-used": serializers.instant(used.at) if used else None,
        "running": view.last.id if view.last and view.last.outcome is None else None,
        "failing": failure(appliance, view) is not None,
        "last": serializers.run(view.last),
    }


def _slot(slot: Slot) -> dict[str, Any]:
    return {
        "slot": serializers.instant(slot.at),
        "begins": serializers.instant(slot.begins),
        "picked": slot.picked,
        "skipped": slot.skipped,
    }
