"""The pages of the music: queue, library, playlists, radio, sound. Their forms come back to them by 303."""

import contextlib
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from pi_appliance.engine.stations import Stations
from pi_appliance.errors import ApplianceError, ConfigError, Unavailable
from pi_appliance.model.music import Can, Entry, Kind, Track, Wanted, Window
from pi_appliance.model.usb import Stick
from pi_appliance.ports_player import Player
from pi_appliance.web.covers import Covers
from pi_appliance.web.endpoints import BASE
from pi_appliance.web.pages import Pages
from pi_appliance.web.world import Daemon

ROWS = 100  # lines on a page
COVER = 512  # pixels of a side
_FEW = 10  # artists and albums above the tracks that a search found
_BY = {Kind.ARTIST: "Artists", Kind.ALBUM: "Albums", Kind.GENRE: "Genres", Kind.TRACK: "Tracks"}

Part = tuple[str, Window[Entry], str]
"""A heading, what stands below it, and the address of what follows, which lacks only start=."""


class MusicPages:
    """The endpoints that answer with a page of music; PAGES renders them."""

    def __init__(self, daemon: Daemon, pages: Pages, covers: Covers) -> None:
        self._daemon, self._pages, self._covers = daemon, pages, covers

    def routes(self) -> list[Route]:
        """Return every route of these pages."""
        return [
            Route("/music", self.first),
            Route("/music/queue", self.queue),
            Route("/music/library", self.library),
            Route("/music/playlists", self.playlists),
            Route("/music/cover", self.cover),
            Route("/music/radio", self.radio),
            Route("/music/sound", self.sound),
        ]

    async def first(self, _: Request) -> Response:
        """Lead on to the queue."""
        return RedirectResponse("/music/queue", 303)

    async def queue(self, request: Request) -> Response:
        """Show what plays next."""
        player = await self._player()
        queue = await player.queue(start_of(request), ROWS)
        return self._page("queue.html", queue=queue, liked=await self._liked(player, queue.tracks))

    async def library(self, request: Request) -> Response:
        """Show a folder, or what has the tags or the words that are asked for."""
        player, query, start = await self._player(), request.query_params, start_of(request)
        wanted = Wanted(**{key: query.get(key, "") for key in ("artist", "album", "genre", "text")})
        by = query.get("by", "")
        known = {key: value for key, value in query.items() if key != "start" and value}
        here, further = _address(known, start), f"/music/library?{urlencode(known)}{'&' if known else ''}"
        parts: Sequence[Part]
        if by == "favourites":
            parts = [("", await player.favourites(start, ROWS), further)]
        elif by in _BY:
            parts = [("", await player.library(Kind(by), wanted, start, ROWS), further)]
        elif wanted.text:
            parts, by = await self._found(player, wanted, start, further), "search"
        else:
            parts, by = [("", await player.folder(query.get("path", ""), start, ROWS), further)], "folder"
        heading, above, whole = _frame(by, query.get("path", ""), wanted)
        first = parts[0][1].items[0] if whole and parts[0][1].items else None
        return self._page(
            "library.html",
            parts=parts,
            by=by,
            here=here,
            text=wanted.text,
            heading=heading,
            above=above,
            whole=whole,
            deep=whole is not None,
            art=first.track.uri if first and first.track and whole and whole.kind is Kind.ALBUM else "",
            liked=await self._liked(
                player, [each.track for _, window, _ in parts for each in window.items if each.track]
            ),
        )

    async def playlists(self, request: Request) -> Response:
        """Show the saved playlists, or the one that is named."""
        player, name, start = await self._player(), request.query_params.get("name", ""), start_of(request)
        if not name:
            found = [Entry(kind=Kind.PLAYLIST, name=each.name) for each in await player.playlists()]
            return self._page("playlists.html", found=found, here="/music/playlists")
        window = await player.playlist(name, start, ROWS)
        here = f"/music/playlists?{urlencode({'name': name})}"
        whole = Entry(kind=Kind.PLAYLIST, name=name)
        return self._page("playlists.html", playlist=name, window=window, here=here, whole=whole)

    async def radio(self, _: Request) -> Response:
        """Show the stations."""
        config = self._daemon.appliance.config
        stations = Stations(config.stations, config.state)
        try:
            return self._page("radio.html", stations=stations.all(), gone=stations.gone())
        except ConfigError as error:
            return self._page("radio.html", stations=(), gone=(), wrong=str(error))

    async def cover(self, request: Request) -> Response:
        """Lead to the cover of a track; with nothing, and without a complaint in the browser, where there is none."""
        uri = request.query_params.get("uri", "")
        try:
            found = await self._covers.find(uri, COVER)
        except ApplianceError:
            found = None
        if found is None:
            return Response(status_code=204, headers={"Cache-Control": "private, max-age=300"})
        return RedirectResponse(f"{BASE}/player/art?{urlencode({'uri': uri, 'size': COVER})}", 303)

    async def sound(self, _: Request) -> Response:
        """Show how it sounds, and the size of the library."""
        player, abilities = await self._player(), self._daemon.hub.abilities
        outputs = await player.outputs() if Can.OUTPUTS in abilities else ()
        counts = await player.counts() if Can.TAGS in abilities else None
        lacks = [each.value.replace("-", " ") for each in Can if each not in abilities and each is not Can.MUTE]
        sticks: Sequence[Stick] = ()
        with contextlib.suppress(Unavailable):  # no folder for them is configured
            sticks = self._daemon.sticks.all()
        return self._page("sound.html", outputs=outputs, counts=counts, lacks=lacks, sticks=sticks)

    async def _found(self, player: Player, wanted: Wanted, start: int, further: str) -> list[Part]:
        """Return artists, albums and tracks in which the words are found; behind the first page tracks alone."""
        parts: list[Part] = []
        if start == 0 and Can.TAGS in self._daemon.hub.abilities:
            for kind in (Kind.ARTIST, Kind.ALBUM):
                window = await player.library(kind, wanted, 0, _FEW)
                if window.items:
                    more = f"{further}by={kind}&" if window.more else ""
                    parts.append((_BY[kind], window, more))
        return [*parts, ("Tracks", await player.library(Kind.TRACK, wanted, start, ROWS), further)]

    async def _liked(self, player: Player, tracks: Sequence[Track]) -> frozenset[str]:
        """Return the addresses of those of TRACKS that are favourites; of streams nothing is kept."""
        uris = [track.uri for track in tracks if "://" not in track.uri]
        if not uris or Can.STICKERS not in self._daemon.hub.abilities:
            return frozenset()
        found = await player.opinions(uris)
        return frozenset(uri for uri, opinion in found.items() if opinion.favourite)

    async def _player(self) -> Player:
        return await self._daemon.hub.player()

    def _page(self, template: str, **known: Any) -> Response:
        hub = self._daemon.hub
        return self._pages.page(template, music=hub, state=hub.state, abilities=hub.abilities, **known)


def start_of(request: Request) -> int:
    """Return from where on a list is shown. Raises HTTPException 400 for what is no number."""
    text = request.query_params.get("start", "0")
    if not (text.isascii() and text.isdigit() and len(text) < 9):
        raise HTTPException(400, "'start' must be a whole number from 0")
    return int(text)


def _address(known: dict[str, str], start: int) -> str:
    query = urlencode({**known, **({"start": str(start)} if start else {})})
    return "/music/library" + (f"?{query}" if query else "")


def _frame(by: str, path: str, wanted: Wanted) -> tuple[str, str, Entry | None]:
    """Return what to call the list, where it hangs, and what stands for the whole of it."""
    if path:
        above = path.rpartition("/")[0]
        whole = Entry(kind=Kind.FOLDER, name=path.rpartition("/")[2], uri=f"{path}/")
        return whole.name, f"/music/library?{urlencode({'path': above})}" if above else "/music/library", whole
    if wanted.album:
        whole = Entry(kind=Kind.ALBUM, name=wanted.album, artist=wanted.artist)
        above = urlencode({"by": "album", "artist": wanted.artist}) if wanted.artist else "by=album"
        return wanted.album, f"/music/library?{above}", whole
    if wanted.artist:
        return wanted.artist, "/music/library?by=artist", Entry(kind=Kind.ARTIST, name=wanted.artist)
    if wanted.genre:
        return wanted.genre, "/music/library?by=genre", Entry(kind=Kind.GENRE, name=wanted.genre)
    return f"“{wanted.text}”" if by == "search" else "Library", "/music/library" if by == "search" else "/", None
