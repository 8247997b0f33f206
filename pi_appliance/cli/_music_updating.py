"""What `music update --wait` does: update the library to the end, with a line that says how long it takes already."""

import asyncio
import time
from collections.abc import AsyncIterator

from pi_appliance.cli import _music_text
from pi_appliance.cli._progress import ProgressLine
from pi_appliance.model.music import Counts
from pi_appliance.ports_player import Player

_LOOK = 1.0  # seconds between two looks


async def updated(player: Player, folder: str) -> tuple[Counts, Counts]:
    """Update FOLDER to the end, and return how big the library was and is. How much is still to come, MPD says not."""
    before = await player.counts()
    changes = player.changes()
    await anext(changes)  # from here on nothing is missed
    await player.update(folder)
    await _until_done(player, changes)
    return before, await player.counts()


async def _until_done(player: Player, changes: AsyncIterator[frozenset[str]]) -> None:
    bar, began = ProgressLine(), time.monotonic()
    change = asyncio.ensure_future(anext(changes))
    try:
        while (await player.state()).updating is not None:
            bar.show(None, f"looking for what is new for {_music_text.time(time.monotonic() - began)}")
            await asyncio.wait({change}, timeout=_LOOK)
            if change.done():
                change.result()  # raises Unavailable if the player is lost
                change = asyncio.ensure_future(anext(changes))
    finally:
        change.cancel()
        await asyncio.gather(change, return_exceptions=True)
        bar.clear()
