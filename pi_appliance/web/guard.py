"""What stands before every page: whose name was called, where a POST comes from, who is signed in.

Host    against DNS rebinding: a foreign name that was pointed at this machine is answered with 421
Origin  against cross-site request forgery: a POST that another site sends is answered with 403
"""

import ipaddress
from collections.abc import Collection
from email.utils import formatdate
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pi_appliance.web.auth import Door, sign_in_address

METRICS = "/metrics"
_ASK = {"WWW-Authenticate": 'Basic realm="pi-appliance", charset="UTF-8"'}
_FREE = ("/health", "/sign-in")
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


class Guard:
    """Wraps APP. NAMES are what this machine is called, besides localhost and its addresses."""

    def __init__(self, app: ASGIApp, door: Door, names: Collection[str]) -> None:
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
        host = request.headers.get("host", "")
        if not self._is_us(host):
            return _say(
                request, 421, "this machine does not go by that name; use its address, such as http://192.168.…"
            )
        if request.method not in ("GET", "HEAD") and not _from_us(request, host):
            return _say(request, 403, "this came from another web site, so nothing was done")
        path = request.url.path
        if path in _FREE or path.startswith("/static/"):
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
