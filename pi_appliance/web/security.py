"""Access control: password, sessions, a limit on failures, and checks of host and origin."""

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
_COOKIE_MAX_AGE = 180 * 86_400  # seconds; the session itself ends when the daemon does
_MAX_SESSIONS = 64  # then the oldest is dropped: a daemon that runs for years must not grow
_MAX_ADDRESSES = 1024
_FREE_FAILURES = 3  # wrong passwords without a delay: people mistype
_MAX_DELAY = 300.0  # seconds
_FAILURES_MAX_AGE = 3600.0  # seconds after which the failures of an address are forgotten


@dataclass(slots=True)
class _FailedLogins:
    count: int = 0
    last_at: float = -math.inf
    blocked_until: float = -math.inf


class Authenticator:
    """Checks the password and stores the sessions. Without a password, everyone may sign in.

    `monotonic` is a clock in seconds that never goes back.
    """

    def __init__(self, password: str, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.has_password = bool(password)
        self._key = secrets.token_bytes(32)
        self._password = self._digest(password)
        self._monotonic = monotonic
        self._sessions: dict[bytes, None] = {}  # digests of the tokens, the oldest first
        self._failures: dict[str, _FailedLogins] = {}

    def is_authorized(self, request: HTTPConnection, *, basic: bool = False) -> bool:
        """Return whether `request` belongs to a session or carries the password.

        Args:
            request: The request.
            basic: Whether HTTP Basic is accepted besides Bearer. Browsers send Basic along with
                requests that other sites cause, so it is off where a request changes something.

        Raises:
            HTTPException: 401 for a wrong password, 429 after too many.

        """
        if not self.has_password:
            return True
        scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            self.check(credentials.strip(), address_of(request))
            return True
        if basic and scheme.lower() == "basic":
            self.check(_basic_password(credentials), address_of(request))
            return True
        token = request.cookies.get(COOKIE, "")
        return bool(token) and _hash(token) in self._sessions

    def check(self, password: str, address: str) -> None:
        """Raise HTTPException if `password` is wrong (401) or after recent failures (429)."""
        now = self._monotonic()
        failures = self._failures.get(address, _FailedLogins())
        if now < failures.blocked_until:
            raise _too_many_failures(failures.blocked_until - now)
        if hmac.compare_digest(self._digest(password), self._password):
            self._failures.pop(address, None)
            return
        if now - failures.last_at > _FAILURES_MAX_AGE:
            failures = _FailedLogins()
        failures.count, failures.last_at = failures.count + 1, now
        excess = failures.count - _FREE_FAILURES
        if excess >= 0:
            failures.blocked_until = now + min(2.0 ** (excess + 1), _MAX_DELAY)
        self._save_failures(address, failures)
        raise HTTPException(401, "that is not the password; it is WEB_PASSWORD in secrets.env on the machine")

    def sign_in(self) -> str:
        """Return the token of a new session."""
        token = secrets.token_urlsafe(32)
        self._sessions[_hash(token)] = None
        if len(self._sessions) > _MAX_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        return token

    def sign_out(self, request: HTTPConnection) -> None:
        """End the session of `request`."""
        self._sessions.pop(_hash(request.cookies.get(COOKIE, "")), None)

    def _digest(self, password: str) -> bytes:
        return hmac.digest(self._key, password.encode(), "sha256")

    def _save_failures(self, address: str, failures: _FailedLogins) -> None:
        self._failures.pop(address, None)  # the newest goes to the end
        self._failures[address] = failures
        if len(self._failures) > _MAX_ADDRESSES:
            del self._failures[next(iter(self._failures))]


def cookie(token: str) -> str:
    """Return the value of the Set-Cookie header for `token`; an empty token deletes the cookie."""
    age = _COOKIE_MAX_AGE if token else 0
    return f"{COOKIE}={token}; Max-Age={age}; Path=/; HttpOnly; SameSite=Strict"


def sign_in_address(path: str, query: str) -> str:
    """Return the address of the sign-in page that leads to `path` with `query` afterwards."""
    target = quote(path) + (f"?{query}" if query else "")
    return "/sign-in" if target == "/" else f"/sign-in?to={quote(target)}"


def local_target(target: str) -> str:
    """Return `target` if a browser takes it for a page of this machine, else the first page."""
    # Browsers read "//name" and "/\\name" as other machines, and ignore tabs and line breaks.
    is_local = target.startswith("/") and target[1:2] not in ("/", "\\") and target.isprintable()
    return target if is_local else "/"


def address_of(request: HTTPConnection) -> str:
    """Return the address that `request` comes from; for IPv6 its /64, which belongs to one home."""
    host = request.client.host if request.client else ""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    mapped = address.ipv4_mapped
    return str(mapped) if mapped else str(ipaddress.ip_network((address, 64), strict=False))


def _basic_password(credentials: str) -> str:
    """Return the password of HTTP Basic credentials, or "" if they are malformed."""
    try:
        return base64.b64decode(credentials.strip(), validate=True).decode().partition(":")[2]
    except ValueError:
        return ""


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def _too_many_failures(wait: float) -> HTTPException:
    seconds = math.ceil(wait)
    return HTTPException(
        429,
        f"too many wrong passwords from this address; try again in {seconds} s",
        headers={"Retry-After": str(seconds)},
    )


METRICS = "/metrics"
_BASIC_CHALLENGE = {"WWW-Authenticate": 'Basic realm="pi-appliance", charset="UTF-8"'}
_PUBLIC_PATHS = ("/health", "/sign-in")
_LOCAL_DOMAINS = (
    "local",
    "lan",
    "home",
    "internal",
    "home.arpa",
    "localdomain",
)  # not for sale, so no stranger has a name in them
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "manifest-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # With no-referrer, browsers send "Origin: null" with our own forms.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class SecurityMiddleware:
    """Passes requests addressed to this machine, from its own pages, and signed in.

    `names` are the names of this machine, besides localhost and its addresses.
    """

    def __init__(self, app: ASGIApp, authenticator: Authenticator, names: Collection[str]) -> None:
        self._app, self._authenticator, self._names = app, authenticator, all_names(names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that is rejected, and pass every other one on."""
        request = Request(scope, receive)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["Date"] = formatdate(usegmt=True)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        responder: ASGIApp = self._reject(request) or self._app
        await responder(scope, receive, send_with_headers)

    def _reject(self, request: Request) -> Response | None:
        if request.scope.get("server") is None:  # the unix socket, whose file mode says who may connect
            return None
        host = request.headers.get("host", "")
        if not self._is_own_name(host):
            return _error(
                request, 421, "this machine does not have that name; use its address, such as http://192.168.…"
            )
        if request.method not in ("GET", "HEAD") and not _is_same_origin(request, host):
            return _error(request, 403, "this came from another web site, so nothing was done")
        path = request.url.path
        if path in _PUBLIC_PATHS or path.startswith("/static/"):
            return None
        try:
            if self._authenticator.is_authorized(request, basic=path == METRICS):
                return None
        except HTTPException as error:
            return _error(request, error.status_code, error.detail, dict(error.headers or {}))
        if path == METRICS:
            return _error(request, 401, "send the password, with any user name, as HTTP Basic", _BASIC_CHALLENGE)
        if path.startswith("/api/") or path == "/events":
            return _error(request, 401, "sign in at /sign-in, or send the header Authorization: Bearer PASSWORD")
        target = (request.scope["path"], request.url.query) if request.method in ("GET", "HEAD") else ("/", "")
        return RedirectResponse(sign_in_address(*target), 303)

    def _is_own_name(self, host: str) -> bool:
        name = urlsplit(f"//{host}").hostname if _is_valid_host(host) else None
        if name is None:
            return False
        try:
            ipaddress.ip_address(name.partition("%")[0])
        except ValueError:
            return name.rstrip(".") in self._names
        return True


def all_names(names: Collection[str]) -> frozenset[str]:
    """Return the names by which a machine called `names` is reached in a home network."""
    plain = {name.lower() for name in names if name}
    return frozenset({"localhost", *plain, *(f"{name}.{domain}" for name in plain for domain in _LOCAL_DOMAINS)})


def _is_valid_host(host: str) -> bool:
    try:
        return not set(host) & set("/@?#\\") and (urlsplit(f"//{host}").port or 1) > 0
    except ValueError:
        return False


def _is_same_origin(request: Request, host: str) -> bool:
    """Return whether one of our pages, or a program other than a browser, sent `request`."""
    origin = request.headers.get("origin")
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    try:
        return origin is None or urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:  # not an address
        return False


def _error(request: Request, status: int, sentence: str, headers: dict[str, str] | None = None) -> Response:
    if request.url.path.startswith("/api/"):
        return JSONResponse({"error": sentence}, status, headers)
    return PlainTextResponse(f"{sentence}\n", status, headers)
