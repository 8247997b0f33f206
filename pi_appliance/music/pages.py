"""The pages of the music: queue, library, playlists, radio, sound. Their forms come back to them by 303."""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any, TypeVar
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from pi_appliance.errors import ApplianceError, ConfigError, Unavailable
from pi_appliance.jobs.pages import Pages
from pi_appliance.music.api_covers import Covers
from pi_appliance.music.model import (
    Capability,
    Entry,
    EntryType,
    LibraryFilter,
    Mode,
    Page,
    QueuePosition,
    ReplayGainMode,
    SavedPlaylist,
    Source,
    Station,
    Track,
    TrackRating,
    Uri,
)
from pi_appliance.music.player import Player
from pi_appliance.music.stations.service import Stations
from pi_appliance.music.usb.drives import UsbDrive
from pi_appliance.web.filters import UNSUPPORTED
from pi_appliance.web.interface import Daemon
from pi_appliance.web.params import BASE, form
from pi_appliance.web.security import local_target

ROWS = 100  # lines on a page
COVER = 512  # pixels of a side
_FEW = 10  # artists and albums above the tracks that a search found
_BY = {EntryType.ARTIST: "Artists", EntryType.ALBUM: "Albums", EntryType.GENRE: "Genres", EntryType.TRACK: "Tracks"}

Part = tuple[str, Page[Entry], str]
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
        queue = await player.list_queue(start_of(request), ROWS)
        return self._page("queue.html", queue=queue, liked=await self._liked(player, queue.tracks))

    async def library(self, request: Request) -> Response:
        """Show a folder, or what has the tags or the words that are asked for."""
        player, query, start = await self._player(), request.query_params, start_of(request)
        wanted = LibraryFilter(**{key: query.get(key, "") for key in ("artist", "album", "genre", "text")})
        by = query.get("by", "")
        known = {key: value for key, value in query.items() if key != "start" and value}
        here, further = _address(known, start), f"/music/library?{urlencode(known)}{'&' if known else ''}"
        parts: Sequence[Part]
        if by == "favourites":
            parts = [("", await player.list_favourites(start, ROWS), further)]
        elif by in _BY:
            parts = [("", await player.list_library(EntryType(by), wanted, start, ROWS), further)]
        elif wanted.text:
            parts, by = await self._found(player, wanted, start, further), "search"
        else:
            parts, by = [("", await player.list_directory(query.get("path", ""), start, ROWS), further)], "folder"
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
            art=first.track.uri if first and first.track and whole and whole.kind is EntryType.ALBUM else "",
            liked=await self._liked(
                player, [each.track for _, window, _ in parts for each in window.items if each.track]
            ),
        )

    async def playlists(self, request: Request) -> Response:
        """Show the saved playlists, or the one that is named."""
        player, name, start = await self._player(), request.query_params.get("name", ""), start_of(request)
        if not name:
            found = [Entry(kind=EntryType.PLAYLIST, name=each.name) for each in await player.list_playlists()]
            return self._page("playlists.html", found=found, here="/music/playlists")
        window = await player.list_playlist(name, start, ROWS)
        here = f"/music/playlists?{urlencode({'name': name})}"
        whole = Entry(kind=EntryType.PLAYLIST, name=name)
        return self._page("playlists.html", playlist=name, window=window, here=here, whole=whole)

    async def radio(self, request: Request) -> Response:
        """Show the stations."""
        config, start = self._daemon.appliance.config, start_of(request)
        stations = Stations(config.stations, config.state_dir)
        found: Sequence[Station] = ()
        gone: Sequence[Station] = ()
        wrong = ""
        try:
            found, gone = stations.all(), stations.removed()
        except ConfigError as error:
            wrong = str(error)
        shown = found[start : start + ROWS]
        return self._page("radio.html", stations=shown, start=start, length=len(found), gone=gone, wrong=wrong)

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
        player, abilities = await self._player(), self._daemon.hub.capabilities
        outputs = await player.list_outputs() if Capability.OUTPUTS in abilities else ()
        counts = await player.library_stats() if Capability.TAGS in abilities else None
        lacks = [UNSUPPORTED[each] for each in UNSUPPORTED if each not in abilities]
        usb_drives: Sequence[UsbDrive] = ()
        with contextlib.suppress(Unavailable):  # no folder for them is configured
            usb_drives = self._daemon.usb_drives.all()
        return self._page("sound.html", outputs=outputs, counts=counts, lacks=lacks, usb_drives=usb_drives)

    async def _found(self, player: Player, wanted: LibraryFilter, start: int, further: str) -> list[Part]:
        """Return artists, albums and tracks in which the words are found; behind the first page tracks alone."""
        parts: list[Part] = []
        if start == 0 and Capability.TAGS in self._daemon.hub.capabilities:
            for kind in (EntryType.ARTIST, EntryType.ALBUM):
                window = await player.list_library(kind, wanted, 0, _FEW)
                if window.items:
                    more = f"{further}by={kind}&" if window.has_more else ""
                    parts.append((_BY[kind], window, more))
        return [*parts, ("Tracks", await player.list_library(EntryType.TRACK, wanted, start, ROWS), further)]

    async def _liked(self, player: Player, tracks: Sequence[Track]) -> frozenset[str]:
        """Return the addresses of those of TRACKS that are favourites; of streams nothing is kept."""
        uris = [track.uri for track in tracks if "://" not in track.uri]
        if not uris or Capability.STICKERS not in self._daemon.hub.capabilities:
            return frozenset()
        found = await player.ratings(uris)
        return frozenset(uri for uri, opinion in found.items() if opinion.favourite)

    async def _player(self) -> Player:
        return await self._daemon.hub.player()

    def _page(self, template: str, **known: Any) -> Response:
        hub = self._daemon.hub
        return self._pages.page(template, music=hub, state=hub.state, abilities=hub.capabilities, **known)


def start_of(request: Request) -> int:
    """Return from where on a list is shown. Raises HTTPException 400 for what is no number."""
    text = request.query_params.get("start", "0")
    if not (text.isascii() and text.isdigit() and len(text) < 9):
        raise HTTPException(400, "'start' must be a whole number from 0")
    return int(text)


def _address(known: dict[str, str], start: int) -> str:
    query = urlencode({**known, **({"start": str(start)} if start else {})})
    return "/music/library" + (f"?{query}" if query else "")


def _frame(by: str, path: str, wanted: LibraryFilter) -> tuple[str, str, Entry | None]:
    """Return what to call the list, where it hangs, and what stands for the whole of it."""
    if path:
        above = path.rpartition("/")[0]
        whole = Entry(kind=EntryType.FOLDER, name=path.rpartition("/")[2], uri=f"{path}/")
        return whole.name, f"/music/library?{urlencode({'path': above})}" if above else "/music/library", whole
    if wanted.album:
        whole = Entry(kind=EntryType.ALBUM, name=wanted.album, artist=wanted.artist)
        above = urlencode({"by": "album", "artist": wanted.artist}) if wanted.artist else "by=album"
        return wanted.album, f"/music/library?{above}", whole
    if wanted.artist:
        return wanted.artist, "/music/library?by=artist", Entry(kind=EntryType.ARTIST, name=wanted.artist)
    if wanted.genre:
        return wanted.genre, "/music/library?by=genre", Entry(kind=EntryType.GENRE, name=wanted.genre)
    return f"“{wanted.text}”" if by == "search" else "Library", "/music/library" if by == "search" else "/", None


Given = Mapping[str, str]
Chosen = TypeVar("Chosen", bound=StrEnum)


class MusicForms:
    """The endpoints that take a form."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon

    def routes(self) -> list[Route]:
        """Return every route that takes a form of these pages."""
        takers = {
            "put": self.put,
            "queue/play": self.play,
            "queue/edit": self.edit_queue,
            "playlists/edit": self.edit_playlist,
            "radio/edit": self.edit_station,
            "sound/set": self.set_sound,
            "usb/eject": self.eject_drive,
        }
        return [Route(f"/music/{path}", taker, methods=["POST"]) for path, taker in takers.items()]

    async def put(self, request: Request) -> Response:
        """Put something into the queue; `do` says where, that it is to play now, or that it is liked."""
        given = await form(request)
        source, player = _source(given), await self._player()
        match given.get("do"):
            case "play":  # a single track joins the queue, a collection takes its place
                single = given.get("kind") in (EntryType.TRACK, EntryType.STREAM)
                await player.add_source(source, QueuePosition.NEXT if single else QueuePosition.REPLACE, play=True)
            case "next":
                await player.add_source(source, QueuePosition.NEXT)
            case "end":
                await player.add_source(source, QueuePosition.END)
            case "like" | "unlike" as what if isinstance(source, Uri):
                before = (await player.ratings([source.uri])).get(source.uri, TrackRating())
                await player.set_rating(source.uri, replace(before, favourite=what == "like"))
            case other:
                raise _unknown(other)
        return _back(given, "/music/queue")

    async def play(self, request: Request) -> Response:
        """Play a track of the queue."""
        given = await form(request)
        player = await self._player()
        if "id" in given:
            await player.play_id(_whole(given, "id"))
        else:
            await player.play(_whole(given, "position"))
        return _back(given, "/music/queue")

    async def edit_queue(self, request: Request) -> Response:
        """Move or remove a track; shuffle, empty or save the queue."""
        given = await form(request)
        player = await self._player()
        match given.get("do"):
            case "remove":
                await player.remove_tracks([_whole(given, "id")])
            case "up":
                await player.move_track(_whole(given, "id"), max(0, _whole(given, "position") - 1))
            case "down":
                await player.move_track(_whole(given, "id"), _whole(given, "position") + 1)
            case "next":
                await self._move_next(player, _whole(given, "id"), _whole(given, "position"))
            case "shuffle":
                await player.shuffle_queue()
            case "clear":
                await player.clear_queue()
            case "save":
                await player.save_queue(_name(given, "name"))
                return RedirectResponse("/music/playlists", 303)
            case other:
                raise _unknown(other)
        return _back(given, "/music/queue")

    async def edit_playlist(self, request: Request) -> Response:
        """Rename or delete a playlist, or move or remove one of its entries."""
        given = await form(request)
        player, name = await self._player(), _name(given, "name")
        match given.get("do"):
            case "rename":
                other = _name(given, "other")
                if other != name:
                    await player.rename_playlist(name, other)
                name = other
            case "delete":
                await player.delete_playlist(name)
                return RedirectResponse("/music/playlists", 303)
            case "remove":
                await player.remove_from_playlist(name, [_whole(given, "position")])
            case "up":
                place = _whole(given, "position")
                await player.move_in_playlist(name, place, max(0, place - 1))
            case "down":
                place = _whole(given, "position")
                await player.move_in_playlist(name, place, place + 1)
            case other:
                raise _unknown(other)
        return RedirectResponse(f"/music/playlists?{urlencode({'name': name})}", 303)

    async def edit_station(self, request: Request) -> Response:
        """Add, change or remove a station."""
        given = await form(request)
        config = self._daemon.appliance.config
        stations = Stations(config.stations, config.state_dir)
        match given.get("do"):
            case "add":  # in a thread: the address is tried
                await asyncio.to_thread(stations.add, _station(given))
            case "edit":
                await asyncio.to_thread(stations.edit, _name(given, "old"), _station(given))
            case "remove":
                await asyncio.to_thread(stations.remove, _name(given, "old"))
            case "restore":
                await asyncio.to_thread(stations.restore, _name(given, "old"))
            case other:
                raise _unknown(other)
        return RedirectResponse("/music/radio", 303)

    async def set_sound(self, request: Request) -> Response:
        """Set what the form brings, which is one thing."""
        given = await form(request)
        player = await self._player()
        if "output" in given:
            await player.set_output(_whole(given, "output"), _on(given, "on"))
            return RedirectResponse("/music/sound", 303)
        for key in given:
            await _set(player, key, given)
        return RedirectResponse("/music/sound", 303)

    async def eject_drive(self, request: Request) -> Response:
        """Eject a USB drive."""
        await self._daemon.usb_drives.eject((await form(request)).get("drive", ""))
        return RedirectResponse("/music/sound", 303)

    async def _move_next(self, player: Player, track: int, position: int) -> None:
        state = await player.state()
        current = state.track.position if state.track and state.track.position is not None else -1
        await player.move_track(track, current if position < current else current + 1)

    async def _player(self) -> Player:
        return await self._daemon.hub.player()


async def _set(player: Player, key: str, given: Given) -> None:
    match key:
        case "repeat":
            await player.set_modes(repeat=_on(given, key))
        case "random":
            await player.set_modes(random=_on(given, key))
        case "single":
            await player.set_modes(single=_one(Mode, given[key]))
        case "consume":
            await player.set_modes(consume=_one(Mode, given[key]))
        case "crossfade":
            await player.set_crossfade(_whole(given, key))
        case "gain":
            await player.set_replay_gain(_one(ReplayGainMode, given[key]))
        case "mute":
            await player.set_mute(_on(given, key))
        case "update":
            await player.update_library()
        case other:
            raise _unknown(other)


def _source(given: Given) -> Source:
    if "uri" in given:
        return Uri(uri=given["uri"], title=given.get("title", ""))
    if "playlist" in given:
        return SavedPlaylist(playlist=given["playlist"])
    tags = {key: given[key] for key in ("artist", "album", "genre") if given.get(key)}
    if not tags:
        raise HTTPException(400, "nothing is named to put into the queue")
    return LibraryFilter(**tags)


def _station(given: Given) -> Station:
    return Station(
        name=_name(given, "name"),
        url=_name(given, "url"),
        genre=given.get("genre", "").strip(),
        country=given.get("country", "").strip(),
    )


def _name(given: Given, key: str) -> str:
    if not (name := given.get(key, "").strip()):
        raise HTTPException(400, f"{key!r} must not be empty")
    return name


def _whole(given: Given, key: str) -> int:
    text = given.get(key, "")
    if not (text.isascii() and text.isdigit() and len(text) < 12):
        raise HTTPException(400, f"{key!r} must be a whole number")
    return int(text)


def _on(given: Given, key: str) -> bool:
    if given[key] not in ("on", "off"):
        raise HTTPException(400, f"{key!r} must be on or off")
    return given[key] == "on"


def _one(kind: type[Chosen], value: str) -> Chosen:
    try:
        return kind(value)
    except ValueError:
        raise HTTPException(400, f"{value!r} must be one of {', '.join(kind)}") from None


def _unknown(what: str | None) -> HTTPException:
    return HTTPException(400, f"nothing is known of {what!r} here")


def _back(given: Given, otherwise: str) -> Response:
    return RedirectResponse(local_target(given.get("to", otherwise)), 303)
