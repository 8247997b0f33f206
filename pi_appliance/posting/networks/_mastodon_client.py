"""Client of a Mastodon server: Mastodon.py without waiting and retries.

Errors are derived from the response, not from Mastodon.py's exceptions. Version 2.3.3 raises a rate
limit error for accepted posts with an unreadable header, and one error for every broken connection.
"""

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import mastodon
import requests

from pi_appliance.errors import AccountBlocked, ApplianceError, Refused, Unavailable, Uncertain
from pi_appliance.posting.networks import CHECK_ACCOUNT
from pi_appliance.posting.networks._requests_session import classify_connection_error

LOGIN = "log in again: pi-appliance networks login"
_LONGEST = 200  # characters of a server's error message that are shown
_FAILURES = (
    mastodon.MastodonError,
    requests.RequestException,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)


@dataclass(frozen=True, slots=True)
class MastodonResponse:
    """A response of a server. `body` is None if the connection broke while it was read."""

    status: int
    headers: Any
    body: bytes | None

    def json(self) -> Any:
        """Return the parsed body, or None if it is not valid."""
        try:
            return json.loads(self.body or b"null")
        except (ValueError, RecursionError):
            return None

    def short(self) -> str:
        """Return the status and the server's message on one line."""
        body = self.json()
        words = (body.get("error_description") or body.get("error") or "") if isinstance(body, dict) else ""
        words = " ".join(str(words).split())
        words = words if len(words) <= _LONGEST else f"{words[:_LONGEST]}…"
        return f"{self.status}: {words}" if words else str(self.status)


class MastodonClient:
    """Send each request once to `server`, with `seconds` to connect and `seconds` to answer."""

    def __init__(self, server: str, seconds: float, token: str | None = None) -> None:
        self._server, self.who = server.rstrip("/"), urlsplit(server).netloc
        self._seconds = seconds
        self.session = _Session()
        self.api: Any = mastodon.Mastodon(
            api_base_url=server,
            session=self.session,
            ratelimit_method="throw",
            request_timeout=seconds,
            # Setting the version saves two queries before each picture.
            mastodon_version="4.0.0",
            version_check_mode="created",
            user_agent="pi-appliance",
        )
        self.api.access_token = token  # set here, because Mastodon.py could read an argument as a file name

    @property
    def status(self) -> int | None:
        """Return the HTTP status of the newest response, or None without one."""
        return self.session.answer.status if self.session.answer else None

    @property
    def response_summary(self) -> str:
        """Return the newest response in short, such as '422: it is too long'."""
        return self.session.answer.short() if self.session.answer else "nothing"

    def ask(self, call: Callable[..., Any], *args: Any, kind: type = dict, posts: bool = False, **named: Any) -> Any:
        """Call `call`, a method of Mastodon.py, and return the response as JSON of type `kind`.

        Raises:
            Uncertain: the result of a request with `posts` is unclear.
            Unavailable: the result of another request is unclear, or the server is overloaded.
            Refused: the server rejected the request.
        """
        self.session.answer = None
        self.session.max_redirects = 0 if posts else 5  # a redirected POST would become a GET
        failure: Exception | None = None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Mastodon.py warns about outdated logins
                call(*args, **named)
        except _FAILURES as error:
            failure = error
        try:
            return self._check_response(failure, kind)
        except Uncertain as error:
            if posts:
                raise
            raise Unavailable(str(error).removesuffix(f"; {CHECK_ACCOUNT}")) from None

    def read_software(self) -> str:
        """Return the name of the server's software in its nodeinfo, such as gotosocial, or ''."""
        try:
            links = self._read_json("/.well-known/nodeinfo")["links"]
            paths = [urlsplit(each["href"]).path for each in links if "nodeinfo" in each["rel"]]
            # Only a path on the server itself is used: a full address could lead anywhere.
            return str(self._read_json(paths[-1])["software"]["name"])
        except (requests.RequestException, LookupError, TypeError, ValueError, AttributeError):
            return ""

    def _read_json(self, path: str) -> Any:
        self.session.max_redirects = 5
        response = self.session.get(f"{self._server}{path}", timeout=self._seconds)
        response.raise_for_status()
        return response.json()

    def invalid_response(self) -> Uncertain:
        """Return the error for an invalid response."""
        return Uncertain(f"{self.who} sent an invalid response; {CHECK_ACCOUNT}")

    def _check_response(self, failure: Exception | None, kind: type) -> Any:
        answer = self.session.answer
        if answer is None:
            raise self._connection_error(failure)
        if answer.status >= 300:
            raise self._rejection_error(answer)
        if answer.body is None:
            raise Uncertain(f"the connection to {self.who} broke before it answered; {CHECK_ACCOUNT}")
        body = answer.json()
        if not isinstance(body, kind):
            raise self.invalid_response()
        return body

    def _connection_error(self, error: BaseException | None) -> ApplianceError:
        while error and not isinstance(error, requests.RequestException):
            error = error.__cause__ or error.__context__
        if isinstance(error, requests.ConnectionError):
            return classify_connection_error(error, self.who)
        if isinstance(error, requests.ReadTimeout):
            return Uncertain(f"{self.who} did not answer within {self._seconds:g} seconds; {CHECK_ACCOUNT}")
        if isinstance(error, (requests.exceptions.InvalidURL, requests.exceptions.InvalidSchema)):
            return AccountBlocked(f"{self.who} is not the address of a server; check `server:`")
        return Uncertain(f"the connection to {self.who} broke before it answered; {CHECK_ACCOUNT}")

    def _rejection_error(self, answer: MastodonResponse) -> ApplianceError:
        detail = answer.short()
        match answer.status:
            case 401:
                return AccountBlocked(f"{self.who} does not know the token ({detail}); {LOGIN}")
            case 403:
                return AccountBlocked(
                    f"{self.who} does not allow it ({detail}); see whether the account is limited, or {LOGIN}"
                )
            case 408:
                return Uncertain(f"{self.who} waited too long for the request ({detail}); {CHECK_ACCOUNT}")
            case 429:
                return Unavailable(
                    f"{self.who} accepts no more requests now ({detail})", after=_until_reset(answer.headers)
                )
            case status if status < 400:
                where = urlsplit(answer.headers.get("Location", "")).netloc or "elsewhere"
                return AccountBlocked(f"{self.who} redirects to {where} ({detail}); check `server:`")
            case status if status >= 500:
                return Uncertain(f"{self.who} reports an internal error ({detail}); {CHECK_ACCOUNT}")
        return Refused(f"{self.who} rejected the request ({detail})")


class _Session(requests.Session):
    """A session that remembers the newest response."""

    def __init__(self) -> None:
        super().__init__()
        self.answer: MastodonResponse | None = None
        self.auth = lambda request: request  # prevents that requests adds a password from ~/.netrc
        self.hooks["response"] = [self._store_response]

    def send(self, request: requests.PreparedRequest, **more: Any) -> requests.Response:
        """Send `request`, and forget the previous response."""
        self.answer = None
        return super().send(request, **more)

    def _store_response(self, response: requests.Response, **_: Any) -> None:
        # Set twice: if reading the body fails, the status is still known.
        self.answer = MastodonResponse(response.status_code, response.headers, None)
        self.answer = MastodonResponse(response.status_code, response.headers, response.content)


def _until_reset(headers: Any) -> float | None:
    """Return the seconds until the rate limit is reset, by the clock of the server."""
    try:
        named = headers["X-RateLimit-Reset"]  # Mastodon sends ISO 8601, other servers a Unix time
        reset = float(named) if named.isdecimal() else datetime.fromisoformat(named).timestamp()
        return max(0.0, reset - parsedate_to_datetime(headers["Date"]).timestamp())
    except (KeyError, ValueError, TypeError):
        return None
