"""The API of the library: by tags, by folder, how big it is, what is new in it; and what the household thinks of it."""

import asyncio
import contextlib

from starlette.exceptions import HTTPException

from pi_appliance.errors import Refused
from pi_appliance.music import serializers
from pi_appliance.music.model import EntryType, LibraryFilter, Page, QueuePosition, SavedPlaylist, TrackRating
from pi_appliance.music.serializers import SOURCE, TAGS, source_of
from pi_appliance.operations import Operation, array, boolean, enum, integer, text
from pi_appliance.web.actions import Actions
from pi_appliance.web.interface import Daemon
from pi_appliance.web.params import COUNT, START, Call

_KIND = enum(
    "kind",
    "what is listed",
    EntryType,
    (EntryType.ARTIST, EntryType.ALBUM, EntryType.GENRE, EntryType.TRACK),
    example="album",
)
_PATH = text("path", "a folder of the library; none: its top", 2000, default="", example="Albums")
_FOLDER = text("folder", "a folder of the library; none: all of it", 2000, default="", example="Albums")
_URI = text("uri", "the address of a track", 2000, required=True, example="a.ogg")


class LibraryApi:
    """The endpoints under /player that are about what could be played."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon

    def endpoints(self) -> list[Operation]:
        """Return every row."""
        return [
            Operation(
                method="GET",
                path="/player/library",
                summary="Artists, albums, genres or tracks in which all that is given is found, by name.",
                handler=self.library,
                arguments=(_KIND, *TAGS, START, COUNT),
                result="Entries",
            ),
            Operation(
                method="GET",
                path="/player/folder",
                summary="Folders, tracks and playlist files in a folder.",
                handler=self.folder,
                arguments=(_PATH, START, COUNT),
                result="Entries",
            ),
            Operation(
                method="GET",
                path="/player/counts",
                summary="How big the library is, or the tracks and seconds in a folder of it.",
                handler=self.counts,
                arguments=(_FOLDER,),
                result="Counts",
            ),
            Operation(
                method="GET",
                path="/player/update",
                summary="Whether the library is being updated, and how many tracks it has so far.",
                handler=self.progress,
                arguments=(_FOLDER,),
                result="Update",
            ),
            Operation(
                method="POST",
                path="/player/update",
                summary="Look for what is new; it goes on by itself.",
                handler=self.update,
                arguments=(_FOLDER,),
                result="Update",
                status=202,
                example={"folder": "Albums"},
            ),
            *self._opinions(),
        ]

    def _opinions(self) -> list[Operation]:
        return [
            Operation(
                method="GET",
                path="/player/opinions",
                summary="What is thought of tracks; those without an opinion are left out.",
                handler=self.opinions,
                arguments=(array(_URI, 200),),
                result="Opinions",
            ),
            Operation(
                method="PUT",
                path="/player/opinions",
                summary="Rate a track or make it a favourite; a rating of 0 removes the rating.",
                handler=self.think,
                arguments=(
                    _URI,
                    integer("rating", "from 1 to 10, or 0 for none", 0, 10),
                    boolean("favourite", "whether it is a favourite"),
                ),
                result="Opinions",
                example={"uri": "a.ogg", "rating": 8, "favourite": True},
            ),
            Operation(
                method="GET",
                path="/player/favourites",
                summary="The favourite tracks.",
                handler=self.favourites,
                arguments=(START, COUNT),
                result="Entries",
            ),
        ]

    async def library(self, call: Call) -> object:
        """By tags."""
        given = call.given
        wanted = LibraryFilter(**{key.name: given[key.name] or "" for key in TAGS})
        player = await self._daemon.hub.player()
        found = await player.list_library(given["kind"] or EntryType.ARTIST, wanted, given["start"], given["count"])
        return serializers.window(found, serializers.entry)

    async def folder(self, call: Call) -> object:
        """By folder."""
        player = await self._daemon.hub.player()
        found = await player.list_directory(call.given["path"].strip("/"), call.given["start"], call.given["count"])
        return serializers.window(found, serializers.entry)

    async def counts(self, call: Call) -> object:
        """How big it is."""
        return serializers.counts(
            await (await self._daemon.hub.player()).library_stats(call.given["folder"].strip("/"))
        )

    async def progress(self, call: Call) -> object:
        """How far an update is."""
        player, tracks = await self._daemon.hub.player(), None
        with contextlib.suppress(Refused):  # a new folder, of which nothing is known yet
            tracks = (await player.library_stats(call.given["folder"].strip("/"))).tracks
        return {"updating": (await player.state()).updating, "folder": call.given["folder"], "tracks": tracks}

    async def update(self, call: Call) -> object:
        """Look for what is new."""
        await (await self._daemon.hub.player()).update_library(call.given["folder"].strip("/"))
        return await self.progress(call)

    async def opinions(self, call: Call) -> object:
        """Return what is thought of tracks."""
        return serializers.opinions(await (await self._daemon.hub.player()).ratings(call.given["uri"]))

    async def think(self, call: Call) -> object:
        """Keep what is thought of a track."""
        uri, rating, favourite = (call.given[name] for name in ("uri", "rating", "favourite"))
        if rating is None and favourite is None:
            raise HTTPException(400, 'give a "rating", or whether it is a "favourite"')
        player = await self._daemon.hub.player()
        before = (await player.ratings([uri])).get(uri, TrackRating())
        opinion = TrackRating(
            rating=before.rating if rating is None else rating or None,
            favourite=before.favourite if favourite is None else favourite,
        )
        await player.set_rating(uri, opinion)
        return serializers.opinions({uri: opinion})

    async def favourites(self, call: Call) -> object:
        """Return the favourite tracks."""
        found = await (await self._daemon.hub.player()).list_favourites(call.given["start"], call.given["count"])
        return serializers.window(found, serializers.entry)


_PLACE = integer("position", "a place in the playlist, from 0", 0, 10_000_000, required=True)
_PLACES = array(integer("positions", "places in the playlist, from 0", 0, 10_000_000, required=True), 5000)
_TO_PLAYLIST = integer("to", "the place it comes to", 0, 10_000_000, required=True)
_LONG = 128 * 1024  # bytes: 5000 places


class PlaylistApi:
    """The endpoints under /player/playlists."""

    def __init__(self, daemon: Daemon, actions: Actions) -> None:
        self._daemon, self._actions = daemon, actions

    def endpoints(self) -> list[Operation]:
        """Return every row."""
        one = "/player/playlists/{name}"
        return [
            Operation(
                method="GET",
                path="/player/playlists",
                summary="The saved playlists, by name.",
                handler=self.all,
                arguments=(START, COUNT),
                result="Playlists",
            ),
            Operation(
                method="GET",
                path=one,
                summary="A window of a playlist.",
                handler=self.one,
                arguments=(START, COUNT),
                result="Entries",
                example={"name": "Evening"},
            ),
            Operation(
                method="POST",
                path=f"{one}/play",
                summary="Play a playlist, or put it into the queue.",
                handler=self.play,
                arguments=(enum("where", "in place of the queue; else it is only put there", QueuePosition),),
                result="Added",
                example={"name": "Evening"},
            ),
            Operation(
                method="POST",
                path=f"{one}/add",
                summary="Put something at its end. It is made if it is not there.",
                handler=self.add,
                arguments=SOURCE,
                result="Entries",
                example={"name": "Evening", "uri": "a.ogg"},
            ),
            Operation(
                method="POST",
                path=f"{one}/remove",
                summary="Take entries out.",
                handler=self.remove,
                arguments=(_PLACES,),
                max_body=_LONG,
                result="Entries",
                example={"name": "Evening", "positions": [1]},
            ),
            Operation(
                method="POST",
                path=f"{one}/move",
                summary="Move an entry.",
                handler=self.move,
                arguments=(_PLACE, _TO_PLAYLIST),
                result="Entries",
                example={"name": "Evening", "position": 1, "to": 0},
            ),
            Operation(
                method="POST",
                path=f"{one}/rename",
                summary="Call it otherwise.",
                handler=self.rename,
                arguments=(text("to", "its new name", 200, required=True),),
                result="Saved",
                example={"name": "Evening", "to": "Night"},
            ),
            Operation(
                method="DELETE",
                path=one,
                summary="Delete it.",
                handler=self.delete,
                result="Saved",
                example={"name": "Evening"},
            ),
        ]

    async def all(self, call: Call) -> object:
        """Return a window of the names."""
        start, count = call.given["start"], call.given["count"]
        found = await (await self._daemon.hub.player()).list_playlists()
        shown = found[start : start + count]
        window = Page(items=shown, start=start, length=len(found), has_more=start + len(shown) < len(found))
        return serializers.window(window, lambda each: {"name": each.name, "changed": each.modified})

    async def one(self, call: Call) -> object:
        """Return a window of one."""
        return await self._window(call.path["name"], call.given["start"], call.given["count"])

    async def play(self, call: Call) -> object:
        """Play one, or put it into the queue."""
        where, player = call.given["where"] or QueuePosition.REPLACE, await self._daemon.hub.player()
        source = SavedPlaylist(playlist=call.path["name"])
        return serializers.added(await player.add_source(source, where, play=where is QueuePosition.REPLACE))

    async def add(self, call: Call) -> object:
        """Put something at the end of one."""
        source = await asyncio.to_thread(source_of, call.given, self._actions.stations)
        await (await self._daemon.hub.player()).add_to_playlist(call.path["name"], source)
        return await self._window(call.path["name"])

    async def remove(self, call: Call) -> object:
        """Take entries out of one."""
        await (await self._daemon.hub.player()).remove_from_playlist(call.path["name"], call.given["positions"])
        return await self._window(call.path["name"])

    async def move(self, call: Call) -> object:
        """Move an entry of one."""
        player = await self._daemon.hub.player()
        await player.move_in_playlist(call.path["name"], call.given["position"], call.given["to"])
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
        found = await (await self._daemon.hub.player()).list_playlist(name, start, count)
        return serializers.window(found, serializers.entry)


_ID = integer("id", "of a track in the queue: it stays its own while the queue changes", 0, 2**31, required=True)
_IDS = array(integer("ids", "of tracks in the queue", 0, 2**31, required=True), 5000)
_TO = integer("to", "the place it comes to, from 0", 0, 10_000_000, required=True)
_NAME = text("name", "what to call the playlist", 200, required=True)


class QueueApi:
    """The endpoints under /player/queue."""

    def __init__(self, daemon: Daemon, actions: Actions) -> None:
        self._daemon, self._actions = daemon, actions

    def endpoints(self) -> list[Operation]:
        """Return every row."""
        return [
            *(
                Operation(
                    method="GET",
                    path=path,
                    summary="A window of what plays next.",
                    handler=self.window,
                    arguments=(START, COUNT),
                    result="Queue",
                )
                for path in ("/queue", "/player/queue")
            ),
            Operation(
                method="POST",
                path="/player/queue/add",
                summary="Put something into the queue, and play it if that is wanted.",
                handler=self.add,
                arguments=(
                    *SOURCE,
                    enum("where", "at the end, behind the current track, or instead of all", QueuePosition),
                    boolean("play", "whether its first track is played at once"),
                ),
                result="Added",
                example={"source": "artist:Miles Davis", "where": "next"},
            ),
            Operation(
                method="POST",
                path="/player/queue/move",
                summary="Move a track.",
                handler=self.move,
                arguments=(_ID, _TO),
                example={"id": 2, "to": 0},
            ),
            Operation(
                method="POST",
                path="/player/queue/remove",
                summary="Take tracks out. Those that are gone already do not count.",
                handler=self.remove,
                arguments=(_IDS,),
                max_body=_LONG,
                example={"ids": [2]},
            ),
            Operation(method="POST", path="/player/queue/clear", summary="Empty the queue.", handler=self.clear),
            Operation(
                method="POST", path="/player/queue/shuffle", summary="Put it into a random order.", handler=self.shuffle
            ),
            Operation(
                method="POST",
                path="/player/queue/save",
                summary="Keep the queue as a playlist.",
                handler=self.save,
                arguments=(_NAME, boolean("replace", "whether a playlist of that name may be replaced", default=False)),
                result="Saved",
                example={"name": "Evening", "replace": True},
            ),
        ]

    async def window(self, call: Call) -> object:
        """Return a window of what plays next."""
        player = await self._daemon.hub.player()
        return serializers.queue(await player.list_queue(call.given["start"], call.given["count"]))

    async def add(self, call: Call) -> object:
        """Put a source into the queue."""
        source = await asyncio.to_thread(source_of, call.given, self._actions.stations)
        where = call.given["where"] or QueuePosition.END
        player = await self._daemon.hub.player()
        return serializers.added(await player.add_source(source, where, play=bool(call.given["play"])))

    async def move(self, call: Call) -> object:
        """Move a track."""
        await (await self._daemon.hub.player()).move_track(call.given["id"], call.given["to"])
        return await self._after()

    async def remove(self, call: Call) -> object:
        """Take tracks out."""
        await (await self._daemon.hub.player()).remove_tracks(call.given["ids"])
        return await self._after()

    async def clear(self, _: Call) -> object:
        """Empty it."""
        await (await self._daemon.hub.player()).clear_queue()
        return await self._after()

    async def shuffle(self, _: Call) -> object:
        """Put it into a random order."""
        await (await self._daemon.hub.player()).shuffle_queue()
        return await self._after()

    async def save(self, call: Call) -> object:
        """Keep it as a playlist."""
        await (await self._daemon.hub.player()).save_queue(call.given["name"], replace=call.given["replace"])
        return {"playlist": call.given["name"]}

    async def _after(self) -> object:
        state = await (await self._daemon.hub.player()).state()
        return serializers.music(self._daemon.hub, state)
