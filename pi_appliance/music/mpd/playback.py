"""The MPD player: the playback commands, on top of the library commands.

Related changes of the queue are sent as one command list, so that other clients cannot interleave.
"""

import contextlib
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from pi_appliance.errors import Refused
from pi_appliance.music import model
from pi_appliance.music.model import (
    AddResult,
    Capability,
    LibraryFilter,
    Mode,
    Output,
    Partition,
    PlayerState,
    Queue,
    QueuePosition,
    SavedPlaylist,
    Source,
    Uri,
)
from pi_appliance.music.mpd import parsing
from pi_appliance.music.mpd.connection import (
    ACK_ARGUMENT,
    ACK_EXIST,
    ACK_NO_EXIST,
    ACK_PLAYLIST_MAX,
    Command,
    MpdAckError,
    MpdConnection,
    parse_reply,
    quote,
    require_playable,
)
from pi_appliance.music.mpd.library import LibraryCommands, no_such_playlist, search_command
from pi_appliance.music.player_settings import PlayerSetting

_PLAYLIST_SUFFIXES = {".m3u", ".m3u8", ".pls", ".xspf", ".asx", ".cue"}
_HIGHEST_PRIORITY = 255  # in random mode, tracks with this priority are played next
_BATCH = 100  # entries of a playlist that are looked up at a time
_QUEUE_FULL = "the queue would be too long for MPD (max_playlist_length in mpd.conf)"
_TEMPORARY_NAME = "pi-appliance is saving"  # name of the new playlist until it replaces the old one


async def _stop_before(mpd: MpdConnection, status: Mapping[str, str], *query: str | int) -> bool:
    """Stop the player if the track that `query` finds is a stream; return whether it was stopped.

    While MPD 0.23 plays or connects, it starts another track like a seek: it answers nobody until
    that track has sent data, which a station may never do. A stopped one does not wait.
    """
    if status["state"] != "play":
        return False
    found = await mpd.command(str(query[0]), *query[1:]) if query and not _is_connecting(status) else ()
    if not _is_connecting(status) and not any(model.is_stream(each["file"]) for each in found):
        return False
    await mpd.command("stop")
    return True


def _is_connecting(status: Mapping[str, str]) -> bool:
    return status["state"] == "play" and "audio" not in status


async def _add(mpd: MpdConnection, source: Source, where: QueuePosition, *, play: bool) -> tuple[int, int]:
    """Add `source` and return position and number of its tracks. Raises Refused if unknown."""
    command = await _find_add_command(mpd, source)
    if where is QueuePosition.REPLACE:
        return await _replace_queue(mpd, source, command, play=play)
    status, reply, count = await _append(mpd, source, command)
    position, commands = _move_commands(where, status, count)
    commands += _title_commands(source, reply)
    if play:
        is_slow = _is_connecting(status) or (isinstance(source, Uri) and model.is_stream(source.uri))
        commands += [*([("stop",)] if is_slow else []), ("play", position)]
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
        case Uri() if model.is_stream(source.uri):
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
            find, expression = await search_command(mpd, source)
            return (f"{find}add", expression)


async def _find_library_command(mpd: MpdConnection, uri: str) -> Command:
    path = uri.strip("/")
    if not uri:
        raise Refused("no file or address is named to add")
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
    """Return whether the playlist has an entry that exists. Raises Refused."""
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
    # A stream gets its title before it plays, so that an error at the start can name it.
    later = play_commands if isinstance(source, Uri) and source.title else []
    try:
        _, reply, status, *_ = await mpd.mutate(
            "add", ("clear",), command, ("status",), *([] if later else play_commands)
        )
    except MpdAckError as error:
        if error.code != ACK_PLAYLIST_MAX:
            raise
        reply, status, later = None, (await mpd.mutate("add", ("status",), *play_commands))[0], []
    if commands := [*_title_commands(source, reply), *later]:
        await mpd.mutate("add", *commands)
    return 0, int(status["playlistlength"])


async def _append(mpd: MpdConnection, source: Source, command: Command) -> tuple[Mapping[str, str], str | None, int]:
    """Append to the queue; return the old status, the reply, and the number of new tracks."""
    try:
        before, reply, after = await mpd.mutate("add", ("status",), command, ("status",))
    except MpdAckError as error:
        if error.code != ACK_PLAYLIST_MAX or error.index != 1:
            raise
        # MPD keeps the tracks that fitted into the queue, so they are removed.
        length = int(parse_reply("status", error.replies[0])["playlistlength"])
        await mpd.mutate("add", ("delete", f"{length}:"))
        raise Refused(_QUEUE_FULL) from None
    count = int(after["playlistlength"]) - int(before["playlistlength"])
    if count <= 0:
        raise Refused(f"MPD added nothing of {_source_name(source)}")
    return before, reply, count


def _move_commands(where: QueuePosition, status: Mapping[str, str], count: int) -> tuple[int, list[Command]]:
    """Return where `count` appended tracks will be, and the commands that move them there.

    `status` was read before they were added.
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
    """Return the command that titles a stream; `song_id` is the reply of `addid`."""
    if song_id and isinstance(source, Uri) and source.title and model.is_stream(source.uri):
        return [("addtagid", song_id, "title", source.title)]
    return []


async def _replace_playlist(mpd: MpdConnection, name: str) -> None:
    """Save the queue as `name`, so that a power cut leaves either the old or the new playlist."""
    try:
        await mpd.command("rm", _TEMPORARY_NAME)  # may be left over from a power cut
    except MpdAckError as error:
        if error.code != ACK_NO_EXIST:
            raise
    await mpd.mutate("save", ("save", _TEMPORARY_NAME), ("rm", name), ("rename", _TEMPORARY_NAME, name))


SUBSYSTEMS = (
    *("database", "update", "stored_playlist", "playlist", "player", "mixer", "output", "options"),
    *("sticker", "partition"),
)
_PARTITION_EVENTS_SINCE = (0, 22)
_CONSUME_ONESHOT_SINCE = (0, 24)
_QUEUE_EMPTY = "the queue is empty; add something to it first"
_REQUIRED_COMMANDS = {
    Capability.SEEK: {"seekcur"},
    Capability.SINGLE: {"single"},
    Capability.CONSUME: {"consume"},
    **{each: {parsing.SETTING_COMMANDS[each]} for each in Capability if each in parsing.SETTING_COMMANDS},
    Capability.OUTPUTS: {"outputs", "enableoutput", "disableoutput"},
    Capability.NEXT: {"add", "move"},
    Capability.MOVE: {"moveid"},
    Capability.REMOVE: {"deleteid"},
    Capability.SHUFFLE: {"shuffle"},
    Capability.PRIORITY: {"prioid"},
    Capability.PLAYLISTS: {"listplaylists", "load"},  # MPD omits these commands if it has no playlist_directory
    Capability.EDIT_PLAYLISTS: {"playlistadd", "playlistdelete", "playlistmove", "rename", "rm"},
    Capability.SAVE: {"save", "rm", "rename"},
    Capability.PARTITIONS: {"partition", "newpartition", "delpartition", "moveoutput"},
}
_REQUIRED_LIBRARY_COMMANDS = {
    Capability.FOLDERS: {"lsinfo"},
    Capability.TAGS: {"list", "find"},
    Capability.SEARCH: {"search"},
    Capability.STICKERS: {"sticker"},  # MPD omits this command if it has no sticker_file
    Capability.ART: {"albumart"},
    Capability.UPDATE: {"update"},
}


class MpdPlayer(LibraryCommands):
    """A `Player` for MPD."""

    async def state(self) -> PlayerState:
        async with self._session() as mpd:
            return parsing.to_state(*await mpd.command_list(("status",), ("currentsong",), ("replay_gain_status",)))

    async def capabilities(self) -> frozenset[Capability]:
        """Return the supported functions with the permissions that the password gives."""
        async with self._session() as mpd:
            commands, status, stats = await mpd.command_list(("commands",), ("status",), ("stats",))
        available = set(commands)
        required = _REQUIRED_COMMANDS | (_REQUIRED_LIBRARY_COMMANDS if "songs" in stats else {})
        found = {capability for capability, needed in required.items() if needed <= available}
        if "setvol" in available and _has_mixer(status):
            found.add(Capability.VOLUME)
        return frozenset(found)

    async def play(self, position: int | None = None, *, at: float = 0.0) -> None:
        async with self._session() as mpd:
            status = await mpd.command("status")
            length = int(status["playlistlength"])
            if length == 0:
                raise Refused(_QUEUE_EMPTY)
            if position is not None and not 0 <= position < length:
                raise Refused(f"there is no track {position + 1} in the queue; it ends with {length}")
            if position is not None and at > 0:
                # `seek` also starts playback, so the start of the track is not heard.
                with contextlib.suppress(MpdAckError):  # not every track supports seeking
                    await mpd.command("seek", position, f"{at:.3f}")
                    return
            await _stop_before(mpd, status, *(() if position is None else ("playlistinfo", position)))
            await mpd.command("play", *(() if position is None else (position,)))

    async def play_id(self, id: int) -> None:  # noqa: A002 - MPD's word
        async with self._session() as mpd:
            await _stop_before(mpd, await mpd.command("status"), "playlistid", id)
            await mpd.command("playid", id)

    async def pause(self) -> None:
        async with self._session() as mpd:
            await mpd.command("pause", 1)

    async def toggle(self) -> None:
        async with self._session() as mpd:
            status = await mpd.command("status")
            if status["state"] != "play" and int(status["playlistlength"]) == 0:
                raise Refused(_QUEUE_EMPTY)
            await mpd.mutate("toggle", ("pause", 1) if status["state"] == "play" else ("play",))

    async def stop(self) -> None:
        async with self._session() as mpd:
            await mpd.command("stop")

    async def next(self) -> None:
        async with self._session() as mpd:
            status = await mpd.command("status")
            following = status.get("nextsong")  # read before: a stopped MPD does not know the next song
            if not following or not await _stop_before(mpd, status, "playlistinfo", following):
                await mpd.mutate("next", ("next",))
            else:
                await mpd.mutate("next", ("play", following))

    async def previous(self) -> None:
        async with self._session() as mpd:
            status = await mpd.command("status")
            before = max(0, int(status.get("song", 0)) - 1)
            is_stopped = await _stop_before(mpd, status, "playlistinfo", before)
            await mpd.mutate("previous", ("play", before) if is_stopped else ("previous",))

    async def seek(self, seconds: float) -> None:
        async with self._session() as mpd:
            is_connecting = _is_connecting(await mpd.command("status"))
            if is_connecting and model.is_stream((await mpd.command("currentsong")).get("file", "")):
                raise Refused("the station has not sent anything yet, so there is no place to seek")
            # without a sign, which would make the time relative
            await mpd.command("seekcur", f"{max(0.0, seconds):.3f}")

    async def set_volume(self, volume: int) -> None:
        async with self._session() as mpd:
            if not _has_mixer(await mpd.command("status")):
                raise Refused(
                    f'MPD at {self._name} has no mixer; give its audio_output a mixer_type such as "software"'
                )
            await mpd.command("setvol", volume)

    async def set_mute(self, on: bool) -> None:  # noqa: ARG002 - refused in any case
        """Refuse: MPD has no mute; the appliance sets the volume to 0 instead."""
        raise Refused("MPD has no mute, only a volume")

    async def set_modes(
        self,
        *,
        repeat: bool | None = None,
        random: bool | None = None,
        single: Mode | None = None,
        consume: Mode | None = None,
    ) -> None:
        switches = {"repeat": repeat, "random": random}
        modes = {"single": single, "consume": consume}
        commands: list[Command] = [(name, int(on)) for name, on in switches.items() if on is not None]
        commands += [(name, parsing.MODE_ARGUMENTS[mode]) for name, mode in modes.items() if mode is not None]
        async with self._session() as mpd:
            if consume is Mode.ONCE and mpd.version < _CONSUME_ONESHOT_SINCE:
                version = ".".join(map(str, mpd.version))
                raise Refused(f"this MPD has protocol version {version}; consume once needs 0.24")
            if commands:
                await mpd.command_list(*commands)

    async def change_setting(self, setting: PlayerSetting, value: Any) -> None:
        async with self._session() as mpd:
            await mpd.command(parsing.SETTING_COMMANDS[setting.name], value)

    async def list_outputs(self) -> Sequence[Output]:
        async with self._session() as mpd:
            return parsing.to_outputs(await mpd.command("outputs"))

    async def set_output(self, id: int, on: bool) -> None:  # noqa: A002 - MPD's word
        async with self._session() as mpd:
            await mpd.command("enableoutput" if on else "disableoutput", id)

    async def move_output(self, name: str) -> None:
        async with self._session() as mpd:
            await mpd.command("moveoutput", name)

    # The following commands work without entering the current partition, which may have been
    # deleted.

    async def list_partitions(self) -> Sequence[Partition]:
        async with self._session(partition=False) as mpd:
            return [Partition(name=each["partition"]) for each in await mpd.command("listpartitions")]

    async def use_partition(self, name: str) -> None:
        async with self._session(partition=False) as mpd:
            await self._enter_partition(mpd, name)
        self._partition = name
        for connection in self._connections:
            connection.end_idle()  # `watch_changes()` then continues in the new partition

    async def create_partition(self, name: str) -> None:
        messages = {
            ACK_EXIST: f"there is a partition called {name!r} already",
            ACK_ARGUMENT: f"{name!r} is not a valid name of a partition; use letters, digits, - and _",
        }
        async with self._session(partition=False) as mpd:
            try:
                await mpd.mutate("new partition", ("newpartition", name))
            except MpdAckError as error:
                raise Refused(messages[error.code]) if error.code in messages else error from None

    async def delete_partition(self, name: str) -> None:
        async with self._session(partition=False) as mpd:
            try:
                await mpd.mutate("delete partition", ("delpartition", name))
            except MpdAckError as error:
                raise self._no_partition(name) if error.code == ACK_NO_EXIST else error from None

    async def limit_other_partitions(self, limit: int) -> Sequence[str]:
        async with self._session(partition=False) as mpd:
            partitions = [each["partition"] for each in await mpd.command("listpartitions")]
            others = [name for name in partitions if name != (self._partition or model.DEFAULT_PARTITION)]
            for name in others:
                with contextlib.suppress(MpdAckError):  # it may have been deleted meanwhile
                    # All in one command list, because MPD does not delete a partition in which a
                    # client stays.
                    enter, leave = ("partition", name), ("partition", model.DEFAULT_PARTITION)
                    _, status, _ = await mpd.command_list(enter, ("status",), leave)
                    if int(status.get("volume", "-1")) > limit:
                        await mpd.command_list(enter, ("setvol", limit), leave)
            return others

    async def watch_changes(self) -> AsyncIterator[frozenset[str]]:
        """Yield the changed subsystems, at first all of them.

        Raises Unavailable when MPD is lost.
        """
        async with self._session() as mpd:
            mpd.enable_keepalive()
            mpd.timeout = None
            subsystems = SUBSYSTEMS if mpd.version >= _PARTITION_EVENTS_SINCE else SUBSYSTEMS[:-1]
            yield frozenset(subsystems)
            while True:
                if mpd.partition != self._partition:  # `use_partition()` has ended the idle command
                    await self._enter_partition(mpd, self._partition)
                    yield frozenset(subsystems)
                    continue
                mpd.is_idle = True
                changed = frozenset(await mpd.command("idle", *subsystems))
                mpd.is_idle = False
                if changed:
                    yield changed

    async def close(self) -> None:
        """Close all connections; `watch_changes()` then raises Unavailable."""
        for connection in list(self._connections):
            connection.close()

    # Queue

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
            # The command is not repeated: after a restart of MPD, the id may belong to another
            # track.
            await mpd.mutate("move", ("moveid", id, to))

    async def remove_tracks(self, ids: Collection[int]) -> None:
        async with self._session() as mpd:
            await mpd.command_each([("deleteid", each) for each in ids], "remove")

    async def set_priority(self, ids: Collection[int], priority: int) -> None:
        async with self._session() as mpd:
            await mpd.command("prioid", priority, *ids)

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


def _has_mixer(status: Mapping[str, str]) -> bool:
    return status.get("volume", "-1") != "-1"
