"""Network "bluesky": posts to Bluesky, or to another server of the AT Protocol.

The record key of a post is a hash of its key and text, and the server creates the record only if
the key is free. So sending a post again is harmless at any time.
"""

import json
import re
import string
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from pi_appliance.config.options import NetworkDirs
from pi_appliance.config.redaction import Redactor
from pi_appliance.errors import AccountBlocked, ApplianceError, Issues, Refused, Unavailable, Uncertain
from pi_appliance.posting.graphemes import count_graphemes
from pi_appliance.posting.model import Post, PostLimits, Prompt, SentPost
from pi_appliance.posting.networks import CHECK_ACCOUNT, save_private
from pi_appliance.storage.model import Picture
from pi_appliance.system import http

_MAX_WAIT = 86_400.0  # seconds; Bluesky's longest rate limit is a day
_MAX_BODY = 1_000_000  # bytes of a response


@dataclass(frozen=True, slots=True)
class XrpcResponse:
    """A response to a request that was accepted or rejected."""

    status: int
    body: Mapping[str, Any]  # empty if the body is not a JSON object

    @property
    def good(self) -> bool:
        """Whether the request was accepted."""
        return 200 <= self.status < 300

    @property
    def error(self) -> str:
        """Bluesky's name of the error, such as ExpiredToken, or an empty string."""
        return str(self.body.get("error", "")) if not self.good else ""

    @property
    def message(self) -> str:
        """The error message of the server on one line, with the status."""
        message = str(self.body.get("message") or self.error)
        return f"{self.status}: {' '.join(message.split())[:200]}" if message else str(self.status)

    def refusal(self) -> Refused:
        """Return the error for a rejected request."""
        match self.error:
            case "AccountTakedown" | "AccountSuspended" | "AccountDeactivated" as state:
                how = "has been deactivated" if state == "AccountDeactivated" else "was taken down by its moderators"
                return AccountBlocked(f"the account at Bluesky {how} ({self.message}); sign in at bsky.app to see why")
        if 300 <= self.status < 400:
            return AccountBlocked(
                f"Bluesky answered {self.message}, which is a redirect; check server: in the configuration"
            )
        return Refused(f"Bluesky refuses it ({self.message})")


class XrpcClient:
    """Sends requests, each within `seconds`."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._tokens = Redactor(())  # hides session tokens, which a server may repeat in a message

    def query(self, server: str, method: str, **parameters: str) -> XrpcResponse:
        """Query `method` of `server`. Raises Unavailable."""
        return self._send("GET", server, f"{method}?{urlencode(parameters)}")

    def call(
        self,
        server: str,
        method: str,
        content: Mapping[str, Any] | bytes | None = None,
        *,
        mime: str = "application/json",
        token: str = "",
        writes: bool = False,
    ) -> XrpcResponse:
        """Call `method` of `server` with `content`.

        Raises:
            Unavailable: Nothing was written.
            Uncertain: The request with `writes` may have been executed.
        """
        body = json.dumps(content).encode() if isinstance(content, Mapping) else content
        return self._send("POST", server, method, token, body, mime, writes=writes)

    def _send(
        self,
        verb: str,
        server: str,
        method: str,
        token: str = "",
        body: bytes | None = None,
        mime: str = "",
        *,
        writes: bool = False,
    ) -> XrpcResponse:
        self._tokens.learn(token)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        headers |= {"Content-Type": mime} if body is not None else {}
        try:
            response = http.request_now(
                verb,
                f"{server}/xrpc/{method}",
                seconds=self._seconds,
                max_bytes=_MAX_BODY,
                body=body,
                headers=headers,
            )
            return self._parse_response(response)
        except http.NoResponse as failure:
            if not failure.is_sent:
                raise Unavailable(f"Bluesky cannot be reached: {failure or 'no answer'}; is this Pi online?") from None
            reason = "the connection to Bluesky broke before it answered"
            if failure.is_timeout:
                reason = f"Bluesky did not answer within {self._seconds:g} s"
            raise _unclear(reason, writes=writes) from None
        except Uncertain as error:
            raise _unclear(str(error), writes=writes) from None

    def _parse_response(self, response: http.HttpResponse) -> XrpcResponse:
        try:
            body = json.loads(response.body)
        except (ValueError, RecursionError):
            body = None
        answer = XrpcResponse(response.status, self._without_tokens(body) if isinstance(body, dict) else {})
        if answer.status == 429:
            raise Unavailable(
                f"Bluesky accepts no more requests now ({answer.message})", after=_until_reset(response.headers)
            )
        if answer.status >= 500:
            raise Uncertain(f"Bluesky reports an internal error ({answer.message})")
        if answer.good and not isinstance(body, dict):
            raise Uncertain("Bluesky sent an invalid response")
        return answer

    def _without_tokens(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return `body` with all session tokens removed from its messages."""
        for name in ("accessJwt", "refreshJwt"):
            self._tokens.learn(str(body.get(name) or ""))
        texts = {name: body[name] for name in ("error", "message", "status") if isinstance(body.get(name), str)}
        return body | {name: self._tokens.redact_message(text) for name, text in texts.items()}


def _unclear(reason: str, *, writes: bool) -> ApplianceError:
    """Return the error for a request whose result is unknown.

    `writes`: it may have posted something.
    """
    if writes:
        return Uncertain(f"{reason}; {CHECK_ACCOUNT}")
    return Unavailable(f"{reason}; nothing was posted")


def malformed_response() -> Uncertain:
    """Return the error for an accepted request whose response is not valid."""
    return Uncertain(f"Bluesky sent an invalid response; {CHECK_ACCOUNT}")


def _until_reset(headers: Mapping[str, str]) -> float | None:
    """Return the seconds until the rate limit is reset, by the clock of the server."""
    try:
        if "ratelimit-reset" in headers:
            seconds = int(headers["ratelimit-reset"]) - parsedate_to_datetime(headers["date"]).timestamp()
        else:
            seconds = int(headers["retry-after"])
    except (KeyError, ValueError, TypeError):
        return None
    return min(max(seconds, 0.0), _MAX_WAIT)


_SESSION_FILE = "session.json"
APP_PASSWORDS = "bsky.app, under Settings, Privacy and security, App passwords"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST = rf"{_LABEL}(\.{_LABEL})*(:\d+)?"
_LOOPBACK = r"http://(127\.0\.0\.1|localhost|\[::1\])(:\d+)?"
_TOKEN = re.compile(r"[!-~]+")  # characters allowed in a header


def is_protected(server: str, *, loopback: bool = True) -> bool:
    """Return whether requests to `server` are encrypted or stay on this machine."""
    return bool(re.fullmatch(f"https://{_HOST}" + (f"|{_LOOPBACK}" if loopback else ""), server))


@dataclass(frozen=True, slots=True)
class BlueskySession:
    """The tokens of a signed-in account."""

    handle: str  # handle with which the account signed in
    sign_in_server: str  # server at which the account signed in
    did: str  # permanent id of the account, even if the handle changes
    server: str  # the server that keeps the account's posts
    access: str = field(repr=False)
    refresh: str = field(repr=False)


class BlueskyAccount:
    """The account `handle`, signed in at `sign_in_server`. Its session is stored in `folder`."""

    def __init__(
        self, client: XrpcClient, sign_in_server: str, handle: str, password: str, folder: Path | None = None
    ) -> None:
        self._client = client
        self._sign_in_server, self._handle, self._password = sign_in_server.rstrip("/"), handle, password
        self._folder = folder
        self._session: BlueskySession | None = None

    def session(self) -> BlueskySession:
        """Return the stored session, or sign in. Raises Unavailable or Refused."""
        self._session = self._session or self._load_session() or self.sign_in()
        return self._session

    def renew(self, old: BlueskySession) -> BlueskySession:
        """Return a session in place of the expired `old`. Raises Unavailable or Refused."""
        stored = self._load_session()
        if stored and stored.access != old.access:  # another run has renewed it already
            self._session = stored
            return stored
        answer = self._client.call(self._sign_in_server, "com.atproto.server.refreshSession", token=old.refresh)
        if answer.good:
            return self._store_session(answer, server=old.server)
        return self.sign_in()

    def sign_in(self) -> BlueskySession:
        """Sign in with the password. Raises Unavailable or Refused."""
        proof = {"identifier": self._handle, "password": self._password}
        answer = self._client.call(self._sign_in_server, "com.atproto.server.createSession", proof)
        if answer.good:
            return self._store_session(answer, server=self._sign_in_server)
        if answer.error == "AuthFactorTokenRequired":
            raise AccountBlocked(
                f"Bluesky asks for a code sent by mail, so this is not an app password; make one at {APP_PASSWORDS}"
            )
        if answer.status == 401 and not answer.error.startswith("Account"):
            who = f"{self._handle} with this app password"
            raise AccountBlocked(f"Bluesky does not know {who} ({answer.message}); make a new one at {APP_PASSWORDS}")
        raise answer.refusal()

    def _store_session(self, answer: XrpcResponse, *, server: str) -> BlueskySession:
        """Store the session of the response `answer` and return it."""
        fields = answer.body
        if fields.get("active") is False:
            state = fields.get("status") or "not active"
            raise AccountBlocked(f"the account {self._handle} is {state}; sign in at bsky.app to see why")
        server = self._find_server(fields.get("didDoc")) or server
        tokens = fields.get("accessJwt"), fields.get("refreshJwt")
        session = _session((self._handle, self._sign_in_server, fields.get("did"), server, *tokens))
        if session is None:
            raise Unavailable("Bluesky sent an invalid response to the sign-in")
        if self._folder:
            save_private(self._folder / _SESSION_FILE, asdict(session))  # without the file, each run signs in
        self._session = session
        return session

    def _find_server(self, document: Any) -> str:
        """Return the server that the DID `document` names, or '' if it is missing or unsafe."""
        services = document.get("service") if isinstance(document, dict) else None
        for each in services if isinstance(services, list) else ():
            if isinstance(each, dict) and str(each.get("id", "")).endswith("#atproto_pds"):
                server = str(each.get("serviceEndpoint", "")).rstrip("/")
                return server if is_protected(server, loopback=self._sign_in_server.startswith("http://")) else ""
        return ""

    def _load_session(self) -> BlueskySession | None:
        """Return the stored session, if it belongs to this account."""
        try:
            content = json.loads((self._folder / _SESSION_FILE).read_bytes()) if self._folder else None
        except (OSError, ValueError, RecursionError):
            return None
        names = ("handle", "sign_in_server", "did", "server", "access", "refresh")
        stored = _session(tuple(content.get(name) for name in names)) if isinstance(content, dict) else None
        owner = self._handle, self._sign_in_server
        return stored if stored and (stored.handle, stored.sign_in_server) == owner else None


def _session(parts: tuple[Any, ...]) -> BlueskySession | None:
    """Return the session that consists of `parts`, or None if a part is not valid."""
    if not all(isinstance(part, str) and _TOKEN.fullmatch(part) for part in parts):
        return None
    session = BlueskySession(*parts)
    return session if session.did.startswith("did:") and is_protected(session.server) else None


_TYPE = "app.bsky.richtext.facet"
_TAG_LIMIT = 64

# A bare name is a link only if it ends with a top-level domain. These are the common ones.
_COUNTRIES = (
    "ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs bt bw by bz ca cc cd "
    "cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg er es et eu fi fj fk fm fo fr ga gd ge "
    "gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke kg kh "
    "ki km kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw "
    "mx my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs ru rw sa sb "
    "sc sd se sg sh si sk sl sm sn so sr ss st su sv sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua ug uk "
    "us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw"
)
_OTHERS = (
    "com org net info biz edu gov mil int name pro aero coop museum arpa cat jobs mobi tel travel asia app dev page "
    "blog social online site website web store shop club live news world today email network cloud tech wiki xyz art "
    "design studio media photo photos pics video music games game space earth land house garden cafe bar beer pizza "
    "berlin hamburg koeln london paris wien swiss scot wales amsterdam brussels madrid tokyo nyc fun zone life city "
    "community foundation science academy school university education engineering electronics software systems tools "
    "computer host hosting support help guide how link click radio show events team group company ltd gmbh agency "
    "digital global international one top win vip ink red blue green black pink gold"
)
_FOUND = re.compile(
    r"(?<![^\s(])(?:"  # at the beginning, after a space or after a bracket
    r"(?P<link>(?i:https?)://[^\W_]\S*)"
    rf"|@(?P<handle>(?:{_LABEL}\.)+[A-Za-z](?:[A-Za-z0-9-]{{0,61}}[A-Za-z0-9])?)(?![\w@-])"
    r"|[#＃](?P<tag>(?![\ufe0f\u20e3])[^\s\u00ad\u200a-\u200d\u2060\u20e2\ufeff]+)"  # noqa: RUF001 - a # of East Asia
    rf"|(?P<name>(?=[A-Za-z])(?:{_LABEL}\.)+(?:{'|'.join(f'{_COUNTRIES} {_OTHERS}'.split())})"
    r"(?![\w@-]|\.[\w-])(?:[/?#:]\S*)?)"
    r"|\$(?P<ticker>[A-Za-z][A-Za-z0-9]{0,4})(?=[\s.,;:!?)\"'\u2019]|\Z)"
    r")"
)
_BRACKETS = {")": "(", "]": "[", "}": "{"}
_ENDS = ".,;:!?'\"…’”»"  # noqa: RUF001 - quotes as they are printed


def find_facets(text: str, resolve: Callable[[str], str | None]) -> list[dict[str, Any]]:
    """Return the facets of `text` in order. `resolve` returns the DID of a handle, or None."""
    facets = []
    for match in _FOUND.finditer(text):
        label, feature = _build_feature(match, resolve)
        if feature:
            start = len(text[: match.start()].encode())
            index = {"byteStart": start, "byteEnd": start + len(label.encode())}
            facets.append({"$type": _TYPE, "index": index, "features": [feature]})
    return facets


def _build_feature(match: re.Match[str], resolve: Callable[[str], str | None]) -> tuple[str, dict[str, str] | None]:
    """Return the part of the text that becomes a link, and its feature.

    The feature is None for an unknown handle.
    """
    whole = match[0]
    if match["handle"]:
        did = resolve(match["handle"].lower())
        return whole, {"$type": f"{_TYPE}#mention", "did": did} if did else None
    if match["tag"]:
        tag = _trim_tag(match["tag"])
        return whole[0] + tag, {"$type": f"{_TYPE}#tag", "tag": tag} if tag else None
    if match["ticker"]:
        return whole, {"$type": f"{_TYPE}#tag", "tag": whole.upper()}
    link = _without_end(whole)
    uri = _ascii_uri(link if match["link"] else f"https://{link}")
    return link, {"$type": f"{_TYPE}#link", "uri": uri} if uri else None


def _ascii_uri(uri: str) -> str:
    """Return `uri` without characters outside ASCII, which strict servers reject.

    The host is written in Punycode. An existing % stays. The result is empty if it is not a host.
    """
    scheme, slashes, rest = uri.partition("://")
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    user, at, place = authority.rpartition("@")
    host, colon, port = place.partition(":")
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii")
        except UnicodeError:
            return ""
    ascii_start = f"{scheme}{slashes}{user}{at}{host}{colon}{port}"
    return quote(ascii_start + rest.removeprefix(authority), safe=string.punctuation)


def _trim_tag(text: str) -> str:
    """Return the tag at the start of `text`, or an empty string."""
    end = len(text)
    while end and _is_punctuation(text[end - 1]):
        end -= 1
    tag = text[:end]
    says = any(letter not in string.digits and not _is_punctuation(letter) for letter in tag)
    return tag if says and len(tag.encode("utf-16-le")) // 2 <= _TAG_LIMIT else ""


def _is_punctuation(letter: str) -> bool:
    return unicodedata.category(letter).startswith("P")


def _without_end(link: str) -> str:
    """Return `link` without trailing punctuation and brackets that were opened before it."""
    while link[-1] in _ENDS or link.count(link[-1]) > link.count(_BRACKETS.get(link[-1], link[-1])):
        link = link[:-1]
    return link


HOME = "https://bsky.social"
POSTS = "app.bsky.feed.post"
_GRAPHEMES, _BYTES = 300, 3_000  # limits of a text, both apply (app.bsky.feed.post)
_PICTURES, _PICTURE_BYTES = 4, 1_000_000  # limits of pictures (app.bsky.embed.images)
_LANGUAGES = 3

_HANDLE = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_APP_PASSWORD = re.compile(r"[a-z0-9]{4}(-[a-z0-9]{4}){3}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of this kind under `with:`. The app password is a secret."""

    handle: Annotated[str, "the account's handle, such as me.bsky.social"]
    languages: Annotated[list[str] | None, "languages of the posts, at most three, such as [en]"] = None
    server: Annotated[str, "the server to sign in at, for an account on another server"] = HOME
    timeout: Annotated[timedelta, "how long one request may take in all"] = timedelta(seconds=30)
    secrets_prefix: Annotated[str, "the prefix of its secrets' names; use another one for a second account"] = "BLUESKY"

    def check(self) -> Issues:
        """Return the invalid values: key, problem and remedy."""
        problems: Issues = []
        if not _HANDLE.fullmatch(self.handle.lower()):
            right = "write it as its profile shows it, without the @, such as me.bsky.social"
            problems.append((("handle",), f"{self.handle!r} is not a handle", right))
        if not is_protected(self.server.rstrip("/")):
            right = f"write it as {HOME}"
            problems.append((("server",), f"{self.server!r} does not keep the password secret", right))
        if not self.timeout:
            problems.append((("timeout",), "the timeout is zero", "write 30s"))
        languages = self.languages or []
        if len(languages) > _LANGUAGES:
            problems.append((("languages",), f"{len(languages)} of {_LANGUAGES} languages", "leave the others out"))
        problems += [
            (("languages", number), f"{each!r} is not a language", "write a code such as en, de or pt-BR")
            for number, each in enumerate(languages)
            if not _LANGUAGE.fullmatch(each)
        ]
        return problems


def required_secrets(options: Options) -> Mapping[str, str]:
    """Return the name of the required secret and its meaning."""
    return {f"{options.secrets_prefix}_APP_PASSWORD": f"an app password of {options.handle}, made at {APP_PASSWORDS}"}


def post_limits(options: Options, place: NetworkDirs) -> PostLimits:  # noqa: ARG001 - the shape of all networks
    """Return the limits of Bluesky."""
    return BlueskyLimits()


def connect(options: Options, secrets: Mapping[str, str], place: NetworkDirs) -> "Bluesky":
    """Return the network. Its session is stored in the private directory."""
    return Bluesky(options, _password(options, secrets), place.private)


def login(options: Options, prompt: Prompt) -> Mapping[str, str]:
    """Ask for an app password, check it, and return it by the name of its secret."""
    prompt.show(f"Make an app password for {options.handle} at {APP_PASSWORDS}. It looks like xxxx-xxxx-xxxx-xxxx.")
    password = prompt.ask("App password", secret=True)
    if not password:
        raise Refused("no app password was given; nothing is changed")
    if not _APP_PASSWORD.fullmatch(password):
        prompt.show("This does not look like an app password. Do not give away the password of the account itself:")
        prompt.show("an app password can neither change nor delete the account, and can be revoked at any time.")
    secrets = dict.fromkeys(required_secrets(options), password)
    session = _account(options, password, None).sign_in()
    prompt.show(f"Bluesky knows it: {options.handle} is {session.did}.")
    return secrets


def _password(options: Options, secrets: Mapping[str, str]) -> str:
    (name,) = required_secrets(options)
    return secrets[name]


def _account(options: Options, password: str, folder: Path | None) -> BlueskyAccount:
    return BlueskyAccount(XrpcClient(options.timeout.total_seconds()), options.server, options.handle, password, folder)


class BlueskyLimits:
    """Limits of Bluesky."""

    prices = None
    max_length = _GRAPHEMES
    plays_animations = False  # Bluesky shows only the first picture of a GIF

    def text_length(self, text: str) -> int:
        """Return the number of graphemes."""
        return count_graphemes(text)

    def rejection_reason(self, post: Post) -> str:
        """Return why Bluesky would reject `post`, or an empty string."""
        weight, size = self.text_length(post.text), len(post.text.encode())
        counts = [(weight, _GRAPHEMES, ""), (size, _BYTES, " bytes"), (len(post.pictures), _PICTURES, " pictures")]
        wrong = [f"{count:,} of {most:,}{unit}" for count, most, unit in counts if count > most]
        sizes = enumerate((len(picture.data) for picture in post.pictures), start=1)
        wrong += [
            f"picture {number}: {size:,} of {_PICTURE_BYTES:,} bytes" for number, size in sizes if size > _PICTURE_BYTES
        ]
        return "; ".join(wrong)


class Bluesky:
    """One account. `now` returns the time that is written into posts."""

    idempotent = True
    search_lag = timedelta(0)

    def __init__(
        self, options: Options, password: str, folder: Path, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self.limits: PostLimits = BlueskyLimits()
        self._options, self._now = options, now
        self._client = XrpcClient(options.timeout.total_seconds())
        self._account = BlueskyAccount(self._client, options.server, options.handle, password, folder)

    def post(self, post: Post, *, key: str, thread: Sequence[SentPost] = ()) -> SentPost:
        """Send `post` unless its record exists.

        Raises:
            ApplianceError: the subclasses that `Network.post` describes.
        """
        name = record_name(key, post.text)
        record = self._build_record(post, thread)  # fails, if at all, before anything is posted
        # With swapRecord null, the record is only created if its name is free. Old servers
        # overwrite it.
        answer = self._call_server(
            "putRecord", self._record_address(name) | {"record": record, "swapRecord": None}, writes=True
        )
        if answer.good:
            return self._parse_sent(name, answer)
        if answer.error != "InvalidSwap":
            raise answer.refusal()
        try:
            sent = self.find_post(post, key=key, known_ids=())
        except (Unavailable, Refused) as error:
            raise Uncertain(f"Bluesky has the post already, but its address could not be read ({error})") from None
        if sent is None:
            raise Uncertain("Bluesky reports that it has the post already, but cannot find it; check the account")
        return sent

    def find_post(self, post: Post, *, key: str, known_ids: Collection[str], since_id: str = "") -> SentPost | None:  # noqa: ARG002 - it knows it by its name
        """Return the record of `post`, if the server has it. Raises Unavailable or Refused."""
        name = record_name(key, post.text)
        session = self._account.session()
        answer = self._client.query(
            session.server, "com.atproto.repo.getRecord", repo=session.did, collection=POSTS, rkey=name
        )
        if answer.good:
            try:
                return self._parse_sent(name, answer)
            except Uncertain as error:
                raise Unavailable(str(error)) from None
        if answer.error == "RecordNotFound" or "could not locate record" in answer.message.lower():
            return None
        raise answer.refusal()

    def whoami(self) -> str:
        """Sign in and return the account. Bluesky allows 300 sign-ins a day."""
        return f"{self._options.handle} ({self._account.sign_in().did})"

    def _build_record(self, post: Post, thread: Sequence[SentPost]) -> dict[str, Any]:
        """Upload the pictures; return the record of `post`. Raises Unavailable, Refused."""
        created = self._now().astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        record: dict[str, Any] = {"$type": POSTS, "text": post.text, "createdAt": created}
        if self._options.languages:
            record["langs"] = self._options.languages
        if marks := find_facets(post.text, self._resolve_handle):
            record["facets"] = marks
        if post.pictures:
            images = [self._upload_image(picture) for picture in post.pictures]
            record["embed"] = {"$type": "app.bsky.embed.images", "images": images}
        if thread:
            record["reply"] = {"root": _post_reference(thread[0]), "parent": _post_reference(thread[-1])}
        return record

    def _upload_image(self, picture: Picture) -> dict[str, Any]:
        """Upload `picture` and return its reference."""
        answer = self._call_server("uploadBlob", picture.data, mime=picture.mime)
        if not answer.good:
            raise answer.refusal()
        if not isinstance(blob := answer.body.get("blob"), dict):
            raise Unavailable("Bluesky accepted a picture but did not return its address; nothing was posted")
        image: dict[str, Any] = {"image": blob, "alt": picture.alt}
        if size := _png_size(picture.data):
            image["aspectRatio"] = dict(zip(("width", "height"), size, strict=True))
        return image

    def _resolve_handle(self, handle: str) -> str | None:
        """Return the DID of `handle`, or None if the handle does not exist."""
        session = self._account.session()
        answer = self._client.query(session.server, "com.atproto.identity.resolveHandle", handle=handle)
        did = answer.body.get("did") if answer.good else None
        return did if isinstance(did, str) and did.startswith("did:") else None

    def _record_address(self, name: str) -> dict[str, str]:
        return {"repo": self._account.session().did, "collection": POSTS, "rkey": name}

    def _call_server(
        self, method: str, content: Mapping[str, Any] | bytes, *, mime: str = "application/json", writes: bool = False
    ) -> XrpcResponse:
        """Call `method` at the account's server. Renew the session if it has expired."""

        def call_method(session: BlueskySession) -> XrpcResponse:
            where = f"com.atproto.repo.{method}"
            return self._client.call(session.server, where, content, mime=mime, token=session.access, writes=writes)

        session = self._account.session()
        answer = call_method(session)
        return call_method(self._account.renew(session)) if _is_expired(answer) else answer

    def _parse_sent(self, name: str, answer: XrpcResponse) -> SentPost:
        """Return the post in the response `answer`. Raises `Uncertain` if it contains none."""
        uri, cid = answer.body.get("uri"), answer.body.get("cid")
        if not isinstance(uri, str) or not isinstance(cid, str) or not uri.endswith(f"/{name}"):
            raise malformed_response()
        return SentPost(f"{uri} {cid}", f"https://bsky.app/profile/{self._options.handle}/post/{name}")


def _is_expired(answer: XrpcResponse) -> bool:
    """Return whether `answer` says that the session has expired, so that nothing was done."""
    by_status = answer.status == 401 and not answer.error.startswith("Account")
    return by_status or answer.error in ("ExpiredToken", "InvalidToken")


def _post_reference(sent: SentPost) -> dict[str, str]:
    uri, _, cid = sent.id.partition(" ")
    return {"uri": uri, "cid": cid}


def record_name(key: str, text: str) -> str:
    """Return the record key of the post `text` with `key`: always the same, and unique.

    Record keys should be TIDs: 53 bits of microseconds and 10 bits of a clock id. This one holds 55
    bits of a hash, in a range of 407 days from 2024, because servers may reject times in the
    future. The text is included because run numbers start again after the history is lost.
    """
    number = int.from_bytes(sha256(f"{key}\n{text}".encode()).digest()[:7]) % (1 << 55)
    number += 1_704_067_200_000_000 << 10  # 1 January 2024
    return "".join("234567abcdefghijklmnopqrstuvwxyz"[number >> shift & 31] for shift in range(60, -1, -5))


def _png_size(data: bytes) -> tuple[int, int] | None:
    """Return width and height of a PNG picture, or None for other formats."""
    if not data.startswith(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR") or len(data) < 24:
        return None
    width, height = int.from_bytes(data[16:20]), int.from_bytes(data[20:24])
    return (width, height) if width and height else None
