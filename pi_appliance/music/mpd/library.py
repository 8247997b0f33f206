"""The library of an MPD: folders, tags, search, playlists, statistics, ratings, album art.

MPD cannot return a part of most lists. Pages are cut here, and the listing of a folder with 100,000
tracks is never held in memory as a whole.
"""

import re
from collections.abc import Collection, Mapping, Sequence

from pi_appliance.errors import Refused, Unavailable, suggest
from pi_appliance.music import model
from pi_appliance.music.model import (
    CoverArt,
    Entry,
    EntryType,
    LibraryFilter,
    LibraryStats,
    Page,
    Playlist,
    SavedPlaylist,
    Source,
    Track,
    TrackRating,
    Uri,
    replace_items,
)
from pi_appliance.music.mpd import parsing
from pi_appliance.music.mpd.connection import (
    ACK_ARGUMENT,
    ACK_EXIST,
    ACK_NO_EXIST,
    ACK_NOT_ALLOWED,
    ACK_PLAYLIST_MAX,
    Command,
    ConnectionClosed,
    MpdAckError,
    MpdClient,
    MpdConnection,
    parse_reply,
    require_playable,
)


async def read_entries(mpd: MpdConnection, uris: Sequence[str]) -> list[Entry]:
    """Return the tracks and streams at `uris`; one that is not in the library has only its URI."""
    in_library = [uri for uri in uris if parsing.is_in_library(uri)]
    replies = await mpd.command_each([("lsinfo", uri) for uri in in_library])
    tracks = [parsing.to_track(song) for songs in replies if songs for song in songs if "file" in song]
    by_uri = {track.uri: track for track in tracks}
    return [model.track_entry(by_uri.get(uri) or Track(uri=uri)) for uri in uris]


async def no_such_playlist(mpd: MpdConnection, name: str) -> Refused:
    """Return the error for a missing playlist, with the closest existing name."""
    names = [playlist["playlist"] for playlist in await mpd.command("listplaylists")]
    return Refused(f"there is no playlist called {name!r}; {suggest(name, names)}")


async def _read_uris(mpd: MpdConnection, name: str) -> list[str]:
    if not parsing.is_saved_playlist(name):
        raise await no_such_playlist(mpd, name)
    try:
        uris: list[str] = await mpd.command("listplaylist", name)
    except MpdAckError as error:
        if error.code == ACK_NO_EXIST:
            raise await no_such_playlist(mpd, name) from None
        raise
    return uris


async def _mutate(
    mpd: MpdConnection, description: str, *commands: Command, playlist: str = "", missing: str = "", taken: str = ""
) -> None:
    """Execute `commands` and convert MPD's errors.

    Args:
        description: the command in messages for users.
        playlist: the playlist that does not exist if MPD says "no such".
        missing: the message if MPD says "no such" and no `playlist` is given.
        taken: the message if MPD says "exists already".
    """
    messages = {ACK_NO_EXIST: missing, ACK_EXIST: taken, ACK_PLAYLIST_MAX: "the playlist would be too long for MPD"}
    try:
        await mpd.mutate(description, *commands)
    except MpdAckError as error:
        if playlist and error.code == ACK_NO_EXIST:
            raise await no_such_playlist(mpd, playlist) from None
        if message := messages.get(error.code):
            raise Refused(message) from None
        raise


async def _require_positions(mpd: MpdConnection, name: str, positions: Collection[int]) -> None:
    """Raise Refused unless all `positions` exist: MPD would accept the one after the end."""
    length = len(await _read_uris(mpd, name))
    for position in positions:
        if not 0 <= position < length:
            raise Refused(f"there is no entry {position + 1} in the playlist {name!r}; it has {length}")


async def search_command(mpd: MpdConnection, library_filter: LibraryFilter) -> tuple[str, str]:
    """Return `find` or `search`, and the filter expression. Raises Refused if nothing matches.

    MPD would add nothing, or create an empty playlist, without an error.
    """
    command, songs = await _search_songs(mpd, library_filter, "0:1")
    if not songs:
        raise Refused(f"nothing in the library is {model.describe_source(library_filter)}")
    return command


async def _search_songs(
    mpd: MpdConnection, library_filter: LibraryFilter, window: str
) -> tuple[tuple[str, str], list[Mapping[str, str]]]:
    """Return the command with its expression, and the songs."""
    command = parsing.song_search(library_filter)
    try:
        return command, await mpd.command(*command, "window", window)
    except MpdAckError as error:
        if not library_filter.text or error.code != ACK_ARGUMENT:
            raise
        command = parsing.song_search(library_filter, regex=False)
        return command, await mpd.command(*command, "window", window)


def _add_command(name: str, source: Uri) -> Command:
    if not source.uri:
        raise Refused("no file or address is named to add")
    return ("playlistadd", name, source.uri if model.is_stream(source.uri) else source.uri.strip("/"))


MANY_TRACKS = 2000  # tracks in one folder. Above this, all names are streamed, and tags are read for one page only
MAX_LISTING_BYTES = 2 << 20  # bytes of a listing, above which the same is done
MAX_IMAGE_BYTES = 16 << 20
_CHUNK_BYTES = 1 << 18  # bytes of an image per request; MPD's default is 8 kB
_RATING, _LIKE, _LOVED = "rating", "like", "2"  # stickers that other MPD clients use, too


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
                return model.cut_page(_to_entries(listing, saved), start, count)
        # On a new connection: MPD closes one whose reply exceeds its output buffer.
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
                    # Guests on a compilation are no album artists; they are found by their tracks.
                    tags = ("albumartist", "artist")
                    replies = [(await _list_tag(mpd, library_filter, tag), tag) for tag in tags]
                    return _names_page(kind, replies, start, count)
                case EntryType.GENRE:
                    reply = await _list_tag(mpd, library_filter, "genre")
                    return _names_page(kind, [(reply, "genre")], start, count)
                case EntryType.ALBUM:
                    reply = await _list_tag(mpd, library_filter, "album", "date", "albumartist")
                    return _albums_page(reply, start, count)
        raise Refused(f"the library has no list of each {kind}")

    async def library_stats(self, folder: str = "") -> LibraryStats:
        async with self._session() as mpd:
            if folder.strip("/"):
                totals = await mpd.command("count", parsing.folder_filter(folder))
                return LibraryStats(artists=0, albums=0, tracks=int(totals["songs"]), seconds=int(totals["playtime"]))
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
            page = model.cut_page(sorted(song["file"] for song in songs), start, count)
            return replace_items(page, await read_entries(mpd, page.items))

    async def album_art(self, uri: str) -> CoverArt | None:
        if not parsing.is_in_library(uri):
            return None
        async with self._session() as mpd:
            await _set_chunk_size(mpd)
            for command in ("readpicture", "albumart"):
                if art := await _read_image(mpd, command, uri):
                    return art
            return None

    # Playlists

    async def list_playlists(self) -> Sequence[Playlist]:
        async with self._session() as mpd:
            replies = await mpd.command("listplaylists")
            playlists = [Playlist(name=each["playlist"], modified=each.get("last-modified", "")) for each in replies]
            return sorted(playlists, key=lambda playlist: parsing.sort_key(playlist.name))

    async def list_playlist(self, name: str, start: int = 0, count: int = 100) -> Page[Entry]:
        async with self._session() as mpd:
            # MPD before 0.24 cannot return a part of a playlist, and tags for all of it may exceed
            # its output buffer.
            page = model.cut_page(await _read_uris(mpd, name), start, count)
            return replace_items(page, await read_entries(mpd, page.items))

    async def add_to_playlist(self, name: str, source: Source) -> None:
        async with self._session() as mpd:
            match source:
                case Uri():
                    if model.is_stream(source.uri):
                        await require_playable(mpd, source.uri)
                    missing = f"the library has no {source.uri!r}"
                    await _mutate(mpd, "add", _add_command(name, source), missing=missing)
                case SavedPlaylist():
                    uris = await _read_uris(mpd, source.playlist)
                    await mpd.command_each([("playlistadd", name, uri) for uri in uris], "add")
                case LibraryFilter():
                    _, expression = await search_command(mpd, source)
                    await _mutate(mpd, "add", ("searchaddpl", name, expression))

    async def remove_from_playlist(self, name: str, positions: Collection[int]) -> None:
        descending = sorted(set(positions), reverse=True)  # from the end, so that the other positions stay valid
        async with self._session() as mpd:
            await _require_positions(mpd, name, descending)
            if descending:
                await _mutate(mpd, "remove", *(("playlistdelete", name, position) for position in descending))

    async def move_in_playlist(self, name: str, position: int, to: int) -> None:
        async with self._session() as mpd:
            await _require_positions(mpd, name, [position, to])
            await _mutate(mpd, "move", ("playlistmove", name, position, to))

    async def rename_playlist(self, name: str, to: str) -> None:
        async with self._session() as mpd:
            taken = f"there is a playlist called {to!r} already"
            await _mutate(mpd, "rename", ("rename", name, to), playlist=name, taken=taken)

    async def delete_playlist(self, name: str) -> None:
        async with self._session() as mpd:
            await _mutate(mpd, "delete", ("rm", name), playlist=name)


async def _has_many_tracks(mpd: MpdConnection, path: str) -> bool:
    """Return whether more than MANY_TRACKS tracks are in the folder itself.

    MPD lists them before the tracks in subfolders.
    """
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
    """Return the saved playlists, which MPD lists at the top of the library like files."""
    try:
        return {playlist["playlist"] for playlist in await mpd.command("listplaylists")}
    except MpdAckError:  # MPD may have no folder for playlists
        return set()


def _to_entries(listing: bytes, saved: set[str]) -> Sequence[Entry]:
    """Return folders, then tracks, then the playlist files that are not in `saved`."""
    items = parse_reply("lsinfo", listing)
    return [
        *(_path_entry(EntryType.FOLDER, each["directory"]) for each in items if "directory" in each),
        *(model.track_entry(parsing.to_track(each)) for each in items if "file" in each),
        *(
            _path_entry(EntryType.PLAYLIST, each["playlist"])
            for each in items
            if "playlist" in each and each["playlist"] not in saved
        ),
    ]


async def _read_big_folder(mpd: MpdConnection, path: str, start: int, count: int) -> Page[Entry]:
    """Return a page of a huge folder: stream all names, then read the tracks of the page.

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
        *(model.track_entry(parsing.to_track(song)) for song in songs),
        *(
            _path_entry(EntryType.PLAYLIST, name)
            for name in playlists[max(0, playlist_start) : max(0, playlist_start + count)]
        ),
    ]
    length = len(folders) + song_count + len(playlists)
    return Page(items=items, start=start, length=length, more=start + count < length)


def _path_entry(kind: EntryType, path: str) -> Entry:
    return Entry(kind=kind, name=parsing.base_name(path), uri=path)


async def _find_songs(mpd: MpdConnection, library_filter: LibraryFilter, start: int, count: int) -> Page[Entry]:
    # one more than needed, to know whether there are more
    _, songs = await _search_songs(mpd, library_filter, f"{start}:{start + count + 1}")
    entries = [model.track_entry(parsing.to_track(song)) for song in songs]
    more, items = len(entries) > count, entries[:count]
    length = start + len(items) if not more and (items or start == 0) else None
    return Page(items=items, start=start, length=length, more=more)


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


def _names_page(kind: EntryType, replies: Sequence[tuple[bytes, str]], start: int, count: int) -> Page[Entry]:
    """Return a page of the distinct names in `replies`.

    Each reply comes with the tag that it lists.
    """
    found = {name for reply, tag in replies for name in parsing.find_values(reply, tag) if name}
    names = sorted(found, key=lambda name: (parsing.sort_key(name), name))
    page = model.cut_page(names, start, count)
    return replace_items(page, [Entry(kind=kind, name=name) for name in page.items])


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
    page = model.cut_page(albums, start, count)
    items = [
        Entry(kind=EntryType.ALBUM, name=name, artist=artist, date=dates[name, artist]) for name, artist in page.items
    ]
    return replace_items(page, items)


def _rating_commands(uri: str, stickers: Mapping[str, str], rating: TrackRating) -> list[Command]:
    """Return the sticker commands for `rating`. Another client's "dislike" stays."""
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
    is_valid = text.isascii() and text.isdigit() and 1 <= int(text) <= 10  # other clients may write anything here
    return TrackRating(rating=int(text) if is_valid else None, favourite=stickers.get(_LIKE) == _LOVED)


async def _set_chunk_size(mpd: MpdConnection) -> None:
    try:
        await mpd.command("binarylimit", _CHUNK_BYTES)
    except MpdAckError as error:  # MPD before 0.22.4 does not know the command
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
        return None  # there is no image, or it is unreadable; MPD before 0.22 does not know `readpicture`
    declared = fields.get("type", "")  # the declared type is often wrong
    mime = model.detect_image_type(bytes(image[:12])) or (
        declared if declared.startswith("image/") else "application/octet-stream"
    )
    return CoverArt(data=bytes(image), mime=mime)
