"""The operations on devices, invitations and the password, and their texts for a terminal."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from pi_appliance.operations import Operation, Values, choice, duration, text
from pi_appliance.roles import Role

_API = "pi_appliance.access.api"
MAX_NAME = 60  # characters in the name of a device
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
    show=f"{__name__}:show_invitation",
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
        show=f"{__name__}:show_devices",
        needs_daemon=True,
    ),
    Operation(
        command="devices revoke-others",
        path="/devices/revoke-others",
        summary="Sign out all devices but this one. On the command line: all devices.",
        handler=f"{_API}:revoke_other_devices",
        show=f"{__name__}:show_devices",
        needs_daemon=True,
    ),
    Operation(
        command="devices revoke",
        method="DELETE",
        path="/devices/{device}",
        summary="Sign out a device at once, or cancel an invitation.",
        handler=f"{_API}:revoke_device",
        arguments=(text("device", "its id or name", MAX_NAME, required=True, positional=True),),
        show=f"{__name__}:show_devices",
        needs_daemon=True,
        example={"device": "1f0c3a9e"},
    ),
    INVITE,
    CHANGE_PASSWORD,
)


def show_devices(result: Any, _: Values) -> str:
    """Return a text with one line per device or invitation."""
    rows = [
        f"{each['id']}  {each['role']:<8} {each['name']}, "
        + (
            f"invited until {each['invited_until']}"
            if each["invited_until"]
            else f"signed in {each['signed_in_at']}, last seen {each['last_seen']}"
        )
        for each in result
    ]
    return "\n".join(rows) or "no device is signed in"


def show_invitation(result: Any, _: Values) -> str:
    """Return the code as a QR code for a camera, and the addresses."""
    from pi_appliance.web import qr_code  # noqa: PLC0415 - only where the code is shown

    first, *others = result["addresses"]
    code = list(qr_code.code_as_lines(first)) if find_spec("segno") else []
    end = f"It signs in {result['name']} ({result['role']}) once, until {result['expires_at']}."
    return "\n".join([*code, first, *(f"or {each}" for each in others), end])
