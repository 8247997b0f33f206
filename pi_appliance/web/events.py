"""The page kept live by server-sent events: one event `state` each time the player, a job or the clock changes.

Runs are written to the history by processes of their own, so while somebody listens its version is looked at once a
second; while nobody listens, nothing is done at all. Each event is the whole state: whoever comes back needs no other.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from pi_appliance.errors import ApplianceError
from pi_appliance.web import values
from pi_appliance.web.ring import Ring
from pi_appliance.web.streams import Listeners
from pi_appliance.web.world import Daemon

_LOOK = 1.0  # seconds between two looks at the history
_LOOK_ANYWAY = 30  # looks after which the jobs are read anew: slots pass without a word
_FRESH = 0.5  # seconds for which one reading of the state is good for all who ask; time passes in it


class Feed:
    """Tells every listener of /events the whole state when something changed."""

    def __init__(self, daemon: Daemon, now: Callable[[], datetime]) -> None:
        self._daemon, self._now = daemon, now
        self._listeners = Listeners()
        self._tasks: list[asyncio.Task[None]] = []
        self._ring = Ring(1)  # the newest says all
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
            self._ring.add("state", values.state(self._daemon, self._now()))
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
                    jobs = values.jobs(self._daemon.appliance, self._now())
                now = jobs, values.scheduler(self._daemon.scheduler)
                if now != told:
                    told = now
                    self._tell()
            looks += 1
            await asyncio.sleep(_LOOK)


def _is_busy(jobs: list[dict[str, Any]]) -> bool:
    return any(job["running"] for job in jobs)
