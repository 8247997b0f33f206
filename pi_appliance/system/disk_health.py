"""Asks a daemon that may be up how it is, by its page."""

import http.client
import json
from dataclasses import dataclass

_PATIENCE = 3.0  # seconds
_LONGEST = 10_000  # bytes of an answer that are read
_ANY = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - where to ask one who listens everywhere


@dataclass(frozen=True, slots=True)
class Health:
    """What came back. `ours`: what answered speaks as the appliance does; `why` it is not ok, or did not answer."""

    answered: bool
    ours: bool = False
    ok: bool = False
    why: str = ""


def address(host: str, port: int) -> str:
    """Return where the page of HOST and PORT is reached from this machine."""
    place = _ANY.get(host, host)
    return f"http://{f'[{place}]' if ':' in place else place}:{port}"


def ask(host: str, port: int) -> Health:
    """Ask the daemon that listens on HOST and PORT, for a few seconds at the most."""
    line = http.client.HTTPConnection(_ANY.get(host, host), port, timeout=_PATIENCE)
    try:
        line.request("GET", "/health")
        answer = line.getresponse()
        told = json.loads(answer.read(_LONGEST))
    except (OSError, UnicodeError) as error:
        return Health(answered=False, why=getattr(error, "strerror", None) or str(error))
    except (http.client.HTTPException, ValueError):
        return Health(answered=True)
    finally:
        line.close()
    if not isinstance(told, dict) or not isinstance(told.get("ok"), bool):
        return Health(answered=True)
    return Health(answered=True, ours=True, ok=told["ok"] and answer.status == 200, why=str(told.get("why", "")))
