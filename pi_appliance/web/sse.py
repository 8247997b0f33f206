"""Server-sent events to one listener: what is new whenever there is news, and a sign of life when there is none."""

import asyncio
import contextlib
import json
import logging
import secrets
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Protocol

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from pi_appliance.errors import ApplianceError
from pi_appliance.web import state
from pi_appliance.web.interface import Daemon

log = logging.getLogger("pi_appliance.web")
_PING = 15.0  # seconds of silence after which a line says that the line is alive
# The comment is for whatever stands between, the event for the page.
_SIGN_OF_LIFE = b": ping\nevent: ping\ndata:\n\n"


class Source(Protocol):
    """Where events come from."""

    closed: bool

    def listening(self) -> AbstractContextManager[asyncio.Event]:
        """Give an event that is set whenever there is news; there is some at once."""

    def greeting(self) -> bytes:
        """Return what every listener hears first."""

    def news(self, place: int | None) -> tuple[bytes, int | None]:
        """Return what came after PLACE (None: everything) and the new place; b'' if nothing did. Raises ApplianceError.

        What it returns is bounded: there may be more behind it.
        """


class Listeners:
    """Those who are told when something is new."""

    def __init__(self) -> None:
        self._all: set[asyncio.Event] = set()

    def __bool__(self) -> bool:
        """Say whether anybody listens."""
        return bool(self._all)

    @contextlib.contextmanager
    def one_more(self) -> Iterator[asyncio.Event]:
        """Give the event of one more listener for the block."""
        news = asyncio.Event()
        news.set()
        self._all.add(news)
        try:
            yield news
        finally:
            self._all.discard(news)

    def wake(self) -> None:
        """Tell them."""
        for news in self._all:
            news.set()


class EventStream(Response):
    """A stream of events, from PLACE on. Little waits for a slow listener: he skips to the newest."""

    media_type = "text/event-stream"

    def __init__(self, source: Source, place: int | None = None) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._source, self._place = source, place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the listener goes, or the source is closed."""
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        if scope["method"] == "GET":
            gone = asyncio.create_task(_until_gone(receive))
            try:
                with self._source.listening() as news:
                    gone.add_done_callback(lambda _: news.set())
                    await self._tell(send, news, gone)
            finally:
                gone.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _tell(self, send: Send, news: asyncio.Event, gone: asyncio.Task[None]) -> None:
        body = b"retry: 2000\n\n" + self._source.greeting()
        while not (self._source.closed or gone.done()):
            if body:
                await send({"type": "http.response.body", "body": body, "more_body": True})
            news.clear()
            body = self._next()
            if not body:
                try:
                    await asyncio.wait_for(news.wait(), _PING)
                except TimeoutError:
                    body = _SIGN_OF_LIFE

    def _next(self) -> bytes:
        try:
            body, self._place = self._source.news(self._place)
        except ApplianceError as error:
            log.warning("the page cannot be kept live: %s", error)
            return b""
        return body


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


_MOST = 500  # events; an evening of music has fewer, and they take half a megabyte
_AT_ONCE = 20  # events handed out in one piece: what waits in memory for a slow phone


class ReplayBuffer:
    """Events as the bytes that go to every phone. Ids are EPOCH-NUMBER; another epoch is another life of the daemon."""

    def __init__(self, most: int = _MOST) -> None:
        self.number = 0
        self._epoch = secrets.token_hex(4)
        self._events: deque[bytes] = deque(maxlen=most)

    def add(self, name: str, data: Mapping[str, Any]) -> None:
        """Add the event NAME."""
        self.number += 1
        self._events.append(encoded(name, data, self.id))

    @property
    def id(self) -> str:
        """The id of the newest event, or of the moment before the first one."""
        return f"{self._epoch}-{self.number}"

    def place(self, told: str) -> int | None:
        """Return the number of the event with the id TOLD; None if what came after it is not known (any more)."""
        epoch, _, number = told.partition("-")
        if epoch != self._epoch or not (number.isascii() and number.isdigit() and len(number) < 20):
            return None
        return int(number) if self._holds_all_after(int(number)) else None

    def after(self, number: int) -> tuple[bytes, int] | None:
        """Return what came after NUMBER, or the first of it, and the number it goes up to.

        None if some of it is forgotten.
        """
        if not self._holds_all_after(number):
            return None
        first = len(self._events) - (self.number - number)
        found = [self._events[place] for place in range(first, min(first + _AT_ONCE, len(self._events)))]
        return b"".join(found), number + len(found)

    def _holds_all_after(self, number: int) -> bool:
        return self.number - len(self._events) <= number <= self.number


def encoded(name: str, data: Mapping[str, Any], number: str = "") -> bytes:
    """Return the server-sent event NAME; without NUMBER it does not count as one that was missed or not."""
    told = json.dumps(data, separators=(",", ":"))  # one line, whatever is in it
    return (f"id: {number}\n" if number else "").encode() + f"event: {name}\ndata: {told}\n\n".encode()


_LOOK = 1.0  # seconds between two looks at the history
_LOOK_ANYWAY = 30  # looks after which the jobs are read anew: slots pass without a word
_FRESH = 0.5  # seconds for which one reading of the state is good for all who ask; time passes in it


class Feed:
    """Tells every listener of /events the whole state when something changed."""

    def __init__(self, daemon: Daemon, now: Callable[[], datetime]) -> None:
        self._daemon, self._now = daemon, now
        self._listeners = Listeners()
        self._tasks: list[asyncio.Task[None]] = []
        self._ring = ReplayBuffer(1)  # the newest says all
        self._read = (-1, 0.0)  # of which event the ring has the state, and when that was read
        self._number = 0
        self.closed = False

    @contextlib.contextmanager
    def listening(self) -> Iterator[asyncio.Event]:
        """Give an event that is set whenever there is news; there is some at once."""
        try:
            with self._listeners.one_more() as news:
                if not self._tasks:
                    looks = (self._hear_the_player(), self._look_at_the_jobs())
                    self._tasks = [asyncio.create_task(look) for look in looks]
                yield news
        finally:
            if not self._listeners:
                self._rest()

    def greeting(self) -> bytes:
        """Return nothing: the state comes at once."""
        return b""

    def news(self, place: int | None) -> tuple[bytes, int | None]:
        """Return the state of this moment unless it is that of PLACE; one reading is for all. Raises ApplianceError."""
        if place == self._number:
            return b"", place
        moment = asyncio.get_running_loop().time()
        number, read = self._read
        if number != self._number or moment - read > _FRESH:
            self._ring.add("state", state.state(self._daemon, self._now()))
            self._read = (self._number, moment)
        found = self._ring.after(self._ring.number - 1)
        return found[0] if found else b"", self._number

    def close(self) -> None:
        """End every stream."""
        self.closed = True
        self._tell()
        self._rest()

    def _tell(self) -> None:
        self._number += 1
        self._listeners.wake()

    def _rest(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._tasks = []

    async def _hear_the_player(self) -> None:
        async for _ in self._daemon.hub.watch():
            self._tell()

    async def _look_at_the_jobs(self) -> None:
        version, looks, jobs = None, 0, list[dict[str, Any]]()
        told: Any = None
        while True:
            with contextlib.suppress(ApplianceError):  # told to whoever asks for the state
                store, before = self._daemon.appliance.store, version
                version = store.version()
                if version != before or looks % _LOOK_ANYWAY == 0 or _is_busy(jobs):
                    jobs = state.jobs(self._daemon.appliance, self._now())
                now = jobs, state.scheduler(self._daemon.scheduler)
                if now != told:
                    told = now
                    self._tell()
            looks += 1
            await asyncio.sleep(_LOOK)


def _is_busy(jobs: list[dict[str, Any]]) -> bool:
    return any(job["running"] for job in jobs)
