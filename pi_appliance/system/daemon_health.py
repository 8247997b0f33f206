"""Ask a daemon that may be running how it is, by its page."""

import json
from dataclasses import dataclass

from pi_appliance.system import http

_TIMEOUT = 3.0  # seconds
_MAX_BYTES = 10_000
_LISTENS_EVERYWHERE = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - and where to ask it


@dataclass(frozen=True, slots=True)
class DaemonHealth:
    """The answer. `is_ours` is True if a pi-appliance answered; `reason` says why it is not ok or did not answer."""

    has_answered: bool
    is_ours: bool = False
    is_ok: bool = False
    reason: str = ""


def page_address(host: str, port: int) -> str:
    """Return the address of the page of `host` and `port` for a program on this machine."""
    name = _LISTENS_EVERYWHERE.get(host, host)
    return f"http://{f'[{name}]' if ':' in name else name}:{port}"


def read_health(host: str, port: int) -> DaemonHealth:
    """Ask the daemon that listens on `host` and `port`; wait a few seconds at most."""
    url = f"{page_address(host, port)}/health"
    try:
        response = http.request_now("GET", url, seconds=_TIMEOUT, max_bytes=_MAX_BYTES, use_proxy=False)
        answer = json.loads(response.body)
    except http.NoResponse as failure:
        return DaemonHealth(has_answered=not failure.is_http, reason=str(failure))
    except ValueError:
        return DaemonHealth(has_answered=True)
    if not isinstance(answer, dict) or not isinstance(answer.get("ok"), bool):
        return DaemonHealth(has_answered=True)
    is_ok = answer["ok"] and response.status == 200
    return DaemonHealth(has_answered=True, is_ours=True, is_ok=is_ok, reason=str(answer.get("why", "")))
