"""The operations on the machine: its facts, backups, updates, restarts; and their texts."""

from collections.abc import Sequence
from typing import Any

from pi_appliance.operations import Operation, text

_API = "pi_appliance.maintenance.api"
# before the text of a fact, by its status
_WORDS = {"ok": "", "warn": "look at it: ", "fail": "PROBLEM: ", "skipped": "not known: "}
_GRACE = "Runs get the time of `stop-grace` to end."


def _power_operation(name: str, summary: str, details: str = _GRACE) -> Operation:
    return Operation(
        command=f"system {name}",
        path=f"/system/{name}",
        summary=summary,
        details=details,
        handler=f"{_API}:{name}",
        show=f"{__name__}:show_request",
        needs_daemon=True,
    )


OPERATIONS: Sequence[Operation] = (
    Operation(
        command="system show",
        method="GET",
        path="/system",
        summary="Show the state of the machine: temperature, power, card, memory, clock, network, versions.",
        handler=f"{_API}:show_facts",
        show=f"{__name__}:show_facts",
        needs_daemon=True,
    ),
    Operation(
        command="system backups list",
        method="GET",
        path="/system/backups",
        summary="List the backups on the card and in the folder of `backup:`, the newest first.",
        handler=f"{_API}:list_backups",
        show=f"{__name__}:show_backups",
    ),
    Operation(
        command="system backups create",
        path="/system/backups",
        summary="Make a backup of the history now, and one in the folder of `backup:` if there is one.",
        handler=f"{_API}:create_backup",
        show=f"{__name__}:show_backups",
        answer="the backup is made",
    ),
    Operation(
        command="system backups restore",
        path="/system/backups/{name}/restore",
        summary="Go back to a backup of the list. The appliance restarts.",
        details="Nothing is done twice: no time before now runs again, and posts made since stay recorded.",
        handler=f"{_API}:restore_backup",
        arguments=(text("name", "the name of the backup in the list", 200, required=True, positional=True),),
        show=f"{__name__}:show_request",
        needs_daemon=True,
        example={"name": "history-20261122T033000Z.db"},
    ),
    Operation(
        command="system update show",
        method="GET",
        path="/system/update",
        summary="Show the version, the newest release and what is new in it, and how the last update went.",
        handler=f"{_API}:show_update",
        show=f"{__name__}:show_update",
        needs_daemon=True,
    ),
    Operation(
        command="system update check",
        path="/system/update/check",
        summary="Look for a newer release now.",
        handler=f"{_API}:check_update",
        show=f"{__name__}:show_update",
        needs_daemon=True,
    ),
    Operation(
        command="system update install",
        path="/system/update",
        summary="Install the newest release. The appliance restarts; if the release is not well, the present one runs.",
        handler=f"{_API}:install_update",
        show=f"{__name__}:show_update",
        needs_daemon=True,
    ),
    _power_operation("restart", "Restart the appliance."),
    _power_operation("reboot", "Restart the machine."),
    _power_operation("shutdown", "Shut down the machine.", f"{_GRACE} It starts again only when it gets power again."),
)


def show_facts(result: Any, _: object) -> str:
    """Return one fact per line, with the remedy of a problem below it."""
    lines = []
    for each in result:
        lines.append(f"{each['check'] + ':':<15} {_WORDS[each['status']]}{each['summary']}")
        if each["fix"]:
            lines.append(f"{'':<15} fix: {each['fix']}")
    return "\n".join(lines)


def show_request(result: Any, _: object) -> str:
    """Return what happens now, and the runs that are asked to end."""
    line, runs = f"{result['request']} is on its way", ", ".join(result["running"])
    return f"{line}; these runs get {result['grace']} to end: {runs}" if runs else line


def show_update(result: Any, _: object) -> str:
    """Return the installed version, the newer release, and the result of the last update."""
    newest, last = result["newest"], result["last"]
    lines = [f"version {result['version']}"]
    if result["obstacle"]:
        lines.append(result["obstacle"])
    elif newest:
        lines += [f"{newest['version']} is available; install it with: pi-appliance system update install"]
        lines += [f"  {line}".rstrip() for line in newest["notes"].splitlines()]
    elif result["error"]:
        lines.append(f"releases cannot be looked up: {result['error']}")
    elif result["checked_at"]:
        lines.append(f"it is the newest; checked at {result['checked_at']}")
    if last:
        end = {"running": "is running", "done": "is done", "failed": "failed"}[last["state"]]
        lines.append(f"update to {last['version']} {end}" + (f": {last['message']}" if last["message"] else ""))
    return "\n".join(lines)


def show_backups(result: Any, _: object) -> str:
    """Return one backup per line."""
    places = {"card": "on the card", "folder": "in the folder of `backup:`"}
    lines = [f"{each['name']}  {each['size']} bytes, {places[each['place']]}" for each in result]
    return "\n".join(lines) or "there are no backups yet; make one with: pi-appliance system backups create"
