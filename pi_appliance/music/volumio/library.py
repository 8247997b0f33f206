"""Volumio's library: folders, artists, albums, genres, playlists, search; and its JSON.

Volumio replies with whole lists. Pages are cut here, and the last list is cached for a short time,
so that paging through 100,000 tracks reads it once.
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
    cut_page,
)
from pi_appliance.music.volumio.client import VolumioClient, only_objects

ROOT = "music-library"
Item = Mapping[str, Any]
_SONGS = {"song", "track", "cuesong", "webradio", "mywebradio"}
_TAG_PAGES = {  # type of the entries, by the number of names in the URI
    "artists": (EntryType.ARTIST, EntryType.ALBUM),
    "albums": (EntryType.ALBUM, EntryType.ALBUM),
    "genres": (EntryType.GENRE, EntryType.ARTIST, EntryType.ALBUM),
}


def to_state(reply: Item, queue: Sequence[Track], version: int) -> PlayerState:
    """Return the state from getState (seek in ms, duration in s) and the whole queue."""
    play, mixer = PlaybackState(reply["status"]), not reply.get("disableVolumeControl")
    seek, volume = _to_number(reply.get("seek")), _to_number(reply.get("volume"))
    return PlayerState(
        playback=play,
        track=_current_track(reply, queue),
        elapsed=None if seek is None or play is PlaybackState.STOPPED else seek / 1000,
        volume=min(100, max(0, round(volume))) if mixer and volume is not None else None,
        muted=reply.get("mute") is True,
        repeat=reply.get("repeat") is True,  # Volumio reports null until repeat is set once
        random=reply.get("random") is True,
        single=Mode.ON if reply.get("repeatSingle") is True else Mode.OFF,
        consume=Mode.ON if reply.get("consume") is True else Mode.OFF,
        queue_length=len(queue),
        queue_version=version,
        updating=1 if reply.get("updatedb") is True else None,
        bitrate=_to_int(reply.get("bitrate")),
        audio_format=_audio_format(reply),
    )


def is_stream(reply: Item) -> bool:
    """Return whether a state or an item is web radio. `stream` may also be the type of a file."""
    return (
        "webradio" in (reply.get("service"), reply.get("trackType"), reply.get("type")) or reply.get("stream") is True
    )


def to_queue(items: Iterable[Item]) -> list[Track]:
    """Return the queue.

    The id of a track is made of its URI and its occurrence number in the queue.

    So ids stay the same when other tracks move, and they are the same for every client.
    """
    occurrences: Counter[str] = Counter()
    tracks = []
    for position, item in enumerate(items):
        uri = item_uri(item)
        occurrences[uri] += 1
        digest = blake2b(f"{occurrences[uri]} {uri}".encode("utf-8", "surrogatepass"), digest_size=6)
        tracks.append(_to_track(item, position, int.from_bytes(digest.digest(), "big")))
    return tracks


def item_uri(item: Item) -> str:
    """Return the URI of an item; for a file, its URI in the library, which differs in the queue."""
    uri = _to_text(item.get("uri"))
    return f"{ROOT}/{uri.removeprefix('mnt/')}" if uri.startswith("mnt/") else uri


def to_entry(item: Item) -> Entry | None:
    """Return an item as an entry; `None` without a name or a URI."""
    name, uri = _to_text(item.get("title") or item.get("name")), item_uri(item)
    scheme, _, rest = uri.partition("://")
    names = [unquote(part) for part in rest.split("/")]
    if not uri:
        return None
    if scheme in _TAG_PAGES and rest:
        kinds = _TAG_PAGES[scheme]
        kind = kinds[min(len(names), len(kinds)) - 1]
        artist = _to_text(item.get("artist")) or (names[-2] if len(names) > 1 else "")
        if not (name or names[-1]):
            return None  # stands for the tracks that lack this tag
        if kind is not EntryType.ALBUM:
            return Entry(kind=kind, name=name or names[-1], uri=uri)
        return Entry(kind=kind, name=name or names[-1], uri=uri, artist=artist, date=_to_text(item.get("year")))
    if item.get("type") in _SONGS:
        kind, track = EntryType.STREAM if is_stream(item) else EntryType.TRACK, _to_track(item)
        return Entry(kind=kind, name=track.label, uri=uri, artist=track.artist, track=track)
    kind = EntryType.PLAYLIST if item.get("type") == "playlist" or uri.startswith("playlists/") else EntryType.FOLDER
    return Entry(kind=kind, name=name or uri, uri=uri)


def parse_duration(clock: Any) -> int:
    """Return h:mm:ss in seconds; 0 if it is invalid."""
    parts = str(clock).split(":")
    if not all(part.isascii() and part.isdecimal() for part in parts):
        return 0
    total = 0
    for part in parts:
        total = total * 60 + int(part)
    return total


def _current_track(reply: Item, queue: Sequence[Track]) -> Track | None:
    position, track = reply.get("position"), _to_track(reply)
    if not track.uri and not track.title:
        return None
    if not isinstance(position, int) or not 0 <= position < len(queue) or queue[position].uri != track.uri:
        return track  # another source plays, such as AirPlay from a phone
    return _to_track(reply, position, queue[position].id)


def _to_track(item: Item, position: int | None = None, id: int | None = None) -> Track:  # noqa: A002 - MPD's word
    number = _to_text(item.get("tracknumber"))
    length = _to_number(item.get("duration"))
    return Track(
        uri=item_uri(item),
        title=_to_text(item.get("title") or item.get("name")),
        artist=_to_text(item.get("artist")),
        album=_to_text(item.get("album")),
        genre=_to_text(item.get("genre")),
        date=_to_text(item.get("year")),
        number="" if number == "0" else number,
        duration=length if length and not is_stream(item) else None,
        position=position,
        id=id,
    )


def _audio_format(reply: Item) -> str:
    """Return MPD's format, such as 44100:16:2; empty if rate, bits or channels are missing."""
    rate, bits = _to_number(reply.get("samplerate")), _to_int(reply.get("bitdepth"))
    channels = _to_int(reply.get("channels"))
    if not rate or not bits or not channels:
        return ""
    return f"{round(rate * 1000) if rate < 1000 else round(rate)}:{bits}:{channels}"


def _to_int(value: Any) -> int | None:
    number = _to_number(value)
    return None if number is None else round(number)


def _to_number(value: Any) -> float | None:
    """Return the number at the start of `value`; a unit may follow."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    match = re.match(r"\s*-?\d{1,15}(\.\d{1,9})?(?=[\s%a-zA-Z]|$)", str(value))
    return float(match[0]) if match else None


def _to_text(value: Any) -> str:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


CACHE_SECONDS = 30.0
_SOURCES = ("favourites", "playlists", "radio", "upnp", "Last_100")  # folders that Volumio has beside the library
_PLAYABLE = (EntryType.TRACK, EntryType.STREAM)


class PlayableItems(NamedTuple):
    """A source as Volumio's items, and its display name."""

    name: str
    items: Sequence[Mapping[str, Any]]


class VolumioLibrary:
    """The library of one Volumio."""

    def __init__(self, client: VolumioClient) -> None:
        self._client = client
        self._cache: tuple[str, list[Mapping[str, Any]]] | None = None

    async def list_directory(self, path: str, start: int, count: int) -> Page[Entry]:
        """Return a page of the folder `path`. Raises Refused if it does not exist."""
        uri = _to_uri(path)
        items = await self._browse(uri)
        if not items and uri != ROOT and await self._find_item(uri) is None:
            raise Refused(f"the library has no folder {path!r}")
        return cut_page(_entries(items), start, count)

    async def list_entries(self, kind: EntryType, library_filter: LibraryFilter, start: int, count: int) -> Page[Entry]:
        """Return the matching entries of type `kind`.

        Raises Refused if Volumio has no such list.
        """
        if kind in _PLAYABLE:
            return cut_page(await self._find_tracks(library_filter), start, count)
        if kind not in (EntryType.ARTIST, EntryType.ALBUM, EntryType.GENRE):
            raise Refused(f"the library of Volumio is not sorted by {kind}; browse its folders")
        if kind is EntryType.GENRE and library_filter != LibraryFilter():
            raise Refused("Volumio lists the genres of its whole library only; ask for them without anything else")
        page = {EntryType.ARTIST: "artists://", EntryType.ALBUM: "albums://", EntryType.GENRE: "genres://"}[kind]
        if library_filter.text or library_filter.genre or (library_filter.artist and kind is EntryType.ALBUM):
            items = await self._browse_filter(library_filter)
        else:
            items = await self._browse(page)
        entries = _add_artists(_entries(items)) if library_filter.genre else _entries(items)
        matches = (entry for entry in entries if entry.kind is kind and _matches(entry, library_filter))
        unique = {(entry.name, entry.artist): entry for entry in matches}
        return cut_page(sorted(unique.values(), key=lambda entry: entry.name.casefold()), start, count)

    async def read_stats(self) -> LibraryStats:
        """Return the size of the library."""
        reply = await self._client.get("collectionstats")
        if not isinstance(reply, dict):
            raise Refused("Volumio does not report the size of its library; ask again after its scan")
        artists, albums, songs = (_to_count(reply.get(key)) for key in ("artists", "albums", "songs"))
        return LibraryStats(artists=artists, albums=albums, tracks=songs, seconds=parse_duration(reply.get("playtime")))

    async def list_playlists(self) -> list[Playlist]:
        """Return the saved playlists, sorted by name."""
        names = await self._client.get("listplaylists")
        listed = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
        return [Playlist(name=name) for name in sorted(listed, key=str.casefold)]

    async def list_playlist(self, name: str, start: int, count: int) -> Page[Entry]:
        """Return a page of the playlist `name`. Raises Refused if it does not exist."""
        return cut_page(_entries(await self._read_playlist(name)), start, count)

    async def find(self, source: Source) -> PlayableItems:
        """Return the items that `source` stands for.

        Raises Refused if there are none, which Volumio would not report.

        Raises Refused if it does not exist, which Volumio would not report.
        """
        match source:
            case Uri():
                return await self._find_uri(source)
            case SavedPlaylist():
                songs = [item for item in await self._read_playlist(source.playlist) if item_uri(item)]
                if not songs:
                    raise Refused(f"the playlist {source.playlist!r} is empty")
                return PlayableItems(source.playlist, songs)
            case LibraryFilter():
                return await self._find_tracks_for(source)

    async def _find_uri(self, source: Uri) -> PlayableItems:
        if not source.uri.strip():
            raise Refused("no file or address is named to add")
        if source.uri.startswith(("http://", "https://")):
            title = source.title or source.uri
            item = {"uri": source.uri, "service": "webradio", "type": "webradio", "title": title, "name": title}
            return PlayableItems(title, [item])
        uri = _to_uri(source.uri)
        if uri.startswith("playlists/"):
            return await self.find(SavedPlaylist(playlist=uri.removeprefix("playlists/")))
        scheme = uri.partition("://")[0] if "://" in uri else ""
        if scheme and scheme not in ("artists", "albums", "genres"):
            # played by a plug-in of Volumio
            return PlayableItems(source.title or uri, [{"uri": uri, "title": source.title}])
        if scheme or uri in (ROOT, *_SOURCES):
            items = await self._browse(uri)
            known: Mapping[str, Any] | None = {"title": source.title} if items else None
        else:
            known = await self._find_item(uri)
        if known is None:
            raise Refused(f"the library has no {source.uri!r}")
        name = source.title or str(known.get("title") or unquote(uri.rpartition("/")[2]))
        return PlayableItems(name, [{"uri": uri, "service": known.get("service", "mpd"), "title": name}])

    async def _find_tracks_for(self, library_filter: LibraryFilter) -> PlayableItems:
        tracks = [entry.track for entry in await self._find_tracks(library_filter) if entry.track]
        name = library_filter.album or library_filter.artist or library_filter.genre or library_filter.text
        if not tracks:
            raise Refused(f"nothing is found for {name!r}")
        return PlayableItems(name, [{"uri": track.uri, "service": "mpd", "title": track.title} for track in tracks])

    async def _find_tracks(self, library_filter: LibraryFilter) -> list[Entry]:
        if library_filter == LibraryFilter():
            raise Refused("Volumio does not list all its tracks at once; name an artist, an album, a genre or words")
        items = await self._browse_filter(library_filter)
        if library_filter.album and not library_filter.text:
            albums = [
                entry for entry in _entries(items) if entry.kind is EntryType.ALBUM and _matches(entry, library_filter)
            ]
            items = [item for album in dict.fromkeys(each.uri for each in albums) for item in await self._browse(album)]
        return [entry for entry in _entries(items) if entry.kind in _PLAYABLE and _matches(entry, library_filter)]

    async def _browse_filter(self, library_filter: LibraryFilter) -> list[Mapping[str, Any]]:
        """Return the items of the smallest list that contains all matches."""
        if library_filter.text:
            return _reply_items(await self._client.get("search", query=_encode(library_filter.text)))
        parts = [_encode(part) for part in (library_filter.genre, library_filter.artist) if part]
        if not parts:
            return await self._browse("albums://")
        return await self._browse(f"{'genres' if library_filter.genre else 'artists'}://{'/'.join(parts)}")

    async def _read_playlist(self, name: str) -> list[Mapping[str, Any]]:
        names = [each.name for each in await self.list_playlists()]
        if name not in names:
            raise Refused(f"there is no playlist {name!r}; there are: {', '.join(names) or 'none'}")
        return await self._browse(f"playlists/{name}")

    async def _find_item(self, uri: str) -> Mapping[str, Any] | None:
        """Return the item `uri` from the list of its parent; `None` if it is missing."""
        above = uri.rpartition("/")[0] or ROOT
        return next((item for item in await self._browse(above) if item_uri(item) == uri), None)

    async def _browse(self, uri: str) -> list[Mapping[str, Any]]:
        if self._cache and self._cache[0] == uri:
            return self._cache[1]
        try:
            # encoded twice, because Volumio decodes it twice
            items = _reply_items(await self._client.get("browse", uri=_encode(uri)))
        except Refused:
            return []  # Volumio replies "No Result" to any wrong URI
        self._cache = cached = (uri, items)
        asyncio.get_running_loop().call_later(CACHE_SECONDS, self._forget, cached)
        return items

    def _forget(self, cached: tuple[str, list[Mapping[str, Any]]]) -> None:
        if self._cache is cached:
            self._cache = None


def _to_uri(path: str) -> str:
    path = path.strip("/") if "://" not in path else path
    if "://" in path or path.partition("/")[0] in (ROOT, *_SOURCES):
        return path
    return f"{ROOT}/{path.removeprefix('mnt/')}" if path else ROOT


def _reply_items(answer: Any) -> list[Mapping[str, Any]]:
    """Return the items of all lists in a reply; the top level has items instead of lists."""
    navigation = answer.get("navigation") if isinstance(answer, dict) else None
    lists = only_objects(navigation.get("lists")) if isinstance(navigation, dict) else []
    return [item for each in lists for item in (only_objects(each["items"]) if "items" in each else [each])]


def _entries(items: Iterable[Mapping[str, Any]]) -> list[Entry]:
    return [entry for entry in map(to_entry, items) if entry is not None]


def _matches(entry: Entry, library_filter: LibraryFilter) -> bool:
    """Return whether an entry matches those parts of the filter that its list does not guarantee.

    The list of an artist contains only this artist; the result of a search may be by anyone.
    """
    by = not library_filter.text or library_filter.artist in ("", entry.artist)
    if entry.kind is EntryType.ARTIST:
        return library_filter.artist in ("", entry.name)
    if entry.kind is EntryType.ALBUM:
        return library_filter.album in ("", entry.name) and by
    album = entry.track.album if entry.track else ""
    return by and (not library_filter.text or library_filter.album in ("", album))


def _add_artists(entries: Sequence[Entry]) -> Sequence[Entry]:
    """Return `entries` and their artists: the list of a genre has only albums and tracks."""
    names = dict.fromkeys(entry.artist for entry in entries if entry.artist)
    known = {entry.name for entry in entries if entry.kind is EntryType.ARTIST}
    artists = [
        Entry(kind=EntryType.ARTIST, name=name, uri=f"artists://{_encode(name)}") for name in names if name not in known
    ]
    return [*entries, *artists]


def _encode(text: str) -> str:
    return quote(text, safe="", errors="replace")


def _to_count(value: Any) -> int:
    return value if isinstance(value, int) else 0
