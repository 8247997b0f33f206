"""The page kept live by server-sent events: one event `state` each time the player, a job or the clock changes.

Runs are written to the history by processes of their own, so while somebody listens its version is looked at once a
second; while nobody listens, nothing is done at all.
"""

import asyncio
import contextlib
import json
import logging
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from pi_appliance.errors import ApplianceError
from pi_appliance.web import values
from pi_appliance.web.world import Daemon

log = logging.getLogger("pi_appliance.web")
_LOOK = 1.0  # seconds between two looks at the history
_LOOK_ANYWAY = 30  # looks after which the jobs are read anew: slots pass without a word
_PING = 15.0  # seconds of silence after which a line says that the line is alive


class Feed:
    """Tells every listener when something changed."""

    def __init__(self, daemon: Daemon, now: Callable[[], datetime]) -> None:
        self._daemon, self._now = daemon, now
        self._listeners: set[asyncio.Event] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._number = 0
        self.closed = False

    @contextlib.contextmanager
    def listening(self) -> Iterator[asyncio.Event]:
        """Give an event that is set whenever there is news; there is some at once."""
        news = asyncio.Event()
        news.set()
        self._listeners.add(news)
        if not self._tasks:
            self._tasks = [asyncio.create_task(self._hear_the_player()), asyncio.create_task(self._look_at_the_jobs())]
        try:
            yield news
        finally:
            self._listeners.discard(news)
            if not self._listeners:
                self._rest()

    def event(self) -> bytes:
        """Return the state of this moment as one event. Raises ApplianceError."""
        state = json.dumps(values.state(self._daemon, self._now()), separators=(",", ":"))
        return f"id: {self._number}\nevent: state\ndata: {state}\n\n".encode()

    def close(self) -> None:
        """End every stream."""
        self.closed = True
        self._tell()
        self._rest()

    def _tell(self) -> None:
        self._number += 1
        for news in self._listeners:
            news.set()

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
                    jobs = values.jobs(self._daemon.appliance, self._now())
                now = jobs, values.scheduler(self._daemon.scheduler)
                if now != told:
                    told = now
                    self._tell()
            looks += 1
            await asyncio.sleep(_LOOK)


def _is_busy(jobs: list[dict[str, Any]]) -> bool:
    return any(job["running"] for job in jobs)


class EventStream(Response):
    """The answer to GET /events."""

    media_type = "text/event-stream"

    def __init__(self, feed: Feed) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._feed = feed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the listener goes, or the feed is closed."""
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        if scope["method"] == "GET":
            gone = asyncio.create_task(_until_gone(receive))
            try:
                with self._feed.listening() as news:
                    gone.add_done_callback(lambda _: news.set())
                    await self._tell(send, news, gone)
            finally:
                gone.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _tell(self, send: Send, news: asyncio.Event, gone: asyncio.Task[None]) -> None:
        body = b"retry: 2000\n\n"
        while True:
            await send({"type": "http.response.body", "body": body, "more_body": True})
            body = b": ping\nevent: ping\ndata:\n\n"  # the comment for whatever stands between, the event for the page
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(news.wait(), _PING)
            if self._feed.closed or gone.done():
                return
            if news.is_set():
                news.clear()
                try:
                    body = self._feed.event()
                except ApplianceError as error:
                    log.warning("the page cannot be kept live: %s", error)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
