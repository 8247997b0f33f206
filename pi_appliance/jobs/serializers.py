"""Jobs, slots and their runs as JSON objects."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, TypedDict
from zoneinfo import ZoneInfo

from pi_appliance.config.options import StartedBy
from pi_appliance.json_schema import Instant
from pi_appliance.scheduling.appliance import Appliance, JobView, Slot
from pi_appliance.scheduling.child_runs import RunStart
from pi_appliance.scheduling.slot_ledger import SlotStatus
from pi_appliance.storage.database import KeyValueStore
from pi_appliance.storage.history import Pause
from pi_appliance.storage.model import Outcome, Run, RunJson, iso_time, run_fields

_MAX_SLOTS = 200  # slots in which one that the chance selects is searched
BAD_OUTCOMES = (Outcome.FAILED, Outcome.TIMED_OUT, Outcome.MISFIRED, Outcome.UNCERTAIN, Outcome.ABANDONED)
"""Outcomes that are reported to the owner. A stopped run is not: a person stopped it."""


class PauseJson(TypedDict):
    """The pause of a job."""

    since: Instant
    until: Annotated[Instant | None, "null: until it is resumed"]


class SlotJson(TypedDict):
    """A future slot."""

    job: str
    slot: Instant
    local: Annotated[Instant, "the slot in the time zone of its job"]
    starts_at: Annotated[Instant, "with the random delay"]
    selected: Annotated[bool, "by the chance"]
    used: bool
    skipped: Annotated[bool, "by a person"]


class SlotStatusJson(TypedDict):
    """The result of a slot."""

    job: str
    slot: Instant
    local: Annotated[Instant, "the slot in the time zone of its job"]
    run: int | None
    outcome: Outcome | None
    summary: str


class JobJson(TypedDict):
    """A job with its next slot and its newest run."""

    job: str
    kind: str
    started_by: Annotated[StartedBy | None, "null for a job without a schedule"]
    chance: Annotated[str | None, "such as 1/4"]
    depends_on: list[str]
    paused: PauseJson | None
    next: SlotJson | None
    next_used: Annotated[Instant | None, "the next slot that the chance selects"]
    running: Annotated[int | None, "the number of the active run"]
    waiting: Annotated[bool, "a run waits until others have ended"]
    failing: Annotated[bool, "the newest run failed, and its failure was not dismissed"]
    last: RunJson | None


def jobs(appliance: Appliance, now: datetime, waiting: Iterable[RunStart] = ()) -> list[JobJson]:
    """Convert every job: its next slot, its newest run, and whether it is failing or `waiting`."""
    names = {run.job for run in waiting}
    return [_job(appliance, view, now, is_waiting=view.job.name in names) for view in appliance.jobs(now)]


def _job(appliance: Appliance, view: JobView, now: datetime, *, is_waiting: bool) -> JobJson:
    job, used = view.job, next_selected_slot(appliance, view, now)
    return {
        "job": job.name,
        "kind": job.kind,
        "started_by": job.started_by if job.schedule or job.depends_on else None,
        "chance": str(job.chance) if job.chance else None,
        "depends_on": list(job.depends_on),
        "paused": pause(view.pause),
        "next": slot(view.next, appliance.config.zone_of(job)) if view.next else None,
        "next_used": iso_time(used.at) if used else None,
        "running": view.last.id if view.last and view.last.outcome is None else None,
        "waiting": is_waiting,
        "failing": failed_run(appliance, view) is not None,
        "last": run_fields(view.last) if view.last else None,
    }


def next_selected_slot(appliance: Appliance, view: JobView, now: datetime) -> Slot | None:
    """Return the next slot that the chance selects, if there is one among the next slots."""
    if view.next is None or view.next.selected:
        return view.next
    coming = zip(range(_MAX_SLOTS), appliance.slots(view.job.name, now), strict=False)
    return next((slot for _, slot in coming if slot.selected), None)


def failed_run(appliance: Appliance, view: JobView) -> Run | None:
    """Return the newest run that was not skipped, if it failed and was not dismissed."""
    newest = view.last
    if newest is not None and newest.outcome is Outcome.SKIPPED:
        newest = appliance.store.last_unskipped_run(view.job.name)
    if newest is None or newest.outcome not in BAD_OUTCOMES:
        return None
    dismissed = KeyValueStore(appliance.store).get(dismissed_key(view.job.name))
    return newest if dismissed is None or int(dismissed) < newest.id else None


def dismissed_key(job: str) -> str:
    """Return the key under which the last dismissed failure of `job` is stored."""
    return f"dismissed failure of {job}"


def pause(pause: Pause | None) -> PauseJson | None:
    """Convert the pause of a job. `until` is None if the pause has no end."""
    return {"since": iso_time(pause.since), "until": iso_time(pause.until)} if pause else None


def slot(slot: Slot, zone: ZoneInfo) -> SlotJson:
    """Convert a future slot. `local` is its time in the time zone of its job."""
    return {
        "job": slot.job,
        "slot": iso_time(slot.at),
        "local": slot.at.astimezone(zone).isoformat(),
        "starts_at": iso_time(slot.starts_at),
        "selected": slot.selected,
        "used": slot.used,
        "skipped": slot.skipped,
    }


def slot_status(status: SlotStatus, zone: ZoneInfo) -> SlotStatusJson:
    """Convert the result of a slot."""
    return {
        "job": status.job,
        "slot": iso_time(status.at),
        "local": status.at.astimezone(zone).isoformat(),
        "run": status.run.id if status.run else None,
        "outcome": status.run.outcome if status.run else None,
        "summary": status.reason,
    }
