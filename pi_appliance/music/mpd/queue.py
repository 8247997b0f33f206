"""The queue of an MPD. Changes that belong together are one command list, so that other clients cannot interleave."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePosixPath

from pi_appliance.errors import Refused
from pi_appliance.music import model
from pi_appliance.music.model import AddResult, LibraryFilter, Queue, QueuePosition, SavedPlaylist, Source, Uri
from pi_appliance.music.mpd import parsing
from pi_appliance.music.mpd.connection import (
    ACK_EXIST,
    ACK_NO_EXIST,
    ACK_PLAYLIST_MAX,
    Command,
    MpdAckError,
    MpdClient,
    MpdConnection,
    parse_reply,
    quote,
)
from pi_appliance.music.mpd.playlists import no_such_playlist, require_playable

_PLAYLIST_SUFFIXES = {".m3u", ".m3u8", ".pls", ".xspf", ".asx", ".cue"}
_HIGHEST_PRIORITY = 255  # in random mode, tracks with it are played next
_BATCH = 100  # entries of a playlist that are looked up at once
_QUEUE_FULL = "the queue would be too long for MPD (max_playlist_length in mpd.conf)"
_TEMPORARY_NAME = "pi-appliance is saving"  # of the new playlist while an old one is replaced


class QueueCommands(MpdClient):
    """The queue of the `Player` interface."""

    async def list_queue(self, start: int = 0, count: int = 100) -> Queue:
        async with self._session() as mpd:
            try:
                status, songs = await mpd.command_list(
                    ("status",), ("playlistinfo", f"{start}:{start + max(0, count)}")
                )
            except MpdAckError as error:
                if error.index == 0:
                    raise
                status, songs = parse_reply("status", error.replies[0]), []  # the queue ends before `start`
            return Queue(
                tracks=[parsing.to_track(song) for song in songs],
                start=start,
                length=int(status["playlistlength"]),
                version=int(status["playlist"]),
            )

    async def add_source(
        self, source: Source, where: QueuePosition = QueuePosition.END, *, play: bool = False
    ) -> AddResult:
        async with self._session() as mpd, self._add_lock:
            position, count = await _add(mpd, source, where, play=play)
            name = _source_name(source)
            if isinstance(source, Uri) and count == 1:
                (song,) = await mpd.command("playlistinfo", position)
                name = parsing.to_track(song).label
            return AddResult(name=name, position=position, count=count)

    async def move_track(self, id: int, to: int) -> None:  # noqa: A002 - MPD's word
        async with self._session() as mpd:
            # Not repeated, because after a restart of MPD the id may belong to another track.
            await mpd.mutate("move", ("moveid", id, to))

    async def remove_tracks(self, ids: Collection[int]) -> None:
        async with self._session() as mpd:
            await mpd.command_each([("deleteid", each) for each in ids], "remove")

    async def clear_queue(self) -> None:
        async with self._session() as mpd:
            await mpd.command("clear")

    async def shuffle_queue(self) -> None:
        async with self._session() as mpd:
            await mpd.command("shuffle")

    async def save_queue(self, name: str, *, replace: bool = False) -> None:
        async with self._session() as mpd:
            try:
                await mpd.mutate("save", ("save", name))
            except MpdAckError as error:
                if error.code != ACK_EXIST:
                    raise
                if not replace:
                    raise Refused(
                        f"there is a playlist called {name!r} already; replace it, or choose another name"
                    ) from None
                await _replace_playlist(mpd, name)


async def _add(mpd: MpdConnection, source: Source, where: QueuePosition, *, play: bool) -> tuple[int, int]:
    """Add `source` and return position and number of its tracks. Raises Refused, and changes nothing, if unknown."""
    command = await _find_add_command(mpd, source)
    if where is QueuePosition.REPLACE:
        return await _replace_queue(mpd, source, command, play=play)
    status, reply, count = await _append(mpd, source, command)
    position, commands = _move_commands(where, status, count)
    commands += _title_commands(source, reply)
    if play:
        commands.append(("play", position))
    if commands:
        await mpd.mutate("add", *commands)
    return position, count


def _source_name(source: Source) -> str:
    match source:
        case Uri():
            return source.title or parsing.base_name(source.uri.strip("/"))
        case SavedPlaylist():
            return source.playlist
        case LibraryFilter():
            return model.describe_source(source)


async def _find_add_command(mpd: MpdConnection, source: Source) -> Command:
    """Return the command that adds `source`. Raises Refused if it does not exist."""
    match source:
        case Uri() if parsing.is_stream(source.uri):
            quote(source.title)  # raises Refused before the stream is in the queue
            await require_playable(mpd, source.uri)
            return ("addid", source.uri)
        case Uri():
            return await _find_library_command(mpd, source.uri)
        case SavedPlaylist():
            if not parsing.is_saved_playlist(source.playlist):
                raise Refused(f"there is no playlist called {source.playlist!r}")
            if not await _has_playable_entry(mpd, source.playlist):
                raise Refused(f"the playlist {source.playlist!r} holds nothing that can be played")
            return ("load", source.playlist)
        case LibraryFilter():
            find, expression = parsing.song_search(source)
            if not await mpd.command(find, expression, "window", "0:1"):
                raise Refused(f"nothing in the library is {model.describe_source(source)}")
            return (f"{find}add", expression)


async def _find_library_command(mpd: MpdConnection, uri: str) -> Command:
    path = uri.strip("/")
    if not uri:
        raise Refused("nothing is named to add")
    if not parsing.is_in_library(path):
        raise Refused(f"the library has no {uri!r}")
    try:
        if await mpd.command("find", parsing.folder_filter(path), "window", "0:1"):
            return ("add", path)
    except MpdAckError as error:
        if error.code != ACK_NO_EXIST:
            raise
        if PurePosixPath(path).suffix.lower() in _PLAYLIST_SUFFIXES and await _has_playable_entry(mpd, path):
            return ("load", path)
        raise Refused(f"the library has no {uri!r}") from None
    raise Refused(f"{parsing.base_name(path)} holds nothing that can be played")


async def _has_playable_entry(mpd: MpdConnection, playlist: str) -> bool:
    """Return whether the playlist has an entry that exists. Raises Refused if there is no such playlist."""
    try:
        uris = await mpd.command("listplaylist", playlist)
    except MpdAckError as error:
        if error.code != ACK_NO_EXIST:
            raise
        raise await no_such_playlist(mpd, playlist) from None
    if not all(map(parsing.is_in_library, uris)):
        return True
    for start in range(0, len(uris), _BATCH):
        if any(await mpd.command_each([("lsinfo", uri) for uri in uris[start : start + _BATCH]])):
            return True
    return False


async def _replace_queue(mpd: MpdConnection, source: Source, command: Command, *, play: bool) -> tuple[int, int]:
    """Replace the queue with the tracks that `command` adds, as many as MPD's limit allows."""
    play_commands: Sequence[Command] = [("play", 0)] if play else []
    try:
        _, reply, status, *_ = await mpd.mutate("add", ("clear",), command, ("status",), *play_commands)
    except MpdAckError as error:
        if error.code != ACK_PLAYLIST_MAX:
            raise
        reply, status = None, (await mpd.mutate("add", ("status",), *play_commands))[0]
    if commands := _title_commands(source, reply):
        await mpd.mutate("add", *commands)
    return 0, int(status["playlistlength"])


async def _append(mpd: MpdConnection, source: Source, command: Command) -> tuple[Mapping[str, str], str | None, int]:
    """Append to the queue; return the status before, the reply of `command`, and the number of new tracks."""
    try:
        before, reply, after = await mpd.mutate("add", ("status",), command, ("status",))
    except MpdAckError as error:
        if error.code != ACK_PLAYLIST_MAX or error.index != 1:
            raise
        # MPD keeps the tracks that still fitted.
        length = int(parse_reply("status", error.replies[0])["playlistlength"])
        await mpd.mutate("add", ("delete", f"{length}:"))
        raise Refused(_QUEUE_FULL) from None
    count = int(after["playlistlength"]) - int(before["playlistlength"])
    if count <= 0:
        raise Refused(f"MPD added nothing of {_source_name(source)}")
    return before, reply, count


def _move_commands(where: QueuePosition, status: Mapping[str, str], count: int) -> tuple[int, list[Command]]:
    """Return the position for `count` tracks at the end of the queue, and the commands that move them there.

    `status` is from before they were added.
    """
    end = int(status["playlistlength"])
    if where is QueuePosition.END:
        return end, []
    position = int(status["song"]) + 1 if "song" in status else 0
    commands: list[Command] = [("move", f"{end}:{end + count}", position)] if position != end else []
    if status.get("random") == "1":
        commands.append(("prio", _HIGHEST_PRIORITY, f"{position}:{position + count}"))
    return position, commands


def _title_commands(source: Source, song_id: str | None) -> list[Command]:
    """Return the command that titles a stream; files have their own tags. `song_id` is the reply of `addid`."""
    if song_id and isinstance(source, Uri) and source.title and parsing.is_stream(source.uri):
        return [("addtagid", song_id, "title", source.title)]
    return []


async def _replace_playlist(mpd: MpdConnection, name: str) -> None:
    """Save the queue as `name`, so that a power cut leaves either the old or the new playlist."""
    try:
        await mpd.command("rm", _TEMPORARY_NAME)  # left over from a power cut
    except MpdAckError as error:
        if error.code != ACK_NO_EXIST:
            raise
    await mpd.mutate("save", ("save", _TEMPORARY_NAME), ("rm", name), ("rename", _TEMPORARY_NAME, name))
