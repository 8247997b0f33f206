"""The MPD port: lets MPD apps reach whatever MPD the hub holds. A relay of bytes.

Each client has an upstream connection of its own, because in MPD nearly everything belongs to the connection: idle,
password, partition, tags, limits. Nothing is decoded, or kept beyond what the slower side has not taken yet. With a
volume policy, and only then, what clients send is looked through for volumes that are too loud.
"""

import asyncio
import contextlib
import logging
import re
import socket
from collections.abc import Callable
from pathlib import Path

from pi_appliance.config.model import MpdProxy
from pi_appliance.daemon import Daemon
from pi_appliance.errors import Refused, Unavailable
from pi_appliance.music.hub import PlayerHub, Upstream

LONGEST = 16_384  # bytes of one line; MPD closes the connection where one is longer
_COMMAND = b"setvol"
# A line as MPD reads it: words apart by anything up to the space, the last one perhaps in quotes, where \ frees a sign.
_LINE = re.compile(
    rb'(?P<before>setvol[\x01-\x20]+)(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>[^\x00-\x20"\']+))(?P<after>[\x01-\x20]*)',
    re.DOTALL,
)
_ESCAPED = re.compile(rb"\\(.)", re.DOTALL)
# MPD reads numbers as C does: zeros in front count for nothing, and a minus goes round the end of what a word of the
# machine holds. What is longer is too large for it.
_NUMBER = re.compile(rb"[\t-\r ]*(?P<sign>[+-]?)0*(?P<digits>[0-9]{1,20})")
_WORDS = (1 << 32, 1 << 64)
_LOUDEST = 100


class VolumeFilter:
    """The lines of one client. ALLOWED tells the loudest that is allowed when a line goes by."""

    def __init__(self, allowed: Callable[[], int]) -> None:
        self._allowed, self._held, self._at_start = allowed, b"", True

    def feed(self, data: bytes) -> bytes:
        """Take what the client sent next, and return what goes on to MPD."""
        out, data, self._held = bytearray(), self._held + data, b""
        place = 0
        while place < len(data):
            end = data.find(b"\n", place)
            if self._at_start and _may_be_ours(data, place):
                if end < 0 and len(data) - place <= LONGEST:
                    self._held = data[place:]
                    break
                if end >= 0:
                    out += self._clamped(data[place:end])
                    place = end
            # The rest of a line that is none of ours, with its end if that is there already.
            stop = len(data) if end < 0 else end + 1
            out += data[place:stop]
            place, self._at_start = stop, end >= 0
        return bytes(out)

    def rest(self) -> bytes:
        """Return what is still held when the client has said its last."""
        held, self._held = self._held, b""
        return held

    def _clamped(self, line: bytes) -> bytes:
        text, nul, beyond = line.partition(b"\0")  # MPD reads as far as the first NUL
        match = _LINE.fullmatch(text)
        if match is None:
            return line
        quoted = match["quoted"] is not None
        number = _ESCAPED.sub(rb"\1", match["quoted"]) if quoted else match["plain"]
        if (loudest := self._allowed()) >= _volume(number):
            return line  # what is no volume MPD itself refuses
        lowered = b'"%d"' % loudest if quoted else b"%d" % loudest
        return match["before"] + lowered + match["after"] + nul + beyond


def _volume(number: bytes) -> int:
    """Return the volume that MPD takes NUMBER for; 0 where it takes it for none."""
    match = _NUMBER.fullmatch(number)
    if match is None:
        return 0
    told = int(match["digits"])
    found = [told] if match["sign"] != b"-" else [word - told for word in _WORDS]
    return next((each for each in found if 0 <= each <= _LOUDEST), 0)


def _may_be_ours(data: bytes, place: int) -> bool:
    begin = data[place : place + len(_COMMAND)]
    return _COMMAND.startswith(begin)


CLIENTS = 60  # MPD itself takes 100, and we are not its only client
PENDING_CONNECTIONS = 3  # how often MPD is tried for one client
GREETING = 3.0  # seconds for a connection and MPD's first words
CHUNK = 65_536
_HERE = {"localhost", "127.0.0.1", "::1"}
_log = logging.getLogger(__name__)


class MpdProxyService:
    """The MPD port as a part of the daemon."""

    def __init__(self) -> None:
        self._relay: Relay | None = None

    async def start(self, daemon: Daemon) -> str:
        """Begin to listen, if the configuration wants it; return where. Raises Unavailable, or Refused."""
        settings = daemon.appliance.config.mpd_proxy
        if settings is None:
            return ""
        if daemon.hub.kind and daemon.hub.mpd_address is None:
            return f"MPD apps: none, for a player of kind {daemon.hub.kind} has no MPD for them; take mpd-proxy: away"
        relay = Relay(daemon.hub, settings)
        port = await relay.start()
        self._relay = relay
        return f"MPD apps: {settings.host}:{port}"

    async def stop(self) -> None:
        """Stop listening and let go of every client."""
        if self._relay is not None:
            await self._relay.stop()


class Relay:
    """Listens, and relays for each client until either side closes."""

    def __init__(
        self, hub: PlayerHub, settings: MpdProxy, *, clients: int = CLIENTS, patience: float = GREETING
    ) -> None:
        self._hub, self._settings, self._clients, self._patience = hub, settings, clients, patience
        self._server: asyncio.Server | None = None
        self._now: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def start(self) -> int:
        """Begin to listen and return the port. Raises Unavailable if it is taken, Refused if it is the player's own."""
        host, port = self._settings.host, self._settings.port
        if _is_itself(self._hub.mpd_address, self._settings):
            raise Refused(f"mpd-proxy: {port} is the port of the player itself; write another one")
        try:
            self._server = await asyncio.start_server(self._serve, host, port)
        except (OSError, UnicodeError) as error:  # UnicodeError: what no host can be called
            why = getattr(error, "strerror", None) or str(error)
            raise Unavailable(f"the MPD port cannot listen on {host}:{port}: {why}; correct `mpd-proxy`") from None
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Stop listening and end all connections, also those whose clients do not take what was sent."""
        if self._server is not None:
            self._server.close()
        now = dict(self._now)
        for task, writer in now.items():
            writer.transport.abort()
            task.cancel()
        await asyncio.gather(*now, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._now[task] = writer
        try:
            _keep_alive(writer)
            await self._relay(reader, writer)
        finally:
            del self._now[task]
            writer.close()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = writer.get_extra_info("peername")[0]
        upstream = self._hub.upstream
        if len(self._now) > self._clients:
            return _log.warning("mpd-proxy client=%s turned away: there are %d already", client, self._clients)
        if upstream is None:
            self._hub.reconnect_now()
            return _log.info("mpd-proxy client=%s turned away: %s", client, self._hub.error)
        try:
            greeting, from_mpd, to_mpd = await self._greeted(upstream)
        except OSError as error:
            return _log.info("mpd-proxy client=%s turned away: MPD is not reached: %s", client, error)
        house = self._hub.policy
        lines = VolumeFilter(house.max_volume) if house.volume_policy is not None else None
        try:
            writer.write(greeting)
            await _both_ways(reader, writer, from_mpd, to_mpd, lines)
        finally:
            to_mpd.close()
        return None

    async def _greeted(self, upstream: Upstream) -> tuple[bytes, asyncio.StreamReader, asyncio.StreamWriter]:
        """Return MPD's first words and the connection they came by.

        When a crowd comes at once, the kernel may hold a connection for made that MPD never hears of (its list of those
        who wait is short). MPD speaks first, so nothing was asked yet, and another try does no harm.
        """
        for _ in range(PENDING_CONNECTIONS):
            with contextlib.suppress(TimeoutError):
                return await _first_words(upstream, self._patience)
        raise TimeoutError("it does not answer")


async def _first_words(upstream: Upstream, patience: float) -> tuple[bytes, asyncio.StreamReader, asyncio.StreamWriter]:
    async with asyncio.timeout(patience):
        reader, writer = await _open(upstream)
        try:
            return await reader.read(CHUNK), reader, writer
        except BaseException:  # no patience left, or our own end
            writer.close()
            raise


async def _both_ways(
    from_client: asyncio.StreamReader,
    to_client: asyncio.StreamWriter,
    from_mpd: asyncio.StreamReader,
    to_mpd: asyncio.StreamWriter,
    lines: VolumeFilter | None,
) -> None:
    """Copy both ways until MPD has said its last, or either side breaks; what the client says goes through LINES."""
    asking = asyncio.create_task(_copy(from_client, to_mpd, lines))
    answering = asyncio.create_task(_copy(from_mpd, to_client))
    try:
        await asyncio.wait({asking, answering}, return_when=asyncio.FIRST_COMPLETED)
        if asking.done() and asking.result():  # the client has asked all it wants, and may still be listening
            await answering
    finally:
        for task in (asking, answering):
            task.cancel()
        await asyncio.gather(asking, answering, return_exceptions=True)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, lines: VolumeFilter | None = None) -> bool:
    """Copy until READER ends, and hand the end on. False if either side broke."""
    try:
        while data := await reader.read(CHUNK):
            writer.write(data if lines is None else lines.feed(data))
            await writer.drain()  # never more than the slower side takes
        if lines is not None:
            writer.write(lines.rest())
        writer.write_eof()
    except OSError:
        return False
    return True


async def _open(upstream: Upstream) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if isinstance(upstream, Path):
        return await asyncio.open_unix_connection(upstream)
    reader, writer = await asyncio.open_connection(*upstream)
    _keep_alive(writer)
    return reader, writer


def _keep_alive(writer: asyncio.StreamWriter) -> None:
    """Have the kernel notice that the other side vanished: a phone leaves the house without saying so."""
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 20)


def _is_itself(upstream: Upstream | None, settings: MpdProxy) -> bool:
    return isinstance(upstream, tuple) and upstream[1] == settings.port and upstream[0] in {*_HERE, settings.host}
