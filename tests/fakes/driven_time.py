"""Virtual time: a test advances it, and sleeping tasks wake in order."""

import asyncio
import heapq
from datetime import UTC, datetime, timedelta
from itertools import count

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
_TURNS = 30  # iterations of the event loop, enough for all woken tasks


class DrivenTime:
    """A settable wall clock and a monotonic clock, which `sleep` uses."""

    def __init__(self, wall: datetime = NOON) -> None:
        self.wall, self.monotonic_time = wall, 1000.0
        self.sleeps = list[float]()  # the durations of all sleeps so far
        self._sleepers = list[tuple[float, int, asyncio.Future[None]]]()
        self._number = count()

    def now(self) -> datetime:
        return self.wall

    def monotonic(self) -> float:
        return self.monotonic_time

    @property
    def sleepers(self) -> int:
        """The number of sleeping tasks."""
        return sum(not each[2].done() for each in self._sleepers)

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        waiting = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.monotonic_time + seconds, next(self._number), waiting))
        await waiting

    async def settle(self) -> None:
        """Let all tasks run that are ready now."""
        for _ in range(_TURNS):
            await asyncio.sleep(0)

    async def advance(self, seconds: float) -> None:
        """Advance the time; sleeping tasks wake at their time."""
        await self.settle()
        until = self.monotonic_time + seconds
        while self._sleepers and self._sleepers[0][0] <= until:
            at, _, waiting = heapq.heappop(self._sleepers)
            if waiting.done():
                continue
            self._advance_clocks(at - self.monotonic_time)
            waiting.set_result(None)
            await self.settle()
        self._advance_clocks(until - self.monotonic_time)
        await self.settle()

    def _advance_clocks(self, seconds: float) -> None:
        self.monotonic_time += seconds
        self.wall += timedelta(seconds=seconds)
