"""Writes the database of an MPD library of any size, without the music files."""

import contextlib
import gzip
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

FLAT = "flat"  # the folder that holds many files, and one folder with two more
_HEAD = """info_begin
format: 2
mpd_version: 0.23.12
fs_charset: UTF-8
tag: Artist
tag: ArtistSort
tag: Album
tag: AlbumSort
tag: AlbumArtist
tag: AlbumArtistSort
tag: Title
tag: Track
tag: Name
tag: Genre
tag: Date
tag: OriginalDate
tag: Composer
tag: ComposerSort
tag: Performer
tag: Conductor
tag: Work
tag: Movement
tag: MovementNumber
tag: Ensemble
tag: Location
tag: Grouping
tag: Disc
tag: Label
tag: MUSICBRAINZ_ARTISTID
tag: MUSICBRAINZ_ALBUMID
tag: MUSICBRAINZ_ALBUMARTISTID
tag: MUSICBRAINZ_TRACKID
tag: MUSICBRAINZ_RELEASETRACKID
tag: MUSICBRAINZ_WORKID
info_end
"""
_GENRES = ("Jazz", "Rock", "Folk", "Klassik", "Ambient", "Blues", "Chanson", "Hörspiel", "Techno", "世界")


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """The number of tracks in albums of twelve, and of those in one flat folder."""

    tracks: int = 100_000
    flat: int = 100_000

    @property
    def albums(self) -> int:
        return -(-self.tracks // 12)


def write_database(file: Path, size: Size) -> None:
    """Write the database of a library of `size` into `file`, which MPD loads without a scan."""
    with gzip.open(file, "wt", encoding="utf-8", compresslevel=1) as database:
        database.write(_HEAD)
        for number in range(0, size.albums, 10):
            database.writelines(_artist(number // 10, range(number, min(number + 10, size.albums)), size.tracks))
        database.writelines(_folder(FLAT, "", _flat(size.flat)))


def write_favourites(file: Path, uris: Iterable[str]) -> None:
    """Write MPD's sticker database into `file` with `uris` as favourites."""
    with contextlib.closing(sqlite3.connect(file)) as database, database:
        columns = ", ".join(f"{name} VARCHAR NOT NULL" for name in ("type", "uri", "name", "value"))
        database.execute(f"CREATE TABLE sticker ({columns})")
        database.execute("CREATE UNIQUE INDEX sticker_value ON sticker (type, uri, name)")
        database.executemany("INSERT INTO sticker VALUES ('song', ?, 'like', '2')", ((uri,) for uri in uris))


def track(number: int) -> str:
    """Return the path of track `number`, counted through the albums."""
    place = number // 12
    return f"{artist(place // 10)}/{album(place)}/{number % 12 + 1:02} track.flac"


def artist(number: int) -> str:
    """Return the name of artist `number`; each has ten albums."""
    return f"Artist {number:04} Ünï"


def album(number: int) -> str:
    return f"Album {number:05} of Songs"


def _artist(number: int, albums: range, tracks: int) -> Iterator[str]:
    inside = (line for each in albums for line in _folder(album(each), artist(number), _album(each, tracks)))
    yield from _folder(artist(number), "", inside)


def _folder(name: str, parent: str, inside: Iterator[str]) -> Iterator[str]:
    path = f"{parent}/{name}" if parent else name
    yield f"directory: {name}\nmtime: 1700000000\nbegin: {path}\n"
    yield from inside
    yield f"end: {path}\n"


def _album(number: int, tracks: int) -> Iterator[str]:
    for place in range(min(12, tracks - number * 12)):
        yield _song(f"{place + 1:02} track.flac", number, place + 1, f"Song {number * 12 + place} in the Key of Life")


def _flat(count: int) -> Iterator[str]:
    yield from _folder("more", FLAT, _takes(range(count, count + 2)))
    yield from _takes(range(count))


def _takes(numbers: range) -> Iterator[str]:
    for number in numbers:
        yield (
            f"song_begin: take {number:06}.flac\nTime: 200.5\nTitle: Take {number}\nArtist: Nobody\nAlbum: Takes\n"
            "Format: 44100:16:2\nmtime: 1700000000\nsong_end\n"
        )


def _song(name: str, number: int, place: int, title: str) -> str:
    who = artist(number // 10)
    return (
        f"song_begin: {name}\nTime: 180.250000\nArtist: {who}\nAlbum: {album(number)}\nAlbumArtist: {who}\n"
        f"Title: {title}\nTrack: {place}\nGenre: {_GENRES[number % len(_GENRES)]}\nDate: {1950 + number % 75}\n"
        "Format: 44100:16:2\nmtime: 1700000000\nsong_end\n"
    )
