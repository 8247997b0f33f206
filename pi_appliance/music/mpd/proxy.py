"""The MPD proxy: MPD apps use the appliance's MPD, within the volume policy.

Each client has its own connection to MPD, because MPD keeps most state per connection: idle,
password, partition, tags, limits. Bytes are passed on unchanged and buffered only up to one block.
Only with a volume policy are the client's commands searched for volumes above the limit.
"""

import asyncio
import contextlib
import logging
import os
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from pi_appliance.config import secrets
from pi_appliance.config.model import Config, MpdProxy
from pi_appliance.errors import Refused, Unavailable
from pi_appliance.music.mpd.proxy_password import PasswordGate
from pi_appliance.music.player_hub import PlayerHub, Upstream
from pi_appliance.scheduling.appliance import Appliance

MAX_LINE_BYTES = 16_384  # MPD closes the connection if a line is longer
MAX_CLIENTS = 60  # MPD allows 100 connections, including the appliance's own
CONNECT_ATTEMPTS = 3  # per client
GREETING_TIMEOUT = 3.0  # seconds for a connection to MPD and its greeting
BLOCK_BYTES = 65_536
_LOCAL_NAMES = {"localhost", "127.0.0.1", "::1"}
_MAX_VOLUME = 100
_COMMAND = b"setvol"
# A command line as MPD parses it: words separated by bytes up to the space, the argument perhaps
# quoted with \ escapes.
_SETVOL_LINE = re.compile(
    rb'(?P<before>setvol[\x01-\x20]+)(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>[^\x00-\x20"\']+))(?P<after>[\x01-\x20]*)',
    re.DOTALL,
)
_ESCAPED = re.compile(rb"\\(.)", re.DOTALL)
# MPD parses numbers like C's strtoul: leading zeros are ignored and a minus wraps around at the
# word size.
_NUMBER = re.compile(rb"[\t-\r ]*(?P<sign>[+-]?)0*(?P<digits>[0-9]{1,20})")
_WORD_SIZES = (1 << 32, 1 << 64)
_log = logging.getLogger(__name__)


class VolumeFilter:
    """Lower the volumes in the commands of one client to `max_volume()` at that time."""

    def __init__(self, max_volume: Callable[[], int]) -> None:
        self._max_volume, self._buffer, self._at_line_start = max_volume, b"", True

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes from the client and return the bytes to send to MPD."""
        out, data, self._buffer = bytearray(), self._buffer + data, b""
        position = 0
        while position < len(data):
            end = data.find(b"\n", position)
            if self._at_line_start and _may_be_setvol(data, position):
                if end < 0 and len(data) - position <= MAX_LINE_BYTES:
                    self._buffer = data[position:]
                    break
                if end >= 0:
                    out += self._limit(data[position:end])
                    position = end
            # The rest of another line, with its end if it has arrived.
            stop = len(data) if end < 0 else end + 1
            out += data[position:stop]
            position, self._at_line_start = stop, end >= 0
        return bytes(out)

    def flush(self) -> bytes:
        """Return the buffered bytes at the end of the client's data."""
        buffer, self._buffer = self._buffer, b""
        return buffer

    def _limit(self, line: bytes) -> bytes:
        text, nul, rest = line.partition(b"\0")  # MPD reads up to the first NUL
        match = _SETVOL_LINE.fullmatch(text)
        if match is None:
            return line
        is_quoted = match["quoted"] is not None
        number = _ESCAPED.sub(rb"\1", match["quoted"]) if is_quoted else match["plain"]
        if (limit := self._max_volume()) >= _parse_volume(number):
            return line
        lowered = b'"%d"' % limit if is_quoted else b"%d" % limit
        return match["before"] + lowered + match["after"] + nul + rest


def _parse_volume(number: bytes) -> int:
    """Return the volume as MPD parses `number`; 0 if MPD rejects it."""
    match = _NUMBER.fullmatch(number)
    if match is None:
        return 0
    value = int(match["digits"])
    candidates = [value] if match["sign"] != b"-" else [size - value for size in _WORD_SIZES]
    return next((each for each in candidates if 0 <= each <= _MAX_VOLUME), 0)


def _may_be_setvol(data: bytes, position: int) -> bool:
    return _COMMAND.startswith(data[position : position + len(_COMMAND)])


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
        """Listen, if it is configured, and return the address for the owner.

        Without the password that its host needs, it does not listen.

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
        relay = Relay(daemon.hub, settings, gate=gate, mpd_password=known.get("MPD_PASSWORD", ""))
        port = await relay.start()
        self._relay = relay
        return f"MPD apps: {settings.host}:{port}"

    async def stop(self) -> None:
        """Stop listening and close all connections."""
        if self._relay is not None:
            await self._relay.stop()


class Relay:
    """Listen for clients, and connect each of them with MPD until either side closes."""

    def __init__(
        self,
        hub: PlayerHub,
        settings: MpdProxy,
        *,
        max_clients: int = MAX_CLIENTS,
        greeting_timeout: float = GREETING_TIMEOUT,
        gate: PasswordGate | None = None,
        mpd_password: str = "",
    ) -> None:
        self._hub, self._settings, self._max_clients, self._timeout = hub, settings, max_clients, greeting_timeout
        self._gate, self._mpd_password = gate, mpd_password
        self._server: asyncio.Server | None = None
        self._clients: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def start(self) -> int:
        """Listen and return the port.

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
        volume_filter = VolumeFilter(policy.max_volume) if policy.volume_policy is not None else None
        try:
            writer.write(greeting)
            if self._gate is not None:
                password = self._mpd_password if upstream == self._hub.mpd_address else ""  # the silent MPD has none
                if not (first := await self._gate.admit(reader, writer, password)):
                    return None
                to_mpd.write(first if volume_filter is None else volume_filter.feed(first))
            await _copy_both_ways(reader, writer, from_mpd, to_mpd, volume_filter)
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
        except BaseException:  # a timeout or a cancellation
            writer.close()
            raise


async def _copy_both_ways(
    from_client: asyncio.StreamReader,
    to_client: asyncio.StreamWriter,
    from_mpd: asyncio.StreamReader,
    to_mpd: asyncio.StreamWriter,
    volume_filter: VolumeFilter | None,
) -> None:
    """Copy in both directions until MPD closes or either side breaks."""
    requests = asyncio.create_task(_copy(from_client, to_mpd, volume_filter))
    replies = asyncio.create_task(_copy(from_mpd, to_client))
    try:
        await asyncio.wait({requests, replies}, return_when=asyncio.FIRST_COMPLETED)
        if requests.done() and requests.result():  # the client has sent everything and may still read
            await replies
    finally:
        for task in (requests, replies):
            task.cancel()
        await asyncio.gather(requests, replies, return_exceptions=True)


async def _copy(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, volume_filter: VolumeFilter | None = None
) -> bool:
    """Copy until `reader` ends and pass the end on; return False if either side breaks."""
    try:
        while data := await reader.read(BLOCK_BYTES):
            writer.write(data if volume_filter is None else volume_filter.feed(data))
            await writer.drain()  # the slower side limits the buffer
        if volume_filter is not None:
            writer.write(volume_filter.flush())
        writer.write_eof()
    except OSError:
        return False
    return True


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
