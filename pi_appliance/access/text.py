"""Results of the operations on devices as text."""

from importlib.util import find_spec
from typing import Any

from pi_appliance.operations import Values
from pi_appliance.web import qr_code


def devices(result: Any, _: Values) -> str:
    """Return one device or invitation a line."""
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


def invitation(result: Any, _: Values) -> str:
    """Return the code as a QR code for a camera, and the addresses."""
    first, *others = result["addresses"]
    code = list(qr_code.code_as_lines(first)) if find_spec("segno") else []
    end = f"It signs in {result['name']} ({result['role']}) once, until {result['expires_at']}."
    return "\n".join([*code, first, *(f"or {each}" for each in others), end])
