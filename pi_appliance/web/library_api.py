"""The API of the library: by tags, by folder, how big it is, what is new in it; and what the household thinks of it."""

from starlette.exceptions import HTTPException

from pi_appliance.model.music import Kind, Opinion, Wanted
from pi_appliance.web import music_values
from pi_appliance.web.endpoints import COUNT, START, Call, Endpoint
from pi_appliance.web.keys import choice, flag, several, text, whole
from pi_appliance.web.source_keys import TAGS
from pi_appliance.web.world import Daemon

_KIND = choice("kind", "what is listed", Kind, (Kind.ARTIST, Kind.ALBUM, Kind.GENRE, Kind.TRACK), example="album")
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
                query=(several(_URI, 200),),
                answer="Opinions",
            ),
            Endpoint(
                method="PUT",
                path="/player/opinions",
                what="Keep what is thought of a track; what is not named stays as it is, a rating of 0 is taken away.",
                act=self.think,
                body=(
                    _URI,
                    whole("rating", "from 1 to 10, or 0 for none", 0, 10),
                    flag("favourite", "whether it is a favourite"),
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
        wanted = Wanted(**{key.name: given[key.name] or "" for key in TAGS})
        player = await self._daemon.hub.player()
        found = await player.library(given["kind"] or Kind.ARTIST, wanted, given["start"], given["count"])
        return music_values.window(found, music_values.entry)

    async def folder(self, call: Call) -> object:
        """By folder."""
        player = await self._daemon.hub.player()
        found = await player.folder(call.given["path"].strip("/"), call.given["start"], call.given["count"])
        return music_values.window(found, music_values.entry)

    async def counts(self, call: Call) -> object:
        """How big it is."""
        return music_values.counts(await (await self._daemon.hub.player()).counts(call.given["folder"].strip("/")))

    async def progress(self, call: Call) -> object:
        """How far an update is."""
        player = await self._daemon.hub.player()
        state, counts = await player.state(), await player.counts(call.given["folder"].strip("/"))
        return {"updating": state.updating, "folder": call.given["folder"], "tracks": counts.tracks}

    async def update(self, call: Call) -> object:
        """Look for what is new."""
        await (await self._daemon.hub.player()).update(call.given["folder"].strip("/"))
        return await self.progress(call)

    async def opinions(self, call: Call) -> object:
        """Return what is thought of tracks."""
        return music_values.opinions(await (await self._daemon.hub.player()).opinions(call.given["uri"]))

    async def think(self, call: Call) -> object:
        """Keep what is thought of a track."""
        uri, rating, favourite = (call.given[name] for name in ("uri", "rating", "favourite"))
        if rating is None and favourite is None:
            raise HTTPException(400, 'give a "rating", or whether it is a "favourite"')
        player = await self._daemon.hub.player()
        before = (await player.opinions([uri])).get(uri, Opinion())
        opinion = Opinion(
            rating=before.rating if rating is None else rating or None,
            favourite=before.favourite if favourite is None else favourite,
        )
        await player.set_opinion(uri, opinion)
        return music_values.opinions({uri: opinion})

    async def favourites(self, call: Call) -> object:
        """Return the favourite tracks."""
        found = await (await self._daemon.hub.player()).favourites(call.given["start"], call.given["count"])
        return music_values.window(found, music_values.entry)
