"""The saved playlists of an MPD."""

from collections.abc import Collection, Sequence

from pi_appliance.errors import Refused, suggest
from pi_appliance.music import model
from pi_appliance.music.model import Entry, LibraryFilter, Page, Playlist, SavedPlaylist, Source, Track, Uri
from pi_appliance.music.mpd import parsing
from pi_appliance.music.mpd.connection import (
    ACK_EXIST,
    ACK_NO_EXIST,
    ACK_PLAYLIST_MAX,
    Command,
    MpdAckError,
    MpdClient,
    MpdConnection,
)


class PlaylistCommands(MpdClient):
    """Saved playlists of the `Player` interface."""

    async def list_playlists(self) -> Sequence[Playlist]:
        async with self._session() as mpd:
            replies = await mpd.command("listplaylists")
            playlists = [Playlist(name=each["playlist"], modified=each.get("last-modified", "")) for each in replies]
            return sorted(playlists, key=lambda playlist: parsing.sort_key(playlist.name))

    async def list_playlist(self, name: str, start: int = 0, count: int = 100) -> Page[Entry]:
        async with self._session() as mpd:
            # Before 0.24 MPD cannot return a part, and all tags may exceed its output buffer. URIs are short.
            page = parsing.cut_page(await _read_uris(mpd, name), start, count)
            return parsing.replace_items(page, await read_entries(mpd, page.items))

    async def add_to_playlist(self, name: str, source: Source) -> None:
        async with self._session() as mpd:
            match source:
                case Uri():
                    if parsing.is_stream(source.uri):
                        await require_playable(mpd, source.uri)
                    missing = f"the library has no {source.uri!r}"
                    await _mutate(mpd, "add", _add_command(name, source), missing=missing)
                case SavedPlaylist():
                    uris = await _read_uris(mpd, source.playlist)
                    await mpd.command_each([("playlistadd", name, uri) for uri in uris], "add")
                case LibraryFilter():
                    await _require_match(mpd, source)
                    await _mutate(mpd, "add", ("searchaddpl", name, parsing.song_search(source)[1]))

    async def remove_from_playlist(self, name: str, positions: Collection[int]) -> None:
        descending = sorted(set(positions), reverse=True)  # so that the other positions stay valid
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


async def read_entries(mpd: MpdConnection, uris: Sequence[str]) -> list[Entry]:
    """Return the tracks and streams at `uris`; one that is not in the library has only its URI."""
    in_library = [uri for uri in uris if parsing.is_in_library(uri)]
    replies = await mpd.command_each([("lsinfo", uri) for uri in in_library])
    tracks = [parsing.to_track(song) for songs in replies if songs for song in songs if "file" in song]
    by_uri = {track.uri: track for track in tracks}
    return [parsing.to_entry(by_uri.get(uri) or Track(uri=uri)) for uri in uris]


async def require_playable(mpd: MpdConnection, uri: str) -> None:
    """Raise Refused if MPD cannot play URLs like `uri`, or if it is a file outside the library.

    Over its socket MPD would play any file on the machine, which a user of the web page must not do.
    """
    if uri.lower().startswith("file:"):
        raise Refused(f"{uri!r} is a file outside the library; put it into the music folder")
    schemes = await mpd.command("urlhandlers")
    if not any(uri.lower().startswith(scheme) for scheme in schemes):
        raise Refused(f"MPD cannot play addresses that begin with {uri.partition('://')[0]}://")


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
        mpd: the connection.
        description: the command in messages for users.
        commands: one command list.
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
    """Raise Refused if one of `positions` does not exist: MPD accepts the position after the end."""
    length = len(await _read_uris(mpd, name))
    for position in positions:
        if not 0 <= position < length:
            raise Refused(f"there is no entry {position + 1} in the playlist {name!r}; it has {length}")


async def _require_match(mpd: MpdConnection, library_filter: LibraryFilter) -> None:
    """Raise Refused if nothing matches: MPD would create an empty playlist without an error."""
    command, expression = parsing.song_search(library_filter)
    if not await mpd.command(command, expression, "window", "0:1"):
        raise Refused(f"nothing in the library is {model.describe_source(library_filter)}")


def _add_command(name: str, source: Uri) -> Command:
    if not source.uri:
        raise Refused("nothing is named to add")
    return ("playlistadd", name, source.uri if parsing.is_stream(source.uri) else source.uri.strip("/"))
