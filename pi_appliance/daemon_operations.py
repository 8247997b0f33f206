"""The operations on the daemon itself."""

from collections.abc import Sequence
from typing import Any

from pi_appliance.errors import Problem
from pi_appliance.operations import Operation, Values, boolean, integer, text
from pi_appliance.system.shown_time import format_local_time

OPERATIONS: Sequence[Operation] = (
    Operation(
        command="status",
        method="GET",
        path="/status",
        summary="Show the state of the appliance.",
        handler="pi_appliance.daemon:status",
        show="pi_appliance.daemon_operations:show_status",
        needs_daemon=True,
    ),
    Operation(
        command="reload",
        path="/reload",
        summary="Read the configuration again.",
        details="If the file is wrong, every problem is printed, and the daemon keeps the configuration it has.",
        handler="pi_appliance.daemon:reload",
        show="pi_appliance.daemon_operations:show_reloaded",
        needs_daemon=True,
    ),
    Operation(
        path="/scheduled-runs",
        summary="Run the slot of this moment of a job that cron starts; the answer comes when the run has ended.",
        handler="pi_appliance.jobs.api:run_scheduled",
        arguments=(text("job", "the job", 200, required=True, example="hello"),),
        example={"job": "hello"},
    ),
    Operation(
        # The command `doctor` is a click function: it works without a configuration, and shows each
        # result at once.
        method="GET",
        path="/doctor",
        summary="Check the whole appliance, and return how to fix each problem.",
        handler="pi_appliance.diagnostics.api:run_doctor",
    ),
    Operation(
        # The command `config check` is a click function: it needs no state.
        method="GET",
        path="/config/check",
        summary="Read the configuration and the files that it names, and return all problems.",
        handler="pi_appliance.config_cli:check_file",
    ),
    Operation(
        command="logs",
        method="GET",
        path="/logs",
        summary="Print the newest messages of the daemon.",
        handler="pi_appliance.daemon:logs",
        arguments=(
            integer("lines", "how many messages", 1, 500, default=50, example=10),
            boolean("problems", "only problems", default=False),
        ),
        show="pi_appliance.daemon_operations:show_logs",
        needs_daemon=True,
    ),
)


def show_status(result: Any, _: Values) -> str:
    """Return the state of the daemon, with one fact per line."""
    upcoming, running, started = result["next"], result["running"], format_local_time(result["started_at"])
    rows = [
        ("pi-appliance", f"{result['version']}, running since {started} (process {result['pid']})"),
        ("configuration", result["config"]),
        ("state", result["state_dir"]),
        *(("address", address) for address in result["addresses"]),
        ("running now", ", ".join(f"{run['job']} (run {run['run']})" for run in running) or "no job"),
        (
            "next",
            f"{upcoming['job']} at {format_local_time(upcoming['at'])}" if upcoming else "no job waits for its time",
        ),
        *(("player", f"not reached: {result['player_error']}") for _ in [1] if result["player_error"]),
        *(("scheduler", result["scheduler_error"]) for _ in [1] if result["scheduler_error"]),
    ]
    if error := result["config_error"]:
        problems = [str(Problem(**each)) for each in error["problems"]]
        since = format_local_time(error["in_use_since"]) if error["in_use_since"] else "an unknown time"
        rows.append(("wrong file", "\n".join([f"the configuration of {since} is in use", *problems])))
    return "\n".join(f"{name + ':':<15} {value}" for name, value in rows)


def show_reloaded(result: Any, _: Values) -> str:
    """Return a line that names the file."""
    return f"{result['reloaded']} is read again"


def show_logs(result: Any, _: Values) -> str:
    """Return the log, with one message per line."""
    return "\n".join(f"{entry['at']} {entry['message']}" for entry in result) or "no messages yet"
