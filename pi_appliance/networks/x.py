"""Network 'x': posts to X by its API v2. The only file that imports tweepy, and only when something is posted.

What answers mean for the owner, as measured against tweepy 4.17: nothing sent is Unavailable, a clear no is Refused,
and whatever leaves it open whether the post stands is Uncertain, for X has no key that makes a second try harmless.
"""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pi_appliance.core import posts
from pi_appliance.errors import ApplianceError, Refused, Unavailable, Uncertain

if TYPE_CHECKING:
    import requests

HOME = "https://api.twitter.com"
KEYS = ("X_CONSUMER_KEY", "X_CONSUMER_SECRET", "X_ACCESS_TOKEN", "X_ACCESS_TOKEN_SECRET")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys a network of this kind takes under `with:`. The four keys of the account are secrets, never here."""

    timeout: Annotated[timedelta, "how long to wait for X to connect, and then to answer"] = timedelta(seconds=30)
    server: Annotated[str, "where X's API is; another address to try things out"] = HOME

    def check(self) -> list[tuple[tuple[str | int, ...], str, str]]:
        """Return what is wrong with a key: where, what, and what would be right."""
        if not self.server.startswith(("https://", "http://127.0.0.1:", "http://localhost:")):
            return [(("server",), f"{self.server!r} would send the keys unprotected", "begin it with https://")]
        return []


def connect(options: Options, secrets: Mapping[str, str], folder: Path) -> "X":  # noqa: ARG001 - the shape of all networks
    """Return the network. Raises Refused, naming the keys that are missing."""
    if missing := lacks(secrets):
        raise Refused(missing)
    return X(options, [secrets[name] for name in KEYS])


def lacks(secrets: Mapping[str, str]) -> str:
    """Return which keys are missing among SECRETS, in words; nothing if none is."""
    missing = [name for name in KEYS if not secrets.get(name)]
    return f"no {', '.join(missing)} among the secrets; put the keys of your X app into secrets.env" if missing else ""


class X:
    """One account on X, by OAuth 1.0a."""

    limit = posts.X_LIMIT

    def __init__(self, options: Options, keys: list[str]) -> None:
        import tweepy  # noqa: PLC0415 - 0.2 s and 8 MB that only a run which posts shall pay

        self._tweepy: Any = tweepy
        self._client = tweepy.Client(None, *keys, wait_on_rate_limit=False)
        self._client.session.mount(HOME, _adapter(options))

    def weigh(self, text: str) -> int:
        """Return the length of TEXT as X counts it."""
        return posts.weigh(text)

    def post(self, text: str, *, key: str) -> str:  # noqa: ARG002 - X knows no key for a post
        """Post TEXT and return its address. Raises Unavailable, Refused or Uncertain."""
        import requests  # noqa: PLC0415 - comes with tweepy

        try:
            answer = self._client.create_tweet(text=text)
            return f"https://x.com/i/web/status/{answer.data['id']}"
        except self._tweepy.HTTPException as error:
            raise _from_answer(error.response, error.api_messages) from None
        except requests.ConnectionError as error:
            raise _from_line(error) from None
        except (requests.RequestException, AttributeError, KeyError, TypeError, ValueError) as error:
            # tweepy itself stumbles over a body that is no JSON object; the post may stand all the same.
            raise Uncertain(f"X answered something that makes no sense ({type(error).__name__}); {_LOOK}") from None


_LOOK = "look at the account before you post it again"


def _from_answer(response: "requests.Response", messages: list[str]) -> ApplianceError:
    """Return what an answer other than 2xx means."""
    status, said = response.status_code, "; ".join(messages) or response.reason
    match status:
        case 401:
            return Refused(
                f"X does not know the keys (401: {said}); check the four X_ secrets, and the clock of this Pi"
            )
        case 402:
            return Refused(f"the credit at X is used up (402: {said}); add credit in X's developer console")
        case 403 if "duplicate" in said.lower():
            return Refused(f"X says that this was posted before (403: {said})")
        case 403:
            return Refused(
                f"X does not allow this app to post (403: {said}); give it write permission, make new tokens"
            )
        case 429:
            return Unavailable(f"X takes no more posts just now (429: {said})", after=_until_reset(response))
        case _ if status >= 500:
            return Uncertain(f"X had a fault of its own ({status}: {said}); {_LOOK}")
    return Refused(f"X answered {status}: {said}")


def _until_reset(response: "requests.Response") -> float | None:
    """Return the seconds until the limit is lifted, by X's own clock: that of a Pi may be wrong."""
    try:
        reset = int(response.headers["x-rate-limit-reset"])
        return max(0.0, reset - parsedate_to_datetime(response.headers["date"]).timestamp())
    except (KeyError, ValueError, TypeError):
        return None


def _from_line(error: "requests.ConnectionError") -> ApplianceError:
    """Return what a broken connection means: certain only where none was ever made."""
    import urllib3.exceptions as broken  # noqa: PLC0415 - comes with tweepy

    reason = getattr(error.args[0], "reason", error.args[0]) if error.args else error
    if isinstance(reason, (broken.NewConnectionError, broken.ConnectTimeoutError, broken.ProxyError)):
        return Unavailable("X cannot be reached; is this Pi online?")
    # Of all that TLS may complain of, only this comes before the post is sent for certain.
    if isinstance(reason, broken.SSLError) and isinstance(reason.args[0], ssl.SSLCertVerificationError):
        return Unavailable("what answers is not X, by its certificate; is the clock of this Pi right?")
    return Uncertain(f"the connection to X broke before it answered; {_LOOK}")


def _adapter(options: Options) -> Any:
    """Return what carries the requests: with a timeout, which tweepy does not set, and to another server if named."""
    from requests.adapters import HTTPAdapter  # noqa: PLC0415 - comes with tweepy

    seconds = options.timeout.total_seconds()

    class Adapter(HTTPAdapter):
        def send(self, request: Any, **more: Any) -> Any:  # type: ignore[override]
            # After signing: the signature stands for the address that X knows.
            request.url = options.server + request.url.removeprefix(HOME)
            return super().send(request, **{**more, "timeout": (seconds, seconds)})

    return Adapter(max_retries=0)
