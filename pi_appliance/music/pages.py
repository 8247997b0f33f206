"""The pages of music: queue, library, playlists, radio, sound."""

import contextlib
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from pi_appliance.errors import ApplianceError, ConfigError, Unavailable
from pi_appliance.music import sound_cards
from pi_appliance.music.alarms.alarm_control import ANNOUNCE, jobs_with_action
from pi_appliance.music.covers import Covers
from pi_appliance.music.model import (
    Capability,
    Entry,
    EntryType,
    LibraryFilter,
    Page,
    Station,
    Track,
    is_stream,
    list_state,
)
from pi_appliance.music.mpd.player import MusicFolder, find_music_folder
from pi_appliance.music.player import NO_PLAYER, Player
from pi_appliance.music.player_hub import MusicServices
from pi_appliance.music.player_settings import SETTINGS
from pi_appliance.music.usb.drives import UsbDrive
from pi_appliance.roles import Role
from pi_appliance.web.pages import Pages
from pi_appliance.web.params import BASE
from pi_appliance.web.security import RoleRoute

PAGE_SIZE = 100  # entries
COVER_SIZE, THUMB_SIZE = 512, 128  # pixels of a side
_TRANSPARENT = b"GIF89a\1\0\1\0\x80\0\0\0\0\0\0\0\0!\xf9\4\1\0\0\0\0,\0\0\0\0\1\0\1\0\0\2\2D\1\0;"
_MAX_MATCHES = 10  # artists, and as many albums, shown above the tracks of a search
_HEADINGS = {
    EntryType.ARTIST: "Artists",
    EntryType.ALBUM: "Albums",
    EntryType.GENRE: "Genres",
    EntryType.TRACK: "Tracks",
}
# Capabilities that the page does not report as missing: the appliance mutes and rates itself, and
# the page has no partitions.
_NOT_MISSED = (Capability.MUTE, Capability.STICKERS, Capability.PARTITIONS)

Part = tuple[str, Page[Entry], str]
"""A heading, the entries below it, and the address of the next ones, which lacks only start=."""


class MusicPages:
    """The endpoints that return a page about music."""

    def __init__(self, services: MusicServices, pages: Pages, covers: Covers) -> None:
        self._services, self._pages, self._covers = services, pages, covers

    def routes(self) -> list[Route]:
        """Return the routes of this class."""
        return [
            RoleRoute("/music", self.redirect_to_queue, Role.GUEST),
            RoleRoute("/music/queue", self.queue, Role.GUEST),
            RoleRoute("/music/library", self.library, Role.GUEST),
            RoleRoute("/music/playlists", self.playlists, Role.GUEST),
            RoleRoute("/music/cover", self.cover, Role.LISTEN),
            RoleRoute("/music/radio", self.radio, Role.GUEST),
            RoleRoute("/music/sound", self.sound, Role.CONTROL),
        ]

    async def redirect_to_queue(self, _: Request) -> Response:
        """Redirect to the queue, or say how to set up the music."""
        if self._services.daemon.hub.error != NO_PLAYER:
            return RedirectResponse("/music/queue", 303)
        return self._page("setup.html")

    async def queue(self, request: Request) -> Response:
        """Show the queue."""
        player = await self._player()
        # Read before the queue: the script then draws any later change.
        drawn = list_state(self._services.daemon.hub.state)
        queue = await player.list_queue(_start_of(request), PAGE_SIZE)
        favourites = await self._favourites_of(player, queue.tracks)
        return self._page("queue.html", queue=queue, favourites=favourites, drawn=drawn)

    async def library(self, request: Request) -> Response:
        """Show a folder, or the artists, albums or tracks with the requested tags or words."""
        player, query, start = await self._player(), request.query_params, _start_of(request)
        wanted = LibraryFilter(**{key: query.get(key, "") for key in ("artist", "album", "genre", "text")})
        by, path = query.get("by", ""), query.get("path", "")
        fields = {key: value for key, value in query.items() if key != "start" and value}
        more = f"/music/library?{urlencode(fields)}{'&' if fields else ''}"
        parts: Sequence[Part]
        if by == "favourites":
            parts = [("", await player.list_favourites(start, PAGE_SIZE), more)]
        elif by in _HEADINGS:
            parts = [("", await player.list_library(EntryType(by), wanted, start, PAGE_SIZE), more)]
        elif wanted.text:
            parts, by = await self._search(player, wanted, start, more), "search"
        else:
            parts, by = [("", await player.list_directory(path, start, PAGE_SIZE), more)], "folder"
        heading, parent, whole = _describe_list(by, path, wanted)
        first = parts[0][1].items[0] if whole and parts[0][1].items else None
        tracks = [each.track for _, page, _ in parts for each in page.items if each.track]
        return self._page(
            "library.html",
            parts=parts,
            by=by,
            text=wanted.text,
            heading=heading,
            parent=parent,
            whole=whole,
            cover=first.track.uri if first and first.track and whole and whole.kind is EntryType.ALBUM else "",
            favourites=await self._favourites_of(player, tracks),
            music_folder=self._music_folder() if by == "folder" and not path else None,
        )

    async def playlists(self, request: Request) -> Response:
        """Show the saved playlists, or one of them."""
        player, name, start = await self._player(), request.query_params.get("name", ""), _start_of(request)
        if not name:
            playlists = [Entry(kind=EntryType.PLAYLIST, name=each.name) for each in await player.list_playlists()]
            return self._page("playlists.html", playlists=playlists)
        page = await player.list_playlist(name, start, PAGE_SIZE)
        address = f"/music/playlists?{urlencode({'name': name})}"
        whole = Entry(kind=EntryType.PLAYLIST, name=name)
        return self._page("playlists.html", playlist=name, page=page, address=address, whole=whole)

    async def radio(self, request: Request) -> Response:
        """Show the stations."""
        start, service = _start_of(request), self._services.stations
        stations: Sequence[Station] = ()
        removed: Sequence[Station] = ()
        error = ""
        try:
            stations, removed = service.all(), service.removed()
        except ConfigError as problem:
            error = str(problem)
        return self._page(
            "radio.html",
            stations=stations[start : start + PAGE_SIZE],
            start=start,
            length=len(stations),
            removed=removed,
            error=error,
        )

    async def cover(self, request: Request) -> Response:
        """Redirect to the cover of a track or of an album.

        Without a cover, a list gets a transparent picture. The player gets the status 204, which
        browsers do not treat as an error.
        """
        uri = request.query_params.get("uri", "") or await self._first_track(request)
        size = THUMB_SIZE if "small" in request.query_params else COVER_SIZE
        try:
            cover = await self._covers.find(uri, size)
        except ApplianceError:
            cover = None
        if cover is None:
            headers = {"Cache-Control": "private, max-age=300"}
            if "small" in request.query_params or "album" in request.query_params:
                return Response(_TRANSPARENT, 200, headers, "image/gif")
            return Response(None, 204, headers)
        return RedirectResponse(f"{BASE}/player/art?{urlencode({'uri': uri, 'size': size})}", 303)

    async def _first_track(self, request: Request) -> str:
        """Return the address of a track of the requested album, or ''."""
        wanted = LibraryFilter(**{key: request.query_params.get(key, "") for key in ("album", "artist")})
        with contextlib.suppress(ApplianceError):
            page = await (await self._player()).list_library(EntryType.TRACK, wanted, 0, 1)
            return next((each.track.uri for each in page.items if each.track), "")
        return ""

    async def sound(self, _: Request) -> Response:
        """Show modes, outputs, the size of the library and the USB drives."""
        player, capabilities = await self._player(), self._services.daemon.hub.capabilities
        drawn = list_state(self._services.daemon.hub.state)
        usb_drives: Sequence[UsbDrive] = ()
        with contextlib.suppress(Unavailable):  # USB drives are not configured, or their table cannot be read
            usb_drives = self._services.daemon.usb_drives.all()
        return self._page(
            "sound.html",
            outputs=await player.list_outputs() if Capability.OUTPUTS in capabilities else (),
            stats=await player.library_stats() if Capability.TAGS in capabilities else None,
            unsupported=[each.description for each in Capability if each not in {*capabilities, *_NOT_MISSED}],
            usb_drives=usb_drives,
            music_folder=self._music_folder(),
            sound_cards=sound_cards.describe_for_page(),
            can_announce=bool(jobs_with_action(self._services.appliance, ANNOUNCE)),
            settings=[each for name, each in SETTINGS.items() if name in capabilities],
            drawn=drawn,
        )

    async def _search(self, player: Player, wanted: LibraryFilter, start: int, more: str) -> list[Part]:
        """Return artists, albums and tracks with the words; after the first page only tracks."""
        parts: list[Part] = []
        if start == 0 and Capability.TAGS in self._services.daemon.hub.capabilities:
            for kind in (EntryType.ARTIST, EntryType.ALBUM):
                page = await player.list_library(kind, wanted, 0, _MAX_MATCHES)
                if page.items:
                    parts.append((_HEADINGS[kind], page, f"{more}by={kind}&" if page.more else ""))
        return [*parts, ("Tracks", await player.list_library(EntryType.TRACK, wanted, start, PAGE_SIZE), more)]

    async def _favourites_of(self, player: Player, tracks: Sequence[Track]) -> frozenset[str]:
        """Return the URIs of those of `tracks` that are favourites. Streams cannot be."""
        uris = [track.uri for track in tracks if not is_stream(track.uri)]
        if not uris or Capability.STICKERS not in self._services.daemon.hub.capabilities:
            return frozenset()
        ratings = await player.ratings(uris)
        return frozenset(uri for uri, rating in ratings.items() if rating.favourite)

    def _music_folder(self) -> MusicFolder | None:
        return find_music_folder(self._services.config, sound_cards.machine_root())

    async def _player(self) -> Player:
        return await self._services.daemon.hub.player()

    def _page(self, template: str, **values: Any) -> Response:
        hub = self._services.daemon.hub
        return self._pages.page(f"music/{template}", state=hub.state, capabilities=hub.capabilities, **values)


def _start_of(request: Request) -> int:
    """Return the position at which a list starts. Raises HTTPException 400."""
    text = request.query_params.get("start", "0")
    if not (text.isascii() and text.isdigit() and len(text) < 9):
        raise HTTPException(400, "'start' must be a whole number from 0")
    return int(text)


def _describe_list(by: str, path: str, wanted: LibraryFilter) -> tuple[str, str, Entry | None]:
    """Return a list's heading, the address of the list above it, and an entry for all of it."""
    if path:
        parent = path.rpartition("/")[0]
        whole = Entry(kind=EntryType.FOLDER, name=path.rpartition("/")[2], uri=f"{path}/")
        return whole.name, f"/music/library?{urlencode({'path': parent})}" if parent else "/music/library", whole
    if wanted.album:
        whole = Entry(kind=EntryType.ALBUM, name=wanted.album, artist=wanted.artist)
        parent = urlencode({"by": "album", "artist": wanted.artist}) if wanted.artist else "by=album"
        return wanted.album, f"/music/library?{parent}", whole
    if wanted.artist:
        return wanted.artist, "/music/library?by=artist", Entry(kind=EntryType.ARTIST, name=wanted.artist)
    if wanted.genre:
        return wanted.genre, "/music/library?by=genre", Entry(kind=EntryType.GENRE, name=wanted.genre)
    return f"“{wanted.text}”" if by == "search" else "Library", "/music/library" if by == "search" else "/", None
