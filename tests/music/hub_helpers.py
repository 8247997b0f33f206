"""Helpers of the tests that run a player hub."""

import asyncio
import contextlib
import selectors
from collections.abc import AsyncIterator

from pi_appliance.music.player_hub import PlayerHub


class CountingSelector(selectors.DefaultSelector):
    """Count how often the event loop wakes up."""

    wakes = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.wakes += 1
        return super().select(timeout)


@contextlib.asynccontextmanager
async def running_hub(hub: PlayerHub) -> AsyncIterator[PlayerHub]:
    """Run `hub` during the block."""
    running = asyncio.create_task(hub.run())
    try:
        yield hub
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
