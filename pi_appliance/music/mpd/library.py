"""The library of an MPD: folders, artists, albums, genres, search, statistics, ratings, album art.

MPD cannot return a part of most lists. Pages are cut here, and the listing of a folder with 100,000 tracks is never
held in memory as a whole.
"""

import re
from collections.abc import Collection, Mapping, Sequence

from pi_appliance.errors import Refused, Unavailable
from pi_appliance.music.model import CoverArt, Entry, EntryType, LibraryFilter, LibraryStats, Page, TrackRating
from pi_appliance.music.mpd import parsing
from pi_appliance.music.mpd.connection import (
    ACK_ARGUMENT,
    ACK_NO_EXIST,
    ACK_NOT_ALLOWED,
    Command,
    ConnectionClosed,
    MpdAckError,
    MpdClient,
    MpdConnection,
    parse_reply,
)
from pi_appliance.music.mpd.playlists import read_entries

MANY_TRACKS = 2000  # in one folder; above, all names are streamed and only the page is read with tags
MAX_LISTING_BYTES = 2 << 20  # of a listing, above which the same is done
MAX_IMAGE_BYTES = 16 << 20
_CHUNK_BYTES = 1 << 18  # of an image; MPD's default is 8 kB per request
_RATING, _LIKE, _LOVED = "rating", "like", "2"  # stickers that other MPD clients use, too
_IMAGE_SIGNATURES = {
    b"\xff\xd8\xff": "image/jpeg",
    b"\x89PNG": "image/png",
    b"GIF8": "image/gif",
    b"BM": "image/bmp",
    b"II*\0": "image/tiff",
}


class LibraryCommands(MpdClient):
    """Library, ratings and album art of the `Player` interface."""

    async def list_directory(self, path: str = "", start: int = 0, count: int = 100) -> Page[Entry]:
        path = path.strip("/")
        async with self._session() as mpd:
            try:
                listing = None if await _has_many_tracks(mpd, path) else await _read_small_listing(mpd, path)
            except MpdAckError as error:
                if error.code == ACK_NO_EXIST:
                    raise Refused(f"the library has no folder {path!r}") from None
                raise
            if listing is not None:
                saved = await _saved_playlists(mpd) if not path else set()
                return parsing.cut_page(_to_entries(listing, saved), start, count)
        # A new connection, because MPD closes one whose reply exceeds its output buffer.
        async with self._session() as mpd:
            return await _read_big_folder(mpd, path, start, count)

    async def list_library(
        self,
        kind: EntryType,
        library_filter: LibraryFilter = LibraryFilter(),  # noqa: B008 - it is immutable
        start: int = 0,
        count: int = 100,
    ) -> Page[Entry]:
        async with self._session() as mpd:
            match kind:
                case EntryType.TRACK:
                    return await _find_songs(mpd, library_filter, start, count)
                case EntryType.ARTIST:
                    reply = await _list_tag(mpd, library_filter, "albumartist")
                    return _names_page(kind, reply, "albumartist", start, count)
                case EntryType.GENRE:
                    reply = await _list_tag(mpd, library_filter, "genre")
                    return _names_page(kind, reply, "genre", start, count)
                case EntryType.ALBUM:
                    reply = await _list_tag(mpd, library_filter, "album", "date", "albumartist")
                    return _albums_page(reply, start, count)
        raise Refused(f"the library has no list of each {kind}")

    async def library_stats(self, folder: str = "") -> LibraryStats:
        async with self._session() as mpd:
            if folder.strip("/"):
                found = await mpd.command("count", parsing.folder_filter(folder))
                return LibraryStats(artists=0, albums=0, tracks=int(found["songs"]), seconds=int(found["playtime"]))
            stats = await mpd.command("stats")
            return LibraryStats(
                artists=int(stats.get("artists", 0)),
                albums=int(stats.get("albums", 0)),
                tracks=int(stats.get("songs", 0)),
                seconds=int(stats.get("db_playtime", 0)),
                updated=int(stats["db_update"]) if "db_update" in stats else None,
            )

    async def update_library(self, folder: str = "") -> None:
        async with self._session() as mpd:
            await mpd.command("update", folder.strip("/"))

    async def ratings(self, uris: Collection[str]) -> Mapping[str, TrackRating]:
        tracks = [uri for uri in dict.fromkeys(uris) if parsing.is_in_library(uri)]
        async with self._session() as mpd:
            replies = await mpd.command_each([("sticker list", "song", uri) for uri in tracks])
        ratings = {uri: _to_rating(stickers) for uri, stickers in zip(tracks, replies, strict=True) if stickers}
        return {uri: rating for uri, rating in ratings.items() if rating != TrackRating()}

    async def set_rating(self, uri: str, rating: TrackRating) -> None:
        if rating.rating is not None and not 1 <= rating.rating <= 10:
            raise Refused(f"a rating is from 1 to 10, not {rating.rating}")
        if not parsing.is_in_library(uri):
            raise Refused("MPD stores ratings and favourites only for tracks in its library")
        async with self._session() as mpd:
            try:
                stickers = await mpd.command("sticker list", "song", uri)
            except MpdAckError as error:
                if error.code == ACK_NO_EXIST:
                    raise Refused(f"the library has no track {uri!r}") from None
                raise
            if commands := _rating_commands(uri, stickers, rating):
                await mpd.command_list(*commands)

    async def list_favourites(self, start: int = 0, count: int = 100) -> Page[Entry]:
        async with self._session() as mpd:
            songs = await mpd.command("sticker find", "song", "", _LIKE, "=", _LOVED)
            page = parsing.cut_page(sorted(song["file"] for song in songs), start, count)
            return parsing.replace_items(page, await read_entries(mpd, page.items))

    async def album_art(self, uri: str) -> CoverArt | None:
        if not parsing.is_in_library(uri):
            return None
        async with self._session() as mpd:
            await _set_chunk_size(mpd)
            for command in ("readpicture", "albumart"):
                if art := await _read_image(mpd, command, uri):
                    return art
            return None


async def _has_many_tracks(mpd: MpdConnection, path: str) -> bool:
    """Return whether the folder itself has over MANY_TRACKS tracks, which MPD finds before those in its folders."""
    songs = await mpd.command("find", parsing.folder_filter(path), "window", f"{MANY_TRACKS}:{MANY_TRACKS + 1}")
    return any("/" not in song["file"].removeprefix(f"{path}/") for song in songs)


async def _read_small_listing(mpd: MpdConnection, path: str) -> bytes | None:
    """Return the reply of `lsinfo`, or `None` if it is too long."""
    listing = bytearray()
    try:
        async for block in mpd.stream_command("lsinfo", path):
            listing += block
            if len(listing) > MAX_LISTING_BYTES:
                return None
    except ConnectionClosed:
        return None
    return bytes(listing)


async def _saved_playlists(mpd: MpdConnection) -> set[str]:
    """Return the names of the saved playlists, which MPD lists at the top of the library like files."""
    try:
        return {playlist["playlist"] for playlist in await mpd.command("listplaylists")}
    except MpdAckError:  # without a playlist folder
        return set()


def _to_entries(listing: bytes, saved: set[str]) -> Sequence[Entry]:
    """Return folders, then tracks, then the playlist files that are not in `saved`."""
    items = parse_reply("lsinfo", listing)
    return [
        *(_path_entry(EntryType.FOLDER, each["directory"]) for each in items if "directory" in each),
        *(parsing.to_entry(parsing.to_track(each)) for each in items if "file" in each),
        *(
            _path_entry(EntryType.PLAYLIST, each["playlist"])
            for each in items
            if "playlist" in each and each["playlist"] not in saved
        ),
    ]


async def _read_big_folder(mpd: MpdConnection, path: str, start: int, count: int) -> Page[Entry]:
    """Return a page of a folder with very many tracks: stream all names, then read only the tracks of the page.

    MPD finds the tracks of a folder before those in its folders.
    """
    prefix = re.escape(f"{path}/" if path else "").encode()
    path_lines = re.compile(rb"^(directory|playlist): (" + prefix + rb"[^/\n]+)$", re.MULTILINE)
    song_lines = re.compile(rb"^file: " + prefix + rb"[^/\n]+$", re.MULTILINE)
    paths: dict[bytes, list[str]] = {b"directory": [], b"playlist": []}
    song_count = 0
    async for block in mpd.stream_command("listall", path):
        song_count += len(song_lines.findall(block))
        for kind, name in path_lines.findall(block):
            paths[kind].append(name.decode("utf-8", "replace"))
    folders, playlists = paths[b"directory"], paths[b"playlist"]
    first, end = max(0, start - len(folders)), min(song_count, start + count - len(folders))
    songs = []
    if first < end:
        songs = await mpd.command("find", parsing.folder_filter(path), "window", f"{first}:{end}")
    playlist_start = start - len(folders) - song_count
    items = [
        *(_path_entry(EntryType.FOLDER, name) for name in folders[start : start + count]),
        *(parsing.to_entry(parsing.to_track(song)) for song in songs),
        *(
            _path_entry(EntryType.PLAYLIST, name)
            for name in playlists[max(0, playlist_start) : max(0, playlist_start + count)]
        ),
    ]
    length = len(folders) + song_count + len(playlists)
    return Page(items=items, start=start, length=length, has_more=start + count < length)


def _path_entry(kind: EntryType, path: str) -> Entry:
    return Entry(kind=kind, name=parsing.base_name(path), uri=path)


async def _find_songs(mpd: MpdConnection, library_filter: LibraryFilter, start: int, count: int) -> Page[Entry]:
    command, expression = parsing.song_search(library_filter)
    songs = await mpd.command(command, expression, "window", f"{start}:{start + count + 1}")  # one more than needed
    entries = [parsing.to_entry(parsing.to_track(song)) for song in songs]
    has_more, items = len(entries) > count, entries[:count]
    length = start + len(items) if not has_more and (items or start == 0) else None
    return Page(items=items, start=start, length=length, has_more=has_more)


async def _list_tag(mpd: MpdConnection, library_filter: LibraryFilter, tag: str, *groups: str) -> bytes:
    """Return the reply of `list` with the values of `tag` in the songs that match."""
    group_arguments = [word for group in groups for word in ("group", group)]
    try:
        return await mpd.raw_command("list", tag, *parsing.list_filters(library_filter), *group_arguments)
    except MpdAckError as error:
        if not library_filter.text or error.code != ACK_ARGUMENT:
            raise
        filters = parsing.list_filters(library_filter, regex=False)
        return await mpd.raw_command("list", tag, *filters, *group_arguments)


def _names_page(kind: EntryType, reply: bytes, key: str, start: int, count: int) -> Page[Entry]:
    names = sorted(filter(None, parsing.find_values(reply, key)), key=parsing.sort_key)
    page = parsing.cut_page(names, start, count)
    return parsing.replace_items(page, [Entry(kind=kind, name=name) for name in page.items])


def _albums_page(reply: bytes, start: int, count: int) -> Page[Entry]:
    """Return a page of albums. Same name and artist are one album, dated by its earliest track."""
    dates: dict[tuple[str, str], str] = {}
    artist = date = ""
    for line in reply.decode("utf-8", "replace").split("\n")[:-1]:
        key, _, value = line.partition(": ")
        match key:
            case "AlbumArtist":
                artist = value
            case "Date":
                date = value
            case "Album" if value:
                earliest = dates.get((value, artist))
                dates[value, artist] = min(earliest, date) if earliest and date else earliest or date
    albums = sorted(dates, key=lambda album: (parsing.sort_key(album[0]), parsing.sort_key(album[1])))
    page = parsing.cut_page(albums, start, count)
    items = [
        Entry(kind=EntryType.ALBUM, name=name, artist=artist, date=dates[name, artist]) for name, artist in page.items
    ]
    return parsing.replace_items(page, items)


def _rating_commands(uri: str, stickers: Mapping[str, str], rating: TrackRating) -> list[Command]:
    """Return the commands that change the stickers to `rating`. Another client's "dislike" is left alone."""
    commands: list[Command] = []
    if rating.rating is not None:
        commands.append(("sticker set", "song", uri, _RATING, rating.rating))
    elif _RATING in stickers:
        commands.append(("sticker delete", "song", uri, _RATING))
    if rating.favourite:
        commands.append(("sticker set", "song", uri, _LIKE, _LOVED))
    elif stickers.get(_LIKE) == _LOVED:
        commands.append(("sticker delete", "song", uri, _LIKE))
    return commands


def _to_rating(stickers: Mapping[str, str]) -> TrackRating:
    text = stickers.get(_RATING, "")
    is_valid = text.isascii() and text.isdigit() and 1 <= int(text) <= 10  # other clients may write anything
    return TrackRating(rating=int(text) if is_valid else None, favourite=stickers.get(_LIKE) == _LOVED)


async def _set_chunk_size(mpd: MpdConnection) -> None:
    try:
        await mpd.command("binarylimit", _CHUNK_BYTES)
    except MpdAckError as error:  # before MPD 0.22.4
        if error.code in ACK_NOT_ALLOWED:
            raise


async def _read_image(mpd: MpdConnection, command: str, uri: str) -> CoverArt | None:
    try:
        fields, chunk = await mpd.binary_command(command, uri, 0)
        size = int(fields.get("size", 0))
        if not chunk or size > MAX_IMAGE_BYTES:
            return None
        image = bytearray(chunk)
        while len(image) < size:
            more, chunk = await mpd.binary_command(command, uri, len(image))
            if not chunk or int(more["size"]) != size:
                raise Unavailable(f"the picture of {uri} changed while it was read; ask for it again")
            image += chunk
    except MpdAckError as error:
        if error.code in ACK_NOT_ALLOWED:
            raise
        return None  # no image, or unreadable; MPD before 0.22 does not know `readpicture`
    return CoverArt(data=bytes(image), mime=_detect_mime(bytes(image[:12]), fields.get("type", "")))


def _detect_mime(signature: bytes, declared: str) -> str:
    """Return the media type of an image that begins with `signature`; the `declared` one is often wrong."""
    if signature[:4] == b"RIFF" and signature[8:] == b"WEBP":
        return "image/webp"
    known = next((mime for start, mime in _IMAGE_SIGNATURES.items() if signature.startswith(start)), "")
    return known or (declared if declared.startswith("image/") else "application/octet-stream")
