"""Network 'x': posts to X by its API v2. The only file that imports tweepy, and only when something is posted.

What answers mean for the owner, as measured against tweepy 4.17: nothing sent is Unavailable, a clear no is Refused,
and whatever leaves it open whether the post stands is Uncertain, for X has no key that makes a second try harmless.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Annotated, Any

from pi_appliance.core import posts
from pi_appliance.errors import ApplianceError, Duplicate, Refused, Unavailable, Uncertain
from pi_appliance.model.post import Place, Post, Sent
from pi_appliance.model.units import Money
from pi_appliance.networks._line import LOOK, broken_line
from pi_appliance.ports import Rules

if TYPE_CHECKING:
    import requests

HOME = "https://api.twitter.com"
KEYS = ("CONSUMER_KEY", "CONSUMER_SECRET", "ACCESS_TOKEN", "ACCESS_TOKEN_SECRET")

# docs.x.com/x-api/getting-started, as of April 2026
_POST, _POST_WITH_LINK = Money("0.015"), Money("0.200")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys a network of this kind takes under `with:`. The four keys of the account are secrets, never here."""

    timeout: Annotated[timedelta, "how long to wait for X to connect, and then to answer"] = timedelta(seconds=30)
    keys: Annotated[str, "what the names of its secrets begin with; another for a second account"] = "X"
    price: Annotated[Money, "dollars that a post costs"] = _POST
    price_with_link: Annotated[Money, "dollars that a post with a web address in it costs"] = _POST_WITH_LINK
    monthly_cap: Annotated[
        Money | None, "dollars; when a post would cost more than is left of them, it is not sent"
    ] = None
    look: Annotated[bool, "after a lost answer, look whether the post is there; costs a fraction of a cent"] = True
    server: Annotated[str, "where X's API is; another address to try things out"] = HOME

    def check(self) -> list[tuple[tuple[str | int, ...], str, str]]:
        """Return what is wrong with a key: where, what, and what would be right."""
        if not self.server.startswith(("https://", "http://127.0.0.1:", "http://localhost:")):
            return [(("server",), f"{self.server!r} would send the keys unprotected", "begin it with https://")]
        return []


def wants(options: Options) -> Mapping[str, str]:
    """Return the secrets that it needs, and what each is."""
    words = ("the app's key", "the app's secret", "the account's token", "the account's token secret")
    return {f"{options.keys}_{name}": what for name, what in zip(KEYS, words, strict=True)}


def rules(options: Options, place: Place) -> Rules:  # noqa: ARG001 - the shape of all networks
    """Return what X takes and what it charges."""
    return Limits(options)


def connect(options: Options, secrets: Mapping[str, str], place: Place) -> "X":  # noqa: ARG001 - the shape of all networks
    """Return the network."""
    return X(options, [secrets[name] for name in wants(options)])


class Limits:
    """X's rules."""

    limit = posts.X_LIMIT
    look_price = Decimal("0.001")

    def __init__(self, options: Options) -> None:
        self.cap: Decimal | None = options.monthly_cap
        self._plain, self._with_link = options.price, options.price_with_link

    def weigh(self, text: str) -> int:
        """Return the length of TEXT as X counts it."""
        return posts.weigh(text)

    def wrong(self, post: Post) -> str:
        """Return why X would refuse POST."""
        weight = self.weigh(post.text)
        return "" if weight <= self.limit else f"{weight} of {self.limit}"

    def price(self, post: Post) -> Decimal:
        """Return what X charges for POST."""
        return self._with_link if posts.has_link(post.text) else self._plain


class X:
    """One account on X, by OAuth 1.0a."""

    idempotent = False

    def __init__(self, options: Options, keys: list[str]) -> None:
        import tweepy  # noqa: PLC0415 - 0.2 s and 8 MB that only a run which posts shall pay

        self.rules: Rules = Limits(options)
        self._tweepy: Any = tweepy
        self._client = tweepy.Client(None, *keys, wait_on_rate_limit=False)
        self._client.session.mount(HOME, _adapter(options))

    def post(self, post: Post, *, key: str, after: Sequence[Sent] = ()) -> Sent:  # noqa: ARG002 - X knows no key for a post
        """Post POST and return its address. Raises Unavailable, Refused or Uncertain."""
        import requests  # noqa: PLC0415 - comes with tweepy

        try:
            answer = self._client.create_tweet(text=post.text)
            return Sent(str(answer.data["id"]), f"https://x.com/i/web/status/{answer.data['id']}")
        except self._tweepy.HTTPException as error:
            raise _from_answer(error.response, error.api_messages) from None
        except requests.ConnectionError as error:
            raise broken_line(error, "X") from None
        except (requests.RequestException, AttributeError, KeyError, TypeError, ValueError) as error:
            # tweepy itself stumbles over a body that is no JSON object; the post may stand all the same.
            raise Uncertain(f"X answered something that makes no sense ({type(error).__name__}); {LOOK}") from None

    def look(self, post: Post, *, key: str, known: Collection[str]) -> Sent | None:  # noqa: ARG002 - not yet
        """Look among the account's newest posts for POST."""
        raise Refused("X was not asked for the account's own posts")

    def whoami(self) -> str:
        """Return whose account it is."""
        return "X"


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
            return Duplicate(f"X says that this was posted before (403: {said})")
        case 403:
            return Refused(
                f"X does not allow this app to post (403: {said}); give it write permission, make new tokens"
            )
        case 429:
            return Unavailable(f"X takes no more posts just now (429: {said})", after=_until_reset(response))
        case _ if status >= 500:
            return Uncertain(f"X had a fault of its own ({status}: {said}); {LOOK}")
    return Refused(f"X answered {status}: {said}")


def _until_reset(response: "requests.Response") -> float | None:
    """Return the seconds until the limit is lifted, by X's own clock: that of a Pi may be wrong."""
    try:
        reset = int(response.headers["x-rate-limit-reset"])
        return max(0.0, reset - parsedate_to_datetime(response.headers["date"]).timestamp())
    except (KeyError, ValueError, TypeError):
        return None


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
