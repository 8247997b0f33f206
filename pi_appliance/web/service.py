"""The page as a service of the daemon: its sockets, its server, its beginning and its end."""

import asyncio
import contextlib
import errno
import ipaddress
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from uvicorn.config import Config as ServerConfig
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import Server

from pi_appliance.errors import Refused
from pi_appliance.model.config import Config
from pi_appliance.system import clock, lan, secrets
from pi_appliance.web.app import build
from pi_appliance.web.auth import Door
from pi_appliance.web.events import Feed
from pi_appliance.web.player_events import PlayerEvents
from pi_appliance.web.world import Daemon

_STEADY = clock.MachineClock().steady
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
        self._feeds: list[Feed | PlayerEvents] = []
        self._server: _Server | None = None
        self._serving: asyncio.Task[None] | None = None
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
        feed, changes = Feed(daemon, self._now), PlayerEvents(daemon, self._ticks)
        self._feeds = [feed, changes]
        names = dict.fromkeys([socket.gethostname(), config.web.host, lan.announced(lan.name())])
        app = build(daemon, Door(password, self._ticks), feed, changes, self._now, names, self._ticks)
        self._server = _Server(
            ServerConfig(
                app,
                http=_patient(self._patience),
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
        self._serving = asyncio.create_task(self._server.serve(listeners))
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


def _patient(seconds: float) -> type[H11Protocol]:
    """Return uvicorn's protocol that lets go of who says nothing, or not all, for SECONDS.

    It has a place in the house like anybody else, and there are not many.
    """

    class Patient(H11Protocol):
        _late: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
            super().connection_made(transport)
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
