"""Server-sent events to one listener: what is new whenever there is news, and a sign of life when there is none."""

import asyncio
import contextlib
import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Protocol

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from pi_appliance.errors import ApplianceError

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
