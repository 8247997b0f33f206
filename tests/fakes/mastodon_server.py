"""A fake Mastodon server on loopback: apps, tokens, posts with Idempotency-Key, pictures, limits and faults.

It follows the code of the server (Mastodon 4.x): a key is valid for an hour after the post, characters are
counted like in StatusLengthValidator, HTML is written like in TextFormatter, and limits are sent like by rack_attack.

Faults are listed in `faults`. Each POST of a status uses up one. Each request to NAME uses up one of
`other_faults[NAME]`, with NAME "apps", "token", "instance", "nodeinfo", "media", "verify_credentials", or "look" for
the posts of the account. A fault is

    an int            that HTTP status, without an effect
    "after-503"       that HTTP status, with the effect
    "half-422"        that HTTP status, closed within the answer, without an effect
    "cut-before"      closed unread, without an effect
    "cut-after"       closed without an answer, with the effect
    "cut-in-answer"   closed within the answer, with the effect
    "hang-before"     no answer, without an effect
    "hang"            no answer, with the effect
    "not-an-object"   200 with a list instead of an object, or the reverse, with the effect
    "not-json"        200 with a page, with the effect
    "no-id"           200 with an empty object, with the effect
    "odd-header"      a good answer with an invalid X-RateLimit-Reset, with the effect
    "moved"           302 to another server, without an effect
"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.fakes.loopback import serving
from tests.fakes.mastodon_words import countable, graphemes, render_html

TOKEN = "token-of-the-shelf-7"
SCOPES = "read:accounts read:statuses write:statuses write:media"
ACCOUNT = {"id": "109000000000000001", "username": "shelf", "acct": "shelf", "display_name": "The shelf"}
KEY_LIFETIME = 3600  # seconds that a key is remembered
_START = 109_000_000_000_000_100

Fault = int | str


class Rejection(Exception):
    """A refusal: status and message."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status, self.words = status, words


@dataclass(frozen=True)
class RecordedRequest:
    """One request."""

    method: str
    path: str
    headers: dict[str, str]
    fields: dict[str, Any]
    accepted: str | None = None  # the id of the post that it made, or that its key named


@dataclass
class FakeMastodon:
    """The data of the server, its log, and its behaviour."""

    address: str = ""
    clock: Callable[[], float] = time.time
    limit: int = 500
    faults: list[Fault] = field(default_factory=list)
    other_faults: dict[str, list[Fault]] = field(default_factory=dict)
    instance: dict[str, Any] | None = None  # the description of the server, if it is unusual
    old: bool = False  # knows no /api/v2/instance
    software: str = "mastodon"  # in the nodeinfo; GoToSocial and Pleroma count addresses and mentions in full
    version: str = "4.4.0"  # of the API
    strict: bool = False  # as GoToSocial: an address that ends in / is sent on to the one without
    polls: int = 0  # how often one has to ask for a picture until it is ready
    tokens: dict[str, str] = field(default_factory=lambda: {TOKEN: SCOPES})
    people: frozenset[str] = frozenset({"friend@far.example"})  # known accounts, which can be mentioned
    statuses: list[dict[str, Any]] = field(default_factory=list)  # oldest first; `text` is the sent text
    pictures: dict[str, dict[str, Any]] = field(default_factory=dict)
    apps: dict[str, dict[str, str]] = field(default_factory=dict)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    log: list[RecordedRequest] = field(default_factory=list)
    stopped: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    keys: dict[str, tuple[str, float]] = field(default_factory=dict)

    @property
    def texts(self) -> list[str]:
        """Return the texts of all posts, oldest first."""
        return [status["text"] for status in self.statuses]

    @property
    def paths(self) -> list[str]:
        """Return the requested paths, without queries."""
        return [f"{seen.method} {seen.path}" for seen in self.log]

    def approve(self, address: str) -> str:
        """Return the code shown to an owner who opens `address` and allows the access."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        app = self.apps[query["client_id"]]
        assert address.startswith(f"{self.address}/oauth/authorize?")
        assert query["response_type"] == "code"
        assert (query["redirect_uri"], query["scope"]) == (app["redirect_uris"], app["scopes"])
        code = f"code-{len(self.codes) + 1}"
        self.codes[code] = query
        return code


@contextmanager
def fake_mastodon() -> Iterator[FakeMastodon]:
    """Run the server for the block."""
    fake = FakeMastodon()
    with serving(fake, _Handler):
        yield fake


class _Handler(BaseHTTPRequestHandler):
    state: FakeMastodon
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        state, path = self.state, urlsplit(self.path).path.rstrip("/")
        fault = self._fault(path)
        if fault == "cut-before":
            self._break_connection()
            return
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length)
        if len(body) < length:  # killed while it sent
            self.close_connection = True
            return
        fields = self._fields(body)
        if fault == "hang-before":
            self._hang()
            return
        accepted, headers = None, {}
        with state.lock:
            try:
                if isinstance(fault, int) or (fault or "").startswith("half-"):
                    status = int(str(fault).removeprefix("half-"))
                    raise Rejection(status, _WORDS.get(status, "no"))
                if state.strict and urlsplit(self.path).path.endswith("/"):
                    headers["Location"] = path
                    raise Rejection(301, "moved")
                if path == "/api/v1/instance" and not state.old:
                    headers["Deprecation"] = "@1668384000"
                if fault == "moved":
                    headers["Location"] = "https://elsewhere.example" + path
                    raise Rejection(302, "moved")
                status, answer = self._answer(path, fields)
                accepted = answer["id"] if path == "/api/v1/statuses" else None
            except Rejection as no:
                status, answer = no.status, {"error": no.words}
            state.log.append(RecordedRequest(self.command, path, dict(self.headers), fields, accepted))
        self._send(fault, status, answer, headers)

    def _fault(self, path: str) -> Fault | None:
        names = ("apps", "token", "instance", "nodeinfo", "media", "verify_credentials")
        name = next((name for name in names if name in path), "look" if "/accounts/" in path else "")
        with self.state.lock:
            waiting = self.state.other_faults.get(name, [])
            if self.command == "POST" and path == "/api/v1/statuses":
                waiting = self.state.faults
            return waiting.pop(0) if waiting else None

    def _answer(self, path: str, fields: dict[str, Any]) -> tuple[int, Any]:
        match self.command, path.split("/")[1:]:
            case "GET", ["api", "v1" | "v2" as version, "instance"] if version == "v1" or not self.state.old:
                return 200, self.state.instance or self._instance()
            case "GET", [*_, "nodeinfo" | "2.0"] if self.state.software:
                # A real server answers its two addresses with one part each.
                kind = "http://nodeinfo.diaspora.software/ns/schema/2.0"
                links = [{"rel": kind, "href": f"{self.state.address}/nodeinfo/2.0"}]
                return 200, {"links": links, "software": {"name": self.state.software, "version": "1.2.3"}}
            case "POST", ["api", "v1", "apps"]:
                return 200, self._app(fields)
            case "POST", ["oauth", "token"]:
                return 200, self._token(fields)
            case "GET", ["api", "v1", "accounts", "verify_credentials"]:
                self._allowed("read:accounts")
                return 200, ACCOUNT
            case "GET", ["api", "v1", "accounts", account, "statuses"] if account == ACCOUNT["id"]:
                self._allowed("read:statuses")
                return 200, self._recent_statuses(fields)
            case "POST", ["api", "v2", "media"]:
                self._allowed("write:media")
                return self._upload(fields)
            case "GET", ["api", "v1", "media", picture] if picture in self.state.pictures:
                self._allowed("write:media")
                return self._processed(picture)
            case "POST", ["api", "v1", "statuses"]:
                self._allowed("write:statuses")
                return 200, self._post(fields)
        raise Rejection(404, "Record not found")

    def _allowed(self, scope: str) -> None:
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        if scheme != "Bearer" or token not in self.state.tokens:
            raise Rejection(401, "The access token is invalid")
        if scope not in self.state.tokens[token].split():
            raise Rejection(403, "This action is outside the authorized scopes")

    def _instance(self) -> dict[str, Any]:
        statuses = {"max_characters": self.state.limit, "max_media_attachments": 4, "characters_reserved_per_url": 23}
        media = {"supported_mime_types": ["image/png", "image/jpeg", "image/gif"], "image_size_limit": 16_777_216}
        media["description_limit"] = 1500
        return {"version": self.state.version, "configuration": {"statuses": statuses, "media_attachments": media}}

    def _app(self, fields: dict[str, Any]) -> dict[str, str]:
        number = len(self.state.apps) + 1
        app = {name: fields[name] for name in ("client_name", "scopes", "redirect_uris")}
        app |= {"client_id": f"client-id-{number}", "client_secret": f"client-secret-{number}"}
        self.state.apps[app["client_id"]] = app
        return {"id": str(number), "name": app["client_name"], **app}

    def _token(self, fields: dict[str, Any]) -> dict[str, Any]:
        app = self.state.apps.get(fields.get("client_id", ""), {})
        if not app or fields.get("client_secret") != app["client_secret"]:
            raise Rejection(401, "Client authentication failed")
        code = self.state.codes.pop(fields.get("code", ""), None)
        if fields.get("grant_type") != "authorization_code" or not code or code["client_id"] != fields["client_id"]:
            raise Rejection(400, "The provided authorization grant is invalid, expired, or revoked")
        token = f"token-of-the-login-{len(self.state.tokens)}"
        self.state.tokens[token] = code["scope"]
        return {"access_token": token, "token_type": "Bearer", "scope": code["scope"], "created_at": 1_790_000_000}

    def _recent_statuses(self, fields: dict[str, Any]) -> list[dict[str, Any]]:
        boosts = [] if fields.get("exclude_reblogs") else [{"id": "1", "reblog": {}}]
        count = min(int(fields.get("limit", 20)), 40)
        if since := fields.get("min_id"):  # the first after that one, not the last ones
            newer = [status for status in self.state.statuses if int(status["id"]) > int(since)][:count]
            return list(map(_public, reversed(newer)))
        below = int(fields.get("max_id", 10**30))
        older = [status for status in reversed(self.state.statuses) if int(status["id"]) < below]
        return [*boosts, *map(_public, older)][:count]

    def _upload(self, fields: dict[str, Any]) -> tuple[int, Any]:
        kind, data = fields["file"]
        if kind not in self._instance()["configuration"]["media_attachments"]["supported_mime_types"]:
            raise Rejection(422, "Validation failed: File content type is invalid")
        name = str(_START * 2 + len(self.state.pictures))
        picture = {"id": name, "mime": kind, "data": data, "description": fields.get("description")}
        self.state.pictures[name] = {**picture, "polls": self.state.polls}
        return self._processed(name, 202)

    def _processed(self, name: str, unfinished: int = 206) -> tuple[int, Any]:
        picture = self.state.pictures[name]
        left, picture["polls"] = picture["polls"], max(0, picture["polls"] - 1)
        url = None if left else f"https://files.example/{name}"
        return unfinished if left else 200, {"id": name, "type": "image", "url": url}

    def _post(self, fields: dict[str, Any]) -> dict[str, Any]:
        state, now, key = self.state, self.state.clock(), self.headers.get("Idempotency-Key", "")
        name, made = state.keys.get(key, ("", 0.0))
        if key and name and now - made < KEY_LIFETIME:
            return next(_public(status) for status in state.statuses if status["id"] == name)
        text, pictures = fields.get("status", "").strip(), fields.get("media_ids[]", [])
        if not text and not pictures:
            raise Rejection(422, "Validation failed: Text can't be blank")
        if state.software == "gotosocial" and len(text) > state.limit:
            raise Rejection(400, f"Bad Request: text with spoiler exceed max chars ({state.limit})")
        if state.software in ("pleroma", "akkoma") and graphemes(text) > state.limit:
            raise Rejection(422, "The status is over the character limit")
        if countable(text) > state.limit:
            raise Rejection(422, f"Validation failed: Text character limit of {state.limit} exceeded")
        if any(state.pictures[picture]["polls"] for picture in pictures):
            raise Rejection(422, "Cannot attach files that have not finished processing. Try again in a moment!")
        before = fields.get("in_reply_to_id")
        if before is not None and before not in (status["id"] for status in state.statuses):
            raise Rejection(404, "The post you are trying to reply to does not appear to exist.")
        name = str(_START + len(state.statuses))
        status = {"id": name, "text": text, "content": render_html(text, state.people), "in_reply_to_id": before}
        status |= {"created_at": datetime.fromtimestamp(now, UTC).isoformat(), "visibility": fields.get("visibility")}
        status |= {"language": fields.get("language"), "url": f"https://{urlsplit(state.address).netloc}/@shelf/{name}"}
        status |= {"media_attachments": [{"id": picture} for picture in pictures], "key": key}
        state.statuses.append(status)
        state.keys[key] = (name, now)
        return _public(status)

    def _fields(self, body: bytes) -> dict[str, Any]:
        """Return the query, the form or the multipart fields; a file is (type, bytes)."""
        kind = self.headers.get("Content-Type", "")
        sent = parse_qs(urlsplit(self.path).query)
        if kind.startswith("multipart/form-data"):
            return dict(_parts(body, kind.partition("boundary=")[2].encode()))
        sent |= parse_qs(body.decode("utf-8", "replace"))
        return {name: values if name.endswith("[]") else values[0] for name, values in sent.items()}

    def _send(self, fault: Fault | None, status: int, body: Any, headers: dict[str, str]) -> None:
        headers |= self._limits(60 if status == 429 else 300)
        match fault:
            case "cut-after":
                self._break_connection()
                return
            case "hang":
                self._hang()
                return
            case "not-an-object":
                status, body = 200, {} if isinstance(body, list) else []
            case "no-id":
                status, body = 200, {}
            case "odd-header":
                headers["X-RateLimit-Reset"] = "as soon as possible"
            case str() if fault.startswith("after-"):
                status, body = int(fault.removeprefix("after-")), {"error": "This page is not correct"}
        raw = b"<html>Welcome</html>" if fault == "not-json" else json.dumps(body).encode()
        headers |= {"Content-Type": "application/json; charset=utf-8", "Content-Length": str(len(raw))}
        lines = [f"HTTP/1.1 {status} so be it", *(f"{name}: {headers[name]}" for name in headers)]
        whole = "\r\n".join([*lines, "", ""]).encode() + raw
        if fault == "cut-in-answer" or str(fault).startswith("half-"):
            self.wfile.write(whole[: -len(raw) // 2])
            self._break_connection()
        else:
            self.wfile.write(whole)

    def _limits(self, seconds: int) -> dict[str, str]:
        now = datetime.fromtimestamp(self.state.clock(), UTC)
        reset = datetime.fromtimestamp(self.state.clock() + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        count = {"X-RateLimit-Limit": "300", "X-RateLimit-Remaining": "0" if seconds == 60 else "299"}
        return {"Date": format_datetime(now, usegmt=True), **count, "X-RateLimit-Reset": reset}

    def _break_connection(self) -> None:
        self.close_connection = True
        self.connection.shutdown(2)

    def _hang(self) -> None:
        self.state.stopped.wait(60)
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        """Do not log."""


_WORDS = {
    401: "The access token is invalid",
    403: "Your login is currently disabled",
    404: "Record not found",
    422: "Validation failed: Text character limit of 500 exceeded",
    429: "Too many requests",
    503: "There was a temporary problem serving your request, please try again",
}


def _public(status: dict[str, Any]) -> dict[str, Any]:
    """Return the public part of `status`, without its source text and key."""
    return {name: value for name, value in status.items() if name not in ("text", "key")}


def _parts(body: bytes, boundary: bytes) -> Iterator[tuple[str, Any]]:
    for part in body.split(b"--" + boundary)[1:-1]:
        head, _, data = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        headers = {
            name.lower(): value for name, _, value in (line.partition(": ") for line in head.decode().split("\r\n"))
        }
        name = headers["content-disposition"].partition('name="')[2].partition('"')[0]
        value = data.removesuffix(b"\r\n")
        yield name, (headers["content-type"], value) if "content-type" in headers else value.decode()
