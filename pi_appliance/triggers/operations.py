"""The operations on triggers."""

from collections.abc import Sequence

from pi_appliance.operations import Operation, text

_API = "pi_appliance.triggers.api"

OPERATIONS: Sequence[Operation] = (
    Operation(
        command="jobs triggers",
        method="GET",
        path="/triggers",
        summary="List what starts jobs besides time, and whether it works.",
        handler=f"{_API}:list_triggers",
        show="pi_appliance.jobs.text:trigger_list",
        needs_daemon=True,
    ),
    Operation(
        command="jobs webhook",
        path="/jobs/{name}/webhook",
        summary="Create the address that starts a job. An earlier one does not work any more.",
        details="The address contains a secret, which is stored in secrets.env. It is shown only this once. Without "
        "`triggers: webhook` in the job, that key is added.",
        handler=f"{_API}:create_webhook",
        arguments=(text("name", "the job", 100, required=True, positional=True, example="daily"),),
        done="POST to {path} on the address of the page starts {job}",
        status=201,
        example={"name": "daily"},
    ),
)
