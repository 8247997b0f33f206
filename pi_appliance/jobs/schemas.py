"""The JSON Schemas of the results of the operations on jobs."""

from collections.abc import Mapping

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
    "Cancelled": object_of({"job": TEXT, "cancelled": WHOLE}),
    "Pause": object_of(
        {
            "job": TEXT,
            "paused": nullable(object_of({"since": INSTANT, "until": nullable(INSTANT)})),
            "next": nullable(object_of(_SLOT)),
        }
    ),
    "Skip": object_of({"job": TEXT, "skipped": nullable(INSTANT), "slot": object_of(_SLOT)}),
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
