"""The operations on jobs, their runs and their reports."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pi_appliance.operations import (
    DAY_PATTERN,
    TIME_PATTERN,
    Argument,
    Operation,
    array,
    boolean,
    date,
    document,
    duration,
    integer,
    matching,
    text,
)

_API = "pi_appliance.jobs.api"
_EDITOR = "pi_appliance.jobs.api_editor"
_TEXT = "pi_appliance.jobs.text"
SLOT_PATTERN = rf"{DAY_PATTERN}T{TIME_PATTERN}:[0-5]\dZ|boot:[0-9a-f-]{{36}}|after:\d+(\+\d+)*|request:\d+"
_NAME = text("name", "the job", 100, required=True, positional=True, example="daily")
_ONE_JOB = text("job", "only this job", 100, positional=True, example="hello")
_ENTRY = text("name", "the job", 100, required=True, positional=True, example="daily")
_SET = array(
    text("set", "a key and its value, such as with.network=preview; an empty value removes the key", 4000), 100
)
_SCHEDULE = text("schedule", "when it runs, as in YAML: a cron expression, every 15m, a list of times; empty for never")
_CHANCE = text("chance", "the share of its slots that are used, such as 1/4; empty for all", 20)
_NEW_NAME = text("new_name", "the name of the copy; without it, a number is added", 100, positional=True)
_MAX_RUN = 2**63 - 1  # the highest row number of SQLite


RUN = Operation(
    # The command `jobs run` is a click function: it shows the output while the job runs, and needs
    # no daemon.
    path="/jobs/{name}/run",
    summary="Start a run of a job. The answer comes when it has begun.",
    handler=f"{_API}:run_job",
    arguments=(
        _NAME,
        matching(
            "slot",
            "the slot or request it belongs to, as the history names it",
            SLOT_PATTERN,
            "a slot as the history writes it, such as 2026-05-01T06:00:00Z",
        ),
        boolean("as_scheduled", "use the current slot, or the next one, and let the chance decide", default=False),
        boolean("resume", "only complete work that earlier runs left unfinished", default=False),
        array(
            document("with", "an option for this run only, such as text=hello; give it again for more", 4000),
            20,
        ),
    ),
    status=202,
    example={"name": "hello"},
)
PAUSE = Operation(
    command="jobs pause",
    path="/jobs/{name}/pause",
    summary="Start a job at none of its slots until it is resumed.",
    details="The history shows these slots as skipped. You can still start the job yourself, and an active run is not "
    "affected. A restart does not end the pause.",
    handler=f"{_API}:pause_job",
    arguments=(_NAME, duration("for", "how long; without it until you resume the job", example="2h")),
    show=f"{_TEXT}:paused_job",
    example={"name": "daily", "for": "2h"},
)


def _entry_operation(command: str, path: str, summary: str, *arguments: Argument, **more: Any) -> Operation:
    return Operation(
        command=f"jobs {command}",
        path=path,
        summary=summary,
        arguments=arguments,
        **{
            "handler": f"{_EDITOR}:{command}",
            "show": f"{_TEXT}:job_entry",
            "max_body": 100_000,
            **more,
        },
    )


EDITING: Sequence[Operation] = (
    _entry_operation(
        "add",
        "/jobs",
        "Add a job to the configuration file.",
        replace(_NAME, help="its name"),
        text("kind", "its kind, such as tweet or puzzle", 60, required=True, positional=True),
        _SCHEDULE,
        _CHANCE,
        _SET,
        status=201,
        details="A job that starts a program is added on the machine only, with an editor.",
        example={
            "name": "news",
            "kind": "music",
            "schedule": "every 1h",
            "set": ["with.action=announce", "with.text=it is time"],
        },
    ),
    _entry_operation(
        "show",
        "/jobs/{name}",
        "Show the keys of a job in the configuration file.",
        _ENTRY,
        method="GET",
        handler=f"{_EDITOR}:get_job",
        details="Programs are not shown.",
        example={"name": "daily"},
    ),
    _entry_operation(
        "edit",
        "/jobs/{name}",
        "Change a job in the configuration file.",
        _ENTRY,
        _SCHEDULE,
        _CHANCE,
        _SET,
        text("version", "the `version` of the job that you have read; another one is refused", 100, may_be_empty=False),
        method="PATCH",
        details="Omitted keys stay unchanged, and so do comments and everything else in the file.",
        example={"name": "daily", "chance": "1/2"},
    ),
    _entry_operation(
        "copy",
        "/jobs/{name}/copy",
        "Add a copy of a job to the configuration file.",
        _ENTRY,
        _NEW_NAME,
        status=201,
        example={"name": "tweets", "new_name": "tweets-late"},
    ),
    _entry_operation(
        "remove",
        "/jobs/{name}",
        "Remove a job from the configuration file. Its history stays.",
        _ENTRY,
        method="DELETE",
        show="",
        done="{job} is removed; its history stays",
        example={"name": "daily"},
    ),
    *(
        _entry_operation(
            state,
            f"/jobs/{{name}}/{state}",
            f"Switch a job {state}. {effect}",
            _ENTRY,
            handler=f"{_EDITOR}:switch_{state}",
            show=f"{_TEXT}:switched_job",
            example={"name": "daily"},
        )
        for state, effect in (("on", "It runs at its slots again."), ("off", "It is paused until it is switched on."))
    ),
)
OPERATIONS: Sequence[Operation] = (
    Operation(
        command="jobs list",
        method="GET",
        path="/jobs",
        summary="List the jobs: the next slot, the pause and the newest run of each.",
        handler=f"{_API}:list_jobs",
        show=f"{_TEXT}:job_list",
    ),
    *EDITING,
    RUN,
    PAUSE,
    Operation(
        command="jobs resume",
        path="/jobs/{name}/resume",
        summary="End the pause of a job.",
        details="Slots that it missed are not made up for.",
        handler=f"{_API}:resume_job",
        arguments=(_NAME,),
        show=f"{_TEXT}:resumed_job",
        example={"name": "daily"},
    ),
    Operation(
        command="jobs skip",
        path="/jobs/{name}/skip",
        summary="Skip the next slot of a job.",
        details="It is the next slot that the chance selects. You can still start the job yourself. A second call "
        "has no effect.",
        handler=f"{_API}:skip_slot",
        arguments=(_NAME,),
        show=f"{_TEXT}:skipped_slot",
        example={"name": "daily"},
    ),
    Operation(
        command="jobs unskip",
        path="/jobs/{name}/unskip",
        summary="Use the slot of a job that was to be skipped.",
        handler=f"{_API}:unskip_slot",
        arguments=(_NAME,),
        show=f"{_TEXT}:unskipped_slot",
        example={"name": "daily"},
    ),
    Operation(
        command="jobs cancel",
        path="/jobs/{name}/cancel",
        summary="Stop the active run of a job.",
        details="It is asked to end, and killed after five seconds. Its slot counts as used. The history shows when it "
        "has ended.",
        handler=f"{_API}:cancel_job",
        arguments=(_NAME,),
        show=f"{_TEXT}:cancelled_run",
        status=202,
        example={"name": "hello"},
    ),
    Operation(
        command="jobs dismiss",
        path="/jobs/{name}/dismiss",
        summary="Do not show the failure of a job any more, until it fails again.",
        details="The history still has the failed run.",
        handler=f"{_API}:dismiss_failure",
        arguments=(_NAME,),
        done="the failure of {job} in run {dismissed} is dismissed",
        example={"name": "hello"},
    ),
    Operation(
        command="jobs explain",
        method="GET",
        path="/jobs/{name}/explanation",
        summary="Explain when and how a job runs.",
        details="It includes the effect of the next clock changes, and how cron would differ.",
        handler=f"{_API}:explain_job",
        arguments=(_NAME,),
        show=f"{_TEXT}:explanation",
        example={"name": "daily"},
    ),
    Operation(
        command="jobs next",
        method="GET",
        path="/slots/next",
        summary="List the next slots, and whether the chance selects them.",
        handler=f"{_API}:next_slots",
        arguments=(_ONE_JOB, integer("count", "how many slots at most", 1, 1000, default=10, example=10)),
        show=f"{_TEXT}:next_slots",
    ),
    Operation(
        command="jobs simulate",
        method="GET",
        path="/slots/simulation",
        summary="List the slots of any period, past or future, with their results. Nothing is run.",
        details="Times are those of the time zone of each job. Clock changes are shown between the slots.",
        handler="pi_appliance.jobs.api_simulation:simulate_slots",
        arguments=(
            array(text("job", "only these jobs", 100, positional=True, example="daily"), 1000),
            date("from", "the first time or day", required=True, example="2027-03-28"),
            date("to", "the last time or day", required=True, example="2027-03-28"),
            text("zone", "simulate another time zone of the configuration, such as Asia/Tokyo", 100),
            integer("limit", "how many slots at most", 1, 10_000, default=1000),
        ),
        show=f"{_TEXT}:simulation",
    ),
    Operation(
        method="GET",
        path="/jobs/{name}/slots",
        summary="List the slots of a job with their results, the newest first, without gaps.",
        handler=f"{_API}:list_slots",
        arguments=(_NAME, integer("count", "how many slots at most", 1, 10_000, default=50, example=10)),
        example={"name": "daily"},
    ),
    Operation(
        command="jobs history",
        method="GET",
        path="/runs",
        summary="List the runs of a job or of all jobs, the newest first.",
        handler=f"{_API}:list_runs",
        arguments=(
            _ONE_JOB,
            integer("count", "how many entries at most", 1, 10_000, default=20, example=10),
            integer("before", "only runs with a smaller number", 1, _MAX_RUN),
            boolean("slots", "list the slots with their results instead, without gaps", default=False),
        ),
        show=f"{_TEXT}:history",
    ),
    Operation(
        command="jobs log",
        method="GET",
        path="/runs/{run:run}",
        summary="Show a run and its output.",
        handler=f"{_API}:show_run",
        arguments=(
            integer("run", "the number of the run", 1, _MAX_RUN, required=True, positional=True),
            integer("start", "leave out so many characters of the output", 0, _MAX_RUN, default=0),
        ),
        show=f"{_TEXT}:run_with_log",
        example={"run": 1},
    ),
    Operation(
        command="jobs reports",
        method="GET",
        path="/reports",
        summary="List the newest reports. The page shows each at /reports/JOB/FILE, the plain file with `?raw=1`.",
        handler=f"{_API}:list_reports",
        show=f"{_TEXT}:report_list",
    ),
    Operation(
        method="GET",
        path="/reports/{name}",
        summary="List the dated reports of a job, the newest first. The page shows each at /reports/JOB/DATE/FILE.",
        handler=f"{_API}:list_dated_reports",
        arguments=(_NAME,),
        example={"name": "hello"},
    ),
)
