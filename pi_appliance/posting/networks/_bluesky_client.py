"""Client of Bluesky's XRPC API: requests with a time limit, and the session of an account."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from pi_appliance.errors import ApplianceError, Refused, Unavailable, Uncertain
from pi_appliance.posting.networks import CHECK_ACCOUNT
from pi_appliance.posting.networks._http import classify_connection_error

if TYPE_CHECKING:
    import requests
import contextlib
import json
import os
import re
import tempfile
from dataclasses import asdict, field
from pathlib import Path

_LONGEST_WAIT = 86_400.0  # the longest of Bluesky's limits is one of a day


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
    def words(self) -> str:
        """The error message of the server on one line, with the status."""
        message = str(self.body.get("message") or self.error)
        return f"{self.status}: {' '.join(message.split())[:200]}" if message else str(self.status)

    def refusal(self) -> Refused:
        """Return the error for a rejected request."""
        match self.error:
            case "AccountTakedown" | "AccountSuspended" | "AccountDeactivated" as state:
                how = "has been deactivated" if state == "AccountDeactivated" else "was taken down by its moderators"
                return Refused(f"the account at Bluesky {how} ({self.words}); sign in at bsky.app to see why")
        if 300 <= self.status < 400:
            return Refused(
                f"Bluesky answered {self.words}, as if it were elsewhere; check server: in the configuration"
            )
        return Refused(f"Bluesky refuses it ({self.words})")


class XrpcClient:
    """Send requests one after another, each within `seconds`."""

    def __init__(self, seconds: float) -> None:
        import requests  # noqa: PLC0415 - takes 0.2 s and 19 MB

        self._requests: Any = requests
        self._seconds = seconds
        self._session = requests.Session()

    def ask(self, server: str, method: str, *, token: str = "", **query: str) -> XrpcResponse:
        """Query `method` of `server`. Raises Unavailable."""
        return self._send_request("GET", server, method, token, writes=False, params=query)

    def tell(self, server: str, method: str, *, token: str = "", writes: bool = False, **content: Any) -> XrpcResponse:
        """Call `method` of `server` with `content`: json, or data and headers.

        Raises:
            Unavailable: nothing was written.
            Uncertain: the request with `writes` may have been executed.

        """
        return self._send_request("POST", server, method, token, writes=writes, **content)

    def _send_request(
        self, verb: str, server: str, method: str, token: str, *, writes: bool, **content: Any
    ) -> XrpcResponse:
        try:
            response = self._send_in_time(verb, f"{server}/xrpc/{method}", token, content)
        except self._requests.ConnectionError as error:
            raise _uncertain_if_writing(classify_connection_error(error, "Bluesky"), writes=writes) from None
        except self._requests.Timeout:
            problem = f"Bluesky did not answer within {self._seconds:g} s"
            raise _uncertain_if_writing(Uncertain(f"{problem}; {CHECK_ACCOUNT}"), writes=writes) from None
        except self._requests.RequestException as error:
            problem = f"Bluesky's answer broke off ({type(error).__name__})"
            raise _uncertain_if_writing(Uncertain(f"{problem}; {CHECK_ACCOUNT}"), writes=writes) from None
        return _parse_response(response, writes=writes)

    def _send_in_time(self, verb: str, url: str, token: str, content: dict[str, Any]) -> "requests.Response":
        """Return the response, or raise the error of requests.

        The timeout of requests is not enough, because it restarts with each byte.
        """
        got: list[Any] = []

        # Set even without a token, because requests would read ~/.netrc otherwise.
        def authorize(request: Any) -> Any:
            if token:
                request.headers["Authorization"] = f"Bearer {token}"
            return request

        def send() -> None:
            # A third to connect, because there may be two addresses. A request that was never sent
            # must not count as uncertain.
            limits = (self._seconds / 3, self._seconds)
            more = {"auth": authorize, "timeout": limits, "allow_redirects": False, **content}
            try:
                got.append(session.request(verb, url, **more))
            except Exception as error:  # noqa: BLE001 - raised below, in the waiting thread
                got.append(error)

        session = self._session
        thread = threading.Thread(target=send, daemon=True)
        thread.start()
        thread.join(self._seconds)
        if not got:
            self._session = self._requests.Session()  # the thread still uses the other one
            raise self._requests.Timeout
        if isinstance(got[0], Exception):
            raise got[0]
        response: requests.Response = got[0]
        return response


def _uncertain_if_writing(error: ApplianceError, *, writes: bool) -> ApplianceError:
    """Return `error`, or `Unavailable` if the request writes nothing."""
    if writes or isinstance(error, Unavailable):
        return error
    return Unavailable(str(error).removesuffix(f"; {CHECK_ACCOUNT}") + "; nothing was posted")


def _parse_response(response: "requests.Response", *, writes: bool) -> XrpcResponse:
    try:
        body = response.json()
    except (ValueError, RecursionError):
        body = None
    answer = XrpcResponse(response.status_code, body if isinstance(body, dict) else {})
    if answer.status == 429:
        raise Unavailable(f"Bluesky takes no more just now ({answer.words})", after=_until_reset(response.headers))
    if answer.status >= 500:
        raise _uncertain_if_writing(
            Uncertain(f"Bluesky had a fault of its own ({answer.words}); {CHECK_ACCOUNT}"), writes=writes
        )
    if answer.good and not isinstance(body, dict):
        raise _uncertain_if_writing(malformed_response(), writes=writes)
    return answer


def malformed_response() -> Uncertain:
    """Return the error for an accepted request whose response is not valid."""
    return Uncertain(f"Bluesky answered something that makes no sense; {CHECK_ACCOUNT}")


def _until_reset(headers: Mapping[str, str]) -> float | None:
    """Return the seconds until the rate limit is reset, by the clock of the server."""
    try:
        if "ratelimit-reset" in headers:
            seconds = int(headers["ratelimit-reset"]) - parsedate_to_datetime(headers["date"]).timestamp()
        else:
            seconds = int(headers["retry-after"])
    except (KeyError, ValueError, TypeError):
        return None
    return min(max(seconds, 0.0), _LONGEST_WAIT)


NAME = "session.json"
WHERE = "bsky.app, under Settings, Privacy and security, App passwords"
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

    def __init__(self, line: XrpcClient, entry: str, handle: str, password: str, folder: Path | None = None) -> None:
        self._line = line
        self._entry, self._handle, self._password = entry.rstrip("/"), handle, password
        self._folder = folder
        self._session: BlueskySession | None = None

    def session(self) -> BlueskySession:
        """Return the stored session, or sign in. Raises Unavailable or Refused."""
        self._session = self._session or self._load_session() or self.sign_in()
        return self._session

    def renewed(self, old: BlueskySession) -> BlueskySession:
        """Return a session in place of the expired `old`. Raises Unavailable or Refused."""
        stored = self._load_session()
        if stored and stored.access != old.access:  # another run was faster
            self._session = stored
            return stored
        answer = self._line.tell(self._entry, "com.atproto.server.refreshSession", token=old.refresh)
        if answer.good:
            return self._store_session(answer, home=old.home)
        return self.sign_in()

    def sign_in(self) -> BlueskySession:
        """Sign in with the password. Raises Unavailable or Refused."""
        proof = {"identifier": self._handle, "password": self._password}
        answer = self._line.tell(self._entry, "com.atproto.server.createSession", json=proof)
        if answer.good:
            return self._store_session(answer, home=self._entry)
        if answer.error == "AuthFactorTokenRequired":
            raise Refused(f"Bluesky wants a code by mail, so this is no app password; make one at {WHERE}")
        if answer.status == 401 and not answer.error.startswith("Account"):
            who = f"{self._handle} with this app password"
            raise Refused(f"Bluesky does not know {who} ({answer.words}); make a new one at {WHERE}")
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
            raise Unavailable("Bluesky answered something that makes no sense when it was asked to sign in")
        if self._folder:
            # Without a stored session, each run signs in. Posting still works.
            with contextlib.suppress(OSError):
                _write_private(self._folder / NAME, asdict(session))
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
            read = json.loads((self._folder / NAME).read_bytes()) if self._folder else None
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
