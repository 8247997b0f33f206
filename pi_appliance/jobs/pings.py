"""Pings of a monitoring service, and the command of the process that sends messages."""

import logging
import os
import sys
import threading
import uuid
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from pi_appliance.config import secrets
from pi_appliance.config.secrets import missing_secrets, substitute_secrets
from pi_appliance.errors import ApplianceError, Refused, Unavailable
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.system import http

log = logging.getLogger("pi_appliance.notices")
_PING_TIMEOUT = 5.0  # seconds that the start ping may delay a run
_MAX_BODY = 10_000  # bytes; services store this much or ten times as much


def worker_command(config: Path, state_dir: Path) -> list[str]:
    """Return the command that sends waiting notifications. It ends with this process."""
    return [sys.executable, "-m", "pi_appliance.notify.delivery", str(os.getpid()), str(config), str(state_dir)]


class StartPing:
    """Sends the start ping of a run in the background. Its errors do not affect the run."""

    def __init__(self, appliance: Appliance, address: str, run: int) -> None:
        """Start to send the start ping to `address`."""
        self._thread = threading.Thread(target=_send_start_ping, args=(appliance, address, run), daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Wait briefly until the start ping is sent, so that the end ping comes after it."""
        self._thread.join(_PING_TIMEOUT)


def _send_start_ping(appliance: Appliance, address: str, run: int) -> None:
    try:
        names = secrets.secret_names_in(address)
        values = secrets.load(appliance.config.path, os.environ, names)
        ping(address, "start", secrets=values, ping_id=ping_id(appliance.secret, run), seconds=_PING_TIMEOUT)
    except ApplianceError as error:
        log.info("run=%s start ping failed: %s", run, error)


def ping_id(secret: bytes, run: int) -> str:
    """Return the id of `run` for the service. It is the same for the start and the end."""
    return str(uuid.uuid5(uuid.UUID(bytes=secret[:16]), str(run)))


def ping(address: str, event: str, body: str = "", *, secrets: Mapping[str, str], ping_id: str, seconds: float) -> None:
    """Report `event` of a run to a monitoring service.

    The error messages do not include the address, because it may contain secrets.

    Args:
        address: A web address, in which `secrets` are substituted.
        event: start or fail; '' for success.
        body: A text that the service shows.
        secrets: The values of the secrets in `address`, by name.
        ping_id: Connects the start and the end of one run.
        seconds: The time limit.

    Raises:
        Unavailable: The service was not reached.
        Refused: The service rejects the ping, the address is not valid, or a secret is missing.
    """
    if missing := missing_secrets(address, secrets):
        raise Refused(f"missing secrets: {', '.join(missing)}; add them to secrets.env")
    try:
        url = _ping_url(substitute_secrets(address, secrets), event, ping_id)
        response = http.request_now("POST", url, body=_cut(body), seconds=seconds, max_bytes=_MAX_BODY)
    except http.NoResponse as failure:
        raise Unavailable(f"not reached: {failure}" if str(failure) else "not reached") from None
    except ValueError:
        raise Refused("this is not a web address") from None
    if response.status >= 300:
        raise http.status_error(response.status, f"the service answered {response.status}")


def _ping_url(address: str, event: str, ping_id: str) -> str:
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError
    path = parts.path.rstrip("/") + (f"/{event}" if event else "")
    query = "&".join(filter(None, (parts.query, urlencode({"rid": ping_id}))))
    return parts._replace(path=path, query=query, fragment="").geturl()


def _cut(body: str) -> bytes:
    """Encode `body` up to the maximum size, without a partial character."""
    return body.encode()[:_MAX_BODY].decode(errors="ignore").encode()
