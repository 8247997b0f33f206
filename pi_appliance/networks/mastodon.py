"""Network 'mastodon': posts to a Mastodon server, or one that speaks as it does (GoToSocial, Pleroma, Pixelfed).

The server takes a key with each post and does not post twice under one; but it forgets keys after an hour
(post_status_service: 3,600 s), and one whose post it made while it broke down it never learns. So a second try is not
always harmless: after a lost answer, one looks first.
"""

import hashlib
import re
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

from pi_appliance.errors import ApplianceError, Refused, Unavailable
from pi_appliance.model.post import Picture, Place, Post, Sent
from pi_appliance.networks import _mastodon_limits as limits
from pi_appliance.networks import _mastodon_text
from pi_appliance.ports import Rules, Talk

if TYPE_CHECKING:
    from pi_appliance.networks._mastodon_line import Line

SCOPES = ["read:accounts", "read:statuses", "write:statuses", "write:media"]
_LOOKED_AT = 40  # posts: the most that a server gives at once
_PAGES = 25  # of them that are looked at
_FRESH = timedelta(days=1)
_WAITS = (1.0, 2.0, 4.0, 8.0, 15.0)  # seconds, while a server works on a picture; of others than films, none are needed


class Visibility(StrEnum):
    """Who sees a post."""

    PUBLIC = "public"
    UNLISTED = "unlisted"  # everyone, but it is in no public timeline
    PRIVATE = "private"  # followers alone
    DIRECT = "direct"  # those alone whom it mentions


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys a network of this kind takes under `with:`. The token of the account is a secret, never here."""

    server: Annotated[str, "where the account is, such as https://mastodon.social"]
    keys: Annotated[str, "what the name of its secret begins with; another for a second account"] = "MASTODON"
    visibility: Annotated[Visibility, "who sees the posts: public, unlisted, private or direct"] = Visibility.PUBLIC
    language: Annotated[str | None, "the language of the posts, such as en; without it, the account's"] = None
    timeout: Annotated[timedelta, "how long to wait for the server to connect, and then to answer"] = timedelta(
        seconds=30
    )

    def check(self) -> list[tuple[tuple[str | int, ...], str, str]]:
        """Return what is wrong with a key: where, what, and what would be right."""
        found: list[tuple[tuple[str | int, ...], str, str]] = []
        if wrong := _wrong_server(self.server):
            found.append((("server",), f"{self.server!r} {wrong}", "write it as https://mastodon.social"))
        if self.language is not None and not re.fullmatch("[a-z]{2,3}(-[A-Za-z]{2,8})?", self.language):
            found.append((("language",), f"{self.language!r} is no code of a language", "such as en, de or gsw"))
        return found


def wants(options: Options) -> Mapping[str, str]:
    """Return the secret that it needs, and what it is."""
    return {f"{options.keys}_TOKEN": f"the token that lets this appliance post at {urlsplit(options.server).netloc}"}


def rules(options: Options, place: Place) -> Rules:
    """Return what the server takes, as far as it is remembered from the last time it was asked."""
    return limits.load(place.private, options.server)[0]


def connect(
    options: Options,
    secrets: Mapping[str, str],
    place: Place,
    *,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    pause: Callable[[float], None] = time.sleep,
) -> "Mastodon":
    """Return the network. Raises Refused where Mastodon.py or the token is missing.

    NOW is asked how old what is remembered is; PAUSE waits some seconds while the server works on a picture.
    """
    (name,) = wants(options)
    token = secrets.get(name, "")
    if not re.fullmatch("[!-~]+", token):  # what else there may be cannot travel in a header
        raise Refused(f"{name} is {'not a token' if token else 'missing'}; log in: pi-appliance networks login")
    return Mastodon(options, _line(options, token), place, now=now, pause=pause)


def login(options: Options, talk: Talk) -> Mapping[str, str]:
    """Register this appliance with the server, let the owner allow it, and return the token. Raises ApplianceErrors."""
    line = _line(options)
    app = line.ask(
        line.client.create_app,
        "pi-appliance",
        scopes=SCOPES,
        api_base_url=options.server,
        request_timeout=options.timeout.total_seconds(),
        session=line.session,
    )
    client = line.client
    client.client_id, client.client_secret = _word(line, app, "client_id"), _word(line, app, "client_secret")
    address = client.auth_request_url(scopes=SCOPES, skip_server_info=True)
    talk.say(f"Open this address in a browser where you are logged in at {line.who}, and allow pi-appliance to post:")
    talk.say(address)
    code = talk.ask("The code that is shown then")
    if not code:
        raise Refused("no code was given; begin again")
    try:
        answer = line.ask(client.log_in, code=code, scopes=SCOPES, allow_http=options.server.startswith("http://"))
    except Refused:
        raise Refused(f"{line.who} did not take the code ({line.said}); begin again with a new one") from None
    token = client.access_token = _word(line, answer, "access_token")
    talk.say(f"This is {_whose(line)}.")
    (name,) = wants(options)
    return {name: token}


class Mastodon:
    """One account on one server."""

    idempotent = False

    def __init__(
        self,
        options: Options,
        line: "Line",
        place: Place,
        *,
        now: Callable[[], datetime],
        pause: Callable[[float], None],
    ) -> None:
        self._options, self._line, self._place = options, line, place
        self._now, self._pause = now, pause
        self._rules: limits.Limits | None = None
        self._account: str | None = None

    @property
    def rules(self) -> Rules:
        """What the server takes: asked at most once a day, remembered where it does not answer."""
        if self._rules is None:
            self._rules = self._read_limits()
        return self._rules

    def post(self, post: Post, *, key: str, after: Sequence[Sent] = ()) -> Sent:
        """Post POST and return its address. Raises Unavailable, Refused or Uncertain."""
        pictures = [self._upload(picture) for picture in post.pictures]
        status = self._line.ask(
            self._line.client.status_post,
            post.text,
            posts=True,
            in_reply_to_id=after[-1].id if after else None,
            media_ids=pictures or None,
            visibility=self._options.visibility.value,
            language=self._options.language,
            idempotency_key=hashlib.sha256(key.encode()).hexdigest(),
        )
        try:
            return _sent(status)
        except LookupError:
            raise self._line.nonsense() from None

    def look(self, post: Post, *, key: str, known: Collection[str], since: str = "") -> Sent | None:  # noqa: ARG002 - a server shows no keys
        """Look among the posts of the account for POST. Raises Unavailable or Refused."""
        try:
            pages = self._pages(since) if since else self._pages_back(known)
            found = [_sent(status) for page in pages for status in page if _is(status, post)]
        except Refused as error:
            if self._line.status in (401, 403):
                raise
            raise Unavailable(str(error)) from None
        except (AttributeError, LookupError, TypeError):  # better no answer than a wrong "it is not there"
            raise Unavailable(f"{self._line.who} answered something that makes no sense") from None
        return next((sent for sent in found if sent.id not in known), None)

    def whoami(self) -> str:
        """Return whose account it is. Raises Unavailable or Refused."""
        return _whose(self._line)

    def _upload(self, picture: Picture) -> str:
        """Return the id of PICTURE at the server, which is done with it. Whatever goes wrong, nothing is posted yet."""
        client, waits = self._line.client, iter(_WAITS)
        answer = self._line.ask(client.media_post, picture.data, picture.mime, description=picture.alt or None)
        name = _word(self._line, answer, "id")
        while not answer.get("url"):
            wait = next(waits, None)
            if wait is None:
                raise Unavailable(f"{self._line.who} is still working on the picture")
            self._pause(wait)
            answer = self._line.ask(client.media, name)
        return name

    def _pages(self, since: str) -> Iterator[list[Any]]:
        """Yield the posts of the account that are newer than SINCE, page by page."""
        for _ in range(_PAGES):
            page = self._page(min_id=since)
            yield page
            if not page or page[0]["id"] == since:
                return
            since = page[0]["id"]
        raise Unavailable(f"{self._line.who} has more than {_PAGES * _LOOKED_AT} posts since; look at the account")

    def _pages_back(self, known: Collection[str]) -> Iterator[list[Any]]:
        """Yield the newest posts of the account, page by page, up to one that holds none that is KNOWN."""
        page = self._page()
        yield page
        for _ in range(_PAGES):
            if not any(status["id"] in known for status in page):
                return
            page = self._page(max_id=page[-1]["id"])
            yield page
        raise Unavailable(f"{self._line.who} has more than {_PAGES * _LOOKED_AT} posts since; look at the account")

    def _page(self, **which: Any) -> list[Any]:
        """Return a page of the account's posts, the newest first: the newest, or WHICH by the ids that bound it."""
        client = self._line.client
        if self._account is None:
            self._account = _word(self._line, self._line.ask(client.account_verify_credentials), "id")
        page: list[Any] = self._line.ask(
            client.account_statuses, self._account, kind=list, exclude_reblogs=True, limit=_LOOKED_AT, **which
        )
        return page

    def _read_limits(self) -> limits.Limits:
        """Return what the server takes, as it says now or said last."""
        server, now = self._options.server, self._now()
        remembered, read = limits.load(self._place.private, server)
        if read is not None and timedelta(0) <= now - read < _FRESH:
            return remembered
        for question in (self._line.client.instance_v2, self._line.client.instance_v1):  # v1: before Mastodon 4
            try:
                found = limits.parse(self._line.ask(question))
            except (ApplianceError, ValueError):
                if self._line.status is None:
                    break  # it is not there at all
            else:
                limits.save(self._place.private, server, found, now)
                return found
        return remembered


def _line(options: Options, token: str | None = None) -> "Line":
    """Return the line to the server. Raises Refused where Mastodon.py is not installed."""
    try:
        from pi_appliance.networks._mastodon_line import Line  # noqa: PLC0415 - only a run that posts shall load it
    except ModuleNotFoundError as error:
        if error.name != "mastodon":
            raise
        raise Refused(
            f"the program Mastodon.py is not installed; install it: {sys.executable} -m pip install 'Mastodon.py>=2.0'"
        ) from None
    return Line(options.server, options.timeout.total_seconds(), token)


def _wrong_server(server: str) -> str:
    """Return what is wrong with the address SERVER; nothing: ''."""
    try:
        parts = urlsplit(server)
        name, _ = parts.hostname, parts.port
        (name or "").encode("idna")  # no name between two dots, none too long
    except ValueError:
        return "is no address"
    if parts.scheme == "http" and name not in ("127.0.0.1", "::1", "localhost"):
        return "would send the token unprotected"
    if parts.scheme not in ("http", "https") or not name:
        return "is no address of a server"
    if parts.username is not None or parts.path not in ("", "/") or parts.query or parts.fragment:
        return "is more than the address of a server"
    return ""


def _whose(line: "Line") -> str:
    return f"@{_word(line, line.ask(line.client.account_verify_credentials), 'acct')} at {line.who}"


def _word(line: "Line", answer: Mapping[str, Any], name: str) -> str:
    """Return what ANSWER says under NAME. Raises Unavailable: of what is only asked for, nothing is done yet."""
    word = _id(answer.get(name))
    if not word:
        raise Unavailable(f"{line.who} answered something that makes no sense")
    return word


def _id(value: object) -> str:
    """Return VALUE as the text of an id, which some servers write as a number; '' if it is none."""
    return str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else ""


def _sent(status: Mapping[str, Any]) -> Sent:
    """Return what is known of STATUS, as the server shows it. Raises LookupError where it is no post."""
    if not (name := _id(status.get("id"))):
        raise LookupError("a post without an id")
    return Sent(name, str(status.get("url") or ""))


def _is(status: Mapping[str, Any], post: Post) -> bool:
    """Say whether STATUS, as the server shows it, is POST. Raises LookupError or TypeError where it is no post."""
    pictures = bool(status["media_attachments"])
    return pictures == bool(post.pictures) and _mastodon_text.same(post.text, status["content"])
