"""The operations on the machine: its facts, backups, restarts and shutting it down."""

from collections.abc import Sequence

from pi_appliance.operations import Operation, text

_API = "pi_appliance.maintenance.api"
_TEXT = "pi_appliance.maintenance.text"
_GRACE = "Runs get the time of `stop-grace` to end."


def _power_operation(name: str, summary: str, details: str = _GRACE) -> Operation:
    return Operation(
        command=f"system {name}",
        path=f"/system/{name}",
        summary=summary,
        details=details,
        handler=f"{_API}:{name}",
        result="PowerRequest",
        show=f"{_TEXT}:power_request",
        needs_daemon=True,
    )


OPERATIONS: Sequence[Operation] = (
    Operation(
        command="system show",
        method="GET",
        path="/system",
        summary="Show the state of the machine: temperature, power, card, memory, clock, network, versions.",
        handler=f"{_API}:show_facts",
        show=f"{_TEXT}:facts",
        needs_daemon=True,
    ),
    Operation(
        command="system backups list",
        method="GET",
        path="/system/backups",
        summary="List the backups on the card and in the folder of `backup:`, the newest first.",
        handler=f"{_API}:list_backups",
        result="Backups",
        show=f"{_TEXT}:backups",
    ),
    Operation(
        command="system backups create",
        path="/system/backups",
        summary="Make a backup of the history now, and one in the folder of `backup:` if there is one.",
        handler=f"{_API}:create_backup",
        result="Backups",
        show=f"{_TEXT}:backups",
        answer="the backup is made",
    ),
    Operation(
        command="system backups restore",
        path="/system/backups/{name}/restore",
        summary="Go back to a backup of the list. The appliance restarts.",
        details="Nothing is done twice: no time before now runs again, and posts made since stay recorded.",
        handler=f"{_API}:restore_backup",
        arguments=(text("name", "the name of the backup in the list", 200, required=True, positional=True),),
        result="PowerRequest",
        show=f"{_TEXT}:power_request",
        needs_daemon=True,
        example={"name": "history-20261122T033000Z.db"},
    ),
    Operation(
        command="system update show",
        method="GET",
        path="/system/update",
        summary="Show the version, the newest release and what is new in it, and how the last update went.",
        handler=f"{_API}:show_update",
        result="SystemUpdate",
        show=f"{_TEXT}:update",
        needs_daemon=True,
    ),
    Operation(
        command="system update check",
        path="/system/update/check",
        summary="Look for a newer release now.",
        handler=f"{_API}:check_update",
        result="SystemUpdate",
        show=f"{_TEXT}:update",
        needs_daemon=True,
    ),
    Operation(
        command="system update install",
        path="/system/update",
        summary="Install the newest release. The appliance restarts; if the release is not well, the present one runs.",
        handler=f"{_API}:install_update",
        result="SystemUpdate",
        show=f"{_TEXT}:update",
        needs_daemon=True,
    ),
    _power_operation("restart", "Restart the appliance."),
    _power_operation("reboot", "Restart the machine."),
    _power_operation("shutdown", "Shut down the machine.", f"{_GRACE} It starts again only when it gets power again."),
)
