"""The MPD player: playback, volume, modes, outputs, partitions and changes; the rest is inherited.

A lost reply is `Uncertain` for commands that must not be repeated (`next`, `add`, `rename`, …), else `Unavailable`.
"""

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence

from pi_appliance.errors import Refused
from pi_appliance.music.model import Capability, Mode, Output, Partition, PlayerState, ReplayGainMode
from pi_appliance.music.mpd import parsing
from pi_appliance.music.mpd.connection import ACK_ARGUMENT, ACK_EXIST, ACK_NO_EXIST, Command, MpdAckError
from pi_appliance.music.mpd.library import LibraryCommands
from pi_appliance.music.mpd.playlists import PlaylistCommands
from pi_appliance.music.mpd.queue import QueueCommands

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
    Capability.CROSSFADE: {"crossfade"},
    Capability.REPLAY_GAIN: {"replay_gain_mode"},
    Capability.OUTPUTS: {"outputs", "enableoutput", "disableoutput"},
    Capability.NEXT: {"add", "move"},
    Capability.MOVE: {"moveid"},
    Capability.REMOVE: {"deleteid"},
    Capability.SHUFFLE: {"shuffle"},
    Capability.PLAYLISTS: {"listplaylists", "load"},  # `commands` omits them without a playlist_directory
    Capability.EDIT_PLAYLISTS: {"playlistadd", "playlistdelete", "playlistmove", "rename", "rm"},
    Capability.SAVE: {"save", "rm", "rename"},
    Capability.PARTITIONS: {"partition", "newpartition", "delpartition", "moveoutput"},
}
_REQUIRED_LIBRARY_COMMANDS = {
    Capability.FOLDERS: {"lsinfo"},
    Capability.TAGS: {"list", "find"},
    Capability.SEARCH: {"search"},
    Capability.STICKERS: {"sticker"},  # omitted without a sticker_file
    Capability.ART: {"albumart"},
    Capability.UPDATE: {"update"},
}


class MpdPlayer(QueueCommands, PlaylistCommands, LibraryCommands):
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
            length = int((await mpd.command("status"))["playlistlength"])
            if length == 0:
                raise Refused(_QUEUE_EMPTY)
            if position is not None and not 0 <= position < length:
                raise Refused(f"there is no track {position + 1} in the queue; it ends with {length}")
            if position is not None and at > 0:
                # `seek` also plays, so that the start of the track is not heard.
                with contextlib.suppress(MpdAckError):  # the track does not support seeking
                    await mpd.command("seek", position, f"{at:.3f}")
                    return
            await mpd.command("play", *(() if position is None else (position,)))

    async def play_id(self, id: int) -> None:  # noqa: A002 - MPD's word
        async with self._session() as mpd:
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
            await mpd.mutate("next", ("next",))

    async def previous(self) -> None:
        async with self._session() as mpd:
            await mpd.mutate("previous", ("previous",))

    async def seek(self, seconds: float) -> None:
        async with self._session() as mpd:
            await mpd.command("seekcur", f"{max(0.0, seconds):.3f}")  # with a sign it would be relative

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

    async def set_crossfade(self, seconds: int) -> None:
        async with self._session() as mpd:
            await mpd.command("crossfade", seconds)

    async def set_replay_gain(self, gain: ReplayGainMode) -> None:
        async with self._session() as mpd:
            await mpd.command("replay_gain_mode", gain.value)

    async def list_outputs(self) -> Sequence[Output]:
        async with self._session() as mpd:
            return parsing.to_outputs(await mpd.command("outputs"))

    async def set_output(self, id: int, on: bool) -> None:  # noqa: A002 - MPD's word
        async with self._session() as mpd:
            await mpd.command("enableoutput" if on else "disableoutput", id)

    async def move_output(self, name: str) -> None:
        async with self._session() as mpd:
            await mpd.command("moveoutput", name)

    # The following commands do not enter the current partition first, because it may have been deleted.

    async def list_partitions(self) -> Sequence[Partition]:
        async with self._session(partition=False) as mpd:
            return [Partition(name=each["partition"]) for each in await mpd.command("listpartitions")]

    async def use_partition(self, name: str) -> None:
        async with self._session(partition=False) as mpd:
            await self._enter_partition(mpd, name)
        self._partition = name
        for connection in self._connections:
            connection.end_idle()  # so that `watch_changes()` follows

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

    async def watch_changes(self) -> AsyncIterator[frozenset[str]]:
        """Yield the changed subsystems, first all of them. Raises Unavailable when the connection is lost."""
        async with self._session() as mpd:
            mpd.enable_keepalive()
            mpd.timeout = None
            subsystems = SUBSYSTEMS if mpd.version >= _PARTITION_EVENTS_SINCE else SUBSYSTEMS[:-1]
            yield frozenset(subsystems)
            while True:
                if mpd.partition != self._partition:  # `use_partition()` ended the idle
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


def _has_mixer(status: Mapping[str, str]) -> bool:
    return status.get("volume", "-1") != "-1"
