"""The API of the saved playlists. One is made by saving the queue, or by putting something into it."""

import asyncio

from pi_appliance.model.music import Saved, Where, Window
from pi_appliance.web import music_values
from pi_appliance.web.actions import Actions
from pi_appliance.web.endpoints import COUNT, START, Call, Endpoint
from pi_appliance.web.keys import choice, several, text, whole
from pi_appliance.web.source_keys import SOURCE, source_of
from pi_appliance.web.world import Daemon

_PLACE = whole("position", "a place in the playlist, from 0", 0, 10_000_000, needed=True)
_PLACES = several(whole("positions", "places in the playlist, from 0", 0, 10_000_000, needed=True), 5000)
_TO = whole("to", "the place it comes to", 0, 10_000_000, needed=True)
_LONG = 128 * 1024  # bytes: 5000 places


class PlaylistApi:
    """The endpoints under /player/playlists."""

    def __init__(self, daemon: Daemon, actions: Actions) -> None:
        self._daemon, self._actions = daemon, actions

    def endpoints(self) -> list[Endpoint]:
        """Return every row."""
        one = "/player/playlists/{name}"
        return [
            Endpoint(
                method="GET",
                path="/player/playlists",
                what="The saved playlists, by name.",
                act=self.all,
                query=(START, COUNT),
                answer="Playlists",
            ),
            Endpoint(
                method="GET",
                path=one,
                what="A window of a playlist.",
                act=self.one,
                query=(START, COUNT),
                answer="Entries",
                example={"name": "Evening"},
            ),
            Endpoint(
                method="POST",
                path=f"{one}/play",
                what="Play a playlist, or put it into the queue.",
                act=self.play,
                body=(choice("where", "in place of the queue; else it is only put there", Where),),
                answer="Added",
                example={"name": "Evening"},
            ),
            Endpoint(
                method="POST",
                path=f"{one}/add",
                what="Put something at its end. It is made if it is not there.",
                act=self.add,
                body=SOURCE,
                answer="Entries",
                example={"name": "Evening", "uri": "a.ogg"},
            ),
            Endpoint(
                method="POST",
                path=f"{one}/remove",
                what="Take entries out.",
                act=self.remove,
                body=(_PLACES,),
                largest=_LONG,
                answer="Entries",
                example={"name": "Evening", "positions": [1]},
            ),
            Endpoint(
                method="POST",
                path=f"{one}/move",
                what="Move an entry.",
                act=self.move,
                body=(_PLACE, _TO),
                answer="Entries",
                example={"name": "Evening", "position": 1, "to": 0},
            ),
            Endpoint(
                method="POST",
                path=f"{one}/rename",
                what="Call it otherwise.",
                act=self.rename,
                body=(text("to", "its new name", 200, needed=True),),
                answer="Saved",
                example={"name": "Evening", "to": "Night"},
            ),
            Endpoint(
                method="DELETE",
                path=one,
                what="Delete it.",
                act=self.delete,
                answer="Saved",
                example={"name": "Evening"},
            ),
        ]

    async def all(self, call: Call) -> object:
        """Return a window of the names."""
        start, count = call.given["start"], call.given["count"]
        found = await (await self._daemon.hub.player()).playlists()
        shown = found[start : start + count]
        window = Window(items=shown, start=start, length=len(found), more=start + len(shown) < len(found))
        return music_values.window(window, lambda each: {"name": each.name, "changed": each.changed})

    async def one(self, call: Call) -> object:
        """Return a window of one."""
        return await self._window(call.path["name"], call.given["start"], call.given["count"])

    async def play(self, call: Call) -> object:
        """Play one, or put it into the queue."""
        where, player = call.given["where"] or Where.INSTEAD, await self._daemon.hub.player()
        source = Saved(playlist=call.path["name"])
        return music_values.added(await player.add(source, where, play=where is Where.INSTEAD))

    async def add(self, call: Call) -> object:
        """Put something at the end of one."""
        source = await asyncio.to_thread(source_of, call.given, self._actions.stations)
        await (await self._daemon.hub.player()).playlist_add(call.path["name"], source)
        return await self._window(call.path["name"])

    async def remove(self, call: Call) -> object:
        """Take entries out of one."""
        await (await self._daemon.hub.player()).playlist_remove(call.path["name"], call.given["positions"])
        return await self._window(call.path["name"])

    async def move(self, call: Call) -> object:
        """Move an entry of one."""
        player = await self._daemon.hub.player()
        await player.playlist_move(call.path["name"], call.given["position"], call.given["to"])
        return await self._window(call.path["name"])

    async def rename(self, call: Call) -> object:
        """Call one otherwise."""
        await (await self._daemon.hub.player()).rename_playlist(call.path["name"], call.given["to"])
        return {"playlist": call.given["to"]}

    async def delete(self, call: Call) -> object:
        """Delete one."""
        await (await self._daemon.hub.player()).delete_playlist(call.path["name"])
        return {"playlist": call.path["name"]}

    async def _window(self, name: str, start: int = 0, count: int = 100) -> object:
        found = await (await self._daemon.hub.player()).playlist(name, start, count)
        return music_values.window(found, music_values.entry)
