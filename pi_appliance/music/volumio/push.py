"""Watch Volumio for changes: push notifications, a monitored connection, and polling.

Volumio sends each push notification once and forgets the subscribers when it restarts. So a
notification only triggers reading the state. Without notifications the state is polled every few
seconds; with them it is polled less often, to check whether the subscription still exists.
"""

import asyncio
import contextlib
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from urllib.parse import urlsplit

import h11

from pi_appliance.errors import ApplianceError, Unavailable
from pi_appliance.music.model import PlayerState
from pi_appliance.music.volumio.client import STATE_TIMEOUT, VolumioClient
from pi_appliance.system.http import describe_network_error

MAX_PUSH_BYTES = 4_000_000  # a queue of some thousand tracks
PATH_PREFIX = "/pi-appliance/"
_PUSH_TIMEOUT = 5.0  # seconds; Volumio gives up after 2
_MAX_CLIENTS = 8
_BLOCK_BYTES = 65_536

ALL_SUBSYSTEMS = frozenset({"database", "update", "stored_playlist", "playlist", "player", "mixer", "options"})
SUBSCRIBED_POLL_FACTOR = 6  # how much longer the poll interval is with push notifications
_MIN_READ_INTERVAL = 0.05  # seconds between two reads of the state after notifications
_SEEK_TOLERANCE = 2.0  # seconds by which the elapsed time may differ from normal playback
_log = logging.getLogger(__name__)


class PushServer:
    """An HTTP server that calls `on_push` for each notification to its `url`."""

    def __init__(self, on_push: Callable[[], None]) -> None:
        self.url = ""
        self._on_push = on_push
        self._path = PATH_PREFIX + secrets.token_urlsafe(24)
        self._server: asyncio.Server | None = None
        self._clients: set[asyncio.StreamWriter] = set()

    async def open(self, host: str, port: int) -> None:
        """Listen on `host`, the address of this machine as Volumio sees it.

        Raises OSError if the port is taken.
        """
        self._server = await asyncio.start_server(self._serve, host, port)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{port}{self._path}"

    def close(self) -> None:
        """Stop listening and close all connections."""
        if self._server is not None:
            self._server.close()
        for writer in list(self._clients):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._clients.add(writer)
        try:
            if len(self._clients) <= _MAX_CLIENTS:
                with contextlib.suppress(OSError, h11.ProtocolError):  # a TimeoutError is an OSError
                    async with asyncio.timeout(_PUSH_TIMEOUT):
                        await self._handle_request(reader, writer)
                        writer.write_eof()
                        while await reader.read(_BLOCK_BYTES):  # otherwise the kernel would drop the answer
                            pass
        finally:
            self._clients.discard(writer)
            writer.close()

    async def _handle_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection, length = h11.Connection(h11.SERVER), 0
        while True:
            match event := connection.next_event():
                case h11.NEED_DATA:
                    connection.receive_data(await reader.read(_BLOCK_BYTES))
                case h11.Request():
                    if event.method != b"POST" or not secrets.compare_digest(event.target, self._path.encode()):
                        return await _respond(connection, writer, 404)
                    self._on_push()
                case h11.Data():
                    length += len(event.data)
                    if length > MAX_PUSH_BYTES:
                        return await _respond(connection, writer, 413)
                case h11.EndOfMessage():
                    return await _respond(connection, writer, 200)
                case _:
                    return None


async def _respond(connection: h11.Connection, writer: asyncio.StreamWriter, status: int) -> None:
    headers = [("Content-Type", "application/json"), ("Content-Length", "2"), ("Connection", "close")]
    events = [h11.Response(status_code=status, headers=headers), h11.Data(data=b"{}"), h11.EndOfMessage()]
    writer.write(b"".join(connection.send(event) or b"" for event in events))
    await writer.drain()


class ChangeWatcher:
    """Watch one Volumio for changes."""

    def __init__(
        self, client: VolumioClient, read_state: Callable[[], Awaitable[PlayerState]], *, listen: int, poll: float
    ) -> None:
        """Create a watcher.

        Args:
            listen: port of the push server, 0 for any.
            poll: seconds between two reads of the state without push notifications.
        """
        self._client, self._read_state, self._listen, self._poll = client, read_state, listen, poll
        self._triggered = asyncio.Event()
        self._push_server = PushServer(self._triggered.set)
        self._monitor: asyncio.Task[None] | None = None
        self._local_host, self._monitor_opened_at = "", 0.0
        self._is_subscribed = False
        self._last_error = ""
        self.is_closed = False

    async def changes(self) -> AsyncIterator[frozenset[str]]:
        """Yield the names of changed subsystems, first all of them.

        Raises Unavailable when Volumio is lost.
        """
        try:
            state, read_at = await self._read_state(), _now()
            await self._ensure_subscription()
            self._triggered.set()  # for changes in the meantime
            yield ALL_SUBSYSTEMS
            while True:
                is_pushed = await self._wait()
                if not is_pushed:
                    await self._ensure_subscription()
                old_state, old_read_at = state, read_at
                state, read_at = await self._read_state(), _now()
                if names := changed_subsystems(old_state, state, read_at - old_read_at):
                    yield names
                if is_pushed:
                    await asyncio.sleep(_MIN_READ_INTERVAL)
        except Unavailable:
            self._is_subscribed = False  # there is no Volumio to unsubscribe from
            raise
        finally:
            await self.close()

    async def close(self) -> None:
        """Unsubscribe and stop; `changes()` then raises Unavailable."""
        if self.is_closed:
            return
        self.is_closed = True
        self._triggered.set()
        self._push_server.close()
        if self._monitor is not None:
            self._monitor.cancel()
        if self._is_subscribed:
            with contextlib.suppress(ApplianceError):
                await self._client.unsubscribe(self._push_server.url)

    async def _wait(self) -> bool:
        """Wait for a push or the next poll and return whether it was a push.

        Raises Unavailable when closed.
        """
        try:
            async with asyncio.timeout(self._poll * (SUBSCRIBED_POLL_FACTOR if self._is_subscribed else 1)):
                await self._triggered.wait()
        except TimeoutError:
            pass
        if self.is_closed:
            raise Unavailable("the connection to Volumio was closed")
        is_triggered = self._triggered.is_set()
        self._triggered.clear()
        return is_triggered and not (self._monitor and self._monitor.done())  # else Volumio ended or restarted

    async def _ensure_subscription(self) -> None:
        """Subscribe to push notifications; an error is logged once, and polling goes on."""
        try:
            if self._monitor is None or (self._monitor.done() and _now() - self._monitor_opened_at > 1):
                await self._open_monitor()  # at most once a second, for a server that closes at once
            if not self._push_server.url:
                await self._push_server.open(self._local_host, self._listen)
            urls = await self._client.push_urls()
            self._is_subscribed = self._push_server.url in urls
            if not self._is_subscribed:
                await self._client.subscribe(self._push_server.url)
                self._is_subscribed = True
                await self._remove_stale_urls([url for url in urls if isinstance(url, str)])
        except Unavailable:
            self._is_subscribed = False  # reading the state shows whether Volumio is lost
        except (ApplianceError, OSError) as error:
            self._is_subscribed = False
            if str(error) != self._last_error:
                _log.warning("music: no push notifications from Volumio (%s); polling every %g s", error, self._poll)
            self._last_error = str(error)

    async def _open_monitor(self) -> None:
        """Keep a connection open that breaks when Volumio ends, and store its local address."""
        try:
            reader, writer = await _connect(self._client.address)
        except (OSError, ValueError) as error:  # ValueError: an invalid host name
            raise self._client.unavailable(describe_network_error(str(error)) or "it does not answer") from None
        self._local_host, self._monitor_opened_at = writer.get_extra_info("sockname")[0], _now()
        self._monitor = asyncio.create_task(self._wait_until_broken(reader, writer))

    async def _wait_until_broken(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError):
                await reader.read(1)
            self._triggered.set()
        finally:
            writer.transport.abort()

    async def _remove_stale_urls(self, urls: list[str]) -> None:
        """Unsubscribe the URLs of appliances on this machine that were killed."""
        own = urlsplit(self._push_server.url)
        for url in urls:
            other = urlsplit(url)
            if other.hostname == own.hostname and other.path.startswith(PATH_PREFIX) and not await _is_open(url):
                await self._client.unsubscribe(url)


def changed_subsystems(before: PlayerState, after: PlayerState, seconds: float) -> frozenset[str]:
    """Return the MPD subsystems that differ between two states that are `seconds` apart."""
    attributes = {
        "playlist": ("queue_version", "queue_length"),
        "player": ("playback", "track", "bitrate", "audio_format", "error"),
        "mixer": ("volume", "muted"),
        "options": ("repeat", "random", "single", "consume"),
        "update": ("updating",),
    }
    changed = {
        name for name, keys in attributes.items() if any(getattr(before, key) != getattr(after, key) for key in keys)
    }
    if "update" in changed and after.updating is None:
        changed.add("database")
    if before.playback is after.playback and before.elapsed is not None and after.elapsed is not None:
        expected = seconds if after.playback == "play" else 0.0
        if abs(after.elapsed - before.elapsed - expected) > _SEEK_TOLERANCE:
            changed.add("player")
    return frozenset(changed)


async def _connect(address: tuple[str, int]) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    async with asyncio.timeout(STATE_TIMEOUT):
        return await asyncio.open_connection(*address)


async def _is_open(url: str) -> bool:
    address = urlsplit(url)
    try:
        _, writer = await _connect((address.hostname or "", address.port or 80))
    except (OSError, ValueError):
        return False
    writer.transport.abort()
    return True


def _now() -> float:
    return asyncio.get_running_loop().time()
