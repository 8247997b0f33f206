"""Volumio's REST API: requests and their errors, and the changes that it reports.

Volumio sends each push notification once and forgets the subscribers when it restarts. So a
notification only triggers reading the state. Without notifications the state is polled every few
seconds; with them it is polled less often, to check whether the subscription still exists.
"""

import asyncio
import contextlib
import json
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import h11

from pi_appliance.errors import ApplianceError, Refused, Unavailable, Uncertain
from pi_appliance.music.model import PlayerState
from pi_appliance.system import http
from pi_appliance.system.http import HttpResponse, NoResponse, describe_network_error

NOT_A_VOLUMIO = "the program there is not a Volumio"
STATE_TIMEOUT = 1.0  # seconds to read the state. It is read before each command, which detects a Volumio that hangs
REPLY_TIMEOUT = 5.0  # seconds for an answer, unless another limit is given
LIST_TIMEOUT = 20.0  # seconds for a list of a big library on a Pi
_MAX_BYTES = 32_000_000  # bytes of such a list
_MAX_STATE_BYTES = 1_000_000
_THREAD_BYTES = 200_000  # bytes: longer JSON is parsed in a thread, so that the event loop is not blocked
MAX_PUSH_BYTES = 4_000_000  # bytes: the queue of some thousand tracks
PATH_PREFIX = "/pi-appliance/"
_PUSH_TIMEOUT = 5.0  # seconds to receive a notification; Volumio gives up after 2
_MAX_CLIENTS = 8
_BLOCK_BYTES = 65_536

ALL_SUBSYSTEMS = frozenset({"database", "update", "stored_playlist", "playlist", "player", "mixer", "options"})
SUBSCRIBED_POLL_FACTOR = 6  # factor by which the poll interval is longer while notifications arrive
_MIN_READ_INTERVAL = 0.05  # shortest time in seconds between two reads of the state
_SEEK_TOLERANCE = 2.0  # seconds by which the elapsed time may differ without counting as a seek
_log = logging.getLogger(__name__)


class VolumioClient:
    """The REST API of one Volumio.

    Every answer is an object or a list, or an error of the appliance.
    """

    def __init__(self, name: str, address: tuple[str, int], *, state_timeout: float = STATE_TIMEOUT) -> None:
        """Create a client; `name` is the `address` as the owner wrote it, for messages."""
        self.name, self.address = name, address
        self._state_timeout = state_timeout  # in seconds

    async def state(self) -> Mapping[str, Any]:
        """Return the reply of getState.

        Raises Unavailable within about a second without a Volumio.
        """
        state = await self._request("GET", "getState", seconds=self._state_timeout, max_bytes=_MAX_STATE_BYTES)
        if not isinstance(state, dict) or state.get("status") not in ("play", "pause", "stop"):
            raise self.unavailable(NOT_A_VOLUMIO)
        return state

    async def queue(self) -> list[Mapping[str, Any]]:
        """Return all items of the queue."""
        reply = await self._request("GET", "getQueue")
        items = reply.get("queue") if isinstance(reply, dict) else None
        if not isinstance(items, list):
            raise self.unavailable(NOT_A_VOLUMIO)
        return only_objects(items)

    async def command(self, name: str, *, non_idempotent: str = "", **values: str | int) -> None:
        """Send a command. Volumio replies "Success" even if the command fails.

        Args:
            non_idempotent: name for users of a command that must not be repeated; if the reply is
                lost, this raises Uncertain.
        """
        query = urlencode({"cmd": name, **values}, quote_via=quote, errors="replace")
        _raise_for_error(await self._request("GET", f"commands/?{query}", non_idempotent=non_idempotent))

    async def post(self, route: str, data: object, *, non_idempotent: str) -> None:
        """Send `data` as JSON. Arguments and errors are those of `command()`."""
        _raise_for_error(await self._request("POST", route, data, non_idempotent=non_idempotent, seconds=LIST_TIMEOUT))

    async def get(self, route: str, **query: str) -> Any:
        """Return the reply of `route`. Raises Refused if it is an error."""
        target = f"{route}?{urlencode(query, quote_via=quote, errors='replace')}" if query else route
        reply = await self._request("GET", target, seconds=LIST_TIMEOUT)
        _raise_for_error(reply)
        return reply

    async def push_urls(self) -> list[Any]:
        """Return the URLs that receive push notifications."""
        reply = await self._request("GET", "pushNotificationUrls")
        return reply if isinstance(reply, list) else []

    async def subscribe(self, url: str) -> None:
        """Send push notifications to `url` until Volumio restarts."""
        reply = await self._request("POST", "pushNotificationUrls", {"url": url})
        if reply != {"error": "URL already present"}:
            _raise_for_error(reply)

    async def unsubscribe(self, url: str) -> None:
        """Stop push notifications to `url`."""
        await self._request("DELETE", "pushNotificationUrls", {"url": url}, seconds=STATE_TIMEOUT)

    async def image(self, target: str) -> HttpResponse:
        """Return the answer for an image path, such as /albumart?path=USB."""
        return await self._exchange("GET", target, None, seconds=REPLY_TIMEOUT, max_bytes=_MAX_BYTES)

    def unavailable(self, reason: str) -> Unavailable:
        """Return the error for a Volumio that is not reached."""
        return Unavailable(
            f"Volumio at {self.name} is not reached: {reason}; start it or correct `address` under `player:`"
        )

    def uncertain(self, command: str) -> Uncertain:
        """Return the error for a command that was sent and may have been executed."""
        return Uncertain(f"Volumio at {self.name} did not answer {command!r}; check whether it was done, then continue")

    async def _request(
        self,
        method: str,
        target: str,
        data: object = None,
        *,
        non_idempotent: str = "",
        seconds: float = REPLY_TIMEOUT,
        max_bytes: int = _MAX_BYTES,
    ) -> Any:
        body = None if data is None else json.dumps(data).encode()
        response = await self._exchange(
            method, f"/api/v1/{target}", body, non_idempotent=non_idempotent, seconds=seconds, max_bytes=max_bytes
        )
        if response.status != 200:
            raise self._status_error(response.status, target.partition("?")[0])
        try:
            if len(response.body) > _THREAD_BYTES:
                return await asyncio.to_thread(json.loads, response.body)
            return json.loads(response.body)
        except (ValueError, RecursionError):
            raise self._lost_reply(NOT_A_VOLUMIO, non_idempotent) from None

    async def _exchange(
        self,
        method: str,
        target: str,
        body: bytes | None,
        *,
        non_idempotent: str = "",
        seconds: float,
        max_bytes: int,
    ) -> HttpResponse:
        host, port = self.address
        url = f"http://{f'[{host}]' if ':' in host else host}:{port}{target}"
        headers = {"Content-Type": "application/json"} if body is not None else {}
        try:
            response = await http.request(
                method, url, seconds=seconds, max_bytes=max_bytes, body=body, headers=headers, use_proxy=False
            )
        except NoResponse as error:
            reason = str(error) if error.is_http else NOT_A_VOLUMIO
            raise self._lost_reply(reason, non_idempotent if error.is_sent else "") from None
        if response.is_truncated:
            raise self._lost_reply("its answer is too long", non_idempotent)
        return response

    def _lost_reply(self, reason: str, non_idempotent: str) -> ApplianceError:
        return self.uncertain(non_idempotent) if non_idempotent else self.unavailable(reason)

    def _status_error(self, status: int, route: str) -> ApplianceError:
        if route == "getState":
            return self.unavailable(NOT_A_VOLUMIO)
        if status == 404:
            return Refused(f"Volumio at {self.name} does not know {route!r}; update it")
        return Refused(f"Volumio at {self.name} answers {route!r} with the error {status}; see its own page")


def _raise_for_error(reply: Any) -> None:
    error = reply.get("error", reply.get("Error")) if isinstance(reply, dict) else None
    if error is not None:
        message = error if isinstance(error, str) and error else "the command failed, without a reason"
        raise Refused(f"Volumio says: {message}")


def only_objects(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects in a JSON list; empty for anything else."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


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
                        # everything is read, or the kernel would drop the answer
                        while await reader.read(_BLOCK_BYTES):
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
    """Reports changes of one Volumio."""

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
        """Yield the names of changed subsystems, at first all of them.

        Raises Unavailable when Volumio is lost.

        Raises Unavailable when Volumio is lost.
        """
        try:
            state, read_at = await self._read_state(), _now()
            await self._ensure_subscription()
            self._triggered.set()  # something may have changed meanwhile
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
            self._is_subscribed = False  # Volumio is gone, so there is nothing to unsubscribe from
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
        # a broken monitor connection means that Volumio ended or restarted
        return is_triggered and not (self._monitor and self._monitor.done())

    async def _ensure_subscription(self) -> None:
        """Subscribe to push notifications; an error is logged once, and polling continues."""
        try:
            if self._monitor is None or (self._monitor.done() and _now() - self._monitor_opened_at > 1):
                await self._open_monitor()  # at most once a second, in case Volumio closes each connection at once
            if not self._push_server.url:
                await self._push_server.open(self._local_host, self._listen)
            urls = await self._client.push_urls()
            self._is_subscribed = self._push_server.url in urls
            if not self._is_subscribed:
                await self._client.subscribe(self._push_server.url)
                self._is_subscribed = True
                await self._remove_stale_urls([url for url in urls if isinstance(url, str)])
        except Unavailable:
            self._is_subscribed = False  # if Volumio is lost, reading the state shows it
        except (ApplianceError, OSError) as error:
            self._is_subscribed = False
            if str(error) != self._last_error:
                _log.warning("music: no push notifications from Volumio (%s); polling every %g s", error, self._poll)
            self._last_error = str(error)

    async def _open_monitor(self) -> None:
        """Open a connection that breaks when Volumio ends, and store its local address."""
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
