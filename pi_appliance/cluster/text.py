"""The cluster as text for a terminal."""

from typing import Any

from pi_appliance.cli.client import format_local_time, format_table
from pi_appliance.config.units import format_size


def code(result: Any, _: object) -> str:
    """Return the code, and what to do with it."""
    lines = [
        f"the scheduler: {result['scheduler']}",
        "on the other machine, run:",
        f"  pi-appliance cluster join {result['code']}",
        f"the code is for one machine, until {format_local_time(result['expires'])}",
    ]
    return "\n".join(lines)


def status(result: Any, _: object) -> str:
    """Return the scheduler, and one worker a line."""
    if not result["scheduler"]:
        return "this machine is in no cluster; pi-appliance cluster start makes one"
    where = f"the scheduler: {result['scheduler']}" + (", on this machine" if result["is_first"] else "")
    if result["problem"]:
        return f"{where}\n{result['problem']}"
    rows = [
        [
            each["name"],
            each["address"].partition("://")[2].rpartition(":")[0],
            str(each["cores"]),
            f"{format_size(each['memory'])} of {format_size(each['memory_limit'])}",
            f"{each['work']} tasks" if each["work"] else "idle",
            each["version"] or "unknown",
        ]
        for each in result["workers"]
    ]
    cores = sum(each["cores"] for each in result["workers"])
    lines = [where, f"{len(rows)} workers with {cores} cores; {result['waiting']} tasks wait"]
    if rows:
        lines.append(format_table(["worker", "machine", "cores", "memory", "work", "version"], rows))
    return "\n".join(lines)
