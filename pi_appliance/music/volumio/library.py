"""Volumio's library as its pages show it: folders, artists, albums, genres, saved playlists, search.

Volumio answers with whole lists. Windows are cut here, and the last list is kept for a moment, so that paging through
100,000 tracks asks Volumio once.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from pi_appliance.errors import Refused
from pi_appliance.music.model import (
    Entry,
    EntryType,
    LibraryFilter,
    LibraryStats,
    Mode,
    Page,
    PlaybackState,
    PlayerState,
    Playlist,
    SavedPlaylist,
    Source,
    Track,
    Uri,
)
from pi_appliance.music.volumio.client import VolumioClient, objects

ROOT = "music-library"
Item = Mapping[str, Any]
_SONGS = {"song", "track", "cuesong", "webradio", "mywebradio"}
_TAGS = {  # what a page is of, by how many names its address has
    "artists": (EntryType.ARTIST, EntryType.ALBUM),
    "albums": (EntryType.ALBUM, EntryType.ALBUM),
    "genres": (EntryType.GENRE, EntryType.ARTIST, EntryType.ALBUM),
}


def state(said: Item, queue: Sequence[Track], version: int) -> PlayerState:
    """Return what getState says (seek in ms, duration in s), beside the whole QUEUE."""
    play, mixer = PlaybackState(said["status"]), not said.get("disableVolumeControl")
    seek, volume = _number(said.get("seek")), _number(said.get("volume"))
    return PlayerState(
        playback=play,
        track=_current(said, queue),
        elapsed=None if seek is None or play is PlaybackState.STOPPED else seek / 1000,
        volume=min(100, max(0, round(volume))) if mixer and volume is not None else None,
        muted=said.get("mute") is True,
        repeat=said.get("repeat") is True,  # null until somebody sets it
        random=said.get("random") is True,
        single=Mode.ON if said.get("repeatSingle") is True else Mode.OFF,
        consume=Mode.ON if said.get("consume") is True else Mode.OFF,
        queue_length=len(queue),
        queue_version=version,
        updating=1 if said.get("updatedb") is True else None,
        bitrate=_whole(said.get("bitrate")),
        audio_format=_audio(said),
    )


def is_stream(said: Item) -> bool:
    """Say whether a state or an item is of the radio. `stream` alone does not tell: it may be a file's type."""
    return "webradio" in (said.get("service"), said.get("trackType"), said.get("type")) or said.get("stream") is True


def queue(items: Iterable[Item]) -> list[Track]:
    """Return the queue. Ids follow from the address and which of several with that address it is.

    So they stay their own while the queue changes around them, for every program that looks at it.
    """
    seen: Counter[str] = Counter()
    tracks = []
    for position, item in enumerate(items):
        uri = address(item)
        seen[uri] += 1
        digest = blake2b(f"{seen[uri]} {uri}".encode("utf-8", "surrogatepass"), digest_size=6)
        tracks.append(_track(item, position, int.from_bytes(digest.digest(), "big")))
    return tracks


def address(item: Item) -> str:
    """Return where an item is: of files the address by which one browses, for the queue has another for some."""
    uri = _text(item.get("uri"))
    return f"{ROOT}/{uri.removeprefix('mnt/')}" if uri.startswith("mnt/") else uri


def entry(item: Item) -> Entry | None:
    """Return one item of a page; None for what has no name or no address."""
    name, uri = _text(item.get("title") or item.get("name")), address(item)
    scheme, _, rest = uri.partition("://")
    names = [unquote(part) for part in rest.split("/")]
    if not uri:
        return None
    if scheme in _TAGS and rest:
        kinds = _TAGS[scheme]
        kind = kinds[min(len(names), len(kinds)) - 1]
        artist = _text(item.get("artist")) or (names[-2] if len(names) > 1 else "")
        if not (name or names[-1]):
            return None  # all that has no such tag
        if kind is not EntryType.ALBUM:
            return Entry(kind=kind, name=name or names[-1], uri=uri)
        return Entry(kind=kind, name=name or names[-1], uri=uri, artist=artist, date=_text(item.get("year")))
    if item.get("type") in _SONGS:
        kind, track = EntryType.STREAM if is_stream(item) else EntryType.TRACK, _track(item)
        return Entry(kind=kind, name=track.label, uri=uri, artist=track.artist, track=track)
    kind = EntryType.PLAYLIST if item.get("type") == "playlist" or uri.startswith("playlists/") else EntryType.FOLDER
    return Entry(kind=kind, name=name or uri, uri=uri)


def seconds(clock: Any) -> int:
    """Return h:mm:ss in seconds; of what is none, 0."""
    parts = str(clock).split(":")
    if not all(part.isascii() and part.isdecimal() for part in parts):
        return 0
    total = 0
    for part in parts:
        total = total * 60 + int(part)
    return total


def _current(said: Item, queued: Sequence[Track]) -> Track | None:
    position, track = said.get("position"), _track(said)
    if not track.uri and not track.title:
        return None
    if not isinstance(position, int) or not 0 <= position < len(queued) or queued[position].uri != track.uri:
        return track  # such as what a phone sends over AirPlay
    return _track(said, position, queued[position].id)


def _track(item: Item, position: int | None = None, id: int | None = None) -> Track:  # noqa: A002 - MPD's word
    number = _text(item.get("tracknumber"))
    length = _number(item.get("duration"))
    return Track(
        uri=address(item),
        title=_text(item.get("title") or item.get("name")),
        artist=_text(item.get("artist")),
        album=_text(item.get("album")),
        genre=_text(item.get("genre")),
        date=_text(item.get("year")),
        number="" if number == "0" else number,
        duration=length if length and not is_stream(item) else None,
        position=position,
        id=id,
    )


def _audio(said: Item) -> str:
    """Return 44100:16:2 of "44.1 kHz", "16 bit" and 2; '' if any of them is not told."""
    rate, bits = _number(said.get("samplerate")), _whole(said.get("bitdepth"))
    channels = _whole(said.get("channels"))
    if not rate or not bits or not channels:
        return ""
    return f"{round(rate * 1000) if rate < 1000 else round(rate)}:{bits}:{channels}"


def _whole(value: Any) -> int | None:
    number = _number(value)
    return None if number is None else round(number)


def _number(value: Any) -> float | None:
    """Return the number that VALUE is or begins with; a unit may follow."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    found = re.match(r"\s*-?\d{1,15}(\.\d{1,9})?(?=[\s%a-zA-Z]|$)", str(value))
    return float(found[0]) if found else None


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


KEPT = 30.0  # seconds
_SOURCES = ("favourites", "playlists", "radio", "upnp", "Last_100")  # what one browses beside the library
_PLAYABLE = (EntryType.TRACK, EntryType.STREAM)


class Found(NamedTuple):
    """What is to be played: what to call it, and what to send to Volumio for it."""

    name: str
    items: Sequence[Mapping[str, Any]]


class VolumioLibrary:
    """What can be played."""

    def __init__(self, rest: VolumioClient) -> None:
        self._rest = rest
        self._kept: tuple[str, list[Mapping[str, Any]]] | None = None

    async def list_directory(self, path: str, start: int, count: int) -> Page[Entry]:
        """Return what is in the folder PATH. Raises Refused if there is none."""
        uri = _uri(path)
        items = await self._page(uri)
        if not items and uri != ROOT and await self._named(uri) is None:
            raise Refused(f"the library has no folder {path!r}")
        return _window(_entries(items), start, count)

    async def entries(self, kind: EntryType, wanted: LibraryFilter, start: int, count: int) -> Page[Entry]:
        """Return the entries of KIND in which WANTED is found. Raises Refused where Volumio has no such page."""
        if kind in _PLAYABLE:
            return _window(await self._tracks(wanted), start, count)
        if kind not in (EntryType.ARTIST, EntryType.ALBUM, EntryType.GENRE):
            raise Refused(f"the library of Volumio is not sorted by {kind}; browse its folders")
        if kind is EntryType.GENRE and wanted != LibraryFilter():
            raise Refused("Volumio lists the genres of its whole library only; ask for them without anything else")
        page = {EntryType.ARTIST: "artists://", EntryType.ALBUM: "albums://", EntryType.GENRE: "genres://"}[kind]
        if wanted.text or wanted.genre or (wanted.artist and kind is EntryType.ALBUM):
            items = await self._narrowed(wanted)
        else:
            items = await self._page(page)
        entries = _with_artists(_entries(items)) if wanted.genre else _entries(items)
        found = (entry for entry in entries if entry.kind is kind and _fits(entry, wanted))
        unique = {(entry.name, entry.artist): entry for entry in found}
        return _window(sorted(unique.values(), key=lambda entry: entry.name.casefold()), start, count)

    async def library_stats(self) -> LibraryStats:
        """Return how big the library is."""
        said = await self._rest.get("collectionstats")
        if not isinstance(said, dict):
            raise Refused("Volumio does not tell how big its library is; ask again when it has scanned it")
        artists, albums, songs = (_count(said.get(key)) for key in ("artists", "albums", "songs"))
        return LibraryStats(artists=artists, albums=albums, tracks=songs, seconds=seconds(said.get("playtime")))

    async def list_playlists(self) -> list[Playlist]:
        """Return the saved playlists, in the order of their names."""
        names = await self._rest.get("listplaylists")
        listed = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
        return [Playlist(name=name) for name in sorted(listed, key=str.casefold)]

    async def list_playlist(self, name: str, start: int, count: int) -> Page[Entry]:
        """Return COUNT entries of the playlist NAME. Raises Refused if there is none."""
        return _window(_entries(await self._saved(name)), start, count)

    async def find(self, source: Source) -> Found:
        """Return what to send to Volumio for SOURCE. Raises Refused for what is not there: Volumio would not tell."""
        match source:
            case Uri():
                return await self._at(source)
            case SavedPlaylist():
                songs = [item for item in await self._saved(source.playlist) if address(item)]
                if not songs:
                    raise Refused(f"the playlist {source.playlist!r} is empty")
                return Found(source.playlist, songs)
            case LibraryFilter():
                return await self._wanted(source)

    async def _at(self, source: Uri) -> Found:
        if not source.uri.strip():
            raise Refused("nothing is named to add")
        if source.uri.startswith(("http://", "https://")):
            title = source.title or source.uri
            item = {"uri": source.uri, "service": "webradio", "type": "webradio", "title": title, "name": title}
            return Found(title, [item])
        uri = _uri(source.uri)
        if uri.startswith("playlists/"):
            return await self.find(SavedPlaylist(playlist=uri.removeprefix("playlists/")))
        scheme = uri.partition("://")[0] if "://" in uri else ""
        if scheme and scheme not in ("artists", "albums", "genres"):
            return Found(source.title or uri, [{"uri": uri, "title": source.title}])  # of a plug-in of Volumio's
        if scheme or uri in (ROOT, *_SOURCES):
            items = await self._page(uri)
            known: Mapping[str, Any] | None = {"title": source.title} if items else None
        else:
            known = await self._named(uri)
        if known is None:
            raise Refused(f"the library has no {source.uri!r}")
        name = source.title or str(known.get("title") or unquote(uri.rpartition("/")[2]))
        return Found(name, [{"uri": uri, "service": known.get("service", "mpd"), "title": name}])

    async def _wanted(self, wanted: LibraryFilter) -> Found:
        tracks = [entry.track for entry in await self._tracks(wanted) if entry.track]
        name = wanted.album or wanted.artist or wanted.genre or wanted.text
        if not tracks:
            raise Refused(f"nothing is found for {name!r}")
        return Found(name, [{"uri": track.uri, "service": "mpd", "title": track.title} for track in tracks])

    async def _tracks(self, wanted: LibraryFilter) -> list[Entry]:
        if wanted == LibraryFilter():
            raise Refused("Volumio does not list all its tracks at once; name an artist, an album, a genre or words")
        items = await self._narrowed(wanted)
        if wanted.album and not wanted.text:
            albums = [entry for entry in _entries(items) if entry.kind is EntryType.ALBUM and _fits(entry, wanted)]
            items = [item for album in dict.fromkeys(each.uri for each in albums) for item in await self._page(album)]
        return [entry for entry in _entries(items) if entry.kind in _PLAYABLE and _fits(entry, wanted)]

    async def _narrowed(self, wanted: LibraryFilter) -> list[Mapping[str, Any]]:
        """Return the items of the page on which all of WANTED must stand, perhaps beside others."""
        if wanted.text:
            return _items(await self._rest.get("search", query=_coded(wanted.text)))
        parts = [_coded(part) for part in (wanted.genre, wanted.artist) if part]
        if not parts:
            return await self._page("albums://")
        return await self._page(f"{'genres' if wanted.genre else 'artists'}://{'/'.join(parts)}")

    async def _saved(self, name: str) -> list[Mapping[str, Any]]:
        known = [each.name for each in await self.list_playlists()]
        if name not in known:
            raise Refused(f"there is no playlist {name!r}; there are: {', '.join(known) or 'none'}")
        return await self._page(f"playlists/{name}")

    async def _named(self, uri: str) -> Mapping[str, Any] | None:
        """Return the item of URI as the page above it has it; None if it has not."""
        above = uri.rpartition("/")[0] or ROOT
        return next((item for item in await self._page(above) if address(item) == uri), None)

    async def _page(self, uri: str) -> list[Mapping[str, Any]]:
        if self._kept and self._kept[0] == uri:
            return self._kept[1]
        try:
            items = _items(await self._rest.get("browse", uri=_coded(uri)))  # for Volumio decodes it twice
        except Refused:
            return []  # "No Result", whatever was wrong with the address
        self._kept = kept = (uri, items)
        asyncio.get_running_loop().call_later(KEPT, self._forget, kept)
        return items

    def _forget(self, kept: tuple[str, list[Mapping[str, Any]]]) -> None:
        if self._kept is kept:
            self._kept = None


def _uri(path: str) -> str:
    """Return the address of PATH: what it is, or in the music library."""
    path = path.strip("/") if "://" not in path else path
    if "://" in path or path.partition("/")[0] in (ROOT, *_SOURCES):
        return path
    return f"{ROOT}/{path.removeprefix('mnt/')}" if path else ROOT


def _items(answer: Any) -> list[Mapping[str, Any]]:
    """Return the items of all lists of a page; the top page has its items in place of lists."""
    navigation = answer.get("navigation") if isinstance(answer, dict) else None
    lists = objects(navigation.get("lists")) if isinstance(navigation, dict) else []
    return [item for each in lists for item in (objects(each["items"]) if "items" in each else [each])]


def _entries(items: Iterable[Mapping[str, Any]]) -> list[Entry]:
    return [entry for entry in map(entry, items) if entry is not None]


def _fits(entry: Entry, wanted: LibraryFilter) -> bool:
    """Say whether ENTRY has what is WANTED, as far as the page it is from has not seen to that.

    Whose page it is stands in that page's address; only what a search found may be anybody's.
    """
    by = not wanted.text or wanted.artist in ("", entry.artist)
    if entry.kind is EntryType.ARTIST:
        return wanted.artist in ("", entry.name)
    if entry.kind is EntryType.ALBUM:
        return wanted.album in ("", entry.name) and by
    album = entry.track.album if entry.track else ""
    return by and (not wanted.text or wanted.album in ("", album))


def _with_artists(entries: Sequence[Entry]) -> Sequence[Entry]:
    """Return ENTRIES and those by whom they are: the page of a genre shows albums and tracks."""
    names = dict.fromkeys(entry.artist for entry in entries if entry.artist)
    known = {entry.name for entry in entries if entry.kind is EntryType.ARTIST}
    made = [
        Entry(kind=EntryType.ARTIST, name=name, uri=f"artists://{_coded(name)}") for name in names if name not in known
    ]
    return [*entries, *made]


def _coded(text: str) -> str:
    return quote(text, safe="", errors="replace")


def _window(entries: Sequence[Entry], start: int, count: int) -> Page[Entry]:
    start = max(0, start)
    end = start + max(0, count)
    return Page(items=entries[start:end], start=start, length=len(entries), has_more=end < len(entries))


def _count(value: Any) -> int:
    return value if isinstance(value, int) else 0
