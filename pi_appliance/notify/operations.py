"""The operations on notifiers. `notifiers send` is a click command: it reads standard input."""

from collections.abc import Sequence

from pi_appliance.operations import Operation, array, text

_API, _TEXT = "pi_appliance.notify.api", "pi_appliance.notify.cli"

OPERATIONS: Sequence[Operation] = (
    Operation(
        command="notifiers list",
        method="GET",
        path="/notifiers",
        summary="List the notifiers, the use of each, and the messages still to be sent.",
        details="Addresses are not shown.",
        handler=f"{_API}:list_notifiers",
        show=f"{_TEXT}:show_notifiers",
    ),
    Operation(
        command="notifiers test",
        path="/notifiers/test",
        summary="Send a test message by each notifier, and report the results.",
        handler=f"{_API}:test_notifiers",
        arguments=(array(text("notifiers", "the notifiers; without it, all", 100, positional=True), 100),),
        show=f"{_TEXT}:show_tests",
        exit_status=f"{_TEXT}:tests_exit_status",
        needs_state=False,
    ),
)
