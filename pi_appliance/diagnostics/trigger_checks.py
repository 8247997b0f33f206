"""Checks of what starts jobs besides time."""

import json
from collections.abc import Iterator

from pi_appliance.diagnostics.context import UNKNOWN, CheckResult, DiagnosticContext, fail, ok, skipped, warn
from pi_appliance.system import runtime_socket


def check_triggers(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Ask the daemon whether each trigger works."""
    name, config = "triggers", context.config
    if config is None or not (config.mqtt or any(job.triggers.any for job in config.jobs.values())):
        yield skipped(name, UNKNOWN if context.error else "no job has any")
        return
    status, content = 0, b""
    try:
        if (connection := runtime_socket.connect(runtime_socket.socket_name(str(config.path)))) is not None:
            status, content = runtime_socket.exchange(connection, "GET", "/api/v1/triggers")
    except OSError:  # this user may not ask it, or it has just ended
        pass
    if status != 200:
        yield warn(name, "only the daemon uses them, and it does not answer", f"pi-appliance up{context.option}")
        return
    triggers = json.loads(content)
    broken = [each for each in triggers if each["problem"]]
    for each in broken:
        reason, _, fix = each["problem"].partition("; ")
        whose = f" of {each['job']}" if each["job"] else ""
        yield fail(name, f"{each['trigger']}{whose}: {reason}", fix or "pi-appliance jobs triggers")
    if not broken:
        yield ok(name, f"{len(triggers)} ready")
