"""Who may come in: the password, the sessions of those who gave it, and patience with those who guess."""

import base64
import hashlib
import hmac
import ipaddress
import math
import secrets
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from email.utils import formatdate
from urllib.parse import quote, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "pi-appliance"
_LASTS = 180 * 86_400  # seconds that a phone keeps its cookie; the session itself ends with the daemon
_MOST_SESSIONS = 64  # the oldest is forgotten: a daemon that lives for years must not grow
_MOST_ADDRESSES = 1024
_FREE = 3  # wrong passwords that cost nothing: people mistype
_LONGEST_WAIT = 300.0  # seconds
_FORGET = 3600.0  # seconds after which an address starts anew


@dataclass(slots=True)
class _FailedLogins:
    wrong: int = 0
    last: float = -math.inf
    closed_until: float = -math.inf


class Authenticator:
    """Open to all if PASSWORD is empty. NOW is a clock that never goes back, in seconds."""

    def __init__(self, password: str, now: Callable[[], float] = time.monotonic) -> None:
        self.locked = bool(password)
        self._key = secrets.token_bytes(32)
        self._password = self._digest(password)
        self._now = now
        self._sessions: dict[bytes, None] = {}  # digests, the oldest first
        self._guesses: dict[str, _FailedLogins] = {}

    def lets_in(self, request: HTTPConnection, *, basic: bool = False) -> bool:
        """Say whether REQUEST comes from somebody who is signed in, or carries the password itself.

        BASIC: as HTTP Basic too, by which browsers would send it along with requests that other sites make them send.
        Raises HTTPException 401 for a wrong password, 429 for too many.
        """
        if not self.locked:
            return True
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            self.check(given.strip(), address_of(request))
            return True
        if basic and scheme.lower() == "basic":
            self.check(_password(given), address_of(request))
            return True
        token = request.cookies.get(COOKIE, "")
        return bool(token) and _hash(token) in self._sessions

    def check(self, password: str, address: str) -> None:
        """Raise HTTPException if PASSWORD is wrong (401), or ADDRESS has guessed too often just now (429)."""
        now = self._now()
        guesses = self._guesses.get(address, _FailedLogins())
        if now < guesses.closed_until:
            raise _too_often(guesses.closed_until - now)
        if hmac.compare_digest(self._digest(password), self._password):
            self._guesses.pop(address, None)
            return
        if now - guesses.last > _FORGET:
            guesses = _FailedLogins()
        guesses.wrong, guesses.last = guesses.wrong + 1, now
        over = guesses.wrong - _FREE
        if over >= 0:
            guesses.closed_until = now + min(2.0 ** (over + 1), _LONGEST_WAIT)
        self._remember(address, guesses)
        raise HTTPException(401, "that is not the password; it stands as WEB_PASSWORD in secrets.env on the machine")

    def sign_in(self) -> str:
        """Return the token of a new session."""
        token = secrets.token_urlsafe(32)
        self._sessions[_hash(token)] = None
        if len(self._sessions) > _MOST_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        return token

    def sign_out(self, request: HTTPConnection) -> None:
        """End the session of REQUEST."""
        self._sessions.pop(_hash(request.cookies.get(COOKIE, "")), None)

    def _digest(self, password: str) -> bytes:
        return hmac.digest(self._key, password.encode(), "sha256")

    def _remember(self, address: str, guesses: _FailedLogins) -> None:
        self._guesses.pop(address, None)  # to the end of the line
        self._guesses[address] = guesses
        if len(self._guesses) > _MOST_ADDRESSES:
            del self._guesses[next(iter(self._guesses))]


def cookie(token: str) -> str:
    """Return the header that gives TOKEN to the browser; an empty one takes it away."""
    age = _LASTS if token else 0
    return f"{COOKIE}={token}; Max-Age={age}; Path=/; HttpOnly; SameSite=Strict"


def sign_in_address(path: str, query: str) -> str:
    """Return where to sign in for who wants the page at PATH with QUERY."""
    wanted = quote(path) + (f"?{query}" if query else "")
    return "/sign-in" if wanted == "/" else f"/sign-in?to={quote(wanted)}"


def page_here(wanted: str) -> str:
    """Return WANTED if a browser takes it for a page of this machine, else the first page."""
    # Browsers read "//name" and "/\\name" as other machines, and a tab or a line break not at all.
    ours = wanted.startswith("/") and wanted[1:2] not in ("/", "\\") and wanted.isprintable()
    return wanted if ours else "/"


def address_of(request: HTTPConnection) -> str:
    """Return whom REQUEST comes from: an address, or for IPv6 the /64 that one household owns."""
    host = request.client.host if request.client else ""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    mapped = address.ipv4_mapped
    return str(mapped) if mapped else str(ipaddress.ip_network((address, 64), strict=False))


def _password(given: str) -> str:
    """Return the password of HTTP Basic, whatever the user name; '' where it is no such thing."""
    try:
        return base64.b64decode(given.strip(), validate=True).decode().partition(":")[2]
    except ValueError:
        return ""


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def _too_often(wait: float) -> HTTPException:
    seconds = math.ceil(wait)
    return HTTPException(
        429,
        f"too many wrong passwords from this address; try again in {seconds} s",
        headers={"Retry-After": str(seconds)},
    )


METRICS = "/metrics"
_ASK = {"WWW-Authenticate": 'Basic realm="pi-appliance", charset="UTF-8"'}
_FREE_PATHS = ("/health", "/sign-in")
_LOCAL_DOMAINS = ("local", "lan", "home", "internal", "home.arpa", "localdomain")  # nobody can buy a name in these
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "manifest-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not no-referrer: with that, browsers send "Origin: null" with our own forms.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class SecurityMiddleware:
    """Wraps APP. NAMES are what this machine is called, besides localhost and its addresses."""

    def __init__(self, app: ASGIApp, door: Authenticator, names: Collection[str]) -> None:
        self._app, self._door, self._names = app, door, all_names(names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer instead of the app where something is wrong; else pass on."""
        request = Request(scope, receive)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["Date"] = formatdate(usegmt=True)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer: ASGIApp = self._objection(request) or self._app
        await answer(scope, receive, send_with_headers)

    def _objection(self, request: Request) -> Response | None:
        """Return the answer to a REQUEST that may not pass, else None."""
        if request.scope.get("server") is None:  # the unix socket, whose file mode says who may connect
            return None
        host = request.headers.get("host", "")
        if not self._is_us(host):
            return _say(
                request, 421, "this machine does not go by that name; use its address, such as http://192.168.…"
            )
        if request.method not in ("GET", "HEAD") and not _from_us(request, host):
            return _say(request, 403, "this came from another web site, so nothing was done")
        path = request.url.path
        if path in _FREE_PATHS or path.startswith("/static/"):
            return None
        try:
            if self._door.lets_in(request, basic=path == METRICS):
                return None
        except HTTPException as error:
            return _say(request, error.status_code, error.detail, dict(error.headers or {}))
        if path == METRICS:
            return _say(request, 401, "send the password, with any user name, as HTTP Basic", _ASK)
        if path.startswith("/api/") or path == "/events":
            return _say(request, 401, "sign in at /sign-in, or send the header Authorization: Bearer PASSWORD")
        wanted = (request.scope["path"], request.url.query) if request.method in ("GET", "HEAD") else ("/", "")
        return RedirectResponse(sign_in_address(*wanted), 303)

    def _is_us(self, host: str) -> bool:
        name = urlsplit(f"//{host}").hostname if _is_sane(host) else None
        if name is None:
            return False
        try:
            ipaddress.ip_address(name.partition("%")[0])
        except ValueError:
            return name.rstrip(".") in self._names
        return True


def all_names(names: Collection[str]) -> frozenset[str]:
    """Return under which names a machine called NAMES is known at home."""
    plain = {name.lower() for name in names if name}
    return frozenset({"localhost", *plain, *(f"{name}.{domain}" for name in plain for domain in _LOCAL_DOMAINS)})


def _is_sane(host: str) -> bool:
    try:
        return not set(host) & set("/@?#\\") and (urlsplit(f"//{host}").port or 1) > 0
    except ValueError:
        return False


def _from_us(request: Request, host: str) -> bool:
    """Say whether a page of ours sent this, or no browser at all: browsers say where a POST comes from."""
    origin = request.headers.get("origin")
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    try:
        return origin is None or urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:  # no address at all
        return False


def _say(request: Request, status: int, sentence: str, headers: dict[str, str] | None = None) -> Response:
    if request.url.path.startswith("/api/"):
        return JSONResponse({"error": sentence}, status, headers)
    return PlainTextResponse(f"{sentence}\n", status, headers)
