"""The library of an MPD in windows: by folder, by artist, album and genre, by what is looked for; how big it is.

A window is cut here where MPD cuts none: from its bytes, which are never all held for a folder of a hundred thousand.
"""

import re
from collections.abc import Collection, Mapping, Sequence

from pi_appliance.errors import Refused
from pi_appliance.music.model import Entry, EntryType, LibraryFilter, LibraryStats, Page, TrackRating
from pi_appliance.music.mpd import parsing
from pi_appliance.music.mpd.connection import (
    NO_SUCH_THING,
    WRONG_WORDS,
    Command,
    ConnectionClosed,
    MpdAckError,
    MpdClientBase,
    MpdConnection,
)
from pi_appliance.music.mpd.queue import entries

MANY = 2000  # tracks in one folder; above, only names are read, and only those in the window have their tags
BIG = 2 << 20  # bytes of a listing, above which it is the same
_STARTS = ("directory", "file", "playlist")


class LibraryCommands(MpdClientBase):
    """The part of ports_player.Player that is about the library."""

    async def list_directory(self, path: str = "", start: int = 0, count: int = 100) -> Page[Entry]:
        """Return folders, tracks and playlist files in the folder PATH of the library, '' for its top."""
        path = path.strip("/")
        async with self._session() as line:
            try:
                listing = None if await _has_many(line, path) else await _small_listing(line, path)
            except MpdAckError as no:
                raise Refused(f"the library has no folder {path!r}") if no.code == NO_SUCH_THING else no from None
            if listing is not None:
                saved = await _saved_playlists(line) if not path else set()
                return parsing.window(_entries(listing, saved), start, count)
        async with self._session() as line:  # another one: MPD hangs up on who asks for more than its buffer holds
            return await _big_folder(line, path, start, count)

    async def list_library(
        self,
        kind: EntryType,
        wanted: LibraryFilter = LibraryFilter(),  # noqa: B008 - it never changes
        start: int = 0,
        count: int = 100,
    ) -> Page[Entry]:
        """Return the ARTISTs, ALBUMs, GENREs or TRACKs in which WANTED is found, in the order of their names.

        TRACKs come in the order of the library: albums as a whole, and in the order of their tracks.
        """
        async with self._session() as line:
            match kind:
                case EntryType.TRACK:
                    return await _songs(line, wanted, start, count)
                case EntryType.ARTIST:
                    return _named(kind, await _list(line, wanted, "albumartist"), "albumartist", start, count)
                case EntryType.GENRE:
                    return _named(kind, await _list(line, wanted, "genre"), "genre", start, count)
                case EntryType.ALBUM:
                    return _albums(await _list(line, wanted, "album", "date", "albumartist"), start, count)
        raise Refused(f"the library has no list of each {kind}")

    async def library_stats(self, folder: str = "") -> LibraryStats:
        """Return how big the library is, or what of it is in FOLDER (then only its tracks and seconds are counted)."""
        async with self._session() as line:
            if folder.strip("/"):
                said = parsing.fields(await line.ask("count", parsing.within(folder)))
                return LibraryStats(artists=0, albums=0, tracks=int(said["songs"]), seconds=int(said["playtime"]))
            said = parsing.fields(await line.ask("stats"))
            return LibraryStats(
                artists=int(said.get("artists", 0)),
                albums=int(said.get("albums", 0)),
                tracks=int(said.get("songs", 0)),
                seconds=int(said.get("db_playtime", 0)),
                updated=int(said["db_update"]) if "db_update" in said else None,
            )

    async def update_library(self, folder: str = "") -> None:
        """Look for what is new in FOLDER, '' for all. It goes on by itself: `PlayerState.updating`."""
        async with self._session() as line:
            await line.ask("update", folder.strip("/"))


async def _has_many(line: MpdConnection, path: str) -> bool:
    """Say whether there are more than MANY tracks in the folder PATH itself, which MPD finds before all within."""
    found = parsing.tracks(await line.ask("find", parsing.within(path), "window", f"{MANY}:{MANY + 1}"))
    return any("/" not in track.uri.removeprefix(f"{path}/") for track in found)


async def _small_listing(line: MpdConnection, path: str) -> bytes | None:
    """Return what MPD says is in the folder PATH; None if it says too much for one go."""
    listing = bytearray()
    try:
        async for piece in line.stream("lsinfo", path):
            listing += piece
            if len(listing) > BIG:
                return None
    except ConnectionClosed:
        return None
    return bytes(listing)


async def _saved_playlists(line: MpdConnection) -> set[str]:
    """Return the names of the saved playlists; MPD shows them at the top of its library as if they were files."""
    try:
        return set(parsing.values(await line.ask("listplaylists"), "playlist"))
    except MpdAckError:  # it keeps none
        return set()


def _entries(listing: bytes, saved: set[str]) -> Sequence[Entry]:
    """Return folders, then tracks, then the playlist files that are none of the SAVED ones."""
    found = parsing.records(listing, _STARTS)
    return [
        *(_place(EntryType.FOLDER, each["directory"]) for each in found if "directory" in each),
        *(parsing.entry(parsing.track(each)) for each in found if "file" in each),
        *(
            _place(EntryType.PLAYLIST, each["playlist"])
            for each in found
            if "playlist" in each and each["playlist"] not in saved
        ),
    ]


async def _big_folder(line: MpdConnection, path: str, start: int, count: int) -> Page[Entry]:
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
        tracks = parsing.tracks(await line.ask("find", parsing.within(path), "window", f"{first}:{last}"))
    items = [
        *(_place(EntryType.FOLDER, name) for name in folders[start : start + count]),
        *map(parsing.entry, tracks),
        *(_place(EntryType.PLAYLIST, name) for name in _behind(playlists, start - len(folders) - songs, count)),
    ]
    whole = len(folders) + songs + len(playlists)
    return Page(items=items, start=start, length=whole, has_more=start + count < whole)


def _behind(names: list[str], start: int, count: int) -> list[str]:
    """Return what of NAMES is in a window that begins at START, which may lie before them."""
    return names[max(0, start) : max(0, start + count)]


def _place(kind: EntryType, path: str) -> Entry:
    return Entry(kind=kind, name=parsing.last_part(path), uri=path)


async def _songs(line: MpdConnection, wanted: LibraryFilter, start: int, count: int) -> Page[Entry]:
    find, expression = parsing.songs(wanted)
    answer = await line.ask(find, expression, "window", f"{start}:{start + count + 1}")  # one more: is there more?
    found = [parsing.entry(track) for track in parsing.tracks(answer)]
    more, items = len(found) > count, found[:count]
    counted = not more and bool(items or start == 0)
    return Page(items=items, start=start, length=start + len(items) if counted else None, has_more=more)


async def _list(line: MpdConnection, wanted: LibraryFilter, tag: str, *groups: str) -> bytes:
    """Return MPD's list of the values of TAG where WANTED is found, in GROUPS."""
    behind = [word for group in groups for word in ("group", group)]
    try:
        return await line.ask("list", tag, *parsing.lists(wanted), *behind)
    except MpdAckError as no:
        if not wanted.text or no.code != WRONG_WORDS:
            raise
        return await line.ask("list", tag, *parsing.lists(wanted, patterns=False), *behind)


def _named(kind: EntryType, answer: bytes, key: str, start: int, count: int) -> Page[Entry]:
    names = sorted(filter(None, parsing.values(answer, key)), key=parsing.order)
    cut = parsing.window(names, start, count)
    return parsing.pad_page(cut, [Entry(kind=kind, name=name) for name in cut.items])


def _albums(answer: bytes, start: int, count: int) -> Page[Entry]:
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
    albums = sorted(dates, key=lambda album: (parsing.order(album[0]), parsing.order(album[1])))
    cut = parsing.window(albums, start, count)
    items = [Entry(kind=EntryType.ALBUM, name=name, artist=who, date=dates[name, who]) for name, who in cut.items]
    return parsing.pad_page(cut, items)


_RATING, _LIKE, _LOVED = "rating", "like", "2"


class RatingCommands(MpdClientBase):
    """The part of ports_player.Player that is about ratings and favourites."""

    async def ratings(self, uris: Collection[str]) -> Mapping[str, TrackRating]:
        """Return what is thought of those of URIS that something is thought of."""
        asked = [uri for uri in dict.fromkeys(uris) if parsing.is_inside(uri)]
        async with self._session() as line:
            answers = await line.ask_each([("sticker", "list", "song", uri) for uri in asked])
        found = {uri: _opinion(answer) for uri, answer in zip(asked, answers, strict=True) if answer}
        return {uri: opinion for uri, opinion in found.items() if opinion != TrackRating()}

    async def set_rating(self, uri: str, opinion: TrackRating) -> None:
        """Keep what is thought of the track URI, in place of what was thought before."""
        if opinion.rating is not None and not 1 <= opinion.rating <= 10:
            raise Refused(f"a rating is from 1 to 10, not {opinion.rating}")
        if not parsing.is_inside(uri):
            raise Refused("MPD keeps ratings and favourites of the tracks in its library alone")
        async with self._session() as line:
            try:
                before = _stickers(await line.ask("sticker", "list", "song", uri))
            except MpdAckError as no:
                if no.code == NO_SUCH_THING:
                    raise Refused(f"the library has no track {uri!r}") from None
                raise
            if commands := _changes(uri, before, opinion):
                await line.ask_all(*commands)

    async def list_favourites(self, start: int = 0, count: int = 100) -> Page[Entry]:
        """Return the favourite tracks, in the order of their addresses."""
        async with self._session() as line:
            answer = await line.ask("sticker", "find", "song", "", _LIKE, "=", _LOVED)
            cut = parsing.window(sorted(parsing.values(answer, "file")), start, count)
            return parsing.pad_page(cut, await entries(line, cut.items))


def _changes(uri: str, before: Mapping[str, str], opinion: TrackRating) -> list[Command]:
    """Return what makes OPINION of what was there BEFORE. That a track is not liked at all is not ours to forget."""
    commands: list[Command] = []
    if opinion.rating is not None:
        commands.append(("sticker", "set", "song", uri, _RATING, opinion.rating))
    elif _RATING in before:
        commands.append(("sticker", "delete", "song", uri, _RATING))
    if opinion.favourite:
        commands.append(("sticker", "set", "song", uri, _LIKE, _LOVED))
    elif before.get(_LIKE) == _LOVED:
        commands.append(("sticker", "delete", "song", uri, _LIKE))
    return commands


def _opinion(answer: bytes) -> TrackRating:
    said = _stickers(answer)
    rating = said.get(_RATING, "")
    known = rating.isascii() and rating.isdigit() and 1 <= int(rating) <= 10  # others write what they like
    return TrackRating(rating=int(rating) if known else None, favourite=said.get(_LIKE) == _LOVED)


def _stickers(answer: bytes) -> dict[str, str]:
    pairs = (sticker.partition("=") for sticker in parsing.values(answer, "sticker"))
    return {name: value for name, _, value in pairs}
