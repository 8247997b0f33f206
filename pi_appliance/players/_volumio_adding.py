"""Putting something into Volumio's queue, and seeing whether it came: Volumio says Success for the unknown, too."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from pi_appliance.errors import Refused, Unavailable
from pi_appliance.model.music import Added, Source, Track, Where
from pi_appliance.players._volumio_lacks import refuse
from pi_appliance.players._volumio_library import Library
from pi_appliance.players._volumio_rest import Rest

SETTLES = 1.0  # seconds in which the effect of a command must show
AGAIN = 0.1  # seconds until the next look


class Adding:
    """Puts things into the queue, which TRACKS reads."""

    def __init__(self, rest: Rest, library: Library, tracks: Callable[[], Awaitable[list[Track]]]) -> None:
        self._rest, self._library, self._tracks = rest, library, tracks
        self._one = asyncio.Lock()  # two stations at once would mix their queues

    async def add(self, source: Source, where: Where, play: bool) -> Added:
        """Put SOURCE into the queue and return what came. Raises Refused for the unknown, before anything is done."""
        if where is Where.NEXT:
            refuse("put something behind the current track", "add it to the end, or do it on Volumio's own page")
        await self._rest.state()
        async with self._one:
            found = await self._library.find(source)
            before = len(await self._tracks()) if where is Where.END else 0
            if where is Where.INSTEAD and not play:
                await self._rest.command("clearQueue")
            try:
                await self._send(found.items, where, play)
                return await self._came(found.name, before, play)
            except Unavailable:  # after something was done
                raise self._rest.uncertain("add") from None

    async def length(self, true: Callable[[int], bool]) -> int:
        """Look at the queue until TRUE holds for its length, or a second has passed; return its length."""
        ends = _now() + SETTLES
        while True:
            length = len(await self._tracks())
            if true(length) or _now() >= ends:
                return length
            await asyncio.sleep(AGAIN)

    async def _send(self, items: Sequence[Mapping[str, Any]], where: Where, play: bool) -> None:
        data: Any = items[0] if len(items) == 1 else list(items)
        if where is Where.INSTEAD and play:
            instead = data if len(items) == 1 else {"list": data, "index": 0}
            await self._rest.post("replaceAndPlay", instead, once="add")
        else:
            await self._rest.post("addPlay" if play else "addToQueue", data, once="add")

    async def _came(self, name: str, before: int, play: bool) -> Added:
        length = await self.length(lambda length: length > before)
        if length > before:
            return Added(name=name, position=before, count=length - before)
        if play and before:  # what the queue ends with already is played, and not added again
            return Added(name=name, position=int((await self._rest.state()).get("position") or 0), count=0)
        why = "Volumio cannot play it, or its queue ends with it already"
        raise Refused(f"Volumio said Success, but {name} is not added: {why}")


def _now() -> float:
    return asyncio.get_running_loop().time()
