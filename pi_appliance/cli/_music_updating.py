"""What `music update --wait` does: update the library to the end, with a line that says how far it is."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress

from pi_appliance.cli import _music_text
from pi_appliance.cli._progress import ProgressLine
from pi_appliance.errors import Refused
from pi_appliance.model.music import Counts
from pi_appliance.ports_player import Player

_LOOK = 1.0  # seconds between two looks


async def updated(player: Player, folder: str) -> tuple[Counts, Counts]:
    """Update FOLDER to the end, and return how big the library was and is. How much is still to come, no MPD tells."""
    before = await player.counts()
    changes = player.changes()
    await anext(changes)  # from here on nothing is missed
    await player.update(folder)
    await _until_done(player, folder, changes)
    return before, await player.counts()


async def _until_done(player: Player, folder: str, changes: AsyncIterator[frozenset[str]]) -> None:
    bar, began = ProgressLine(), time.monotonic()
    change = asyncio.ensure_future(anext(changes))
    try:
        while (await player.state()).updating is not None:
            passed = _music_text.time(time.monotonic() - began)
            bar.show(None, f"{passed} looking for what is new{await _so_far(player, folder)}")
            await asyncio.wait({change}, timeout=_LOOK)
            if change.done():
                change.result()  # raises Unavailable if the player is lost
                change = asyncio.ensure_future(anext(changes))
    finally:
        change.cancel()
        await asyncio.gather(change, return_exceptions=True)
        bar.clear()


async def _so_far(player: Player, folder: str) -> str:
    """Return how much of FOLDER is known by now. Of the whole library MPD tells that only at the end."""
    if not folder:
        return ""
    with suppress(Refused):  # the folder itself is still to be found
        return f", {(await player.counts(folder)).tracks:,} tracks by now"
    return ""
