"""The MPD proxy: MPD apps use the appliance's MPD, within the volume policy.

Each client has its own connection to MPD, because MPD keeps most state per connection: idle,
password, partition, tags, limits. Bytes are passed on unchanged and buffered only up to one block.
A filter reads the commands of a client if a volume policy holds, or if the client is on another
machine: then it may not make MPD ask this machine, except the `local-hosts` of `radio:`.
"""

import asyncio
import contextlib
import functools
import ipaddress
import logging
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from pi_appliance.config import secrets
from pi_appliance.config.options import Config, MpdProxy
from pi_appliance.errors import Refused, Unavailable
from pi_appliance.music.mpd.proxy_commands import CommandFilter, PasswordGate, read_partition_volume
from pi_appliance.music.player_hub import PlayerHub, Upstream
from pi_appliance.music.radio.streams import require_public_host
from pi_appliance.scheduling.appliance import Appliance

MAX_CLIENTS = 60  # MPD allows 100 connections, including those of the appliance itself
CONNECT_ATTEMPTS = 3  # attempts to connect each client with MPD
GREETING_TIMEOUT = 3.0  # seconds for a connection to MPD and its greeting
BLOCK_BYTES = 65_536
_LOCAL_NAMES = {"localhost", "127.0.0.1", "::1"}
_log = logging.getLogger(__name__)


class ProxyHost(Protocol):
    """The parts of the daemon that the proxy needs."""

    @property
    def appliance(self) -> Appliance:
        """The appliance with its configuration."""

    @property
    def hub(self) -> PlayerHub:
        """The connection to the player."""


def password_problem(config: Config, password: str) -> str:
    """Return why the proxy may not listen with `password`, and the correction; or ''."""
    if config.mpd_proxy is None:
        return ""
    return secrets.listen_problem("the MPD proxy", config.mpd_proxy.host, "MPD_PROXY_PASSWORD", password)


class MpdProxyService:
    """The MPD proxy as a service of the daemon."""

    def __init__(self) -> None:
        self._relay: Relay | None = None

    async def start(self, daemon: ProxyHost) -> str:
        """Start to listen, if the proxy is configured, and return the address for the owner.

        Without the password that its host requires, the proxy does not listen.

        Raises Unavailable, Refused.
        """
        config = daemon.appliance.config
        settings = config.mpd_proxy
        if settings is None:
            return ""
        if daemon.hub.kind and daemon.hub.mpd_address is None:
            return f"MPD apps: not available, because a player of kind {daemon.hub.kind} has no MPD; remove mpd-proxy:"
        known = secrets.load(config.path, os.environ)
        password = known.get("MPD_PROXY_PASSWORD", "")
        if problem := password_problem(config, password):
            return f"MPD apps: not available, because {problem}"
        gate = PasswordGate(password) if password else None
        relay = Relay(
            daemon.hub,
            settings,
            gate=gate,
            mpd_password=known.get("MPD_PASSWORD", ""),
            check_address=lambda uri: require_public_host(uri, daemon.appliance.config.radio.local_hosts),
        )
        port = await relay.start()
        self._relay = relay
        return f"MPD apps: {settings.host}:{port}"

    async def stop(self) -> None:
        """Stop listening and close all connections."""
        if self._relay is not None:
            await self._relay.stop()


class Relay:
    """Listens for clients, and connects each one with MPD until either side closes."""

    def __init__(
        self,
        hub: PlayerHub,
        settings: MpdProxy,
        *,
        max_clients: int = MAX_CLIENTS,
        greeting_timeout: float = GREETING_TIMEOUT,
        gate: PasswordGate | None = None,
        mpd_password: str = "",
        check_address: Callable[[str], None] | None = None,
    ) -> None:
        """Create a relay that does not listen yet.

        Args:
            greeting_timeout: Seconds to wait for MPD.
            check_address: Raises Refused for an address that clients in the network must not use.
        """
        self._check_address = check_address
        self._hub, self._settings, self._max_clients, self._timeout = hub, settings, max_clients, greeting_timeout
        self._gate, self._mpd_password = gate, mpd_password
        self._server: asyncio.Server | None = None
        self._clients: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def start(self) -> int:
        """Start to listen, and return the port.

        Raises:
            Unavailable: the port is taken.
            Refused: it is the player's own port.
        """
        host, port = self._settings.host, self._settings.port
        if _is_own_port(self._hub.mpd_address, self._settings):
            raise Refused(f"mpd-proxy: {port} is the port of the player itself; write another one")
        try:
            self._server = await asyncio.start_server(self._serve, host, port)
        except (OSError, UnicodeError) as error:  # UnicodeError: an invalid host name
            reason = getattr(error, "strerror", None) or str(error)
            message = f"the MPD proxy cannot listen on {host}:{port}: {reason}; correct `mpd-proxy`"
            raise Unavailable(message) from None
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Stop listening and close all connections, even if clients do not read."""
        if self._server is not None:
            self._server.close()
        clients = dict(self._clients)
        for task, writer in clients.items():
            writer.transport.abort()
            task.cancel()
        await asyncio.gather(*clients, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._clients[task] = writer
        try:
            _enable_keepalive(writer)
            await self._relay(reader, writer)
        finally:
            del self._clients[task]
            writer.close()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = writer.get_extra_info("peername")[0]
        upstream = self._hub.upstream
        if len(self._clients) > self._max_clients:
            return _log.warning(
                "mpd-proxy client rejected client=%s reason=too-many limit=%d", client, self._max_clients
            )
        if upstream is None:
            self._hub.reconnect_now()
            return _log.info("mpd-proxy client rejected client=%s reason=%s", client, self._hub.error)
        try:
            greeting, from_mpd, to_mpd = await self._connect(upstream)
        except OSError as error:
            return _log.info("mpd-proxy client rejected client=%s reason=MPD is not reached: %s", client, error)
        policy = self._hub.policy
        password = self._mpd_password if upstream == self._hub.mpd_address else ""  # the silent MPD has no password
        check_address = None if ipaddress.ip_address(client.partition("%")[0]).is_loopback else self._check_address
        command_filter = None
        if policy.volume_policy is not None or check_address is not None:
            read_volume = functools.partial(read_partition_volume, upstream, password)
            command_filter = CommandFilter(policy.max_volume, read_volume, check_address)
        try:
            writer.write(greeting)
            if self._gate is not None:
                if not (first := await self._gate.admit(reader, writer, password)):
                    return None
                await _pass_on(first, to_mpd, command_filter)
            await _copy_both_ways(reader, writer, from_mpd, to_mpd, command_filter)
        finally:
            to_mpd.close()
        return None

    async def _connect(self, upstream: Upstream) -> tuple[bytes, asyncio.StreamReader, asyncio.StreamWriter]:
        """Return MPD's greeting and the connection.

        If many clients connect at once, MPD's short backlog overflows, and the kernel may report a
        connection that MPD never accepts. MPD sends first, so nothing was requested yet and a retry
        is safe.
        """
        for _ in range(CONNECT_ATTEMPTS):
            with contextlib.suppress(TimeoutError):
                return await _read_greeting(upstream, self._timeout)
        raise TimeoutError("it does not answer")


async def _read_greeting(
    upstream: Upstream, timeout: float
) -> tuple[bytes, asyncio.StreamReader, asyncio.StreamWriter]:
    async with asyncio.timeout(timeout):
        reader, writer = await _open_connection(upstream)
        try:
            return await reader.read(BLOCK_BYTES), reader, writer
        except BaseException:  # also after a timeout or a cancellation
            writer.close()
            raise


async def _copy_both_ways(
    from_client: asyncio.StreamReader,
    to_client: asyncio.StreamWriter,
    from_mpd: asyncio.StreamReader,
    to_mpd: asyncio.StreamWriter,
    command_filter: CommandFilter | None,
) -> None:
    """Copy in both directions until MPD closes or either side breaks."""
    requests = asyncio.create_task(_copy(from_client, to_mpd, command_filter))
    replies = asyncio.create_task(_copy(from_mpd, to_client))
    try:
        await asyncio.wait({requests, replies}, return_when=asyncio.FIRST_COMPLETED)
        if requests.done() and requests.result():  # the client has sent everything, and may still read the answers
            await replies
    finally:
        for task in (requests, replies):
            task.cancel()
        await asyncio.gather(requests, replies, return_exceptions=True)


async def _copy(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, command_filter: CommandFilter | None = None
) -> bool:
    """Copy from `reader` to `writer` until the end, which is passed on.

    The result is False if one of the connections breaks.
    """
    try:
        while data := await reader.read(BLOCK_BYTES):
            await _pass_on(data, writer, command_filter)
            await writer.drain()  # waits for the slower side, so that little is buffered
        if command_filter is not None:
            writer.write(command_filter.flush())
        writer.write_eof()
    except OSError:
        return False
    return True


async def _pass_on(data: bytes, writer: asyncio.StreamWriter, command_filter: CommandFilter | None) -> None:
    if command_filter is None:
        writer.write(data)
    else:
        await command_filter.feed(data, writer.write)


async def _open_connection(upstream: Upstream) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if isinstance(upstream, Path):
        return await asyncio.open_unix_connection(upstream)
    reader, writer = await asyncio.open_connection(*upstream)
    _enable_keepalive(writer)
    return reader, writer


def _enable_keepalive(writer: asyncio.StreamWriter) -> None:
    """Let the kernel detect a peer that vanished, such as a phone that left the network."""
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 20)


def _is_own_port(upstream: Upstream | None, settings: MpdProxy) -> bool:
    return (
        isinstance(upstream, tuple) and upstream[1] == settings.port and upstream[0] in {*_LOCAL_NAMES, settings.host}
    )
