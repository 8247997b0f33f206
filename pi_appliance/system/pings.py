"""A ping: an address that is called when a run starts, succeeds or fails, in the way that healthchecks.io knows.

What it imports for that it imports when there is something to call: most runs have no ping.
"""

from urllib.parse import urlencode, urlsplit

from pi_appliance.core import broken_lines
from pi_appliance.errors import Refused, Unavailable

_LONGEST = 10_000  # bytes of a body; a service keeps no more, or ten times as many
_LATER = {408, 425, 429}


def send(address: str, what: str, body: str = "", *, rid: str, seconds: float) -> None:
    """Call ADDRESS with /WHAT behind it ('' for success), the run's id RID and BODY, waiting SECONDS for an answer.

    Raises Unavailable if it was not reached, Refused if it does not want it; the words hold nothing of the address.
    """
    import http.client  # noqa: PLC0415 - these cost more than a short run does
    import urllib.error  # noqa: PLC0415
    import urllib.request  # noqa: PLC0415

    try:
        request = urllib.request.Request(_full(address, what, rid), _cut(body), method="POST")  # noqa: S310 - checked above
        with urllib.request.urlopen(request, timeout=seconds) as answer:  # noqa: S310
            answer.read(_LONGEST)
    except urllib.error.HTTPError as error:
        error.close()
        later = error.code >= 500 or error.code in _LATER
        raise (Unavailable if later else Refused)(f"the service answered {error.code}") from None
    except (OSError, http.client.HTTPException) as error:
        why = broken_lines.why(str(error) or type(error).__name__)
        raise Unavailable(f"not reached: {why}" if why else "not reached") from None
    except ValueError:
        raise Refused("this is no web address") from None


def _full(address: str, what: str, rid: str) -> str:
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError
    path = parts.path.rstrip("/") + (f"/{what}" if what else "")
    query = "&".join(filter(None, (parts.query, urlencode({"rid": rid}))))
    return parts._replace(path=path, query=query, fragment="").geturl()


def _cut(body: str) -> bytes:
    """Return BODY as bytes, without half a letter at its end."""
    return body.encode()[:_LONGEST].decode(errors="ignore").encode()
