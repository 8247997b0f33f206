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

from pi_appliance.errors import ApplianceError, Refused, Unavailable, Uncertain
from pi_appliance.posting.networks import CHECK_ACCOUNT
from pi_appliance.posting.networks._http import classify_connection_error

LOGIN = "log in again: pi-appliance networks login"
_LONGEST = 200  # characters of what a server says that are shown
_STUMBLES = (
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
    """A response of a server. Without a body, the connection broke while it was read."""

    status: int
    headers: Any
    body: bytes | None

    def json(self) -> Any:
        """Return the parsed body; None if it is not valid."""
        try:
            return json.loads(self.body or b"null")
        except (ValueError, RecursionError):
            return None

    def short(self) -> str:
        """Return the status and the server's message on one line."""
        said = self.json()
        words = (said.get("error_description") or said.get("error") or "") if isinstance(said, dict) else ""
        words = " ".join(str(words).split())
        words = words if len(words) <= _LONGEST else f"{words[:_LONGEST]}…"
        return f"{self.status}: {words}" if words else str(self.status)


class MastodonClient:
    """Send each request once to `server`, within `seconds` to connect, and then to answer."""

    def __init__(self, server: str, seconds: float, token: str | None = None) -> None:
        self.who = urlsplit(server).netloc
        self._seconds = seconds
        self.session = _Session()
        self.client: Any = mastodon.Mastodon(
            api_base_url=server,
            session=self.session,
            ratelimit_method="throw",
            request_timeout=seconds,
            # Named, so that it does not ask twice before each picture; nothing newer is used here.
            mastodon_version="4.0.0",
            version_check_mode="created",
            user_agent="pi-appliance",
        )
        self.client.access_token = token  # as an argument it might be taken for the name of a file

    @property
    def status(self) -> int | None:
        """Return the HTTP status of the newest answer; None: the server did not answer."""
        return self.session.answer.status if self.session.answer else None

    @property
    def said(self) -> str:
        """Return the newest answer in short, as in '422: it is too long'."""
        return self.session.answer.short() if self.session.answer else "nothing"

    def ask(self, call: Callable[..., Any], *args: Any, kind: type = dict, posts: bool = False, **named: Any) -> Any:
        """Call `call`, a method of Mastodon.py, and return the response as JSON of type `kind`.

        With `posts`, an unclear result raises Uncertain, otherwise Unavailable. A rejection raises Refused.
        """
        self.session.answer = None
        self.session.max_redirects = 0 if posts else 5  # a post that is sent on arrives as a question
        stumble: Exception | None = None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of old ways in; they are taken only where there is no other
                call(*args, **named)
        except _STUMBLES as error:
            stumble = error
        try:
            return self._checked(stumble, kind)
        except Uncertain as error:
            if posts:
                raise
            raise Unavailable(str(error).removesuffix(f"; {CHECK_ACCOUNT}")) from None

    def nonsense(self) -> Uncertain:
        """Return the error for an invalid response."""
        return Uncertain(f"{self.who} answered something that makes no sense; {CHECK_ACCOUNT}")

    def _checked(self, stumble: Exception | None, kind: type) -> Any:
        answer = self.session.answer
        if answer is None:
            raise self._broken(stumble)
        if answer.status >= 300:
            raise self._refusal(answer)
        if answer.body is None:
            raise Uncertain(f"the connection to {self.who} broke before it answered; {CHECK_ACCOUNT}")
        said = answer.json()
        if not isinstance(said, kind):
            raise self.nonsense()
        return said

    def _broken(self, error: BaseException | None) -> ApplianceError:
        """Return the error for `error`, after which there is no response."""
        while error and not isinstance(error, requests.RequestException):
            error = error.__cause__ or error.__context__
        if isinstance(error, requests.ConnectionError):
            return classify_connection_error(error, self.who)
        if isinstance(error, requests.ReadTimeout):
            return Uncertain(f"{self.who} did not answer within {self._seconds:g} seconds; {CHECK_ACCOUNT}")
        if isinstance(error, (requests.exceptions.InvalidURL, requests.exceptions.InvalidSchema)):
            return Refused(f"{self.who} is no address of a server; check `server:`")
        return Uncertain(f"the connection to {self.who} broke before it answered; {CHECK_ACCOUNT}")

    def _refusal(self, answer: MastodonResponse) -> ApplianceError:
        """Return the error for a response other than 2xx."""
        said = answer.short()
        match answer.status:
            case 401:
                return Refused(f"{self.who} does not know the token ({said}); {LOGIN}")
            case 403:
                return Refused(f"{self.who} does not allow it ({said}); see whether the account is limited, or {LOGIN}")
            case 408:
                return Uncertain(f"{self.who} waited too long for the request ({said}); {CHECK_ACCOUNT}")
            case 429:
                return Unavailable(f"{self.who} takes no more just now ({said})", after=_until_reset(answer.headers))
            case status if status < 400:
                where = urlsplit(answer.headers.get("Location", "")).netloc or "elsewhere"
                return Refused(f"{self.who} points to {where} ({said}); check `server:`")
            case status if status >= 500:
                return Uncertain(f"{self.who} had a fault of its own ({said}); {CHECK_ACCOUNT}")
        return Refused(f"{self.who} says no ({said})")


class _Session(requests.Session):
    """A session that remembers the newest response."""

    def __init__(self) -> None:
        super().__init__()
        self.answer: MastodonResponse | None = None
        self.auth = lambda request: request  # else a password from ~/.netrc would go along
        self.hooks["response"] = [self._remember]

    def send(self, request: requests.PreparedRequest, **more: Any) -> requests.Response:
        """Send `request`, and forget the previous response."""
        self.answer = None
        return super().send(request, **more)

    def _remember(self, response: requests.Response, **_: Any) -> None:
        # Twice: the status stays known when the line breaks within the body.
        self.answer = MastodonResponse(response.status_code, response.headers, None)
        self.answer = MastodonResponse(response.status_code, response.headers, response.content)


def _until_reset(headers: Any) -> float | None:
    """Return the seconds until the rate limit is reset, by the clock of the server."""
    try:
        named = headers["X-RateLimit-Reset"]  # Mastodon writes an instant, some others seconds since 1970
        reset = float(named) if named.isdecimal() else datetime.fromisoformat(named).timestamp()
        return max(0.0, reset - parsedate_to_datetime(headers["Date"]).timestamp())
    except (KeyError, ValueError, TypeError):
        return None
