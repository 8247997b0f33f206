"""Jobs, slots and reports as JSON values, and the schemas of these values."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from pi_appliance.json_schema import (
    ANY,
    FLAG,
    INSTANT,
    NUMBER,
    TEXT,
    WHOLE,
    Schema,
    describe,
    list_of,
    nullable,
    object_of,
    reference,
)
from pi_appliance.scheduling.appliance import Appliance, JobView, Slot
from pi_appliance.scheduling.child_runs import RunStart
from pi_appliance.scheduling.slot_ledger import SlotStatus
from pi_appliance.storage import model
from pi_appliance.storage.database import KeyValueStore
from pi_appliance.storage.history import Pause
from pi_appliance.storage.model import Outcome, Run, iso_time

_MAX_SLOTS = 200  # searched for one that the probability selects
BAD_OUTCOMES = (Outcome.FAILED, Outcome.TIMED_OUT, Outcome.MISFIRED, Outcome.UNCERTAIN, Outcome.ABANDONED)
"""Outcomes that are reported to the owner. A stopped run is not: a person stopped it."""


def jobs(appliance: Appliance, now: datetime, waiting: Iterable[RunStart] = ()) -> list[dict[str, Any]]:
    """Convert every job: its next slot, its newest run, and whether it is failing or `waiting`."""
    names = {run.job for run in waiting}
    return [{**_job(appliance, view, now), "waiting": view.job.name in names} for view in appliance.jobs(now)]


def _job(appliance: Appliance, view: JobView, now: datetime) -> dict[str, Any]:
    job, used = view.job, next_selected_slot(appliance, view, now)
    return {
        "job": job.name,
        "kind": job.kind,
        "started_by": job.started_by if job.schedule or job.depends_on else None,
        "chance": str(job.chance) if job.chance else None,
        "depends_on": job.depends_on,
        "paused": pause(view.pause),
        "next": slot(view.next, appliance.config.zone_of(job)) if view.next else None,
        "next_used": iso_time(used.at) if used else None,
        "running": view.last.id if view.last and view.last.outcome is None else None,
        "failing": failed_run(appliance, view) is not None,
        "last": model.run_fields(view.last),
    }


def next_selected_slot(appliance: Appliance, view: JobView, now: datetime) -> Slot | None:
    """Return the next slot that the probability selects, if one is near enough."""
    if view.next is None or view.next.selected:
        return view.next
    coming = zip(range(_MAX_SLOTS), appliance.slots(view.job.name, now), strict=False)
    return next((slot for _, slot in coming if slot.selected), None)


def failed_run(appliance: Appliance, view: JobView) -> Run | None:
    """Return the newest run that was not skipped, if its outcome is bad and not dismissed."""
    newest = view.last
    if newest is not None and newest.outcome is Outcome.SKIPPED:
        newest = appliance.store.last_unskipped_run(view.job.name)
    if newest is None or newest.outcome not in BAD_OUTCOMES:
        return None
    dismissed = KeyValueStore(appliance.store).get(dismissed_key(view.job.name))
    return newest if dismissed is None or int(dismissed) < newest.id else None


def dismissed_key(job: str) -> str:
    """Return the key of the last run of `job` whose failure was dismissed."""
    return f"dismissed failure of {job}"


def pause(pause: Pause | None) -> dict[str, Any] | None:
    """Convert the pause of a job; it has no end where `until` is None."""
    return {"since": iso_time(pause.since), "until": iso_time(pause.until)} if pause else None


def slot(slot: Slot, zone: ZoneInfo) -> dict[str, Any]:
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


def slot_status(status: SlotStatus, zone: ZoneInfo) -> dict[str, Any]:
    """Convert the result of a slot."""
    return {
        "job": status.job,
        "slot": iso_time(status.at),
        "local": status.at.astimezone(zone).isoformat(),
        "run": status.run.id if status.run else None,
        "outcome": status.run.outcome if status.run else None,
        "summary": status.reason,
    }


_RUN: Mapping[str, Schema] = {
    "id": WHOLE,
    **dict.fromkeys(("job", "kind", "trigger", "summary", "status_text"), TEXT),
    "scheduled_for": nullable(TEXT),
    "started": INSTANT,
    "ended": nullable(INSTANT),
    "seconds": nullable(NUMBER),
    "outcome": nullable(TEXT),
    "details": ANY,
    "attempts": WHOLE,
    "progress": nullable(NUMBER),
}
_SLOT: Mapping[str, Schema] = {
    "job": TEXT,
    "slot": INSTANT,
    "local": describe(INSTANT, "the slot in the time zone of its job"),
    "starts_at": INSTANT,
    **dict.fromkeys(("selected", "used", "skipped"), FLAG),
}
_SLOT_STATUS = object_of(
    {
        **{name: _SLOT[name] for name in ("job", "slot", "local")},
        "run": nullable(WHOLE),
        "outcome": nullable(TEXT),
        "summary": TEXT,
    }
)
_SIMULATED_SLOT = object_of(
    {
        **dict.fromkeys(("job", "slot", "local", "zone", "result"), TEXT),
        "starts_at": nullable(INSTANT),
        "run": nullable(object_of(_RUN)),
    }
)
_REPORT = object_of({"job": TEXT, "file": TEXT, "written": INSTANT, "bytes": WHOLE})

SCHEMAS: Mapping[str, Schema] = {
    "Job": object_of({"job": TEXT, "kind": TEXT, "depends_on": list_of(TEXT), "failing": FLAG}, more=True),
    "Jobs": list_of(reference("Job")),
    "Started": object_of({"job": TEXT, "run": WHOLE}),
    "ScheduledRun": object_of({"run": WHOLE, "outcome": nullable(TEXT), "message": TEXT, "exit_status": WHOLE}),
    "Dismissed": object_of({"job": TEXT, "dismissed": WHOLE}),
    "Cancelled": object_of({"job": TEXT, "cancelled": WHOLE}),
    "Pause": object_of(
        {
            "job": TEXT,
            "paused": nullable(object_of({"since": INSTANT, "until": nullable(INSTANT)})),
            "next": nullable(object_of(_SLOT)),
        }
    ),
    "Skip": object_of({"job": TEXT, "skipped": nullable(INSTANT), "slot": object_of(_SLOT)}),
    "JobEntry": object_of(
        {
            **dict.fromkeys(("job", "kind"), TEXT),
            "when": describe(TEXT, "the schedule and the chance in words"),
            "paused": FLAG,
            "values": {"type": "object", "additionalProperties": TEXT, "description": "the keys that can be changed"},
            "version": TEXT,
        }
    ),
    "RemovedJob": object_of({"job": TEXT}),
    "Explanation": object_of({"job": TEXT, "explanation": list_of(TEXT)}),
    "Slots": list_of(_SLOT_STATUS),
    "NextSlots": list_of(object_of({**_SLOT, "result": TEXT})),
    "Simulation": object_of(
        {
            "from": INSTANT,
            "to": INSTANT,
            "slots": list_of(_SIMULATED_SLOT),
            "changes": list_of(object_of({"at": INSTANT, **dict.fromkeys(("day", "zone", "before", "after"), TEXT)})),
            "omitted": describe(WHOLE, "slots beyond the limit, counted up to 10,000"),
            "notes": list_of(TEXT),
        }
    ),
    "History": list_of({"anyOf": [object_of(_RUN), _SLOT_STATUS]}),
    "Run": object_of({**_RUN, "log": TEXT}),
    "Reports": list_of(_REPORT),
    "DatedReports": list_of(object_of({"date": TEXT, "files": list_of(_REPORT)})),
}
