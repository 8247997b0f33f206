"""The operations on the machine: its facts, restarts and shutting it down."""

from collections.abc import Sequence

from pi_appliance.operations import Operation

_API = "pi_appliance.maintenance.api"

OPERATIONS: Sequence[Operation] = (
    Operation(
        command="system show",
        method="GET",
        path="/system",
        summary="Show the state of the machine: temperature, power, card, memory, clock, network, versions.",
        handler=f"{_API}:show_facts",
        result="Doctor",
        show="pi_appliance.maintenance.text:facts",
        needs_daemon=True,
    ),
)
