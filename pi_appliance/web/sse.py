"""Server-sent events: streams that send each change, and a keep-alive line between changes."""

import asyncio
import contextlib
import json
import logging
import secrets
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from pi_appliance.errors import ApplianceError
from pi_appliance.operations import to_json

log = logging.getLogger("pi_appliance.web")
_PING_INTERVAL = 15.0  # seconds without an event before a keep-alive
# The comment keeps proxies from closing the connection. The event tells the page that it works.
_KEEP_ALIVE = b": ping\nevent: ping\ndata:\n\n"


class EventSource(Protocol):
    """A source of events for any number of streams."""

    @property
    def closed(self) -> bool:
        """Whether every stream has to end."""

    def listening(self) -> AbstractContextManager[asyncio.Event]:
        """Register a listener for the block; its event is set at once and after each change."""

    def initial_events(self) -> bytes:
        """Return the events that every stream begins with."""

    def next_events(self, position: int | None) -> tuple[bytes, int | None]:
        """Return the events after `position` and the new position.

        Args:
            position: None stands for the beginning.

        Returns:
            The encoded events, b"" if there are none. Their number is bounded: more may follow.

        Raises:
            ApplianceError: the state cannot be read.

        """


class Listeners:
    """The events by which open streams are notified of a change."""

    def __init__(self) -> None:
        self._events: set[asyncio.Event] = set()

    def __bool__(self) -> bool:
        return bool(self._events)

    @contextlib.contextmanager
    def register(self) -> Iterator[asyncio.Event]:
        """Yield the event of a new listener.

        It is set at once, so that the listener reads the first state.
        """
        changed = asyncio.Event()
        changed.set()
        self._events.add(changed)
        try:
            yield changed
        finally:
            self._events.discard(changed)

    def wake(self) -> None:
        """Notify every listener of a change."""
        for event in self._events:
            event.set()


class EventStream(Response):
    """A response that streams events. A slow client skips to the newest state."""

    media_type = "text/event-stream"

    def __init__(self, source: EventSource, position: int | None = None) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._source, self._position = source, position

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the client disconnects or the source is closed."""
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        if scope["method"] == "GET":
            disconnected = asyncio.create_task(_wait_for_disconnect(receive))
            try:
                with self._source.listening() as changed:
                    disconnected.add_done_callback(lambda _: changed.set())
                    await self._send_events(send, changed, disconnected)
            finally:
                disconnected.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_events(self, send: Send, changed: asyncio.Event, disconnected: asyncio.Task[None]) -> None:
        body = b"retry: 2000\n\n" + self._source.initial_events()
        while not (self._source.closed or disconnected.done()):
            if body:
                await send({"type": "http.response.body", "body": body, "more_body": True})
            changed.clear()
            body = self._read_events()
            if not body:
                try:
                    async with asyncio.timeout(_PING_INTERVAL):
                        await changed.wait()
                except TimeoutError:
                    body = _KEEP_ALIVE

    def _read_events(self) -> bytes:
        try:
            body, self._position = self._source.next_events(self._position)
        except ApplianceError as error:
            log.warning("live updates are interrupted: error=%s", error)
            return b""
        return body


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


_MAX_EVENTS = 500  # more than an evening of music has; half a megabyte
_MAX_BATCH = 20  # events sent at a time, which limits the memory for a slow client


class ReplayBuffer:
    """The newest events, encoded, so that a client can continue after a lost connection.

    An id is EPOCH-NUMBER. Each start of the daemon has another epoch.
    """

    def __init__(self, max_events: int = _MAX_EVENTS) -> None:
        self.number = 0
        self._epoch = secrets.token_hex(4)
        self._events: deque[bytes] = deque(maxlen=max_events)

    def add(self, name: str, data: Mapping[str, Any]) -> None:
        """Append the event `name`."""
        self.number += 1
        self._events.append(encode_event(name, data, self.id))

    @property
    def id(self) -> str:
        """The id of the newest event, or the id before the first one."""
        return f"{self._epoch}-{self.number}"

    def position_of(self, event_id: str) -> int | None:
        """Return the number of the event `event_id`.

        It is None if events after it are not stored any more.
        """
        epoch, _, number = event_id.partition("-")
        if epoch != self._epoch or not (number.isascii() and number.isdigit() and len(number) < 20):
            return None
        return int(number) if self._has_all_after(int(number)) else None

    def events_after(self, number: int) -> tuple[bytes, int] | None:
        """Return a batch of events after `number`, and its last number.

        It is None if some of these events are not stored any more.
        """
        if not self._has_all_after(number):
            return None
        first = len(self._events) - (self.number - number)
        batch = [self._events[index] for index in range(first, min(first + _MAX_BATCH, len(self._events)))]
        return b"".join(batch), number + len(batch)

    def _has_all_after(self, number: int) -> bool:
        return self.number - len(self._events) <= number <= self.number


def encode_event(name: str, data: Mapping[str, Any], event_id: str = "") -> bytes:
    """Return the server-sent event `name`.

    Without an id, a client cannot resume after this event.
    """
    text = json.dumps(to_json(data), separators=(",", ":"))  # JSON without line breaks, whatever the data contains
    return (f"id: {event_id}\n" if event_id else "").encode() + f"event: {name}\ndata: {text}\n\n".encode()
