"""What a connection that breaks means for a post: whether it is certain that nothing was sent."""

import ssl
from typing import TYPE_CHECKING

from pi_appliance.errors import ApplianceError, Unavailable, Uncertain

if TYPE_CHECKING:
    import requests

LOOK = "look at the account before you post it again"


def broken_line(error: "requests.ConnectionError", network: str) -> ApplianceError:
    """Return what ERROR means where something was sent to NETWORK: certain only where no connection was ever made."""
    import urllib3.exceptions as broken  # noqa: PLC0415 - comes with requests, which only a run that posts shall load

    reason = getattr(error.args[0], "reason", error.args[0]) if error.args else error
    if isinstance(reason, (broken.NewConnectionError, broken.ConnectTimeoutError, broken.ProxyError)):
        return Unavailable(f"{network} cannot be reached; is this Pi online?")
    # Of all that TLS may complain of, only this comes before the post is sent for certain.
    if isinstance(reason, broken.SSLError) and isinstance(reason.args[0], ssl.SSLCertVerificationError):
        return Unavailable(f"what answers is not {network}, by its certificate; is the clock of this Pi right?")
    return Uncertain(f"the connection to {network} broke before it answered; {LOOK}")
