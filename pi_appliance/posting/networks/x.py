"""Network "x": posts to X by API v2 with tweepy. tweepy is imported only when X is reached.

ADR 11 describes the parts that tweepy does not do.
"""

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pi_appliance.config.model import NetworkDirs
from pi_appliance.config.units import Money
from pi_appliance.errors import Refused, Unavailable, Uncertain
from pi_appliance.posting import x_text
from pi_appliance.posting.interface import PostLimits, Prompt
from pi_appliance.posting.model import Post, SentPost
from pi_appliance.posting.networks import CHECK_ACCOUNT, _x_responses
from pi_appliance.storage.model import Picture

if TYPE_CHECKING:
    import requests


_NAME = "account.json"


class Account:
    """Cache of the account id in `folder`, valid for one access `token`."""

    def __init__(self, folder: Path, token: str) -> None:
        self._path = folder / _NAME
        self._mark = hashlib.sha256(token.encode()).hexdigest()
        self._id: str | None = None

    @property
    def id(self) -> str | None:
        """The id, if it is known."""
        if self._id is None:
            with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
                cached = json.loads(self._path.read_text("ascii"))
                self._id = _account_number(cached["id"]) if cached["token"] == self._mark else None
        return self._id

    def remember(self, number: str) -> None:
        """Store `number`; only in memory if the file cannot be written."""
        if number == self.id:
            return
        self._id = number
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._write(json.dumps({"token": self._mark, "id": number}))

    def _write(self, text: str) -> None:
        """Replace the file atomically, readable for its owner only."""
        new = self._path.with_name(f".{_NAME}.{os.getpid()}")
        try:
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
            new.replace(self._path)
        finally:
            new.unlink(missing_ok=True)


def _account_number(text: object) -> str | None:
    return text if isinstance(text, str) and text.isascii() and text.isdigit() else None


HOME = "https://api.twitter.com"  # the address that tweepy signs, also for the PIN
_API = "https://api.x.com"  # the address in X's documentation for everything else
KEYS = ("CONSUMER_KEY", "CONSUMER_SECRET", "ACCESS_TOKEN", "ACCESS_TOKEN_SECRET")

# Prices: docs.x.com/x-api/getting-started, as of April 2026. X charges each post that a search
# returns, and each alt text as a separate request.
_POST, _POST_WITH_LINK = Money("0.015"), Money("0.200")
_ALT_TEXT, _POST_MIN_SEARCHED = Decimal("0.005"), Decimal("0.001")
_MIN_SEARCHED = 20  # newest posts, if no known post limits the search
_PAGE_SIZE, _MAX_PAGES = 100, 5  # of a search back to a known post; X charges the posts returned

# docs.x.com/x-api/media/quickstart/best-practices
_MIMES = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp"}
_PICTURES, _PICTURE_BYTES, _ALT_LETTERS = 4, 5_000_000, 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of this kind under `with:`. The four keys of the account are secrets."""

    timeout: Annotated[timedelta, "how long to wait for X to connect, and then to answer"] = timedelta(seconds=30)
    secrets_prefix: Annotated[str, "what the names of its secrets begin with; another for a second account"] = "X"
    price: Annotated[Money, "dollars that a post costs"] = _POST
    price_with_link: Annotated[Money, "dollars that a post with a web address in it costs"] = _POST_WITH_LINK
    monthly_cap: Annotated[
        Money | None, "dollars; when a post would cost more than is left of them, it is not sent"
    ] = None
    verify_uncertain: Annotated[
        bool, "after a lost answer, look whether the post is there; costs two cents at most"
    ] = True
    server: Annotated[str, "where X's API is; another address to try things out"] = HOME

    def check(self) -> list[tuple[tuple[str | int, ...], str, str]]:
        """Return the errors in the values: key, problem, remedy."""
        problems: list[tuple[tuple[str | int, ...], str, str]] = []
        if not self.server.startswith(("https://", "http://127.0.0.1:", "http://localhost:")):
            problems.append((("server",), f"{self.server!r} would send the keys unprotected", "begin it with https://"))
        if not re.fullmatch("[A-Z][A-Z0-9_]*", self.secrets_prefix):
            problems.append(
                (
                    ("secrets-prefix",),
                    f"{self.secrets_prefix!r} cannot begin a name",
                    "write capitals and digits, such as X2",
                )
            )
        if not self.timeout:
            problems.append((("timeout",), "nothing is answered at once", "write 30s, for instance"))
        return problems


def required_secrets(options: Options) -> Mapping[str, str]:
    """Return the names of the required secrets and their meaning."""
    meanings = ("the app's key", "the app's secret", "the account's token", "the account's token secret")
    return {f"{options.secrets_prefix}_{name}": meaning for name, meaning in zip(KEYS, meanings, strict=True)}


def post_limits(options: Options, place: NetworkDirs) -> PostLimits:  # noqa: ARG001 - the shape of all networks
    """Return the limits and prices of X."""
    return XLimits(options)


def connect(options: Options, secrets: Mapping[str, str], place: NetworkDirs) -> "X":
    """Return the network; nothing is sent yet. Raises Refused if secrets are missing."""
    if missing := [name for name in required_secrets(options) if not secrets.get(name)]:
        raise Refused(f"no {', '.join(missing)} among the secrets; run: pi-appliance networks login")
    return X(options, [secrets[name] for name in required_secrets(options)], place)


def login(options: Options, prompt: Prompt) -> Mapping[str, str]:
    """Guide the owner through the login and return the four keys.

    Raises:
        Refused: X rejected the login.
        Unavailable: X did not answer.

    """
    from pi_appliance.posting.networks import _http, _x_timeline  # noqa: PLC0415 - for a login only

    _http.silence_library_logs()
    with _session(options) as session:
        values = _x_timeline.run_login(prompt, session, home=HOME, shown=options.server, keys=options.secrets_prefix)
    return dict(zip(required_secrets(options), values, strict=True))


def _session(options: Options) -> Any:
    from pi_appliance.posting.networks import _http  # noqa: PLC0415 - loads requests

    moved = {} if options.server == HOME else {HOME: options.server, _API: options.server}
    return _http.Session("X", options.timeout.total_seconds(), moved)


class XLimits:
    """Limits and prices of X."""

    max_length = x_text.X_LIMIT
    lookup_price = _POST_MIN_SEARCHED * _MIN_SEARCHED

    def __init__(self, options: Options) -> None:
        self.monthly_cap: Decimal | None = options.monthly_cap
        self._plain, self._with_link = options.price, options.price_with_link

    def text_length(self, text: str) -> int:
        """Return the length of `text` as X counts it."""
        return x_text.text_length(text)

    def rejection_reason(self, post: Post) -> str:
        """Return why X would reject `post`, or an empty string."""
        weight, pictures = self.text_length(post.text), len(post.pictures)
        if weight > self.max_length:
            return f"{weight} of {self.max_length}"
        if not (post.text.strip() or pictures):
            return "nothing to post"
        if forbidden := x_text.forbidden_characters(post.text):
            return forbidden
        if pictures > _PICTURES:
            return f"{pictures} of {_PICTURES} pictures"
        return next((wrong for picture in post.pictures if (wrong := _wrong_picture(picture))), "")

    def post_price(self, post: Post) -> Decimal:
        """Return the price of `post` in US dollars."""
        alt = sum(_ALT_TEXT for picture in post.pictures if picture.alt)
        return alt + (self._with_link if x_text.has_link(post.text) else self._plain)


def _wrong_picture(picture: Picture) -> str:
    if picture.mime not in _MIMES:
        return f"a picture that is {picture.mime or 'of no kind'}; X takes png, jpeg and webp"
    if len(picture.data) > _PICTURE_BYTES:
        return f"a picture of {len(picture.data):,} of {_PICTURE_BYTES:,} bytes"
    letters = len(picture.alt)
    return f"{letters} of {_ALT_LETTERS} characters about a picture" if letters > _ALT_LETTERS else ""


class X:
    """One account on X, with OAuth 1.0a."""

    idempotent = False

    def __init__(self, options: Options, keys: list[str], place: NetworkDirs) -> None:
        import requests  # noqa: PLC0415 - comes with tweepy
        import tweepy  # noqa: PLC0415 - takes 0.2 s and 8 MB

        from pi_appliance.posting.networks import _http  # noqa: PLC0415 - loads requests

        _http.silence_library_logs()
        self.limits: PostLimits = XLimits(options)
        self._verify = options.verify_uncertain
        self._http: Any = _http
        self._session = _session(options)
        self._client = tweepy.Client(None, *keys, return_type=requests.Response, wait_on_rate_limit=False)
        self._client.session = self._session
        self._auth = tweepy.OAuth1UserHandler(*keys).apply_auth()
        self._responses = _x_responses.Answers(options.secrets_prefix, keys)
        self._account = Account(place.private, keys[2])

    def post(self, post: Post, *, key: str, thread: Sequence[SentPost] = ()) -> SentPost:  # noqa: ARG002 - X knows no key for a post
        """Send `post` as a reply to the last part of `thread`.

        Raises:
            ApplianceError: the subclasses that `Network.post` describes.

        """
        pictures = [self._upload_picture(picture) for picture in post.pictures]
        above = thread[-1].id if thread else None
        try:
            answer = self._client.create_tweet(
                text=post.text or None, media_ids=pictures or None, in_reply_to_tweet_id=above
            )
        except self._http.HTTPStatusError as answered:
            raise self._responses.error(answered.response, "to post", posting=True) from None
        except self._http.TransportError as cut:
            raise (Uncertain(f"{cut}; {CHECK_ACCOUNT}") if cut.sent else Unavailable(str(cut))) from None
        number = _read_id(_x_responses.parsed(answer))
        if not number:
            raise Uncertain(f"X sent an invalid response to a post; {CHECK_ACCOUNT}")
        return _sent_post(number)

    def find_post(  # X has no idempotency key
        self,
        post: Post,
        *,
        key: str,  # noqa: ARG002
        known_ids: Collection[str],
        since_id: str = "",
    ) -> SentPost | None:
        """Search the newest posts of the account.

        Raises:
            Refused: the search is not possible.
            Unavailable: X did not answer.

        """
        from pi_appliance.posting.networks import _x_timeline  # noqa: PLC0415 - loads requests

        if not self._verify:
            raise Refused("verify-uncertain is false, so X was not asked; check the account at https://x.com")
        query = {"max_results": _PAGE_SIZE if since_id or known_ids else _MIN_SEARCHED, "exclude": ["retweets"]}
        query |= {"tweet_fields": ["entities"], "user_auth": True}
        query |= {"since_id": since_id} if since_id.isdigit() else {}
        account = self._account.id or self._read_account()[0]
        for _ in range(_MAX_PAGES):
            timeline = self._call_json("to see the account's posts", self._client.get_users_tweets, account, **query)
            try:
                number = _x_timeline.find_in_timeline(timeline, post, known_ids)
            except ValueError:
                raise Unavailable(_INVALID_RESPONSE) from None
            next_token = (timeline.get("meta") or {}).get("next_token")
            has_more = "since_id" in query or _x_timeline.contains_known(timeline, known_ids)
            if number or not next_token or not has_more:
                return _sent_post(number) if number else None
            query["pagination_token"] = str(next_token)
        count = _MAX_PAGES * _PAGE_SIZE
        raise Refused(f"the account has more than {count} newer posts; check it at https://x.com")

    def whoami(self) -> str:
        """Return the name of the account.

        Raises:
            Refused: its keys cannot post.
            Unavailable: X did not answer.

        """
        _, name, access_level = self._read_account()
        if "write" not in access_level:
            raise Refused(
                f"the keys of @{name} may read but not post; give the app write permission "
                f"in {_x_responses.CONSOLE}, then create new tokens"
            )
        return f"@{name} on X"

    def _read_account(self) -> tuple[str, str, str]:
        """Return id, name and access level of the account. X does not always report the level."""
        response = self._call("to see whose keys it uses", self._client.get_me, user_auth=True)
        body = _x_responses.parsed(response)
        number = _read_id(body)
        name = body["data"].get("username") if number else None
        if not _x_responses.is_name(name):
            raise Unavailable(_INVALID_RESPONSE)
        self._account.remember(number)
        return number, name, response.headers.get("x-access-level", "read-write")

    def _upload_picture(self, picture: Picture) -> str:
        """Upload `picture` and return its media id. Errors mean that nothing was posted."""
        # tweepy 4.17 uploads by v1.1 only, which X has switched off. Its client sends no files.
        file = (f"picture.{_MIMES.get(picture.mime, 'png')}", picture.data, picture.mime)
        action, fields = "to upload pictures", {"media_category": "tweet_image"}
        upload = partial(self._session.request, "POST", f"{_API}/2/media/upload", auth=self._auth)
        number = _read_id(self._call_json(action, upload, files={"media": file}, data=fields))
        if not number:
            raise Unavailable(_INVALID_RESPONSE)
        if picture.alt:
            metadata = {"id": number, "metadata": {"alt_text": {"text": picture.alt}}}
            request = self._client.request
            self._call_json(action, request, "POST", "/2/media/metadata", json=metadata, user_auth=True)
        return number

    def _call_json(self, action: str, call: Callable[..., Any], *args: Any, **named: Any) -> dict[str, Any]:
        body = _x_responses.parsed(self._call(action, call, *args, **named))
        if not isinstance(body, dict):
            raise Unavailable(_INVALID_RESPONSE)
        return body

    def _call(self, action: str, call: Callable[..., Any], *args: Any, **named: Any) -> "requests.Response":
        """Make a request that posts nothing.

        Raises:
            Refused: X rejected it. The message contains `action`.
            Unavailable: X did not answer.

        """
        try:
            response: requests.Response = call(*args, **named)
        except self._http.HTTPStatusError as error:
            raise self._responses.error(error.response, action) from None
        except self._http.TransportError as error:
            raise Unavailable(str(error)) from None
        return response


_INVALID_RESPONSE = "X sent an invalid response"


def _read_id(body: Any) -> str:
    """Return the id in the response `body`, or an empty string."""
    data = body.get("data") if isinstance(body, dict) else None
    number = str(data.get("id")) if isinstance(data, dict) else ""
    return number if number.isascii() and number.isdigit() else ""


def _sent_post(number: str) -> SentPost:
    return SentPost(number, f"https://x.com/i/web/status/{number}")
