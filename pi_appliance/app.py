"""The web application: pages, API and events of all features, as a service of the daemon."""

import asyncio
import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from pi_appliance import web
from pi_appliance.access.api import AccessServices
from pi_appliance.access.authenticator import AccessDaemon, Authenticator
from pi_appliance.access.pages import AccessPages
from pi_appliance.access.password import SetupFile
from pi_appliance.cluster.api import JoinEndpoint
from pi_appliance.config import secrets
from pi_appliance.diagnostics.health import HealthEndpoint
from pi_appliance.diagnostics.metrics import MetricsEndpoint
from pi_appliance.errors import (
    ApplianceError,
    ConfigError,
    DeadlineExceeded,
    InvalidOption,
    Refused,
    Unavailable,
    Uncertain,
    UnknownName,
    suggest,
)
from pi_appliance.home_pages import HomePages, frame_values
from pi_appliance.jobs.pages import JobPages
from pi_appliance.jobs.pages_form import JobFormPages
from pi_appliance.maintenance.pages import BackupPages, SystemPages
from pi_appliance.music.alarms.pages import AlarmPages
from pi_appliance.music.api_events import PlayerEvents
from pi_appliance.music.api_library import cover_operation
from pi_appliance.music.covers import Covers
from pi_appliance.music.pages import MusicPages
from pi_appliance.music.player_hub import MusicDaemon, MusicServices
from pi_appliance.operations import Operation, all_operations
from pi_appliance.posting.pages import PostPages
from pi_appliance.puzzles.pages import PuzzlePages
from pi_appliance.settings.pages import SettingsPages
from pi_appliance.setup_pages import SetupPages
from pi_appliance.state_feed import StateFeed, state_operation
from pi_appliance.system import clock, network
from pi_appliance.triggers.webhooks import Webhooks
from pi_appliance.web import openapi, server
from pi_appliance.web.pages import Pages, StaticFiles
from pi_appliance.web.params import BASE, Call, api_routes, form_routes, keep_encoded_slashes
from pi_appliance.web.security import HIDDEN, METRICS, SecurityMiddleware, owner_text
from pi_appliance.wifi.pages import WifiPages


def operations(
    services: MusicServices, changes: PlayerEvents, covers: Covers, authenticator: Authenticator
) -> list[Operation]:
    """Return every operation of the API."""

    async def document(_: Call) -> dict[str, Any]:
        every = operations(services, changes, covers, authenticator)
        return openapi.document(every, has_password=authenticator.has_password)

    return [
        state_operation(services),
        Operation(
            method="GET",
            path="/openapi.json",
            summary="Return this table as an OpenAPI document.",
            handler=document,
        ),
        changes.operation(),
        cover_operation(covers),
        *all_operations(),
    ]


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


class WebDaemon(MusicDaemon, AccessDaemon, Protocol):
    """The parts of the daemon that the web application uses."""

    @property
    def listeners(self) -> server.Listeners:
        """The listening sockets."""


def build(
    daemon: WebDaemon,
    feed: StateFeed,
    changes: PlayerEvents,
    machine: str,
    monotonic: Callable[[], float],
) -> Starlette:
    """Return the application, without its access control.

    Args:
        daemon: The daemon.
        feed: The source of /events.
        changes: The source of the events of the player.
        machine: The host name of the machine.
        monotonic: A clock in seconds that never goes back.
    """
    services = MusicServices(daemon, clock.now)
    static_files = StaticFiles(Path(web.__file__).parent / "static")
    pages = Pages(
        lambda: daemon.appliance.config.name or machine,
        clock.now,
        lambda: daemon.appliance.config.time_zone,
        static_files,
        lambda: frame_values(daemon),
    )
    covers = Covers(lambda: daemon.hub, changes)
    jobs = JobPages(services, pages)
    every = operations(services, changes, covers, daemon.authenticator)

    def respond(request: Request, status: int, message: str, headers: dict[str, str]) -> Response:
        if request.url.path.startswith("/api/"):
            return JSONResponse({"error": message}, status, headers)
        page = pages.error(status, message)
        page.headers.update(headers)
        return page

    def application_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, ApplianceError)
        is_public = isinstance(error, (InvalidOption, UnknownName, Refused))  # others may name files and servers
        sentence = str(error) if is_public else owner_text(str(error), HIDDEN)
        status = next((_STATUSES[kind] for kind in type(error).__mro__ if kind in _STATUSES), 500)
        return respond(request, status, sentence, {})

    def http_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        message = _MESSAGES.get(error.status_code, "") if error.detail in _ROUTER_MESSAGES else error.detail
        path = request.url.path
        if error.status_code == 404 and error.detail in _ROUTER_MESSAGES and path.startswith(BASE):
            known = [openapi.plain_path(each.path) for each in every]
            hint = suggest(path.removeprefix(BASE), known)
            message = f"there is no such address; {hint if hint.endswith('?') else 'see docs/web.md'}"
        return respond(request, error.status_code, message or error.detail, dict(error.headers or {}))

    def bug(request: Request, _: Exception) -> Response:
        # The log has the traceback, so the answer does not.
        return respond(request, 500, "this is a bug in pi-appliance; the log of the service has the details", {})

    routes: list[BaseRoute] = [
        *AccessPages(AccessServices(daemon, clock.now), pages).routes(),
        *HomePages(services, pages, jobs, covers).routes(),
        *jobs.routes(),
        *JobFormPages(services, pages).routes(),
        *Webhooks(services, pages, monotonic).routes(),
        *JoinEndpoint(services).routes(),
        *PostPages(services, pages).routes(),
        *PuzzlePages(services, pages).routes(),
        *MusicPages(services, pages, covers).routes(),
        *AlarmPages(services, pages).routes(),
        *SettingsPages(services, pages).routes(),
        *SystemPages(services, pages).routes(),
        *WifiPages(services, pages).routes(),
        *SetupPages(services, daemon.authenticator, pages).routes(),
        *BackupPages(services, pages).routes(),
        *form_routes(every, services),
        *api_routes(every, services),
        *feed.routes(),
        Route("/health", HealthEndpoint(daemon, monotonic).answer),
        Route(METRICS, MetricsEndpoint(daemon, clock.now).answer),
        *static_files.routes(),
    ]
    pages.use_roles(routes)
    app = Starlette(
        routes=routes,
        exception_handlers={ApplianceError: application_error, HTTPException: http_error, Exception: bug},
    )
    app.state.refuse = lambda request, status, message: respond(request, status, message, {})
    return app


_ROUTER_MESSAGES = ("Not Found", "Method Not Allowed")


_MONOTONIC = clock.SystemClock().monotonic
_IDLE_TIMEOUT = 20.0  # seconds; browsers open connections ahead of time, and phones leave the network
_STOP_TIMEOUT = 1.0  # seconds for which requests that are being answered delay the end


class WebService:
    """The page, the API and the unix socket."""

    def __init__(
        self,
        monotonic: Callable[[], float] = _MONOTONIC,
        environment: Mapping[str, str] = os.environ,
        idle_timeout: float = _IDLE_TIMEOUT,
    ) -> None:
        """Create the service.

        Args:
            monotonic: The clock of the scheduler, in seconds; it never goes back.
            environment: Where WEB_PASSWORD may be.
            idle_timeout: Seconds after which a client without a request is disconnected.
        """
        self._idle_timeout = idle_timeout
        self._monotonic, self._environment = monotonic, environment
        self._feeds: list[StateFeed | PlayerEvents] = []
        self._server: server.EmbeddedServer | None = None
        self._serving: asyncio.Task[None] | None = None
        self._unix_socket: server.UnixSocket | None = None
        self._listeners: server.Listeners | None = None
        self.port = 0
        """The TCP port, once it listens."""
        self.routes: list[BaseRoute] = []
        """The routes, once it listens."""

    async def start(self, daemon: WebDaemon) -> str:
        """Start to listen, and return the address.

        Raises:
            Refused: the address cannot be used, or it is public with a short password.
        """
        config = daemon.appliance.config
        known = secrets.load(config.path, self._environment)
        password = known.get("WEB_PASSWORD", "")
        self._listeners = daemon.listeners
        listeners = self._listeners.open(config, password)
        self.port = listeners[0].getsockname()[1]
        feed, changes = StateFeed(daemon), PlayerEvents(daemon, self._monotonic)
        self._feeds = [feed, changes]
        names = dict.fromkeys([socket.gethostname(), config.web.host, network.mdns_name(network.host_name())])
        daemon.authenticator.use_password(password)
        setup = SetupFile(config.state_dir)
        if secrets.needs_setup(config, known):
            daemon.authenticator.setup_code = setup.start()
        else:
            setup.drop_code()
        app = build(daemon, feed, changes, next(iter(names)), self._monotonic)
        self.routes = app.routes
        guarded = SecurityMiddleware(app, app.routes, daemon.authenticator, names, app.state.refuse)
        self._server = server.EmbeddedServer(keep_encoded_slashes(guarded), self._idle_timeout)
        self._unix_socket = server.listen_on_unix_socket(config.path)
        self._serving = asyncio.create_task(self._server.serve([*listeners, self._unix_socket.listener]))
        started = asyncio.create_task(self._server.is_up.wait())
        await asyncio.wait([self._serving, started], return_when=asyncio.FIRST_COMPLETED)
        started.cancel()
        if self._serving.done():
            self._serving.result()
        return f"page: http://{server.browser_host(config.web.host)}:{self.port}"

    async def stop(self) -> None:
        """End every stream and stop listening.

        While the listening sockets are kept for another server, requests that are already here are
        still answered.
        """
        for feed in self._feeds:
            feed.close()
        if self._server and self._serving and self._listeners:
            is_replaced = self._listeners.are_open
            await self._server.end(is_replaced=is_replaced)
            if is_replaced:
                self._listeners.let_answer(self._serving)
            else:
                await asyncio.wait([self._serving], timeout=_STOP_TIMEOUT)
            self._server = self._serving = None
        if self._unix_socket:
            self._unix_socket.close()
            self._unix_socket = None
