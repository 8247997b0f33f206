"""The library of an MPD in windows: by folder, by artist, album and genre, by what is looked for; how big it is.

A window is cut here where MPD cuts none: from its bytes, which are never all held for a folder of a hundred thousand.
"""

import re
from collections.abc import Sequence

from pi_appliance.errors import Refused
from pi_appliance.model.music import Counts, Entry, Kind, Wanted, Window
from pi_appliance.players import _mpd_filter, _mpd_words
from pi_appliance.players._mpd_door import Door
from pi_appliance.players._mpd_line import NO_SUCH_THING, WRONG_WORDS, HungUp, Line, Said

MANY = 2000  # tracks in one folder; above, only names are read, and only those in the window have their tags
BIG = 2 << 20  # bytes of a listing, above which it is the same
_STARTS = ("directory", "file", "playlist")


class Browsing(Door):
    """The part of ports_player.Player that is about the library."""

    async def folder(self, path: str = "", start: int = 0, count: int = 100) -> Window[Entry]:
        """Return folders, tracks and playlist files in the folder PATH of the library, '' for its top."""
        path = path.strip("/")
        async with self._session() as line:
            try:
                listing = None if await _has_many(line, path) else await _small_listing(line, path)
            except Said as no:
                raise Refused(f"the library has no folder {path!r}") if no.code == NO_SUCH_THING else no from None
            if listing is not None:
                saved = await _saved_playlists(line) if not path else set()
                return _mpd_words.window(_entries(listing, saved), start, count)
        async with self._session() as line:  # another one: MPD hangs up on who asks for more than its buffer holds
            return await _big_folder(line, path, start, count)

    async def library(
        self,
        kind: Kind,
        wanted: Wanted = Wanted(),  # noqa: B008 - it never changes
        start: int = 0,
        count: int = 100,
    ) -> Window[Entry]:
        """Return the ARTISTs, ALBUMs, GENREs or TRACKs in which WANTED is found, in the order of their names.

        TRACKs come in the order of the library: albums as a whole, and in the order of their tracks.
        """
        async with self._session() as line:
            match kind:
                case Kind.TRACK:
                    return await _songs(line, wanted, start, count)
                case Kind.ARTIST:
                    return _named(kind, await _list(line, wanted, "albumartist"), "albumartist", start, count)
                case Kind.GENRE:
                    return _named(kind, await _list(line, wanted, "genre"), "genre", start, count)
                case Kind.ALBUM:
                    return _albums(await _list(line, wanted, "album", "date", "albumartist"), start, count)
        raise Refused(f"the library has no list of each {kind}")

    async def counts(self, folder: str = "") -> Counts:
        """Return how big the library is, or what of it is in FOLDER (then only its tracks and seconds are counted)."""
        async with self._session() as line:
            if folder.strip("/"):
                said = _mpd_words.fields(await line.ask("count", _mpd_filter.within(folder)))
                return Counts(artists=0, albums=0, tracks=int(said["songs"]), seconds=int(said["playtime"]))
            said = _mpd_words.fields(await line.ask("stats"))
            return Counts(
                artists=int(said.get("artists", 0)),
                albums=int(said.get("albums", 0)),
                tracks=int(said.get("songs", 0)),
                seconds=int(said.get("db_playtime", 0)),
                updated=int(said["db_update"]) if "db_update" in said else None,
            )

    async def update(self, folder: str = "") -> None:
        """Look for what is new in FOLDER, '' for all. It goes on by itself: `PlayerState.updating`."""
        async with self._session() as line:
            await line.ask("update", folder.strip("/"))


async def _has_many(line: Line, path: str) -> bool:
    """Say whether there are more than MANY tracks in the folder PATH itself, which MPD finds before all within."""
    found = _mpd_words.tracks(await line.ask("find", _mpd_filter.within(path), "window", f"{MANY}:{MANY + 1}"))
    return any("/" not in track.uri.removeprefix(f"{path}/") for track in found)


async def _small_listing(line: Line, path: str) -> bytes | None:
    """Return what MPD says is in the folder PATH; None if it says too much for one go."""
    listing = bytearray()
    try:
        async for piece in line.stream("lsinfo", path):
            listing += piece
            if len(listing) > BIG:
                return None
    except HungUp:
        return None
    return bytes(listing)


async def _saved_playlists(line: Line) -> set[str]:
    """Return the names of the saved playlists; MPD shows them at the top of its library as if they were files."""
    try:
        return set(_mpd_words.values(await line.ask("listplaylists"), "playlist"))
    except Said:  # it keeps none
        return set()


def _entries(listing: bytes, saved: set[str]) -> Sequence[Entry]:
    """Return folders, then tracks, then the playlist files that are none of the SAVED ones."""
    found = _mpd_words.records(listing, _STARTS)
    return [
        *(_place(Kind.FOLDER, each["directory"]) for each in found if "directory" in each),
        *(_mpd_words.entry(_mpd_words.track(each)) for each in found if "file" in each),
        *(
            _place(Kind.PLAYLIST, each["playlist"])
            for each in found
            if "playlist" in each and each["playlist"] not in saved
        ),
    ]


async def _big_folder(line: Line, path: str, start: int, count: int) -> Window[Entry]:
    """Return the window of a folder with very many tracks: first all names pass by, then the window is asked for.

    Whatever MPD finds in a folder comes before what it finds in the folders within.
    """
    inside = re.escape(f"{path}/" if path else "").encode()
    places = re.compile(rb"^(directory|playlist): (" + inside + rb"[^/\n]+)$", re.MULTILINE)
    song = re.compile(rb"^file: " + inside + rb"[^/\n]+$", re.MULTILINE)
    found: dict[bytes, list[str]] = {b"directory": [], b"playlist": []}
    songs = 0
    async for piece in line.stream("listall", path):
        songs += len(song.findall(piece))
        for sort, name in places.findall(piece):
            found[sort].append(name.decode("utf-8", "replace"))
    folders, playlists = found[b"directory"], found[b"playlist"]
    first, last = max(0, start - len(folders)), min(songs, start + count - len(folders))
    tracks = []
    if first < last:
        tracks = _mpd_words.tracks(await line.ask("find", _mpd_filter.within(path), "window", f"{first}:{last}"))
    items = [
        *(_place(Kind.FOLDER, name) for name in folders[start : start + count]),
        *map(_mpd_words.entry, tracks),
        *(_place(Kind.PLAYLIST, name) for name in _behind(playlists, start - len(folders) - songs, count)),
    ]
    whole = len(folders) + songs + len(playlists)
    return Window(items=items, start=start, length=whole, more=start + count < whole)


def _behind(names: list[str], start: int, count: int) -> list[str]:
    """Return what of NAMES is in a window that begins at START, which may lie before them."""
    return names[max(0, start) : max(0, start + count)]


def _place(kind: Kind, path: str) -> Entry:
    return Entry(kind=kind, name=_mpd_words.last_part(path), uri=path)


async def _songs(line: Line, wanted: Wanted, start: int, count: int) -> Window[Entry]:
    find, expression = _mpd_filter.songs(wanted)
    answer = await line.ask(find, expression, "window", f"{start}:{start + count + 1}")  # one more: is there more?
    found = [_mpd_words.entry(track) for track in _mpd_words.tracks(answer)]
    more, items = len(found) > count, found[:count]
    counted = not more and bool(items or start == 0)
    return Window(items=items, start=start, length=start + len(items) if counted else None, more=more)


async def _list(line: Line, wanted: Wanted, tag: str, *groups: str) -> bytes:
    """Return MPD's list of the values of TAG where WANTED is found, in GROUPS."""
    behind = [word for group in groups for word in ("group", group)]
    try:
        return await line.ask("list", tag, *_mpd_filter.lists(wanted), *behind)
    except Said as no:
        if not wanted.text or no.code != WRONG_WORDS:
            raise
        return await line.ask("list", tag, *_mpd_filter.lists(wanted, patterns=False), *behind)


def _named(kind: Kind, answer: bytes, key: str, start: int, count: int) -> Window[Entry]:
    names = sorted(filter(None, _mpd_words.values(answer, key)), key=_mpd_words.order)
    cut = _mpd_words.window(names, start, count)
    return _mpd_words.filled(cut, [Entry(kind=kind, name=name) for name in cut.items])


def _albums(answer: bytes, start: int, count: int) -> Window[Entry]:
    """Return the albums; the same name by the same artist is the same album, and its date the first of its tracks."""
    dates: dict[tuple[str, str], str] = {}
    artist = date = ""
    for line in answer.decode("utf-8", "replace").split("\n")[:-1]:
        key, _, value = line.partition(": ")
        match key:
            case "AlbumArtist":
                artist = value
            case "Date":
                date = value
            case "Album" if value:
                known = dates.get((value, artist))
                dates[value, artist] = min(known, date) if known and date else known or date
    albums = sorted(dates, key=lambda album: (_mpd_words.order(album[0]), _mpd_words.order(album[1])))
    cut = _mpd_words.window(albums, start, count)
    items = [Entry(kind=Kind.ALBUM, name=name, artist=who, date=dates[name, who]) for name, who in cut.items]
    return _mpd_words.filled(cut, items)
