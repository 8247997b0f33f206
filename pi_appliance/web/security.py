"""Who sends a request, and the checks before every request: its origin, its sender, its role."""

import asyncio
import ipaddress
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from email.utils import formatdate
from html import escape
from typing import Any, Protocol
from urllib.parse import quote, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pi_appliance.operations import Operation, Values
from pi_appliance.roles import Role, describe_refusal


@dataclass(frozen=True, slots=True)
class Visitor:
    """The sender of a request.

    Attributes:
        role: The role; None before the sign-in.
        device: The id of the signed-in device; "" with the password or the unix socket.
        device_name: The name of that device.
        address: The network address; "" for the unix socket and this process.
        host: The host in the request, with which this machine was reached.
        cookie: The Set-Cookie header that the answer needs, or "".
        ended: Set when the device is signed out.
    """

    role: Role | None = None
    device: str = ""
    device_name: str = ""
    address: str = ""
    host: str = ""
    cookie: str = ""
    ended: asyncio.Event | None = None

    def may(self, role: Role) -> bool:
        """Return whether the sender has at least `role`."""
        return self.role is not None and self.role.includes(role)


HIDDEN = "it is not available now; the owner can see why"
"""What others than the owner read in place of an error that may name files or servers."""
# The default is for operations in the command line: without a request, the file system decides.
VISITOR: ContextVar[Visitor] = ContextVar("visitor", default=Visitor(Role.OWNER))  # noqa: B039 - it is frozen


class RoleRoute(Route):
    """A route that is not only for the owner.

    `role` is the least role that may use it: one for all methods, or one for each method.
    """

    def __init__(
        self,
        path: str,
        endpoint: Callable[..., Any],
        role: Role | Mapping[str, Role],
        methods: Iterable[str] = ("GET",),
    ) -> None:
        super().__init__(path, endpoint, methods=list(methods))
        self._role = role

    def role_for(self, method: str) -> Role:
        """Return the least role for `method`."""
        if isinstance(self._role, Role):
            return self._role
        return self._role.get("GET" if method == "HEAD" else method, Role.OWNER)


def least_role(routes: Sequence[BaseRoute], scope: Scope) -> Role | None:
    """Return the least role that may send the request of `scope`; None if no route answers it.

    A route without a role is for the owner.
    """
    for route in routes:
        if route.matches(scope)[0] is Match.FULL:
            return route.role_for(scope["method"]) if isinstance(route, RoleRoute) else Role.OWNER
    return None


def require_roles(operation: Operation, values: Values) -> None:
    """Raise HTTPException 403 if the sender may not give one of the `values` of `operation`.

    Whether the sender may call the operation at all was checked by its route.
    """
    visitor = VISITOR.get()
    for argument in operation.arguments:
        if values[argument.name] != argument.default and not visitor.may(argument.role):
            why = describe_refusal(visitor.role, argument.role)
            raise HTTPException(403, f"{argument.name!r} cannot be chosen: {why}")


def owner_text(text: str, instead: str) -> str:
    """Return `text` for the owner, `instead` for others: `text` may name files or servers."""
    return text if not text or VISITOR.get().may(Role.OWNER) else instead


COOKIE = "pi-appliance"


def sign_in_address(path: str, query: str) -> str:
    """Return the address of the sign-in page that leads to `path` with `query` afterwards."""
    target = quote(path) + (f"?{query}" if query else "")
    return "/sign-in" if target == "/" else f"/sign-in?to={quote(target)}"


def local_target(target: str) -> str:
    """Return `target` if a browser would stay on this machine, else the first page."""
    # For a browser, "//name" and "/\\name" are other machines, and tabs and line breaks are
    # nothing.
    is_local = target.startswith("/") and target[1:2] not in ("/", "\\") and target.isprintable()
    return target if is_local else "/"


def address_of(request: HTTPConnection) -> str:
    """Return the network address of the sender.

    For IPv6 it is the /64, which belongs to one home.
    """
    host = request.client.host if request.client else ""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    mapped = address.ipv4_mapped
    return str(mapped) if mapped else str(ipaddress.ip_network((address, 64), strict=False))


METRICS = "/metrics"
_BASIC_CHALLENGE = {"WWW-Authenticate": 'Basic realm="pi-appliance", charset="UTF-8"'}
CLUSTER_JOIN = "/cluster/join"
_PUBLIC_PATHS = ("/health", "/sign-in", CLUSTER_JOIN)  # joining a cluster needs a one-time code
HOOKS = "/hooks/"  # below this path, a secret replaces the sign-in
_PUBLIC_FOLDERS = ("/static/", "/join/", HOOKS)
SETUP = "/setup"
_SETUP_PATHS = ("/health", SETUP, "/setup/password")  # the only pages while there is no password yet
_NOT_SET_UP = "the set-up of this machine is not finished; open /setup in a browser"
_LOCAL_DOMAINS = (
    "local",
    "lan",
    "home",
    "internal",
    "home.arpa",
    "localdomain",
)  # endings that are not sold, so no stranger owns a name with one
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


class Identifier(Protocol):
    """Finds out who sends a request."""

    has_password: bool
    setup_code: str

    def identify(self, request: Request, *, basic: bool = False) -> Visitor | None:
        """Return who sent `request`, or None. Raises HTTPException for a wrong password."""


class SecurityMiddleware:
    """Rejects requests from other sites, for other host names, and from people without the right.

    Args:
        app: The application.
        routes: Its routes with their roles.
        identifier: Knows who sends a request.
        names: The names of this machine, besides localhost and its addresses.
        refuse: Returns the answer to a request of somebody with too small a role.
    """

    def __init__(
        self,
        app: ASGIApp,
        routes: Sequence[BaseRoute],
        identifier: Identifier,
        names: Collection[str],
        refuse: Callable[[Request, int, str], Response],
    ) -> None:
        self._app, self._routes, self._identifier, self._refuse = app, routes, identifier, refuse
        self._names = all_names(names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request if it is rejected, else pass it to the application."""
        request = Request(scope, receive)
        visitor = Visitor()

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["Date"] = formatdate(usegmt=True)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                if visitor.cookie:
                    headers.setdefault("Set-Cookie", visitor.cookie)
            await send(message)

        responder: ASGIApp = self._app
        found = self._find_visitor(request)
        if isinstance(found, Response):
            responder = found
        else:
            visitor = found
            VISITOR.set(visitor)
            if not self._is_public(request):
                needed = Role.LISTEN if visitor.role is Role.OWNER else least_role(self._routes, scope)
                if needed is not None and not visitor.may(needed):
                    responder = self._refuse(request, 403, describe_refusal(visitor.role, needed))
        is_stream = visitor.ended is not None and request.method == "GET"
        await responder(scope, _until(visitor.ended, receive) if is_stream else receive, send_with_headers)

    def _find_visitor(self, request: Request) -> Visitor | Response:
        """Return who sent `request`, or the response if the request is rejected."""
        server = request.scope.get("server")  # a unix socket has no port; its file mode decides who may connect
        if server is None or server[1] is None:
            return Visitor(Role.OWNER)
        host = request.headers.get("host", "")
        if not self._is_own_name(host):
            return _error(
                request, 421, "this machine does not have that name; use its address, such as http://192.168.…"
            )
        if request.method not in ("GET", "HEAD") and not _is_same_origin(request, host):
            return _error(request, 403, "this came from another web site, so nothing was done")
        path = request.url.path
        if self._identifier.setup_code:
            return self._find_in_setup(request)
        if self._is_public(request):
            return Visitor(None if self._identifier.has_password else Role.OWNER, address=address_of(request))
        try:
            visitor = self._identifier.identify(request, basic=path == METRICS)
        except HTTPException as error:
            return _error(request, error.status_code, error.detail, dict(error.headers or {}))
        if visitor is not None:
            return visitor
        if path == METRICS:
            return _error(request, 401, "send the password, with any user name, as HTTP Basic", _BASIC_CHALLENGE)
        if path.startswith("/api/") or path == "/events":
            return _error(request, 401, "sign in at /sign-in, or send the header Authorization: Bearer PASSWORD")
        target = (request.scope["path"], request.url.query) if request.method in ("GET", "HEAD") else ("/", "")
        return RedirectResponse(sign_in_address(*target), 303)

    @staticmethod
    def _find_in_setup(request: Request) -> Visitor | Response:
        """Return a visitor without a role for the pages of the set-up. They ask for the code."""
        path = request.url.path
        if path in _SETUP_PATHS or path.startswith("/static/"):
            return Visitor(address=address_of(request), host=request.headers.get("host", ""))
        if path.startswith("/api/") or path in ("/events", METRICS):
            return _error(request, 401, _NOT_SET_UP)
        return RedirectResponse(SETUP, 303)

    def _is_public(self, request: Request) -> bool:
        path = request.url.path
        if self._identifier.setup_code:
            return True  # _find_in_setup has rejected all other paths
        return path in _PUBLIC_PATHS or path.startswith(_PUBLIC_FOLDERS)

    def _is_own_name(self, host: str) -> bool:
        name = urlsplit(f"//{host}").hostname if _is_valid_host(host) else None
        if name is None:
            return False
        try:
            ipaddress.ip_address(name.partition("%")[0])
        except ValueError:
            return name.rstrip(".") in self._names
        return True


def _until(ended: asyncio.Event | None, receive: Receive) -> Receive:
    """Return `receive` that also reports a disconnect when `ended` is set, which ends a stream."""

    async def receive_until_ended() -> Message:
        assert ended is not None
        message, end = asyncio.ensure_future(receive()), asyncio.ensure_future(ended.wait())
        try:
            await asyncio.wait([message, end], return_when=asyncio.FIRST_COMPLETED)
            return {"type": "http.disconnect"} if ended.is_set() else message.result()
        finally:
            message.cancel()
            end.cancel()

    return receive_until_ended


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
    """Return whether one of our pages, or a program that is not a browser, sent `request`."""
    origin = request.headers.get("origin")
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    try:
        return origin is None or urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:  # the name is not an address
        return False


# A stranger may see this page, so it does not name the machine.
_ERROR_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>That did not work</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"></head>
<body><main><h1>That did not work</h1><p>{}</p></main></body></html>
"""


def _error(request: Request, status: int, sentence: str, headers: dict[str, str] | None = None) -> Response:
    if request.url.path.startswith("/api/"):
        return JSONResponse({"error": sentence}, status, headers)
    if "text/html" in request.headers.get("accept", ""):
        return HTMLResponse(_ERROR_PAGE.format(escape(sentence)), status, headers)
    return PlainTextResponse(f"{sentence}\n", status, headers)
