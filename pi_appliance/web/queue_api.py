"""The API of the queue: a window of it, and all that changes it."""

import asyncio

from pi_appliance.model.music import Where
from pi_appliance.web import music_values
from pi_appliance.web.actions import Actions
from pi_appliance.web.endpoints import COUNT, START, Call, Endpoint
from pi_appliance.web.keys import choice, flag, several, text, whole
from pi_appliance.web.source_keys import SOURCE, source_of
from pi_appliance.web.world import Daemon

_ID = whole("id", "of a track in the queue: it stays its own while the queue changes", 0, 2**31, needed=True)
_IDS = several(whole("ids", "of tracks in the queue", 0, 2**31, needed=True), 5000)
_TO = whole("to", "the place it comes to, from 0", 0, 10_000_000, needed=True)
_NAME = text("name", "what to call the playlist", 200, needed=True)
_LONG = 128 * 1024  # bytes: 5000 ids of the longest kind, and their commas


class QueueApi:
    """The endpoints under /player/queue."""

    def __init__(self, daemon: Daemon, actions: Actions) -> None:
        self._daemon, self._actions = daemon, actions

    def endpoints(self) -> list[Endpoint]:
        """Return every row."""
        return [
            *(
                Endpoint(
                    method="GET",
                    path=path,
                    what="A window of what plays next.",
                    act=self.window,
                    query=(START, COUNT),
                    answer="Queue",
                )
                for path in ("/queue", "/player/queue")
            ),
            Endpoint(
                method="POST",
                path="/player/queue/add",
                what="Put something into the queue, and play it if that is wanted.",
                act=self.add,
                body=(
                    *SOURCE,
                    choice("where", "at the end, behind the current track, or instead of all", Where),
                    flag("play", "whether its first track is played at once"),
                ),
                answer="Added",
                example={"source": "artist:Miles Davis", "where": "next"},
            ),
            Endpoint(
                method="POST",
                path="/player/queue/move",
                what="Move a track.",
                act=self.move,
                body=(_ID, _TO),
                example={"id": 2, "to": 0},
            ),
            Endpoint(
                method="POST",
                path="/player/queue/remove",
                what="Take tracks out. Those that are gone already do not count.",
                act=self.remove,
                body=(_IDS,),
                largest=_LONG,
                example={"ids": [2]},
            ),
            Endpoint(method="POST", path="/player/queue/clear", what="Empty the queue.", act=self.clear),
            Endpoint(method="POST", path="/player/queue/shuffle", what="Put it into a random order.", act=self.shuffle),
            Endpoint(
                method="POST",
                path="/player/queue/save",
                what="Keep the queue as a playlist.",
                act=self.save,
                body=(_NAME, flag("replace", "whether a playlist of that name may be replaced", otherwise=False)),
                answer="Saved",
                example={"name": "Evening"},
            ),
        ]

    async def window(self, call: Call) -> object:
        """Return a window of what plays next."""
        player = await self._daemon.hub.player()
        return music_values.queue(await player.queue(call.given["start"], call.given["count"]))

    async def add(self, call: Call) -> object:
        """Put a source into the queue."""
        source = await asyncio.to_thread(source_of, call.given, self._actions.stations)
        where = call.given["where"] or Where.END
        player = await self._daemon.hub.player()
        return music_values.added(await player.add(source, where, play=bool(call.given["play"])))

    async def move(self, call: Call) -> object:
        """Move a track."""
        await (await self._daemon.hub.player()).move(call.given["id"], call.given["to"])
        return await self._after()

    async def remove(self, call: Call) -> object:
        """Take tracks out."""
        await (await self._daemon.hub.player()).remove(call.given["ids"])
        return await self._after()

    async def clear(self, _: Call) -> object:
        """Empty it."""
        await (await self._daemon.hub.player()).clear()
        return await self._after()

    async def shuffle(self, _: Call) -> object:
        """Put it into a random order."""
        await (await self._daemon.hub.player()).shuffle()
        return await self._after()

    async def save(self, call: Call) -> object:
        """Keep it as a playlist."""
        await (await self._daemon.hub.player()).save(call.given["name"], replace=call.given["replace"])
        return {"playlist": call.given["name"]}

    async def _after(self) -> object:
        state = await (await self._daemon.hub.player()).state()
        return music_values.music(self._daemon.hub, state)
