"""The operations on the daemon as text for a terminal."""

from typing import Any

from pi_appliance.operations import Values


def status(result: Any, _: Values) -> str:
    """Return the state of the daemon, one fact a line."""
    upcoming, running = result["next"], result["running"]
    rows = [
        ("pi-appliance", f"{result['version']}, running since {result['started_at']} (process {result['pid']})"),
        ("configuration", result["config"]),
        ("state", result["state_dir"]),
        *(("address", address) for address in result["addresses"]),
        ("running now", ", ".join(f"{run['job']} (run {run['run']})" for run in running) or "no job"),
        ("next", f"{upcoming['job']} at {upcoming['at']}" if upcoming else "no job waits for its time"),
        *(("player", f"not reached: {result['player_error']}") for _ in [1] if result["player_error"]),
        *(("scheduler", result["scheduler_error"]) for _ in [1] if result["scheduler_error"]),
    ]
    return "\n".join(f"{name + ':':<15} {value}" for name, value in rows)


def reloaded(result: Any, _: Values) -> str:
    """Return that the file was read again."""
    return f"{result['reloaded']} is read again"


def logs(result: Any, _: Values) -> str:
    """Return one message a line."""
    return "\n".join(f"{entry['at']} {entry['message']}" for entry in result) or "no messages yet"
