"""The operations on signed-in devices, invitations and the password."""

from collections.abc import Sequence

from pi_appliance.operations import Operation, Role, choice, duration, text

_API = "pi_appliance.access.api"
_TEXT = "pi_appliance.access.text"
MAX_NAME = 60  # characters
INVITED_ROLES = [str(role) for role in Role if role is not Role.OWNER]  # the owner has the password

INVITE = Operation(
    command="devices invite",
    path="/invitations",
    summary="Invite a device: its camera reads a code that signs it in, once.",
    handler=f"{_API}:invite_device",
    arguments=(
        text("name", "the name of the device or its user", MAX_NAME, required=True, positional=True),
        choice("role", f"{', '.join(INVITED_ROLES)}; see docs/web.md", INVITED_ROLES, default=str(Role.GUEST)),
        duration("for", "how long the invitation is good, at most 7d", default="10m"),
    ),
    result="Invitation",
    show=f"{_TEXT}:invitation",
    status=201,
    needs_daemon=True,
    example={"name": "Anna", "role": "guest"},
)
CHANGE_PASSWORD = Operation(
    # The command `password` is a click function: it asks for the password without showing it.
    path="/password",
    summary="Change the password of the page. All other devices are signed out.",
    handler=f"{_API}:change_password",
    arguments=(
        text("new", "the new password, at least 8 characters", 200, required=True),
        text("current", "the current password; a signed-in device must send it", 200),
    ),
    result="Devices",
    needs_daemon=True,
    example={"new": "correct horse battery", "current": "open sesame"},
)

OPERATIONS: Sequence[Operation] = (
    Operation(
        command="devices list",
        method="GET",
        path="/devices",
        summary="List the signed-in devices and the open invitations.",
        handler=f"{_API}:list_devices",
        result="Devices",
        show=f"{_TEXT}:devices",
        needs_daemon=True,
    ),
    Operation(
        command="devices revoke-others",
        path="/devices/revoke-others",
        summary="Sign out all devices but this one. On the command line: all devices.",
        handler=f"{_API}:revoke_other_devices",
        result="Devices",
        show=f"{_TEXT}:devices",
        needs_daemon=True,
    ),
    Operation(
        command="devices revoke",
        method="DELETE",
        path="/devices/{device}",
        summary="Sign out a device at once, or cancel an invitation.",
        handler=f"{_API}:revoke_device",
        arguments=(text("device", "its id or name", MAX_NAME, required=True, positional=True),),
        result="Devices",
        show=f"{_TEXT}:devices",
        needs_daemon=True,
        example={"device": "1f0c3a9e"},
    ),
    INVITE,
    CHANGE_PASSWORD,
)
