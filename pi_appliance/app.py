"""The web application: the pages, the API and the events of all features, as a service of the daemon."""

import asyncio
import os
import socket
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from pi_appliance import web
from pi_appliance.config import secrets
from pi_appliance.diagnostics.api import HealthEndpoint, MetricsEndpoint
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
from pi_appliance.jobs.pages import Pages
from pi_appliance.music.alarms.pages import AlarmPages
from pi_appliance.music.api_covers import Covers
from pi_appliance.music.api_events import PlayerEvents
from pi_appliance.music.pages import MusicForms, MusicPages
from pi_appliance.operations import Operation, all_operations
from pi_appliance.posting.pages import PostPages
from pi_appliance.system import clock, network
from pi_appliance.web import openapi, server, unix_socket
from pi_appliance.web import state as values
from pi_appliance.web.actions import Actions, player_commands
from pi_appliance.web.interface import Daemon, Services
from pi_appliance.web.params import BASE, Call, route
from pi_appliance.web.security import METRICS, Authenticator, SecurityMiddleware
from pi_appliance.web.sse import EventStream, StateFeed


class Api:
    """The JSON API."""

    def __init__(self, daemon: Daemon, actions: Actions, changes: PlayerEvents, covers: Covers) -> None:
        self._daemon, self._actions, self._changes, self._covers = daemon, actions, changes, covers

    def endpoints(self) -> list[Operation]:
        """Return every operation."""
        return [
            Operation(
                method="GET",
                path="/state",
                summary="The player, the jobs and the scheduler.",
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
            self._changes.operation(),
            self._covers.operation(),
            *all_operations(),
        ]

    def routes(self) -> list[Route]:
        """Return every route of the API."""
        services = Services(self._daemon, self._actions)
        unknown_command = Route(f"{BASE}/player/{{command}}", _no_such_command, methods=["POST"])
        return [*(route(endpoint, services) for endpoint in self.endpoints()), unknown_command]

    async def state(self, _: Call) -> object:
        """Return the player, the jobs and the scheduler."""
        return values.state(self._daemon, self._actions.now())

    async def document(self, _: Call) -> object:
        """Return the OpenAPI document."""
        return openapi.document(self.endpoints())


async def _no_such_command(request: Request) -> Response:
    raise UnknownName("command of the player", request.path_params["command"], list(player_commands()))


_STATUSES: dict[type[ApplianceError], int] = {
    ConfigError: 400,
    InvalidOption: 400,
    UnknownName: 404,
    Refused: 409,
    Uncertain: 502,
    Unavailable: 503,
    DeadlineExceeded: 504,
}
_MESSAGES = {404: "there is no such page", 405: "this address does not take that method; see docs/web.md"}


def build(
    daemon: Daemon,
    authenticator: Authenticator,
    feed: StateFeed,
    changes: PlayerEvents,
    now: Callable[[], datetime],
    names: Collection[str],
    monotonic: Callable[[], float],
) -> ASGIApp:
    """Return the application for a machine with the host names `names`, its own first.

    `monotonic` is a clock in seconds that never goes back.
    """
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

    def respond(request: Request, status: int, message: str, headers: dict[str, str]) -> Response:
        if request.url.path.startswith("/api/"):
            return JSONResponse({"error": message}, status, headers)
        page = pages.error(status, message)
        page.headers.update(headers)
        return page

    def application_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, ApplianceError)
        return respond(request, _STATUSES.get(type(error), 500), str(error), {})

    def http_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        message = _MESSAGES.get(error.status_code, "") if error.detail in _ROUTER_MESSAGES else error.detail
        return respond(request, error.status_code, message or error.detail, dict(error.headers or {}))

    def bug(request: Request, _: Exception) -> Response:
        # The log has the traceback.
        return respond(request, 500, "this is a bug in pi-appliance; the log of the service has the details", {})

    static = Mount("/static", _Static(directory=Path(web.__file__).parent / "static"))
    api = Api(daemon, actions, changes, covers)
    monitoring = [
        Route("/health", HealthEndpoint(daemon, monotonic).answer),
        Route(METRICS, MetricsEndpoint(daemon, now).answer),
    ]
    app = Starlette(
        routes=[*pages.routes(), *posts.routes(), *music, *api.routes(), Route("/events", events), *monitoring, static],
        exception_handlers={ApplianceError: application_error, HTTPException: http_error, Exception: bug},
    )
    return SecurityMiddleware(app, authenticator, names)


_ROUTER_MESSAGES = ("Not Found", "Method Not Allowed")


class _Static(StaticFiles):
    """Static files. Browsers keep them and ask each time whether they changed, so that an update shows at once."""

    def file_response(self, *args: object, **more: object) -> Response:
        """Add the header that makes browsers ask."""
        response = super().file_response(*args, **more)  # type: ignore[arg-type]
        response.headers["Cache-Control"] = "no-cache"
        return response


_MONOTONIC = clock.SystemClock().monotonic
_IDLE_TIMEOUT = 20.0  # seconds; browsers connect ahead of time, and phones leave the network


class WebService:
    """The page, the API and the unix socket."""

    def __init__(
        self,
        now: Callable[[], datetime] = clock.now,
        monotonic: Callable[[], float] = _MONOTONIC,
        environment: Mapping[str, str] = os.environ,
        idle_timeout: float = _IDLE_TIMEOUT,
    ) -> None:
        """Create the service.

        Args:
            now: The wall clock.
            monotonic: The clock of the scheduler, in seconds; it never goes back.
            environment: Where WEB_PASSWORD may be.
            idle_timeout: Seconds after which a client without a request is disconnected.
        """
        self._idle_timeout = idle_timeout
        self._now, self._monotonic, self._environment = now, monotonic, environment
        self._feeds: list[StateFeed | PlayerEvents] = []
        self._server: server.EmbeddedServer | None = None
        self._serving: asyncio.Task[None] | None = None
        self._unix_socket: unix_socket.UnixSocket | None = None
        self.port = 0
        """The TCP port, once it listens."""

    async def start(self, daemon: Daemon) -> str:
        """Listen, and return where.

        Raises:
            Refused: the address cannot be used, or it is open to the network without a good password.
        """
        config = daemon.appliance.config
        password = secrets.load(config.path, self._environment).get("WEB_PASSWORD", "")
        listeners = server.listen(config, password)
        self.port = listeners[0].getsockname()[1]
        feed, changes = StateFeed(daemon, self._now), PlayerEvents(daemon, self._monotonic)
        self._feeds = [feed, changes]
        names = dict.fromkeys([socket.gethostname(), config.web.host, network.mdns_name(network.host_name())])
        app = build(daemon, Authenticator(password, self._monotonic), feed, changes, self._now, names, self._monotonic)
        self._server = server.EmbeddedServer(app, self._idle_timeout)
        self._unix_socket = unix_socket.listen(config.path)
        self._serving = asyncio.create_task(self._server.serve([*listeners, self._unix_socket.listener]))
        started = asyncio.create_task(self._server.is_up.wait())
        await asyncio.wait([self._serving, started], return_when=asyncio.FIRST_COMPLETED)
        started.cancel()
        if self._serving.done():
            self._serving.result()
        return f"page: http://{server.browser_host(config.web.host)}:{self.port}"

    async def stop(self) -> None:
        """End every stream and stop listening."""
        for feed in self._feeds:
            feed.close()
        if self._server and self._serving:
            self._server.is_ending.set()
            await self._serving
            self._server = self._serving = None
        if self._unix_socket:
            self._unix_socket.close()
            self._unix_socket = None
