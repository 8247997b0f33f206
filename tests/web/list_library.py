"""The library of the list player: tracks, playlists, ratings, pictures and outputs."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, TypeVar

from pi_appliance.errors import Refused
from pi_appliance.music.model import (
    Capability,
    CoverArt,
    Entry,
    EntryType,
    LibraryFilter,
    LibraryStats,
    Output,
    Page,
    Partition,
    PlayerState,
    Playlist,
    SavedPlaylist,
    Source,
    Track,
    TrackRating,
    Uri,
)

T = TypeVar("T")


def window(items: Sequence[T], start: int, count: int) -> Page[T]:
    result = items[start : start + count]
    return Page(items=result, start=start, length=len(items), more=start + len(result) < len(items))


class ListLibrary:
    """The library half of a ListPlayer."""

    now: PlayerState

    def __init__(self, library: Sequence[Track]) -> None:
        self.library = [dataclasses.replace(track, position=None, id=None) for track in library]
        self.can = set(Capability)
        self.saved: dict[str, list[Track]] = {}
        self.thought: dict[str, TrackRating] = {}
        self.pictures: dict[str, CoverArt] = {}
        self.art_asked: list[str] = []
        self.updated: list[str] = []
        self.sockets = [
            Output(id=0, name="Kitchen", on=True, plugin="alsa"),
            Output(id=1, name="Garden", on=False),
        ]
        self.rooms = ["default"]

    def changed(self, *names: str, **state: Any) -> None:
        raise NotImplementedError

    async def capabilities(self) -> frozenset[Capability]:
        return frozenset(self.can)

    def need(self, can: Capability) -> None:
        if can not in self.can:
            raise Refused(f"this player cannot do that: it lacks {can.value!r}")

    async def list_outputs(self) -> Sequence[Output]:
        self.need(Capability.OUTPUTS)
        return list(self.sockets)

    async def set_output(self, id: int, on: bool) -> None:  # noqa: A002 - MPD's word
        self.need(Capability.OUTPUTS)
        if id not in {each.id for each in self.sockets}:
            raise Refused(f"there is no output {id}")
        self.sockets = [dataclasses.replace(each, on=on) if each.id == id else each for each in self.sockets]
        self.changed("output")

    async def list_directory(self, path: str = "", start: int = 0, count: int = 100) -> Page[Entry]:
        self.need(Capability.FOLDERS)
        inside = [track for track in self.library if path == "" or track.uri.startswith(f"{path}/")]
        if path and not inside:
            raise Refused(f"the library has no folder {path!r}")
        rests = [(track.uri.removeprefix(f"{path}/" if path else ""), track) for track in inside]
        folders = dict.fromkeys(rest.split("/")[0] for rest, _ in rests if "/" in rest)
        entries = [Entry(kind=EntryType.FOLDER, name=name, uri=str(PurePosixPath(path, name))) for name in folders]
        return window(entries + [_entry(track) for rest, track in rests if "/" not in rest], start, count)

    async def list_library(
        self,
        kind: EntryType,
        library_filter: LibraryFilter = LibraryFilter(),  # noqa: B008 - it never changes
        start: int = 0,
        count: int = 100,
    ) -> Page[Entry]:
        self.need(Capability.SEARCH if library_filter.text else Capability.TAGS)
        tracks = [track for track in self.library if _matches(track, library_filter)]
        match kind:
            case EntryType.TRACK:
                entries = [_entry(track) for track in tracks]
            case EntryType.ALBUM:
                albums = sorted({(each.album, each.album_artist or each.artist, each.date) for each in tracks})
                entries = [Entry(kind=kind, name=a, artist=b, date=c) for a, b, c in albums if a]
            case EntryType.ARTIST | EntryType.GENRE:
                names = sorted({each.artist if kind is EntryType.ARTIST else each.genre for each in tracks})
                entries = [Entry(kind=kind, name=name) for name in names if name]
            case _:
                raise Refused(f"the library is not sorted by {kind.value}")
        return window(entries, start, count)

    async def library_stats(self, folder: str = "") -> LibraryStats:
        inside = [track for track in self.library if track.uri.startswith(folder)]
        artists, albums = {track.artist for track in inside}, {track.album for track in inside}
        seconds = round(sum(track.duration or 0 for track in inside))
        return LibraryStats(artists=len(artists), albums=len(albums), tracks=len(inside), seconds=seconds)

    async def update_library(self, folder: str = "") -> None:
        self.need(Capability.UPDATE)
        self.updated.append(folder)
        self.changed("update", updating=(self.now.updating or 0) + 1)

    async def list_playlists(self) -> Sequence[Playlist]:
        self.need(Capability.PLAYLISTS)
        return [Playlist(name=name) for name in sorted(self.saved)]

    async def list_playlist(self, name: str, start: int = 0, count: int = 100) -> Page[Entry]:
        self.need(Capability.PLAYLISTS)
        return window([_entry(track) for track in self._list(name)], start, count)

    async def add_to_playlist(self, name: str, source: Source) -> None:
        self.need(Capability.EDIT_PLAYLISTS)
        self.saved[name] = [*self.saved.get(name, []), *self.tracks_of(source)]
        self.changed("stored_playlist")

    async def remove_from_playlist(self, name: str, positions: Collection[int]) -> None:
        self.need(Capability.EDIT_PLAYLISTS)
        self.saved[name] = [track for place, track in enumerate(self._list(name)) if place not in positions]
        self.changed("stored_playlist")

    async def move_in_playlist(self, name: str, position: int, to: int) -> None:
        self.need(Capability.EDIT_PLAYLISTS)
        tracks = self._list(name)
        if not (position < len(tracks) and to < len(tracks)):
            raise Refused(f"{name} has only {len(tracks)} tracks")
        tracks.insert(to, tracks.pop(position))
        self.changed("stored_playlist")

    async def rename_playlist(self, name: str, to: str) -> None:
        self.need(Capability.EDIT_PLAYLISTS)
        self._list(name)
        if to in self.saved:
            raise Refused(f"there is a playlist {to!r} already")
        self.saved[to] = self.saved.pop(name)
        self.changed("stored_playlist")

    async def delete_playlist(self, name: str) -> None:
        self.need(Capability.EDIT_PLAYLISTS)
        self._list(name)
        del self.saved[name]
        self.changed("stored_playlist")

    async def ratings(self, uris: Collection[str]) -> Mapping[str, TrackRating]:
        self.need(Capability.STICKERS)
        return {uri: self.thought[uri] for uri in uris if uri in self.thought}

    async def set_rating(self, uri: str, opinion: TrackRating) -> None:
        self.need(Capability.STICKERS)
        self.thought[uri] = opinion
        self.changed("sticker")

    async def list_favourites(self, start: int = 0, count: int = 100) -> Page[Entry]:
        self.need(Capability.STICKERS)
        liked = [uri for uri in sorted(self.thought) if self.thought[uri].favourite]
        known = {track.uri: track for track in self.library}
        return window([_entry(known.get(uri, Track(uri=uri))) for uri in liked], start, count)

    async def album_art(self, uri: str) -> CoverArt | None:
        self.need(Capability.ART)
        self.art_asked.append(uri)
        return self.pictures.get(uri) or self.pictures.get(uri.rpartition("/")[0])

    async def list_partitions(self) -> Sequence[Partition]:
        self.need(Capability.PARTITIONS)
        return [Partition(name=name) for name in self.rooms]

    async def use_partition(self, name: str) -> None:
        self._check_partition(name)
        self.changed("partition", partition=name)

    async def create_partition(self, name: str) -> None:
        self.need(Capability.PARTITIONS)
        if name in self.rooms:
            raise Refused(f"there is a partition {name!r} already")
        self.rooms.append(name)
        self.changed("partition")

    async def delete_partition(self, name: str) -> None:
        self._check_partition(name)
        if name == (self.now.partition or "default"):
            raise Refused(f"the partition {name!r} is spoken of; use another one first")
        if name not in self.rooms:
            raise Refused("MPD says: no such partition")
        self.rooms.remove(name)
        self.changed("partition")

    async def move_output(self, name: str) -> None:
        self.need(Capability.PARTITIONS)
        if name not in {each.name for each in self.sockets}:
            raise Refused(f"there is no output {name!r}")
        self.changed("output")

    def tracks_of(self, source: Source) -> list[Track]:
        match source:
            case Uri():
                return self._at(source)
            case SavedPlaylist():
                return list(self._list(source.playlist))
            case LibraryFilter():
                result = [track for track in self.library if _matches(track, source)]
                if not result:
                    raise Refused("the library has nothing like that")
                return result

    def _at(self, source: Uri) -> list[Track]:
        if "://" in source.uri:
            return [Track(uri=source.uri, title=source.title)]
        under = source.uri.rstrip("/")
        result = [track for track in self.library if track.uri == under or track.uri.startswith(f"{under}/")]
        if not result:
            raise Refused(f"the library has no {source.uri!r}")
        return result

    def _list(self, name: str) -> list[Track]:
        if name not in self.saved:
            raise Refused(f"there is no playlist {name!r}")
        return self.saved[name]

    def _check_partition(self, name: str) -> None:
        self.need(Capability.PARTITIONS)
        if name not in self.rooms:
            raise Refused(f"there is no partition {name!r}")


def _entry(track: Track) -> Entry:
    kind = EntryType.STREAM if "://" in track.uri else EntryType.TRACK
    return Entry(kind=kind, name=track.label, uri=track.uri, track=dataclasses.replace(track, position=None, id=None))


def _matches(track: Track, library_filter: LibraryFilter) -> bool:
    tags = (
        (library_filter.artist, track.artist),
        (library_filter.album, track.album),
        (library_filter.genre, track.genre),
    )
    output = " ".join((track.title, track.artist, track.album, track.genre)).casefold()
    words = library_filter.text.casefold().split()
    return all(not asked or asked == tag for asked, tag in tags) and all(word in output for word in words)
