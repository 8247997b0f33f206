"""The music of the fake Volumio and its browse pages: `title` there is `name` in the queue."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote

Item = dict[str, Any]
PICTURE = b"\x89PNG\r\n\x1a\n" + b"a cover" * 50
DEFAULT_PICTURE = b"\x89PNG\r\n\x1a\n" + b"no cover" * 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Song:
    """A file: its path starts with USB/, NAS/ or INTERNAL/."""

    path: str
    title: str
    artist: str
    album: str
    genre: str = "Rock"
    seconds: int = 200


SONGS = (
    Song(path="USB/Ärzte/eins.flac", title="Eins", artist="Die Ärzte", album="Ünï"),
    Song(path="USB/Ärzte/zwei — 100%.flac", title="Zwei", artist="Die Ärzte", album="Ünï", genre="Punk"),
    Song(path="USB/Blue/one.mp3", title="One", artist="AC/DC", album="Blue", genre="Jazz", seconds=100),
    Song(path="USB/Blue/two.mp3", title="Two", artist="AC/DC", album="Blue", genre="Jazz", seconds=120),
    Song(path="NAS/alone.flac", title="Alone", artist="Björk", album="Solo", seconds=60),
)
MORNING, ROADS = "Morning", "Roads & Rain"


def playlists() -> dict[str, list[str]]:
    """Return two saved playlists with their items."""
    return {
        MORNING: ["music-library/USB/Blue/one.mp3", "music-library/NAS/alone.flac"],
        ROADS: ["music-library/USB/Ärzte/eins.flac"],
    }


@dataclass
class Library:
    """Songs and saved playlists."""

    songs: Sequence[Song] = SONGS
    playlists: dict[str, list[str]] = field(default_factory=playlists)

    def page(self, uri: str) -> Item:
        """Return the answer of browse. Raises LookupError for {"error": "No Result"}."""
        kind, _, rest = uri.partition("://")
        parts = [unquote(part) for part in rest.split("/") if part]
        match kind:
            case "/" | "":
                return {"navigation": {"lists": _sources()}}
            case "artists" if not parts:
                return _page(self._names("artist", "artists://"))
            case "albums" if not parts:
                return _page(self._albums(self.songs, "albums://"))
            case "genres" if not parts:
                return _page(self._names("genre", "genres://"))
            case "artists" | "albums" | "genres":
                return self._found(kind, parts)
        top, _, name = uri.partition("/")
        if top == "playlists":
            return self._playlist(name)
        if top == "music-library":
            return _page(self._folder(name))
        raise LookupError

    def search(self, words: str) -> Item:
        """Return three lists: artists, albums, tracks."""
        low = words.casefold()
        artists = [each for each in self._names("artist", "artists://") if low in each["title"].casefold()]
        albums = [each for each in self._albums(self.songs, "albums://") if low in each["title"].casefold()]
        tracks = [_browsed(song) for song in self.songs if low in song.title.casefold()]
        lists = [("Artists", artists), ("Albums", albums), ("Tracks", tracks)]
        shown = [{"title": f"{title} '{words}'", "items": items} for title, items in lists if items]
        return {"navigation": {"isSearchResult": True, "lists": shown}}

    def explode(self, item: Item) -> list[Item]:
        """Return the queue items for `item`; mostly nothing for missing ones, else LookupError."""
        uri = item["uri"]
        if item.get("service") == "webradio":
            return [_radio(uri, item.get("title") or item.get("name") or "")]
        if "://" not in uri:
            path = uri.removeprefix("music-library/").removeprefix("mnt/")
            result = [song for song in self.songs if song.path == path or song.path.startswith(f"{path}/")]
            return [_queued(song, "mnt/") for song in result]
        kind, _, rest = uri.partition("://")
        result = self._find(kind, [unquote(part) for part in rest.split("/") if part])
        if not result and kind != "albums":
            raise LookupError
        return [_queued(song, "music-library/") for song in result]

    def _find(self, kind: str, parts: Sequence[str]) -> list[Song]:
        keys = {"artists": ("artist", "album"), "albums": ("artist", "album"), "genres": ("genre", "artist", "album")}
        library_filter = dict(zip(keys.get(kind, ()), parts, strict=False))
        return [
            song
            for song in self.songs
            if library_filter and all(getattr(song, key) == library_filter[key] for key in library_filter)
        ]

    def _found(self, kind: str, parts: Sequence[str]) -> Item:
        result, whole = self._find(kind, parts), 3 if kind == "genres" else 2
        prefix = f"{kind}://{'/'.join(_coded(part) for part in parts)}/"
        if len(parts) == whole:
            return _page([_browsed(song) for song in result])
        below = self._albums(result, prefix if kind == "artists" else f"genres://{_coded(parts[0])}/")
        tracks = [{key: value for key, value in _browsed(song).items() if key != "duration"} for song in result]
        return {"navigation": {"lists": [{"title": "Albums", "items": below}, {"title": "Tracks", "items": tracks}]}}

    def _names(self, tag: str, prefix: str) -> list[Item]:
        names = sorted({getattr(song, tag) for song in self.songs})
        return [_folder(name, prefix + _coded(name)) for name in names]

    def _albums(self, songs: Iterable[Song], prefix: str) -> list[Item]:
        result = dict.fromkeys((song.artist, song.album) for song in songs)
        if prefix.startswith("artists://"):
            return [{**_folder(album, prefix + _coded(album)), "artist": artist} for artist, album in result]
        return [
            {**_folder(album, f"{prefix}{_coded(artist)}/{_coded(album)}"), "artist": artist, "year": "1999"}
            for artist, album in result
        ]

    def _folder(self, path: str) -> list[Item]:
        if not path:
            return [_folder(name, f"music-library/{name}") for name in ("INTERNAL", "NAS", "USB")]
        inside = [song for song in self.songs if song.path.startswith(f"{path}/")]
        below = dict.fromkeys(song.path.removeprefix(f"{path}/").partition("/") for song in inside)
        folders = dict.fromkeys(name for name, slash, _ in below if slash)
        files = [song for song in inside if song.path.rpartition("/")[0] == path]
        kind = "remdisk" if path == "USB" else "folder"
        return [
            *({**_folder(name, f"music-library/{path}/{name}"), "type": kind} for name in folders),
            *({key: value for key, value in _browsed(song).items() if key != "duration"} for song in files),
        ]

    def _playlist(self, name: str) -> Item:
        if not name:
            return _page([{**_folder(each, f"playlists/{each}"), "type": "playlist"} for each in self.playlists])
        songs = {f"music-library/{song.path}": song for song in self.songs}
        return _page([_browsed(songs[uri]) for uri in self.playlists.get(name, ())])


def picture(library: Library, query: Mapping[str, str]) -> bytes:
    """Return /albumart: a cover for any folder called Blue or Ärzte, otherwise the default picture."""
    library_filter = f"{query.get('path', '')} {query.get('web', '')}"
    return PICTURE if any(name in library_filter for name in ("Blue", "Ärzte")) else DEFAULT_PICTURE


def _sources() -> list[Item]:
    names: list[tuple[str, str]] = [("Favourites", "favourites"), ("Playlists", "playlists")]
    names += [("Music Library", "music-library"), ("Artists", "artists://"), ("Albums", "albums://")]
    names += [("Genres", "genres://"), ("Web Radio", "radio"), ("Last 100", "Last_100")]
    return [{"name": name, "uri": uri, "plugin_type": "", "plugin_name": ""} for name, uri in names]


def _page(items: list[Item]) -> Item:
    return {"navigation": {"prev": {"uri": "/"}, "lists": [{"availableListViews": ["list"], "items": items}]}}


def _folder(title: str, uri: str) -> Item:
    return {"service": "mpd", "type": "folder", "title": title, "uri": uri, "albumart": "/albumart?sourceicon=x"}


def _art(song: Song) -> str:
    folder = song.path.rpartition("/")[0]
    return (
        f"/albumart?cacheid=7&web={_coded(song.artist)}/{_coded(song.album)}/extralarge&path={_coded('/mnt/' + folder)}"
    )


def _browsed(song: Song) -> Item:
    same = {"artist": song.artist, "album": song.album, "duration": song.seconds, "albumart": _art(song)}
    return {"service": "mpd", "type": "song", "title": song.title, "uri": f"music-library/{song.path}", **same}


def _queued(song: Song, root: str) -> Item:
    return {
        "uri": root + song.path,
        "service": "mpd",
        "name": song.title,
        "artist": song.artist,
        "album": song.album,
        "type": "track",
        "tracknumber": 0,
        "albumart": _art(song),
        "duration": song.seconds,
        "samplerate": "44.1 kHz",
        "bitdepth": "16 bit",
        "trackType": song.path.rpartition(".")[2],
        "channels": 2,
    }


def _radio(uri: str, title: str) -> Item:
    same = {"type": "track", "albumart": "/albumart", "duration": 0, "samplerate": "", "bitdepth": "", "channels": 0}
    return {"uri": uri, "service": "webradio", "name": title, **same, "trackType": "webradio"}


_coded: Callable[[str], str] = lambda text: quote(text, safe="")  # noqa: E731 - as encodeURIComponent does
