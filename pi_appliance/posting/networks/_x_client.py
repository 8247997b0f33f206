"""Client of X: one account, its login, its error responses, and the search of a post.

tweepy works over the session of `_requests_session.py`; ADR 11 describes the parts that tweepy
does not do. A clear rejection is Refused, a rate limit is Unavailable. X has no idempotency key,
so any other error is Uncertain for a post, and Unavailable for other requests.
"""

import contextlib
import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from email.utils import parsedate_to_datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeGuard
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

import requests
import tweepy
from requests_oauthlib import OAuth1

from pi_appliance.errors import AccountBlocked, ApplianceError, Duplicate, Refused, Unavailable, Uncertain
from pi_appliance.posting.model import Post, PostLimits, Prompt, SentPost
from pi_appliance.posting.networks import CHECK_ACCOUNT, save_private
from pi_appliance.posting.networks._requests_session import (
    HTTPStatusError,
    Session,
    TransportError,
    silence_library_logs,
)
from pi_appliance.posting.networks.x import API, HOME, MIMES, MIN_SEARCHED, Options, XLimits
from pi_appliance.storage.model import Picture

_PAGE_SIZE, _MAX_PAGES = 100, 5  # for a search back to a known post; X charges for each post that it returns
_ACCOUNT_FILE = "account.json"


class AccountIdCache:
    """Stores the account id in `folder`, for the access token with which it was read."""

    def __init__(self, folder: Path, token: str) -> None:
        self._path = folder / _ACCOUNT_FILE
        self._token_hash = hashlib.sha256(token.encode()).hexdigest()
        self._id: str | None = None

    @property
    def id(self) -> str | None:
        """The id of the account, if it is stored."""
        if self._id is None:
            with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
                cached = json.loads(self._path.read_text("ascii"))
                self._id = _valid_id(cached["id"]) if cached["token"] == self._token_hash else None
        return self._id

    def remember(self, number: str) -> None:
        """Store `number`; only in memory if the file cannot be written."""
        if number == self.id:
            return
        self._id = number
        save_private(self._path, {"token": self._token_hash, "id": number})


def _valid_id(text: object) -> str | None:
    return text if isinstance(text, str) and text.isascii() and text.isdigit() else None


def _open_session(options: Options) -> Session:
    moved = {} if options.server == HOME else {HOME: options.server, API: options.server}
    return Session("X", options.timeout.total_seconds(), moved)


class XAccount:
    """One account on X, with OAuth 1.0a."""

    idempotent = False

    def __init__(self, options: Options, keys: list[str], private: Path) -> None:
        silence_library_logs()
        self.limits: PostLimits = XLimits(options)
        self._verify = options.verify_uncertain
        self.search_lag = options.search_lag
        self._session = _open_session(options)
        self._client = tweepy.Client(None, *keys, return_type=requests.Response, wait_on_rate_limit=False)
        self._client.session = self._session
        self._auth = tweepy.OAuth1UserHandler(*keys).apply_auth()
        self._errors = ErrorResponses(options.secrets_prefix, keys)
        self._account = AccountIdCache(private, keys[2])

    def post(self, post: Post, *, key: str, thread: Sequence[SentPost] = ()) -> SentPost:  # noqa: ARG002 - X knows no key for a post
        """Send `post` as a reply to the last part of `thread`.

        Raises:
            ApplianceError: the subclasses that `Network.post` describes.
        """
        pictures = [self._upload_picture(picture) for picture in post.pictures]
        parent = thread[-1].id if thread else None
        try:
            answer = self._client.create_tweet(
                text=post.text or None, media_ids=pictures or None, in_reply_to_tweet_id=parent
            )
        except HTTPStatusError as error:
            raise self._errors.error(error.response, "to post", posting=True) from None
        except TransportError as error:
            raise (Uncertain(f"{error}; {CHECK_ACCOUNT}") if error.is_sent else Unavailable(str(error))) from None
        number = _read_id(_parse_body(answer))
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
        if not self._verify:
            raise Refused("verify-uncertain is false, so X was not asked; check the account at https://x.com")
        query = {"max_results": _PAGE_SIZE if since_id or known_ids else MIN_SEARCHED, "exclude": ["retweets"]}
        query |= {"tweet_fields": ["entities"], "user_auth": True}
        query |= {"since_id": since_id} if since_id.isdigit() else {}
        account = self._account.id or self._read_account()[0]
        for _ in range(_MAX_PAGES):
            timeline = self._call_json("to see the account's posts", self._client.get_users_tweets, account, **query)
            try:
                number = _find_in_timeline(timeline, post, known_ids)
            except ValueError:
                raise Unavailable(_INVALID_RESPONSE) from None
            next_token = (timeline.get("meta") or {}).get("next_token")
            has_more = "since_id" in query or _contains_known(timeline, known_ids)
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
                f"in {CONSOLE}, then create new tokens"
            )
        return f"@{name} on X"

    def _read_account(self) -> tuple[str, str, str]:
        """Return id, name and access level of the account. X does not always report the level."""
        response = self._call("to see whose keys it uses", self._client.get_me, user_auth=True)
        body = _parse_body(response)
        number = _read_id(body)
        name = body["data"].get("username") if number else None
        if not _is_name(name):
            raise Unavailable(_INVALID_RESPONSE)
        self._account.remember(number)
        return number, name, response.headers.get("x-access-level", "read-write")

    def _upload_picture(self, picture: Picture) -> str:
        """Upload `picture` and return its media id. Errors mean that nothing was posted."""
        # tweepy 4.17 only uploads by API v1.1, which X has switched off, and its client sends no
        # files.
        file = (f"picture.{MIMES.get(picture.mime, 'png')}", picture.data, picture.mime)
        action, fields = "to upload pictures", {"media_category": "tweet_image"}
        upload = partial(self._session.request, "POST", f"{API}/2/media/upload", auth=self._auth)
        number = _read_id(self._call_json(action, upload, files={"media": file}, data=fields))
        if not number:
            raise Unavailable(_INVALID_RESPONSE)
        if picture.alt:
            metadata = {"id": number, "metadata": {"alt_text": {"text": picture.alt}}}
            request = self._client.request
            self._call_json(action, request, "POST", "/2/media/metadata", json=metadata, user_auth=True)
        return number

    def _call_json(self, action: str, call: Callable[..., Any], *args: Any, **named: Any) -> dict[str, Any]:
        body = _parse_body(self._call(action, call, *args, **named))
        if not isinstance(body, dict):
            raise Unavailable(_INVALID_RESPONSE)
        return body

    def _call(self, action: str, call: Callable[..., Any], *args: Any, **named: Any) -> requests.Response:
        """Make a request that posts nothing.

        Raises:
            Refused: X rejected it. The message contains `action`.
            Unavailable: X did not answer.
        """
        try:
            response: requests.Response = call(*args, **named)
        except HTTPStatusError as error:
            raise self._errors.error(error.response, action) from None
        except TransportError as error:
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


CONSOLE = "X's developer console, https://console.x.com"
_MAX_MESSAGE = 200  # characters of X's error message that are shown
_MAX_WAIT = 86_400.0  # seconds; no rate limit of X lasts longer

# Patterns in a 403 response about the account, and the remedy.
_REASONS = (
    ("spend ?cap", f"the spending limit at X is reached; raise it in {CONSOLE}, or wait for the next month"),
    ("not-enrolled|client-forbidden", f"this app belongs to no paid project at X; move it into one in {CONSOLE}"),
    ("oauth1", f"this app may not do that; give it the right to read and write in {CONSOLE}, then make new tokens"),
    ("suspended", "X has suspended this account or its app; log in at https://x.com to see why"),
    ("temporarily locked", "X has locked this account; log in at https://x.com to see why"),
)


class ErrorResponses:
    """Convert responses to errors without `secrets`. `keys` is the prefix of the secrets' names."""

    def __init__(self, keys: str, secrets: Sequence[str]) -> None:
        self._keys, self._secrets = keys, secrets

    def error(self, response: requests.Response, doing: str, *, posting: bool = False) -> ApplianceError:
        """Return the error for `response` to the action `doing` ("to post").

        With `posting`, an unclear response means that the post may have been sent.
        """
        status, body = response.status_code, _parse_body(response)
        words = "; ".join(dict.fromkeys(_messages(body)))
        message = self._hide_secrets(words or response.reason or "no reason given")
        detail = f"({status}: {message})"
        match status:
            case 401:
                return AccountBlocked(
                    f"X does not know the keys {detail}; check the four {self._keys}_ secrets, and the clock of this Pi"
                )
            case 402:
                return AccountBlocked(f"the credit at X is used up {detail}; add credit in {CONSOLE}")
            case 403 if posting and "duplicate" in words.lower():
                return Duplicate(f"X says that this was posted before {detail}")
            case 403:
                return _forbidden(json.dumps(body), doing, detail)
            case 429:
                return Unavailable(f"X accepts no more requests now {detail}", after=_until_reset(response.headers))
            case _ if 400 <= status < 500 and status != 408:
                return Refused(f"X rejected the request {detail}")
        problem = "X reports an internal error" if status >= 500 else "X sent an invalid response"
        return Uncertain(f"{problem} {detail}; {CHECK_ACCOUNT}") if posting else Unavailable(f"{problem} {detail}")

    def _hide_secrets(self, text: str) -> str:
        """Return `text` as one line without secrets."""
        for secret in self._secrets:
            text = text.replace(secret, "…")
        line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
        return line if len(line) <= _MAX_MESSAGE else f"{line[:_MAX_MESSAGE]}…"


def _parse_body(response: requests.Response) -> Any:
    """Return the JSON body of `response`, or None for other content, such as an error page."""
    try:
        return json.loads(response.content)
    except (ValueError, RecursionError):
        return None


def _is_name(name: object) -> TypeGuard[str]:
    """Return whether `name` is a valid user name."""
    return isinstance(name, str) and re.fullmatch("[A-Za-z0-9_]{1,50}", name) is not None


def _messages(body: Any) -> Iterator[str]:
    """Yield the error texts of `body`, most specific first."""
    if not isinstance(body, dict):
        return
    errors = body.get("errors")
    for part in (*(errors if isinstance(errors, list) else ()), body):
        if isinstance(part, dict):
            words = (part.get(name) for name in ("message", "detail", "title", "error"))
            yield from [word for word in words if isinstance(word, str) and word][:1]


def _forbidden(body: str, doing: str, detail: str) -> Refused:
    """Return the error for a 403 response. X forbids accounts and apps, and also single texts."""
    for sign, why in _REASONS:
        if re.search(sign, body, re.IGNORECASE):
            return AccountBlocked(f"{why} {detail}")
    if re.search("to reply|reply to", body, re.IGNORECASE):
        return Refused(f"X rejected the reply; check whether the post before it still exists {detail}")
    remedy = f"give it write permission in {CONSOLE}, then make new tokens"
    return Refused(f"X does not allow this app {doing}; {remedy} {detail}")


def _until_reset(headers: Mapping[str, str]) -> float | None:
    """Return the seconds until every exhausted limit is reset, by the clock of X.

    Older apps also have 24-hour limits for the app and for the account.
    """
    used_up = [
        f"x-{who}-limit-24hour" for who in ("app", "user") if headers.get(f"x-{who}-limit-24hour-remaining") == "0"
    ]
    resets = (_parse_header(headers.get(f"{limit}-reset")) for limit in ("x-rate-limit", *used_up))
    known_resets = [reset for reset in resets if reset is not None]
    try:
        now = parsedate_to_datetime(headers["date"]).timestamp()
    except (KeyError, ValueError, TypeError, OverflowError):
        return None
    return min(max(0.0, max(known_resets) - now), _MAX_WAIT) if known_resets else None


def _parse_header(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 16 else None


_NOTHING_CHANGED = "nothing was changed; try again later"


def run_login(options: Options, prompt: Prompt) -> Sequence[str]:
    """Return key and secret of the app, and token and secret of the account.

    Raises:
        Refused: X rejected the login, or an entry is missing.
        Unavailable: X did not answer.
    """
    prompt.show(f"{CONSOLE}, shows the keys of an app under 'Keys and tokens'. It needs the right to read and write.")
    app = (_ask_required(prompt, "API key (or consumer key)"), _ask_required(prompt, "API key secret"))
    token = prompt.ask("Access token, if the console made one for this account; else Enter, for a PIN", secret=True)
    if token:
        return (*app, token, _ask_required(prompt, "Access token secret"))
    silence_library_logs()
    with _open_session(options) as session:
        return (*app, *_PinLogin(options, prompt, session, app).run())


def _ask_required(prompt: Prompt, label: str) -> str:
    answer = prompt.ask(label, secret=True)
    if not answer:
        raise Refused(f"no {label} was given; nothing was changed")
    return answer


class _PinLogin:
    """PIN login: the owner allows the app, and the PIN is exchanged for the account's token."""

    def __init__(self, options: Options, prompt: Prompt, session: Session, app: tuple[str, str]) -> None:
        self._server, self._prompt, self._session, self._app = options.server, prompt, session, app
        self._errors = ErrorResponses(options.secrets_prefix, app)

    def run(self) -> tuple[str, str]:
        """Return the account's token and its secret."""
        token, secret = self._request_token()
        self._prompt.show(
            f"Open this address on any device, logged in as the account that is to post, and allow the app:\n"
            f"{self._server}/oauth/authorize?{urlencode({'oauth_token': token})}"
        )
        pin = "".join(self._prompt.ask("The PIN that X shows then").split())
        if not pin:
            raise Refused("no PIN was given; nothing was changed")
        return self._exchange_pin(token, secret, pin)

    def _request_token(self) -> tuple[str, str]:
        refused = {
            401: "X does not know this API key and secret; check both, and the clock of this Pi",
            403: "X does not allow a login to this app by a PIN; set up its 'User authentication settings' in "
            f"{CONSOLE}, or make the access token there",
        }
        fields = self._call_step("request_token", OAuth1(*self._app, callback_uri="oob"), refused)
        return fields["oauth_token"], fields["oauth_token_secret"]

    def _exchange_pin(self, token: str, secret: str, pin: str) -> tuple[str, str]:
        wrong = "X rejected this PIN; log in again to get a new one"
        fields = self._call_step(
            "access_token", OAuth1(*self._app, token, secret, verifier=pin), {401: wrong, 403: wrong}
        )
        if _is_name(fields.get("screen_name")):
            self._prompt.show(f"These are the keys of @{fields['screen_name']}.")
        return fields["oauth_token"], fields["oauth_token_secret"]

    def _call_step(self, step: str, sign: OAuth1, refused: dict[int, str]) -> dict[str, str]:
        """Send the request of one `step` of the login, and return the fields of the response.

        If X refuses it with a status in `refused`, the owner reads the message there.
        """
        try:
            response = self._session.request("POST", f"{HOME}/oauth/{step}", auth=sign)
        except TransportError as error:
            raise Unavailable(f"{error}; {_NOTHING_CHANGED}") from None
        except HTTPStatusError as error:
            if words := refused.get(error.response.status_code):
                raise Refused(f"{words} ({error.response.status_code})") from None
            raise self._errors.error(error.response, "to log in") from None
        fields = {name: values[0] for name, values in parse_qs(response.content.decode("utf-8", "replace")).items()}
        if not (fields.get("oauth_token") and fields.get("oauth_token_secret")):
            raise Unavailable(f"X sent an invalid response; {_NOTHING_CHANGED}")
        return fields


_SHORT_LINK = re.compile(r"https?://t\.co/\w+")
_LINK_MARK = re.compile("\0([0-9]+)\0")


def _find_in_timeline(timeline: Mapping[str, Any], post: Post, known_ids: Collection[str]) -> str | None:
    """Return the id of the unknown post that equals `post`. Raises ValueError."""
    try:
        if "data" not in timeline and timeline["meta"]["result_count"] == 0:
            return None
        newest = timeline["data"]
        if not isinstance(newest, list):
            raise TypeError("posts come as a list")
        for each in newest:
            if each["id"] not in known_ids and _is_same_text(each["text"], _index_links(each), post):
                return str(int(each["id"]))
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"no list of posts: {error}") from None
    return None


def _contains_known(timeline: Mapping[str, Any], known_ids: Collection[str]) -> bool:
    return any(each["id"] in known_ids for each in timeline.get("data") or ())


def _index_links(entry: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {link["url"]: link for link in (entry.get("entities") or {}).get("urls") or ()}


def _is_same_text(text: str, links: Mapping[str, Mapping[str, Any]], post: Post) -> bool:
    """Return whether `text` is the text of `post`. `links` are the targets of t.co addresses."""
    used_links: list[Mapping[str, Any]] = []
    pictures = 0

    def mark(match: re.Match[str]) -> str:
        nonlocal pictures
        link = links.get(match[0])
        at_end = not text[match.end() :].strip()
        if _is_picture(link) if link else post.pictures and at_end:
            pictures += 1
            return ""
        used_links.append(link or {"expanded_url": match[0]})
        return f"\0{len(used_links) - 1}\0"

    marked = _SHORT_LINK.sub(mark, text.replace("\0", ""))
    plain = marked.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    parts = _LINK_MARK.split(_normalize_text(plain))  # [text, number, text, number, …, text]
    pattern = "".join(
        _link_pattern(used_links[int(each)]) if at % 2 else re.escape(each) for at, each in enumerate(parts)
    )
    return bool(pictures) == bool(post.pictures) and re.fullmatch(pattern, _normalize_text(post.text)) is not None


def _is_picture(link: Mapping[str, Any]) -> bool:
    shown, whole = str(link.get("display_url", "")), str(link.get("expanded_url", ""))
    return shown.startswith(("pic.x.com/", "pic.twitter.com/")) or bool(re.search(r"/status/\d+/photo/\d+$", whole))


def _link_pattern(link: Mapping[str, Any]) -> str:
    """Return a pattern for the possible spellings of `link`: X adds http:// to bare names."""
    addresses: set[str] = set()
    for name in ("expanded_url", "unwound_url", "display_url", "url"):
        address = re.sub("^https?://", "", _normalize_text(str(link.get(name) or ""))).rstrip("/")
        addresses |= {address, unquote(address), _with_unicode_host(address), _with_unicode_host(unquote(address))}
    return (
        f"(?:https?://)?(?i:{'|'.join(re.escape(each) for each in sorted(addresses - {''}, key=len, reverse=True))})/?"
    )


def _with_unicode_host(address: str) -> str:
    """Return `address` with its host in Unicode: münchen.example for xn--mnchen-3ya.example."""
    try:
        host = urlsplit(f"//{address}").netloc
        return host.encode("ascii").decode("idna") + address.removeprefix(host)
    except ValueError:
        return address


def _normalize_text(text: str) -> str:
    """Return `text` in NFC, with single spaces."""
    return " ".join(unicodedata.normalize("NFC", text).split())
