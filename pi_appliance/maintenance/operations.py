"""The operations on the machine: its facts, restarts and shutting it down."""

from collections.abc import Sequence

from pi_appliance.operations import Operation

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
        result="Doctor",
        show=f"{_TEXT}:facts",
        needs_daemon=True,
    ),
    _power_operation("restart", "Restart the appliance."),
    _power_operation("reboot", "Restart the machine."),
    _power_operation("shutdown", "Shut down the machine.", f"{_GRACE} It starts again only when it gets power again."),
)
