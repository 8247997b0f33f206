"""The HTTP server: uvicorn in the daemon's loop, and the sockets on which it listens.

Browsers come over TCP. The command line comes over a unix socket with mode 0660, which belongs to
the group `pi-appliance` if possible: the file system decides who may connect. The credentials of
the peer are also checked (SO_PEERCRED, unix(7)), in case the rights of the folder were changed.
"""

import asyncio
import contextlib
import errno
import grp
import ipaddress
import os
import pwd
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from starlette.types import ASGIApp
from uvicorn.config import Config as ServerConfig
from uvicorn.protocols.http.flow_control import CLOSE_HEADER
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import Server

from pi_appliance.config import secrets
from pi_appliance.config.options import Config
from pi_appliance.errors import Refused
from pi_appliance.system.runtime_socket import DEFAULT_NAME, GROUP, socket_name, user_runtime_dir

# Connections of a hundred phones, each with a stream and two short requests. A stream takes 25 KB
# (docs/benchmarks.md), so all of them take 8 MB, and far fewer files than a service may open.
# Further clients get the status 503.
_MAX_CONNECTIONS = 300

_ANSWER_TIMEOUT = 60  # seconds that an old server has to answer its last requests


class EmbeddedServer(Server):
    """uvicorn's server in the daemon's loop, without signals and without ticks while idle."""

    def __init__(self, app: ASGIApp, idle_timeout: float) -> None:
        """Serve `app`; disconnect clients without a whole request in `idle_timeout` seconds."""
        super().__init__(
            ServerConfig(
                app,
                http=_protocol_for(self, idle_timeout),
                ws="none",
                lifespan="off",
                interface="asgi3",
                log_config=None,
                log_level="warning",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                limit_concurrency=_MAX_CONNECTIONS,
                timeout_graceful_shutdown=_ANSWER_TIMEOUT,
            )
        )
        self.is_up, self.is_ending, self.is_closed = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.is_replaced = False

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave all signals to the daemon."""
        yield

    async def main_loop(self) -> None:
        """Wait for the end, without the tick that uvicorn has every tenth of a second."""
        await self.on_tick(0)
        self.is_up.set()
        await self.is_ending.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening at once, and end when the last request has been answered."""
        ending = asyncio.create_task(super().shutdown(sockets))
        await asyncio.sleep(0)  # the first step of the task closes the sockets
        self.is_closed.set()
        await ending

    async def end(self, *, is_replaced: bool) -> None:
        """Stop listening. If another server takes over, arriving requests are still answered."""
        self.is_replaced = is_replaced
        self.is_ending.set()
        await self.is_closed.wait()


class _PageProtocol(H11Protocol):
    """uvicorn's protocol with a time limit for a whole request: idle clients use up connections.

    When the server is replaced, an idle connection stays open until its timeout or its next
    request, which may be on its way already.
    """

    idle_timeout: float  # seconds
    _timer: asyncio.TimerHandle | None = None

    def is_replaced(self) -> bool:
        """Return whether another server listens now."""
        raise NotImplementedError

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        super().connection_made(transport)
        if not may_connect(transport):
            transport.close()
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_timer()
            if self.is_replaced() and self.cycle.keep_alive:
                self.cycle.keep_alive, scope = False, self.cycle.scope
                scope["headers"] = [*scope["headers"], CLOSE_HEADER]  # appended now, so that the answer contains it

    def on_response_complete(self) -> None:
        self._start_timer()
        super().on_response_complete()

    def shutdown(self) -> None:
        is_idle = self.cycle is None or self.cycle.response_complete
        if not (is_idle and self.is_replaced()):
            super().shutdown()

    def _start_timer(self) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(self.idle_timeout, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


def _protocol_for(server: "EmbeddedServer", seconds: float) -> type[H11Protocol]:
    """Return the protocol of `server` with an idle timeout of `seconds`."""

    class Protocol(_PageProtocol):
        idle_timeout = seconds

        def is_replaced(self) -> bool:
            return server.is_replaced

    return Protocol


def listen_on_tcp(config: Config) -> list[socket.socket]:
    """Return a listening socket for each address of the configured host.

    Raises:
        Refused: the address cannot be used.

    """
    host, port = config.web.host, config.web.port
    try:
        results = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError, OverflowError) as error:
        raise _listen_error(host, port, error) from None
    addresses = dict.fromkeys((family, address) for family, _, _, _, address in results)
    listeners: list[socket.socket] = []
    try:
        for family, address in addresses:
            listener = socket.socket(family, socket.SOCK_STREAM)
            listeners.append(listener)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family is socket.AF_INET6:  # "::" also accepts IPv4, unless IPv4 has a listener of its own
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(len(addresses) > 1))
            listener.bind((address[0], port or listeners[0].getsockname()[1], *address[2:]))
            listener.listen()
            listener.setblocking(False)
    except OSError as error:
        for listener in listeners:
            listener.close()
        raise _listen_error(host, port, error) from None
    return listeners


class Listeners:
    """The connections of the page that survive a restart of the page.

    The listening sockets stay open: a browser that connects meanwhile waits instead of being
    refused. The old server still answers long requests while the new one listens.
    """

    def __init__(self) -> None:
        self._place: tuple[str, int] | None = None
        self._open: list[socket.socket] = []
        self._old_servers = set[asyncio.Task[None]]()

    def open(self, config: Config, password: str) -> list[socket.socket]:
        """Return copies of the sockets for `config`. Raises Refused as `listen_on_tcp`."""
        if problem := secrets.page_problem(config, password):
            raise Refused(problem)
        place = (config.web.host, config.web.port)
        if place != self._place:
            self.close()
            self._open = listen_on_tcp(config)
            self._place = place
        return [each.dup() for each in self._open]

    @property
    def are_open(self) -> bool:
        """Whether the sockets are open, so that the next server can use them."""
        return bool(self._open)

    def let_answer(self, serving: asyncio.Task[None]) -> None:
        """Keep a reference to the old server until it has answered its requests."""
        self._old_servers.add(serving)
        serving.add_done_callback(self._old_servers.discard)

    def close(self) -> None:
        """Stop listening."""
        self._place = None
        while self._open:
            self._open.pop().close()


def _listen_error(host: str, port: int, error: Exception) -> Refused:
    match getattr(error, "errno", None):
        case errno.EADDRINUSE:
            reason = (
                "another program listens there; if that is an appliance already (pi-appliance status), use that one, "
                "otherwise stop the program, or choose another `port` under `web:`"
            )
        case errno.EACCES | errno.EPERM:
            reason = "this user may not; choose a `port` above 1023 under `web:`"
        case errno.EADDRNOTAVAIL:
            reason = "this machine does not have that address; choose another `host` under `web:`"
        case _:
            reason = f"{getattr(error, 'strerror', None) or error}; check `host` and `port` under `web:`"
    return Refused(f"the page cannot listen on {host}:{port}: {reason}")


def browser_host(host: str) -> str:
    """Return the host that a browser must use if the server listens on `host`."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if address.is_unspecified:
        return f"{socket.gethostname()}.local"
    return f"[{host}]" if address.version == 6 else host


_MODE = 0o660
_DIR_MODE = 0o750


@dataclass(frozen=True, slots=True)
class UnixSocket:
    """A listening unix socket, its path, and the link `api.sock` to it.

    If another daemon is alive, the link keeps leading to that one.
    """

    listener: socket.socket
    path: Path

    def close(self) -> None:
        """Stop listening and remove the socket from the file system."""
        self.listener.close()
        link = self.path.with_name(DEFAULT_NAME)
        with contextlib.suppress(OSError):
            if link.readlink().name == self.path.name:
                link.unlink()
        self.path.unlink(missing_ok=True)


def listen_on_unix_socket(config: Path) -> UnixSocket:
    """Listen for commands to the daemon that reads `config`.

    Raises:
        Refused: another daemon reads that file, or the folder for the socket cannot be used.

    """
    folder = Path(os.environ.get("RUNTIME_DIRECTORY", "").partition(":")[0] or user_runtime_dir())
    path = folder / socket_name(str(config))
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        folder.mkdir(mode=_DIR_MODE, parents=True, exist_ok=True)
        if folder.stat().st_uid not in (os.geteuid(), 0):
            raise Refused(f"{folder} belongs to another user, so commands cannot be received there; remove it")
        if _is_alive(path):
            raise Refused(f"another daemon runs with {config}; stop it first, or look at it with `pi-appliance status`")
        path.unlink(missing_ok=True)
        listener.bind(str(path))
        path.chmod(_MODE)
        with contextlib.suppress(OSError, KeyError):  # not root, or no such group: then only this user can connect
            os.chown(path, -1, grp.getgrnam(GROUP).gr_gid)
        listener.listen()
        listener.setblocking(False)
        _link(folder / DEFAULT_NAME, path)
    except OSError as error:
        listener.close()
        raise Refused(f"commands cannot be received at {path}: {error.strerror or error}") from None
    except Refused:
        listener.close()
        raise
    return UnixSocket(listener, path)


def _is_alive(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def _link(link: Path, path: Path) -> None:
    """Make `link` lead to `path`, unless it leads to the socket of another running daemon."""
    if _is_alive(link):
        return
    draft = link.with_name(f".{path.name}.link")
    draft.unlink(missing_ok=True)
    draft.symlink_to(path.name)
    draft.replace(link)


def may_connect(transport: asyncio.BaseTransport) -> bool:
    """Return whether the peer may send requests. Over TCP it always may: the password decides."""
    connection = transport.get_extra_info("socket")
    if connection is None or connection.family != socket.AF_UNIX:
        return True
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, user, group = struct.unpack("3i", credentials)
    return user in (0, os.geteuid()) or _is_in_group(user, group)


def _is_in_group(user: int, group: int) -> bool:
    try:
        allowed = grp.getgrnam(GROUP)
        return group == allowed.gr_gid or pwd.getpwuid(user).pw_name in allowed.gr_mem
    except KeyError:
        return False
