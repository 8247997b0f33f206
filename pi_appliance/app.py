"""The page as a service of the daemon: its sockets, its server, its beginning and its end."""

import asyncio
import contextlib
import errno
import ipaddress
import os
import socket
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp
from uvicorn.config import Config as ServerConfig
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import Server

from pi_appliance import web
from pi_appliance.config import secrets
from pi_appliance.config.model import Config
from pi_appliance.diagnostics.health import Health
from pi_appliance.diagnostics.metrics import Metrics
from pi_appliance.errors import (
    ApplianceError,
    ConfigError,
    DeadlineExceeded,
    InvalidOption,
    Refused,
    Unavailable,
    Uncertain,
    UnknownName,
)
from pi_appliance.jobs.api import JobApi
from pi_appliance.jobs.pages import Pages
from pi_appliance.music.alarms.api import AlarmApi
from pi_appliance.music.alarms.pages import AlarmPages
from pi_appliance.music.api import ArtApi, PlayerApi
from pi_appliance.music.api_library import LibraryApi, PlaylistApi, QueueApi
from pi_appliance.music.covers import Covers
from pi_appliance.music.events import PlayerEvents
from pi_appliance.music.pages import MusicForms, MusicPages
from pi_appliance.music.player_commands import COMMANDS
from pi_appliance.music.stations.api import StationApi
from pi_appliance.music.usb.api import UsbApi
from pi_appliance.operations import Operation, all_operations
from pi_appliance.posting.pages import PostPages
from pi_appliance.system import clock, network
from pi_appliance.web import openapi, unix_socket
from pi_appliance.web import state as values
from pi_appliance.web.actions import Actions
from pi_appliance.web.interface import Daemon, Services
from pi_appliance.web.params import BASE, Call, route
from pi_appliance.web.security import METRICS, Authenticator, SecurityMiddleware
from pi_appliance.web.sse import EventStream, StateFeed


class Api:
    """The endpoints. ACTIONS does what a POST asks."""

    def __init__(self, daemon: Daemon, actions: Actions, changes: PlayerEvents, covers: Covers) -> None:
        self._daemon, self._actions, self._changes, self._covers = daemon, actions, changes, covers

    def endpoints(self) -> list[Operation]:
        """Return every row of the table."""
        daemon, actions = self._daemon, self._actions
        return [
            Operation(
                method="GET",
                path="/state",
                summary="The player, the jobs, and how the scheduler does.",
                handler=self.state,
                result="State",
            ),
            Operation(
                method="GET",
                path="/openapi.json",
                summary="This table as an OpenAPI document.",
                handler=self.document,
                result="Document",
            ),
            *PlayerApi(daemon, actions, self._changes).endpoints(),
            *ArtApi(self._covers).endpoints(),
            *QueueApi(daemon, actions).endpoints(),
            *LibraryApi(daemon).endpoints(),
            *PlaylistApi(daemon, actions).endpoints(),
            *StationApi(daemon, actions).endpoints(),
            *JobApi(daemon, actions).endpoints(),
            *AlarmApi(daemon, actions).endpoints(),
            *UsbApi(daemon).endpoints(),
            *all_operations(),
        ]

    def routes(self) -> list[Route]:
        """Return every route of the API."""
        services = Services(self._daemon, self._actions)
        rest = Route(f"{BASE}/player/{{command}}", _no_such_command, methods=["POST"])
        return [*(route(endpoint, services) for endpoint in self.endpoints()), rest]

    async def state(self, _: Call) -> object:
        """Player and jobs."""
        return values.state(self._daemon, self._actions.now())

    async def document(self, _: Call) -> object:
        """Return the table as OpenAPI."""
        return openapi.document(self.endpoints())


async def _no_such_command(request: Request) -> Response:
    raise UnknownName("command of the player", request.path_params["command"], tuple(COMMANDS))


_STATUSES: dict[type[ApplianceError], int] = {
    ConfigError: 400,
    InvalidOption: 400,
    UnknownName: 404,
    Refused: 409,
    Uncertain: 502,
    Unavailable: 503,
    DeadlineExceeded: 504,
}
_PLAIN = {404: "there is no such page", 405: "this address does not take that; see docs/web.md"}


def build(
    daemon: Daemon,
    authenticator: Authenticator,
    feed: StateFeed,
    changes: PlayerEvents,
    now: Callable[[], datetime],
    names: Collection[str],
    ticks: Callable[[], float],
) -> ASGIApp:
    """Return the application for a machine that goes by NAMES, the first of which is its own."""
    actions = Actions(daemon, now)
    pages = Pages(daemon, actions, authenticator, next(iter(names)))
    posts = PostPages(daemon, actions, pages)
    covers = Covers(lambda: daemon.hub, changes)
    music = [
        *MusicPages(daemon, pages, covers).routes(),
        *MusicForms(daemon).routes(),
        *AlarmPages(daemon, actions, pages).routes(),
    ]

    async def events(_: Request) -> Response:
        return EventStream(feed)

    def say(request: Request, status: int, sentence: str, headers: dict[str, str]) -> Response:
        if request.url.path.startswith("/api/"):
            return JSONResponse({"error": sentence}, status, headers)
        page = pages.error(status, sentence)
        page.headers.update(headers)
        return page

    def ours(request: Request, error: Exception) -> Response:
        assert isinstance(error, ApplianceError)
        return say(request, _STATUSES.get(type(error), 500), str(error), {})

    def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        sentence = _PLAIN.get(error.status_code, "") if error.detail in _STANDARD else error.detail
        return say(request, error.status_code, sentence or error.detail, dict(error.headers or {}))

    def fault(request: Request, _: Exception) -> Response:
        # What it was stands in the log, with its traceback.
        return say(request, 500, "something went wrong here; the log of the service says what", {})

    static = Mount("/static", _Static(directory=Path(web.__file__).parent / "static"))
    api = Api(daemon, actions, changes, covers)
    watched = [Route("/health", Health(daemon, ticks).answer), Route(METRICS, Metrics(daemon, now).answer)]
    app = Starlette(
        routes=[*pages.routes(), *posts.routes(), *music, *api.routes(), Route("/events", events), *watched, static],
        exception_handlers={ApplianceError: ours, HTTPException: http, Exception: fault},
    )
    return SecurityMiddleware(app, authenticator, names)


_STANDARD = ("Not Found", "Method Not Allowed")  # what the router itself says


class _Static(StaticFiles):
    """Our own files: kept by browsers, asked for again each time, so that an update shows at once."""

    def file_response(self, *args: object, **more: object) -> Response:
        """As always, but to be asked for again."""
        response = super().file_response(*args, **more)  # type: ignore[arg-type]
        response.headers["Cache-Control"] = "no-cache"
        return response


_STEADY = clock.SystemClock().monotonic
_SHORTEST_PASSWORD = 8  # characters, where the network may guess
# A hundred phones, each with its stream and two short requests on the way. A stream takes 25 KB (docs/benchmarks.md),
# so all of them 8 MB, and far fewer files than a service may have open. Beyond this they are told to come back.
_MOST_CONNECTIONS = 300
_PATIENCE = 20.0  # seconds for a request to be said; browsers connect ahead of time, and phones leave the house


class WebService:
    """The page on the phone. NOW is the wall clock, TICKS one that never goes back: the scheduler's."""

    def __init__(
        self,
        now: Callable[[], datetime] = clock.now,
        ticks: Callable[[], float] = _STEADY,
        environment: Mapping[str, str] = os.environ,
        patience: float = _PATIENCE,
    ) -> None:
        """PATIENCE is how many seconds a client may take to say what he wants."""
        self._patience = patience
        self._now, self._ticks, self._environment = now, ticks, environment
        self._feeds: list[StateFeed | PlayerEvents] = []
        self._server: _Server | None = None
        self._serving: asyncio.Task[None] | None = None
        self._unix_socket: unix_socket.UnixSocket | None = None
        self.port = 0
        """Where it listens, once it does."""

    async def start(self, daemon: Daemon) -> str:
        """Listen, and return where.

        Raises Refused if the address cannot be had, or is open to the network without a good password.
        """
        config = daemon.appliance.config
        password = secrets.load(config.path, self._environment).get("WEB_PASSWORD", "")
        listeners = _listen(config, password)
        self.port = listeners[0].getsockname()[1]
        feed, changes = StateFeed(daemon, self._now), PlayerEvents(daemon, self._ticks)
        self._feeds = [feed, changes]
        names = dict.fromkeys([socket.gethostname(), config.web.host, network.mdns_name(network.host_name())])
        app = build(daemon, Authenticator(password, self._ticks), feed, changes, self._now, names, self._ticks)
        self._server = _Server(
            ServerConfig(
                app,
                http=_with_timeout(self._patience),
                ws="none",
                lifespan="off",
                interface="asgi3",
                log_config=None,
                log_level="warning",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                limit_concurrency=_MOST_CONNECTIONS,
                timeout_graceful_shutdown=1,
            )
        )
        self._unix_socket = unix_socket.listen(config.path)
        self._serving = asyncio.create_task(self._server.serve([*listeners, self._unix_socket.listener]))
        up = asyncio.create_task(self._server.up.wait())
        await asyncio.wait([self._serving, up], return_when=asyncio.FIRST_COMPLETED)
        up.cancel()
        if self._serving.done():
            self._serving.result()
        return f"page: http://{_shown(config.web.host)}:{self.port}"

    async def stop(self) -> None:
        """End every stream and stop listening."""
        for feed in self._feeds:
            feed.close()
        if self._server and self._serving:
            self._server.end.set()
            await self._serving
            self._server = self._serving = None
        if self._unix_socket:
            self._unix_socket.close()
            self._unix_socket = None


class _Server(Server):
    """uvicorn's server as a part of our loop: signals are the daemon's, and an idle server does not wake up."""

    def __init__(self, config: ServerConfig) -> None:
        super().__init__(config)
        self.up, self.end = asyncio.Event(), asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone."""
        yield

    async def main_loop(self) -> None:
        """Wait for the end."""
        await self.on_tick(0)
        self.up.set()
        await self.end.wait()


def _with_timeout(seconds: float) -> type[H11Protocol]:
    """Return uvicorn's protocol that lets go of who says nothing, or not all, for SECONDS.

    It has a place in the house like anybody else, and there are not many.
    """

    class Patient(H11Protocol):
        _late: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
            super().connection_made(transport)
            if not unix_socket.may_connect(transport):
                transport.close()
            self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self._wait_no_more()
            super().connection_lost(exc)

        def handle_events(self) -> None:
            super().handle_events()
            if self.cycle is not None and not self.cycle.response_complete:
                self._wait_no_more()

        def on_response_complete(self) -> None:
            self._wait()
            super().on_response_complete()

        def _wait(self) -> None:
            self._wait_no_more()
            self._late = self.loop.call_later(seconds, self.transport.close)

        def _wait_no_more(self) -> None:
            if self._late is not None:
                self._late.cancel()

    return Patient


def _listen(config: Config, password: str) -> list[socket.socket]:
    """Return a listening socket for each address of the host. Raises Refused."""
    host, port = config.web.host, config.web.port
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError, OverflowError) as error:
        raise _cannot(host, port, error) from None
    places = dict.fromkeys((family, address) for family, _, _, _, address in found)
    if len(password) < _SHORTEST_PASSWORD and not all(_is_loopback(str(address[0])) for _, address in places):
        file = config.path.parent / secrets.NAME
        lacks = f"a password of at least {_SHORTEST_PASSWORD} characters" if password else "a password"
        raise Refused(
            f"the page may not listen on {host} without {lacks}: write WEB_PASSWORD=… into {file}"
            " (chmod 600), or set host: 127.0.0.1 under web"
        )
    listeners: list[socket.socket] = []
    try:
        for family, address in places:
            listener = socket.socket(family, socket.SOCK_STREAM)
            listeners.append(listener)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family is socket.AF_INET6:  # an IPv4 phone also reaches "::"
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(len(places) > 1))
            listener.bind((address[0], port or listeners[0].getsockname()[1], *address[2:]))
            listener.listen()
            listener.setblocking(False)
    except OSError as error:
        for listener in listeners:
            listener.close()
        raise _cannot(host, port, error) from None
    return listeners


def _is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def _cannot(host: str, port: int, error: Exception) -> Refused:
    match getattr(error, "errno", None):
        case errno.EADDRINUSE:
            why = "another program listens there; stop it, or choose another port under web"
        case errno.EACCES | errno.EPERM:
            why = "this user may not; choose a port above 1023 under web"
        case errno.EADDRNOTAVAIL:
            why = "this machine does not have that address; choose another host under web"
        case _:
            why = f"{getattr(error, 'strerror', None) or error}; check host and port under web"
    return Refused(f"the page cannot listen on {host}:{port}: {why}")


def _shown(host: str) -> str:
    """Return what to type into a browser for HOST."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if address.is_unspecified:
        return f"{socket.gethostname()}.local"
    return f"[{host}]" if address.version == 6 else host
