"""News for many: each listener hears, in one, all that changed since he last heard."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

CONNECTION = "connection"  # among the names of what changed: the player came, went or is another one
Nap = Callable[[float], Awaitable[None]]


class Listener:
    """What one listener has not heard yet; at first, that everything is new."""

    def __init__(self) -> None:
        self._names: frozenset[str] = frozenset({CONNECTION})
        self._some = asyncio.Event()
        self._some.set()

    def hear(self, names: frozenset[str]) -> None:
        """Keep NAMES until he listens."""
        self._names |= names
        self._some.set()

    async def news(self) -> frozenset[str]:
        """Wait for news and return what changed. May be cancelled: nothing is lost by that."""
        await self._some.wait()
        self._some.clear()
        names, self._names = self._names, frozenset()
        return names

    async def news_within(self, seconds: float | None, nap: Nap = asyncio.sleep) -> frozenset[str]:
        """Wait for news for SECONDS at the most, as NAP counts them; None: however long. Nothing: it took longer."""
        if seconds is None:
            return await self.news()
        if self._some.is_set():
            return await self.news()
        some, over = asyncio.ensure_future(self._some.wait()), asyncio.ensure_future(nap(seconds))
        try:
            await asyncio.wait({some, over}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            some.cancel()
            over.cancel()
        return await self.news() if self._some.is_set() else frozenset()


class News:
    """Tells every listener."""

    def __init__(self) -> None:
        self._listeners: set[Listener] = set()

    def tell(self, names: frozenset[str]) -> None:
        """Let everybody who listens know that NAMES changed."""
        for listener in self._listeners:
            listener.hear(names)

    @contextmanager
    def listening(self) -> Iterator[Listener]:
        """Give a listener, who hears until the end of the block."""
        listener = Listener()
        self._listeners.add(listener)
        try:
            yield listener
        finally:
            self._listeners.discard(listener)
