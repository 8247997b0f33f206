"""The operations on the daemon itself."""

from collections.abc import Sequence

from pi_appliance.operations import Operation, integer, text

OPERATIONS: Sequence[Operation] = (
    Operation(
        command="status",
        method="GET",
        path="/status",
        summary="Show whether the appliance runs, and what it does.",
        handler="pi_appliance.daemon_api:status",
        result="Status",
        show="pi_appliance.daemon_text:status",
        needs_daemon=True,
    ),
    Operation(
        command="reload",
        path="/reload",
        summary="Read the configuration again.",
        details="If the file is wrong, every problem is printed, and the daemon keeps the configuration it has.",
        handler="pi_appliance.daemon_api:reload",
        result="Reloaded",
        show="pi_appliance.daemon_text:reloaded",
        needs_daemon=True,
    ),
    Operation(
        path="/scheduled-runs",
        summary="Run the slot of this moment of a job that cron starts; the answer comes when the run has ended.",
        handler="pi_appliance.jobs.api_scheduled:run_scheduled",
        arguments=(text("job", "the job", 200, required=True, example="hello"),),
        result="ScheduledRun",
        example={"job": "hello"},
    ),
    Operation(
        command="logs",
        method="GET",
        path="/logs",
        summary="Print the newest messages of the daemon.",
        handler="pi_appliance.daemon_api:logs",
        arguments=(integer("lines", "how many messages", 1, 500, default=50, example=10),),
        result="Logs",
        show="pi_appliance.daemon_text:logs",
        needs_daemon=True,
    ),
)
