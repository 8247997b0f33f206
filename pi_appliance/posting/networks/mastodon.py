"""Network `mastodon`: posts to a Mastodon server or a compatible one, such as GoToSocial.

The server accepts an idempotency key with each post, but forgets it after an hour
(post_status_service: 3,600 s). It also forgets the key of a post that it created while it failed.
So a second attempt is not always harmless: after a lost response, the account is searched first.
"""

import contextlib
import hashlib
import json
import re
import sys
import time
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

from pi_appliance.config.options import NetworkDirs
from pi_appliance.errors import ApplianceError, Issues, Refused, Unavailable
from pi_appliance.posting.graphemes import count_graphemes
from pi_appliance.posting.model import Post, PostLimits, Prompt, SentPost
from pi_appliance.posting.networks import save_private
from pi_appliance.storage.model import Picture

if TYPE_CHECKING:
    from pi_appliance.posting.networks._mastodon_client import MastodonClient


# A domain may have any character except punctuation, spaces and controls of the text direction.
_IN_NAME = r"[^\s\x00-/:-@\[-`{-\x7f\u061c\u180e\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff]"
# Mastodon has a list of all top-level domains. These common endings are not in it.
_NO_ENDING = "corp|example|home|internal|intranet|invalid|lan|local|localdomain|localhost|private|test"
_ENDING = rf"(?!(?:{_NO_ENDING})(?![a-z0-9-]))(?:xn--[a-z0-9-]+|[a-z]{{2,}}|[^\W\d_a-z]{{2,}})(?![a-z0-9@+-])"
_DOMAIN = rf"(?:{_IN_NAME}(?:[_-]*{_IN_NAME})*\.)*{_IN_NAME}(?:-*{_IN_NAME})*\.{_ENDING}"
_IN_PATH = r"[^\s<>()?]"
_BRACKETS = rf"\((?:{_IN_PATH}+(?:\({_IN_PATH}+\){_IN_PATH}*)?|\({_IN_PATH}+\){_IN_PATH}*)\)"
_PATH_END = r"[^\s()?!*\"'「」<>;:=,.$%\[\]~&|@]"
_PATH = rf"/(?:(?:{_IN_PATH}|{_BRACKETS})*(?:{_PATH_END}|{_BRACKETS}))?"
_QUERY = r"\?[a-z0-9!?*'();:&=+$/%#\[\]_.,~|@^\xa0-\U0010ffff-]*[a-z0-9_&=#/\xa0-\U0010ffff-]"
_ADDRESS = re.compile(
    rf"(?<![A-Za-z0-9@\uff20$#\uff03\ufeff\ufffe\uffff])https?://{_DOMAIN}(?::[0-9]+)?(?:{_PATH})?(?:{_QUERY})?",
    re.IGNORECASE,
)
_MENTION = re.compile(r"(?<![=/\w])@([a-z0-9_]+(?:[.-]+[a-z0-9_]+)*)(?:@\w+(?:[.-]+\w+)*)?", re.IGNORECASE)


def text_length(text: str, address: int) -> int:
    """Return the length of `text` as Mastodon counts it; each web address counts `address`."""
    text, addresses = _ADDRESS.subn("x", text)
    return count_graphemes(_MENTION.sub(r"@\1", text)) + addresses * (address - 1)


def is_same_text(text: str, content: str) -> bool:
    """Return whether `content`, the HTML of a post, belongs to `text`.

    Servers shorten mentions, change their case, and change white space.
    """
    return _normalize_text(text) == _normalize_text(html_to_text(content))


def html_to_text(content: str) -> str:
    """Return the text of `content`, the HTML of a post, with full web addresses."""
    reader = _Reader()
    reader.feed(content)
    reader.close()
    return "".join(reader.parts).strip()


def _normalize_text(text: str) -> str:
    text = _MENTION.sub(lambda mention: f"@{mention[1].lower()}", unicodedata.normalize("NFC", text))
    return " ".join(text.split())


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []

    def handle_data(self, data: str) -> None:
        self.parts.append(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - the base class's
        if tag == "br":
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == "p":
            self.parts.append("\n\n")


class Counting(StrEnum):
    """How a server counts the characters of a text."""

    MASTODON = "mastodon"  # graphemes; a web address counts 23, a mention without its server
    GRAPHEMES = "graphemes"  # graphemes without discounts: String.length of Pleroma and Akkoma
    CODE_POINTS = "code-points"  # code points without discounts: GoToSocial; no known server counts more


_COUNTING_OF_SOFTWARE = {
    **dict.fromkeys(("mastodon", "hometown", "fedibird", "kmyblue"), Counting.MASTODON),
    **dict.fromkeys(("pleroma", "akkoma"), Counting.GRAPHEMES),
}


def find_counting(software: str, version: str) -> Counting | None:
    """Return how a server counts, or None if that is not known.

    Args:
        software: The name in its nodeinfo, or ''.
        version: The version of its API, which names some software that imitates Mastodon.
    """
    if software:
        return _COUNTING_OF_SOFTWARE.get(software.lower(), Counting.CODE_POINTS)
    if re.search("pleroma|akkoma", version, re.IGNORECASE):
        return Counting.GRAPHEMES
    # Mastodon has described itself since version 1, GoToSocial's own versions begin with 0.
    if "gotosocial" in version.lower() or version.startswith("0."):
        return Counting.CODE_POINTS
    return None


NAME = "limits.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class MastodonLimits:
    """The limits of one server. The defaults are those of Mastodon."""

    prices = None
    max_length: int = 500  # characters, as `text_length` counts them
    address: int = 23  # characters that a web address counts
    pictures: int = 4
    picture_bytes: int = 16 * 1024 * 1024
    alt: int = 1500  # characters of a picture's description
    kinds: tuple[str, ...] = ("image/jpeg", "image/png", "image/gif", "image/webp")
    counting: Counting = Counting.MASTODON

    @property
    def plays_animations(self) -> bool:
        """Whether the server shows a GIF in motion."""
        return "image/gif" in self.kinds

    def text_length(self, text: str) -> int:
        """Return the length of `text` as the server counts it."""
        match self.counting:
            case Counting.MASTODON:
                return text_length(text, self.address)
            case Counting.GRAPHEMES:
                return count_graphemes(text)
            case Counting.CODE_POINTS:
                return len(text)

    def rejection_reason(self, post: Post) -> str:
        """Return why the server would reject `post`, or an empty string."""
        weight = self.text_length(post.text)
        if weight > self.max_length:
            return f"{weight} of {self.max_length}"
        if not post.text.strip() and not post.pictures:
            return "the post is empty"
        if len(post.pictures) > self.pictures:
            return f"{len(post.pictures)} pictures of {self.pictures}"
        return next(filter(None, map(self._wrong_picture, post.pictures)), "")

    def _wrong_picture(self, picture: Picture) -> str:
        if picture.mime not in self.kinds:
            return f"a picture of the kind {picture.mime}, which the server does not take"
        if len(picture.data) > self.picture_bytes:
            return f"a picture of {len(picture.data)} bytes of {self.picture_bytes}"
        if len(picture.alt) > self.alt:
            return f"a description of a picture with {len(picture.alt)} of {self.alt} characters"
        return ""


def parse_limits(instance: object) -> MastodonLimits:
    """Return the limits in a response of /api/v2/instance or /api/v1/instance. Raises ValueError.

    A missing limit has its default.
    """
    configuration = instance.get("configuration") if isinstance(instance, Mapping) else None
    if not isinstance(configuration, Mapping):
        raise ValueError("the server's description of itself is not valid")
    statuses, media = (_find_section(configuration, name) for name in ("statuses", "media_attachments"))
    values = {
        "max_length": statuses.get("max_characters"),
        "address": statuses.get("characters_reserved_per_url"),
        "pictures": statuses.get("max_media_attachments"),
        "picture_bytes": media.get("image_size_limit"),
        "alt": media.get("description_limit"),
        "kinds": media.get("supported_mime_types"),
    }
    return _build_limits(values)


def load_limits(folder: Path, server: str) -> tuple[MastodonLimits, datetime | None]:
    """Return the cached limits of `server`, and when they were read.

    If none are cached, return the default limits and None.
    """
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
        cached = json.loads((folder / NAME).read_bytes())
        if cached["server"] == server:
            read_at = datetime.fromisoformat(cached["read"])
            return _build_limits(cached["limits"]), read_at if read_at.tzinfo else None
    return MastodonLimits(), None


def save_limits(folder: Path, server: str, limits: MastodonLimits, now: datetime) -> None:
    """Cache `limits` of `server` in `folder`. A write error does not prevent posting."""
    cached = {"server": server, "read": now.isoformat(), "limits": asdict(limits)}
    save_private(folder / NAME, cached)


def _find_section(configuration: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = configuration.get(name)
    return section if isinstance(section, Mapping) else {}


def _build_limits(values: Mapping[str, Any]) -> MastodonLimits:
    """Return the valid entries of `values` as limits."""
    valid: dict[str, Any] = {name: value for name, value in values.items() if type(value) is int and value > 0}
    kinds = values.get("kinds")
    valid["kinds"] = tuple(map(str, kinds)) if isinstance(kinds, list) and kinds else MastodonLimits().kinds
    if (counting := values.get("counting")) in list(Counting):
        valid["counting"] = Counting(counting)
    return MastodonLimits(**valid)


SCOPES = ["read:accounts", "read:statuses", "write:statuses", "write:media"]
_LOOKED_AT = 40  # posts per page: the most that a server returns
_PAGES = 25  # pages that a search reads
_FRESH = timedelta(days=1)
_WAITS = (1.0, 2.0, 4.0, 8.0, 15.0)  # seconds between checks whether the server has processed a picture


class Visibility(StrEnum):
    """Who sees a post."""

    PUBLIC = "public"
    UNLISTED = "unlisted"  # everyone, but not in public timelines
    PRIVATE = "private"  # only followers
    DIRECT = "direct"  # only mentioned accounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of this kind under `with:`. The token of the account is a secret."""

    server: Annotated[str, "where the account is, such as https://mastodon.social"]
    secrets_prefix: Annotated[str, "the prefix of its secret's name; use another one for a second account"] = "MASTODON"
    visibility: Annotated[Visibility, "who sees the posts: public, unlisted, private or direct"] = Visibility.PUBLIC
    language: Annotated[str | None, "the language of the posts, such as en; without it, the account's"] = None
    timeout: Annotated[timedelta, "how long to wait for the server to connect, and then to answer"] = timedelta(
        seconds=30
    )

    def check(self) -> Issues:
        """Return the invalid values: key, problem and remedy."""
        problems: Issues = []
        if wrong := _wrong_server(self.server):
            problems.append((("server",), f"{self.server!r} {wrong}", "write it as https://mastodon.social"))
        if self.language is not None and not re.fullmatch("[a-z]{2,3}(-[A-Za-z]{2,8})?", self.language):
            problems.append(
                (("language",), f"{self.language!r} is not the code of a language", "such as en, de or gsw")
            )
        return problems


def required_secrets(options: Options) -> Mapping[str, str]:
    """Return the name of the required secret and its meaning."""
    host = urlsplit(options.server).netloc
    return {f"{options.secrets_prefix}_TOKEN": f"the token that lets this appliance post at {host}"}


def post_limits(options: Options, place: NetworkDirs) -> PostLimits:
    """Return the cached limits of the server."""
    return load_limits(place.private, options.server)[0]


def connect(
    options: Options,
    secrets: Mapping[str, str],
    place: NetworkDirs,
    *,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    pause: Callable[[float], None] = time.sleep,
) -> "Mastodon":
    """Return the network. Raises Refused if Mastodon.py or the token is missing.

    `now` returns the current time; `pause` sleeps while the server processes a picture.
    """
    (name,) = required_secrets(options)
    token = secrets.get(name, "")
    if not re.fullmatch("[!-~]+", token):  # a header allows no other characters
        raise Refused(f"{name} is {'not a token' if token else 'missing'}; log in: pi-appliance networks login")
    return Mastodon(options, _open_client(options, token), place, now=now, pause=pause)


def login(options: Options, prompt: Prompt) -> Mapping[str, str]:
    """Register this appliance, let the owner allow it, return the token. Raises ApplianceError."""
    client = _open_client(options)
    app = client.ask(
        client.api.create_app,
        "pi-appliance",
        scopes=SCOPES,
        api_base_url=options.server,
        request_timeout=options.timeout.total_seconds(),
        session=client.session,
    )
    api = client.api
    api.client_id, api.client_secret = (
        _require_text(client, app, "client_id"),
        _require_text(client, app, "client_secret"),
    )
    address = api.auth_request_url(scopes=SCOPES, skip_server_info=True)
    prompt.show(
        f"Open this address in a browser where you are logged in at {client.who}, and allow pi-appliance to post:"
    )
    prompt.show(address)
    code = prompt.ask("The code that is shown then")
    if not code:
        raise Refused("no code was given; begin again")
    try:
        answer = client.ask(api.log_in, code=code, scopes=SCOPES, allow_http=options.server.startswith("http://"))
    except Refused:
        raise Refused(
            f"{client.who} rejected the code ({client.response_summary}); log in again to get a new one"
        ) from None
    token = api.access_token = _require_text(client, answer, "access_token")
    prompt.show(f"This is {_account_name(client)}.")
    (name,) = required_secrets(options)
    return {name: token}


class Mastodon:
    """An account on a Mastodon server."""

    idempotent = False
    search_lag = timedelta(0)

    def __init__(
        self,
        options: Options,
        client: "MastodonClient",
        place: NetworkDirs,
        *,
        now: Callable[[], datetime],
        pause: Callable[[float], None],
    ) -> None:
        self._options, self._client, self._place = options, client, place
        self._now, self._pause = now, pause
        self._rules: MastodonLimits | None = None
        self._account: str | None = None

    @property
    def limits(self) -> PostLimits:
        """Limits of the server, queried at most once a day, or from the cache."""
        if self._rules is None:
            self._rules = self._read_limits()
        return self._rules

    def post(self, post: Post, *, key: str, thread: Sequence[SentPost] = ()) -> SentPost:
        """Send `post`.

        Raises:
            ApplianceError: the subclasses that `Network.post` describes.
        """
        pictures = [self._upload_picture(picture) for picture in post.pictures]
        status = self._client.ask(
            self._client.api.status_post,
            post.text,
            posts=True,
            in_reply_to_id=thread[-1].id if thread else None,
            media_ids=pictures or None,
            visibility=self._options.visibility.value,
            language=self._options.language,
            idempotency_key=hashlib.sha256(key.encode()).hexdigest(),
        )
        try:
            return _parse_post(status)
        except LookupError:
            raise self._client.invalid_response() from None

    def find_post(self, post: Post, *, key: str, known_ids: Collection[str], since_id: str = "") -> SentPost | None:  # noqa: ARG002 - a server shows no keys
        """Search the posts of the account for `post`. Raises Unavailable or Refused."""
        try:
            pages = self._pages(since_id) if since_id else self._pages_back(known_ids)
            matches = [_parse_post(status) for page in pages for status in page if _is_same_post(status, post)]
        except Refused as error:
            if self._client.status in (401, 403):
                raise
            raise Unavailable(str(error)) from None
        except (AttributeError, LookupError, TypeError):  # treating this as "not found" could lead to a second post
            raise Unavailable(f"{self._client.who} sent an invalid response") from None
        return next((match for match in matches if match.id not in known_ids), None)

    def whoami(self) -> str:
        """Return the name of the account. Raises Unavailable or Refused."""
        return _account_name(self._client)

    def _upload_picture(self, picture: Picture) -> str:
        """Upload `picture` and return its id once it is processed. Nothing is posted."""
        api, waits = self._client.api, iter(_WAITS)
        answer = self._client.ask(api.media_post, picture.data, picture.mime, description=picture.alt or None)
        name = _require_text(self._client, answer, "id")
        while not answer.get("url"):
            wait = next(waits, None)
            if wait is None:
                raise Unavailable(f"{self._client.who} is still working on the picture")
            self._pause(wait)
            answer = self._client.ask(api.media, name)
        return name

    def _pages(self, since_id: str) -> Iterator[list[Any]]:
        """Yield the posts of the account newer than `since_id`, page by page."""
        for _ in range(_PAGES):
            page = self._read_page(min_id=since_id)
            yield page
            if not page or page[0]["id"] == since_id:
                return
            since_id = page[0]["id"]
        raise Unavailable(f"{self._client.who} has more than {_PAGES * _LOOKED_AT} posts since; check the account")

    def _pages_back(self, known_ids: Collection[str]) -> Iterator[list[Any]]:
        """Yield the newest posts page by page, up to a page without a post in `known_ids`."""
        page = self._read_page()
        yield page
        for _ in range(_PAGES):
            if not any(status["id"] in known_ids for status in page):
                return
            page = self._read_page(max_id=page[-1]["id"])
            yield page
        raise Unavailable(f"{self._client.who} has more than {_PAGES * _LOOKED_AT} posts since; check the account")

    def _read_page(self, **which: Any) -> list[Any]:
        """Return a page of the account's posts, the newest first. `which` limits the ids."""
        api = self._client.api
        if self._account is None:
            self._account = _require_text(self._client, self._client.ask(api.account_verify_credentials), "id")
        page: list[Any] = self._client.ask(
            api.account_statuses, self._account, kind=list, exclude_reblogs=True, limit=_LOOKED_AT, **which
        )
        return page

    def _read_limits(self) -> MastodonLimits:
        """Return the limits from the server, or from the cache."""
        server, now = self._options.server, self._now()
        remembered, read_at = load_limits(self._place.private, server)
        if read_at is not None and timedelta(0) <= now - read_at < _FRESH:
            return remembered
        for question in (self._client.api.instance_v2, self._client.api.instance_v1):  # Mastodon before 4 only has v1
            try:
                instance = self._client.ask(question)
                limits = parse_limits(instance)
            except (ApplianceError, ValueError):
                if self._client.status is None:
                    break  # the server does not answer at all
            else:
                counting = find_counting(self._client.read_software(), str(instance.get("version")))
                limits = replace(limits, counting=counting or remembered.counting)
                save_limits(self._place.private, server, limits, now)
                return limits
        return remembered


def _open_client(options: Options, token: str | None = None) -> "MastodonClient":
    """Return a client of the server. Raises Refused if Mastodon.py is not installed."""
    try:
        from pi_appliance.posting.networks._mastodon_client import MastodonClient  # noqa: PLC0415 - optional
    except ModuleNotFoundError as error:
        if error.name != "mastodon":
            raise
        raise Refused(
            f"the library Mastodon.py is not installed; run: {sys.executable} -m pip install 'Mastodon.py>=2.0'"
        ) from None
    return MastodonClient(options.server, options.timeout.total_seconds(), token)


def _wrong_server(server: str) -> str:
    """Return the error in the address `server`, or ''."""
    try:
        parts = urlsplit(server)
        name, _ = parts.hostname, parts.port
        (name or "").encode("idna")  # raises for empty and overlong labels
    except ValueError:
        return "is not an address"
    if parts.scheme == "http" and name not in ("127.0.0.1", "::1", "localhost"):
        return "would send the token unprotected"
    if parts.scheme not in ("http", "https") or not name:
        return "is not the address of a server"
    if parts.username is not None or parts.path not in ("", "/") or parts.query or parts.fragment:
        return "is more than the address of a server"
    return ""


def _account_name(client: "MastodonClient") -> str:
    return f"@{_require_text(client, client.ask(client.api.account_verify_credentials), 'acct')} at {client.who}"


def _require_text(client: "MastodonClient", answer: Mapping[str, Any], name: str) -> str:
    """Return the text `name` of the response `answer`. Raises Unavailable if it is missing."""
    word = _parse_id(answer.get(name))
    if not word:
        raise Unavailable(f"{client.who} sent an invalid response")
    return word


def _parse_id(value: object) -> str:
    """Return an id as text, or '' if `value` is not an id. Some servers send numbers."""
    return str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else ""


def _parse_post(status: Mapping[str, Any]) -> SentPost:
    """Return a post in the form in which the server sent it.

    Raises LookupError if it is not a post.
    """
    if not (name := _parse_id(status.get("id"))):
        raise LookupError("a post without an id")
    return SentPost(name, str(status.get("url") or ""))


def _is_same_post(status: Mapping[str, Any], post: Post) -> bool:
    """Return whether `status`, as sent by the server, equals `post`.

    Raises:
        LookupError: it is not a post.
        TypeError: it is not a post.
    """
    pictures = bool(status["media_attachments"])
    return pictures == bool(post.pictures) and is_same_text(post.text, status["content"])
