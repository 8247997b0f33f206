"""Client of Bluesky's XRPC API: requests with a time limit, and the session of an account."""

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from pi_appliance.errors import ApplianceError, Refused, Unavailable, Uncertain
from pi_appliance.posting.networks import CHECK_ACCOUNT
from pi_appliance.system import http

_MAX_WAIT = 86_400.0  # seconds; the longest of Bluesky's rate limits is one of a day
_MAX_BODY = 1_000_000  # bytes


@dataclass(frozen=True, slots=True)
class XrpcResponse:
    """A response to a request that was accepted or rejected."""

    status: int
    body: Mapping[str, Any]  # empty if it was not a JSON object

    @property
    def good(self) -> bool:
        """Whether the request was accepted."""
        return 200 <= self.status < 300

    @property
    def error(self) -> str:
        """Bluesky's name of the error, such as ExpiredToken, or an empty string."""
        return str(self.body.get("error", "")) if not self.good else ""

    @property
    def message(self) -> str:
        """The error message of the server on one line, with the status."""
        message = str(self.body.get("message") or self.error)
        return f"{self.status}: {' '.join(message.split())[:200]}" if message else str(self.status)

    def refusal(self) -> Refused:
        """Return the error for a rejected request."""
        match self.error:
            case "AccountTakedown" | "AccountSuspended" | "AccountDeactivated" as state:
                how = "has been deactivated" if state == "AccountDeactivated" else "was taken down by its moderators"
                return Refused(f"the account at Bluesky {how} ({self.message}); sign in at bsky.app to see why")
        if 300 <= self.status < 400:
            return Refused(
                f"Bluesky answered {self.message}, as if it were elsewhere; check server: in the configuration"
            )
        return Refused(f"Bluesky refuses it ({self.message})")


class XrpcClient:
    """Send requests, each within `seconds`."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def query(self, server: str, method: str, *, token: str = "", **parameters: str) -> XrpcResponse:
        """Query `method` of `server`. Raises Unavailable."""
        return self._send("GET", server, f"{method}?{urlencode(parameters)}", token)

    def call(
        self,
        server: str,
        method: str,
        content: Mapping[str, Any] | bytes | None = None,
        *,
        mime: str = "application/json",
        token: str = "",
        writes: bool = False,
    ) -> XrpcResponse:
        """Call `method` of `server` with `content`.

        Raises:
            Unavailable: Nothing was written.
            Uncertain: The request with `writes` may have been executed.

        """
        body = json.dumps(content).encode() if isinstance(content, Mapping) else content
        return self._send("POST", server, method, token, body, mime, writes=writes)

    def _send(
        self,
        verb: str,
        server: str,
        method: str,
        token: str,
        body: bytes | None = None,
        mime: str = "",
        *,
        writes: bool = False,
    ) -> XrpcResponse:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        headers |= {"Content-Type": mime} if body is not None else {}
        try:
            response = http.request_now(
                verb,
                f"{server}/xrpc/{method}",
                seconds=self._seconds,
                max_bytes=_MAX_BODY,
                body=body,
                headers=headers,
            )
            return _parse_response(response)
        except http.NoResponse as failure:
            if not failure.is_sent:
                raise Unavailable(f"Bluesky cannot be reached: {failure or 'is this Pi online?'}") from None
            reason = "the connection to Bluesky broke before it answered"
            if failure.is_timeout:
                reason = f"Bluesky did not answer within {self._seconds:g} s"
            raise _unclear(reason, writes=writes) from None
        except Uncertain as error:
            raise _unclear(str(error), writes=writes) from None


def _unclear(reason: str, *, writes: bool) -> ApplianceError:
    """Return the error for a request with an unknown result, which matters if it `writes`."""
    if writes:
        return Uncertain(f"{reason}; {CHECK_ACCOUNT}")
    return Unavailable(f"{reason}; nothing was posted")


def _parse_response(response: http.HttpResponse) -> XrpcResponse:
    try:
        body = json.loads(response.body)
    except (ValueError, RecursionError):
        body = None
    answer = XrpcResponse(response.status, body if isinstance(body, dict) else {})
    if answer.status == 429:
        raise Unavailable(
            f"Bluesky takes no more requests now ({answer.message})", after=_until_reset(response.headers)
        )
    if answer.status >= 500:
        raise Uncertain(f"Bluesky reports an internal error ({answer.message})")
    if answer.good and not isinstance(body, dict):
        raise Uncertain("Bluesky sent an invalid response")
    return answer


def malformed_response() -> Uncertain:
    """Return the error for an accepted request whose response is not valid."""
    return Uncertain(f"Bluesky sent an invalid response; {CHECK_ACCOUNT}")


def _until_reset(headers: Mapping[str, str]) -> float | None:
    """Return the seconds until the rate limit is reset, by the clock of the server."""
    try:
        if "ratelimit-reset" in headers:
            seconds = int(headers["ratelimit-reset"]) - parsedate_to_datetime(headers["date"]).timestamp()
        else:
            seconds = int(headers["retry-after"])
    except (KeyError, ValueError, TypeError):
        return None
    return min(max(seconds, 0.0), _MAX_WAIT)


_SESSION_FILE = "session.json"
APP_PASSWORDS = "bsky.app, under Settings, Privacy and security, App passwords"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST = rf"{_LABEL}(\.{_LABEL})*(:\d+)?"
_LOOPBACK = r"http://(127\.0\.0\.1|localhost|\[::1\])(:\d+)?"
_TOKEN = re.compile(r"[!-~]+")  # characters allowed in a header


def is_protected(server: str, *, loopback: bool = True) -> bool:
    """Return whether requests to `server` are encrypted or stay on this machine."""
    return bool(re.fullmatch(f"https://{_HOST}" + (f"|{_LOOPBACK}" if loopback else ""), server))


@dataclass(frozen=True, slots=True)
class BlueskySession:
    """Tokens of a signed-in account."""

    handle: str  # as it was signed in with
    entry: str  # the server it was signed in at
    did: str  # permanent id of the account, even if the handle changes
    home: str  # the server that keeps the account's posts
    access: str = field(repr=False)
    refresh: str = field(repr=False)


class BlueskyAccount:
    """Sign in as `handle` at the server `entry`.

    The session is stored in `folder`, if there is one.
    """

    def __init__(self, client: XrpcClient, entry: str, handle: str, password: str, folder: Path | None = None) -> None:
        self._client = client
        self._entry, self._handle, self._password = entry.rstrip("/"), handle, password
        self._folder = folder
        self._session: BlueskySession | None = None

    def session(self) -> BlueskySession:
        """Return the stored session, or sign in. Raises Unavailable or Refused."""
        self._session = self._session or self._load_session() or self.sign_in()
        return self._session

    def renew(self, old: BlueskySession) -> BlueskySession:
        """Return a session in place of the expired `old`. Raises Unavailable or Refused."""
        stored = self._load_session()
        if stored and stored.access != old.access:  # another run was faster
            self._session = stored
            return stored
        answer = self._client.call(self._entry, "com.atproto.server.refreshSession", token=old.refresh)
        if answer.good:
            return self._store_session(answer, home=old.home)
        return self.sign_in()

    def sign_in(self) -> BlueskySession:
        """Sign in with the password. Raises Unavailable or Refused."""
        proof = {"identifier": self._handle, "password": self._password}
        answer = self._client.call(self._entry, "com.atproto.server.createSession", proof)
        if answer.good:
            return self._store_session(answer, home=self._entry)
        if answer.error == "AuthFactorTokenRequired":
            raise Refused(f"Bluesky wants a code by mail, so this is no app password; make one at {APP_PASSWORDS}")
        if answer.status == 401 and not answer.error.startswith("Account"):
            who = f"{self._handle} with this app password"
            raise Refused(f"Bluesky does not know {who} ({answer.message}); make a new one at {APP_PASSWORDS}")
        raise answer.refusal()

    def _store_session(self, answer: XrpcResponse, *, home: str) -> BlueskySession:
        """Store the session of the response `answer` and return it."""
        fields = answer.body
        if fields.get("active") is False:
            state = fields.get("status") or "not active"
            raise Refused(f"the account {self._handle} is {state}; sign in at bsky.app to see why")
        home = self._find_home(fields.get("didDoc")) or home
        session = _session(
            (self._handle, self._entry, fields.get("did"), home, fields.get("accessJwt"), fields.get("refreshJwt"))
        )
        if session is None:
            raise Unavailable("Bluesky sent an invalid response to the sign-in")
        if self._folder:
            # Without a stored session, each run signs in. Posting still works.
            with contextlib.suppress(OSError):
                _write_private(self._folder / _SESSION_FILE, asdict(session))
        self._session = session
        return session

    def _find_home(self, document: Any) -> str:
        """Return the server that the DID `document` names, or '' if it is missing or unsafe."""
        services = document.get("service") if isinstance(document, dict) else None
        for each in services if isinstance(services, list) else ():
            if isinstance(each, dict) and str(each.get("id", "")).endswith("#atproto_pds"):
                home = str(each.get("serviceEndpoint", "")).rstrip("/")
                return home if is_protected(home, loopback=self._entry.startswith("http://")) else ""
        return ""

    def _load_session(self) -> BlueskySession | None:
        """Return the stored session, if it belongs to this account."""
        try:
            read = json.loads((self._folder / _SESSION_FILE).read_bytes()) if self._folder else None
        except (OSError, ValueError, RecursionError):
            return None
        names = ("handle", "entry", "did", "home", "access", "refresh")
        stored = _session(tuple(read.get(name) for name in names)) if isinstance(read, dict) else None
        return stored if stored and (stored.handle, stored.entry) == (self._handle, self._entry) else None


def _session(parts: tuple[Any, ...]) -> BlueskySession | None:
    """Return the session with these `parts`, or None if one of them is not valid."""
    if not all(isinstance(part, str) and _TOKEN.fullmatch(part) for part in parts):
        return None
    session = BlueskySession(*parts)
    return session if session.did.startswith("did:") and is_protected(session.home) else None


def _write_private(path: Path, content: Mapping[str, str]) -> None:
    """Write `content` to `path` atomically, readable for the service only."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.parent.chmod(0o700)
    number, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # of mode 0600
    try:
        with os.fdopen(number, "w", encoding="utf-8") as file:
            json.dump(content, file)
            file.flush()
            os.fsync(file.fileno())
        Path(draft).replace(path)
    except OSError:
        Path(draft).unlink(missing_ok=True)
        raise
