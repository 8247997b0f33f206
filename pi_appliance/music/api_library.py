"""The API of the library: by tags, by folder, how big it is, what is new in it; and what the household thinks of it."""

import asyncio
import contextlib

from starlette.exceptions import HTTPException

from pi_appliance.errors import Refused
from pi_appliance.music import serializers
from pi_appliance.music.model import EntryType, LibraryFilter, Page, QueuePosition, SavedPlaylist, TrackRating
from pi_appliance.music.serializers import SOURCE, TAGS, source_of
from pi_appliance.web.actions import Actions
from pi_appliance.web.interface import Daemon
from pi_appliance.web.params import COUNT, START, Call, Endpoint, array, boolean, enum, integer, text

_KIND = enum(
    "kind",
    "what is listed",
    EntryType,
    (EntryType.ARTIST, EntryType.ALBUM, EntryType.GENRE, EntryType.TRACK),
    example="album",
)
_PATH = text("path", "a folder of the library; none: its top", 2000, otherwise="", example="Albums")
_FOLDER = text("folder", "a folder of the library; none: all of it", 2000, otherwise="", example="Albums")
_URI = text("uri", "the address of a track", 2000, needed=True, example="a.ogg")


class LibraryApi:
    """The endpoints under /player that are about what could be played."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon

    def endpoints(self) -> list[Endpoint]:
        """Return every row."""
        return [
            Endpoint(
                method="GET",
                path="/player/library",
                what="Artists, albums, genres or tracks in which all that is given is found, by name.",
                act=self.library,
                query=(_KIND, *TAGS, START, COUNT),
                answer="Entries",
            ),
            Endpoint(
                method="GET",
                path="/player/folder",
                what="Folders, tracks and playlist files in a folder.",
                act=self.folder,
                query=(_PATH, START, COUNT),
                answer="Entries",
            ),
            Endpoint(
                method="GET",
                path="/player/counts",
                what="How big the library is, or the tracks and seconds in a folder of it.",
                act=self.counts,
                query=(_FOLDER,),
                answer="Counts",
            ),
            Endpoint(
                method="GET",
                path="/player/update",
                what="Whether the library is being updated, and how many tracks it has so far.",
                act=self.progress,
                query=(_FOLDER,),
                answer="Update",
            ),
            Endpoint(
                method="POST",
                path="/player/update",
                what="Look for what is new; it goes on by itself.",
                act=self.update,
                body=(_FOLDER,),
                answer="Update",
                status=202,
                example={"folder": "Albums"},
            ),
            *self._opinions(),
        ]

    def _opinions(self) -> list[Endpoint]:
        return [
            Endpoint(
                method="GET",
                path="/player/opinions",
                what="What is thought of tracks; those without an opinion are left out.",
                act=self.opinions,
                query=(array(_URI, 200),),
                answer="Opinions",
            ),
            Endpoint(
                method="PUT",
                path="/player/opinions",
                what="Keep what is thought of a track; what is not named stays as it is, a rating of 0 is taken away.",
                act=self.think,
                body=(
                    _URI,
                    integer("rating", "from 1 to 10, or 0 for none", 0, 10),
                    boolean("favourite", "whether it is a favourite"),
                ),
                answer="Opinions",
                example={"uri": "a.ogg", "rating": 8, "favourite": True},
            ),
            Endpoint(
                method="GET",
                path="/player/favourites",
                what="The favourite tracks.",
                act=self.favourites,
                query=(START, COUNT),
                answer="Entries",
            ),
        ]

    async def library(self, call: Call) -> object:
        """By tags."""
        given = call.given
        wanted = LibraryFilter(**{key.name: given[key.name] or "" for key in TAGS})
        player = await self._daemon.hub.player()
        found = await player.library(given["kind"] or EntryType.ARTIST, wanted, given["start"], given["count"])
        return serializers.window(found, serializers.entry)

    async def folder(self, call: Call) -> object:
        """By folder."""
        player = await self._daemon.hub.player()
        found = await player.folder(call.given["path"].strip("/"), call.given["start"], call.given["count"])
        return serializers.window(found, serializers.entry)

    async def counts(self, call: Call) -> object:
        """How big it is."""
        return serializers.counts(await (await self._daemon.hub.player()).counts(call.given["folder"].strip("/")))

    async def progress(self, call: Call) -> object:
        """How far an update is."""
        player, tracks = await self._daemon.hub.player(), None
        with contextlib.suppress(Refused):  # a new folder, of which nothing is known yet
            tracks = (await player.counts(call.given["folder"].strip("/"))).tracks
        return {"updating": (await player.state()).updating, "folder": call.given["folder"], "tracks": tracks}

    async def update(self, call: Call) -> object:
        """Look for what is new."""
        await (await self._daemon.hub.player()).update(call.given["folder"].strip("/"))
        return await self.progress(call)

    async def opinions(self, call: Call) -> object:
        """Return what is thought of tracks."""
        return serializers.opinions(await (await self._daemon.hub.player()).opinions(call.given["uri"]))

    async def think(self, call: Call) -> object:
        """Keep what is thought of a track."""
        uri, rating, favourite = (call.given[name] for name in ("uri", "rating", "favourite"))
        if rating is None and favourite is None:
            raise HTTPException(400, 'give a "rating", or whether it is a "favourite"')
        player = await self._daemon.hub.player()
        before = (await player.opinions([uri])).get(uri, TrackRating())
        opinion = TrackRating(
            rating=before.rating if rating is None else rating or None,
            favourite=before.favourite if favourite is None else favourite,
        )
        await player.set_opinion(uri, opinion)
        return serializers.opinions({uri: opinion})

    async def favourites(self, call: Call) -> object:
        """Return the favourite tracks."""
        found = await (await self._daemon.hub.player()).favourites(call.given["start"], call.given["count"])
        return serializers.window(found, serializers.entry)


_PLACE = integer("position", "a place in the playlist, from 0", 0, 10_000_000, needed=True)
_PLACES = array(integer("positions", "places in the playlist, from 0", 0, 10_000_000, needed=True), 5000)
_TO_PLAYLIST = integer("to", "the place it comes to", 0, 10_000_000, needed=True)
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
                body=(enum("where", "in place of the queue; else it is only put there", QueuePosition),),
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
                body=(_PLACE, _TO_PLAYLIST),
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
        window = Page(items=shown, start=start, length=len(found), more=start + len(shown) < len(found))
        return serializers.window(window, lambda each: {"name": each.name, "changed": each.changed})

    async def one(self, call: Call) -> object:
        """Return a window of one."""
        return await self._window(call.path["name"], call.given["start"], call.given["count"])

    async def play(self, call: Call) -> object:
        """Play one, or put it into the queue."""
        where, player = call.given["where"] or QueuePosition.INSTEAD, await self._daemon.hub.player()
        source = SavedPlaylist(playlist=call.path["name"])
        return serializers.added(await player.add(source, where, play=where is QueuePosition.INSTEAD))

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
        return serializers.window(found, serializers.entry)


_ID = integer("id", "of a track in the queue: it stays its own while the queue changes", 0, 2**31, needed=True)
_IDS = array(integer("ids", "of tracks in the queue", 0, 2**31, needed=True), 5000)
_TO = integer("to", "the place it comes to, from 0", 0, 10_000_000, needed=True)
_NAME = text("name", "what to call the playlist", 200, needed=True)


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
                    enum("where", "at the end, behind the current track, or instead of all", QueuePosition),
                    boolean("play", "whether its first track is played at once"),
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
                body=(_NAME, boolean("replace", "whether a playlist of that name may be replaced", otherwise=False)),
                answer="Saved",
                example={"name": "Evening", "replace": True},
            ),
        ]

    async def window(self, call: Call) -> object:
        """Return a window of what plays next."""
        player = await self._daemon.hub.player()
        return serializers.queue(await player.queue(call.given["start"], call.given["count"]))

    async def add(self, call: Call) -> object:
        """Put a source into the queue."""
        source = await asyncio.to_thread(source_of, call.given, self._actions.stations)
        where = call.given["where"] or QueuePosition.END
        player = await self._daemon.hub.player()
        return serializers.added(await player.add(source, where, play=bool(call.given["play"])))

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
        return serializers.music(self._daemon.hub, state)
