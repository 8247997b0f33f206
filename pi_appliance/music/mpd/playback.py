"""An MPD, listened to and told what to do, as ports_player.Player describes it: playing, loudness, modes, changes.

The other things one can ask of it stand in files of their own. After what, done twice, does two things or is refused
(`next`, `add`, `rename`, …), an answer that never came is Uncertain; else it is Unavailable, and may be asked again.
"""

import contextlib
from collections.abc import AsyncIterator, Sequence

from pi_appliance.errors import Refused, Unavailable
from pi_appliance.music.model import Capability, CoverArt, Mode, Output, Partition, PlayerState, ReplayGainMode
from pi_appliance.music.mpd import parsing
from pi_appliance.music.mpd.connection import (
    EXISTS,
    NO_SUCH_THING,
    NOT_ALLOWED,
    WRONG_WORDS,
    Command,
    MpdAckError,
    MpdClientBase,
    MpdConnection,
)
from pi_appliance.music.mpd.library import LibraryCommands, RatingCommands
from pi_appliance.music.mpd.queue import PlaylistCommands, QueueCommands, length

BIGGEST = 16 << 20  # bytes; what is bigger is no cover
_PART = 1 << 18  # bytes at once; MPD gives 8 kB unless it is asked for more, and is asked anew for each part
_BEGINNINGS = {
    b"\xff\xd8\xff": "image/jpeg",
    b"\x89PNG": "image/png",
    b"GIF8": "image/gif",
    b"BM": "image/bmp",
    b"II*\0": "image/tiff",
}


class AlbumArtCommands(MpdClientBase):
    """The part of ports_player.Player that is about album art."""

    async def album_art(self, uri: str) -> CoverArt | None:
        """Return the picture in the file URI, else that of its folder; None if there is neither."""
        if not parsing.is_inside(uri):
            return None
        async with self._session() as line:
            await _larger_parts(line)
            for command in ("readpicture", "albumart"):
                if art := await _picture(line, command, uri):
                    return art
            return None


async def _larger_parts(line: MpdConnection) -> None:
    try:
        await line.ask("binarylimit", _PART)
    except MpdAckError as no:  # before 0.22.4
        if no.code in NOT_ALLOWED:
            raise


async def _picture(line: MpdConnection, command: str, uri: str) -> CoverArt | None:
    try:
        said, data = await line.picture(command, uri, 0)
        size = int(said.get("size", 0))
        if not data or size > BIGGEST:
            return None
        picture = bytearray(data)
        while len(picture) < size:
            more, data = await line.picture(command, uri, len(picture))
            if not data or int(more["size"]) != size:
                raise Unavailable(f"the picture of {uri} changed while it was read; ask for it again")
            picture += data
    except MpdAckError as no:
        if no.code in NOT_ALLOWED:
            raise
        return None  # there is none, or it cannot be read; before 0.22, MPD does not look into the file at all
    return CoverArt(data=bytes(picture), mime=_mime(said.get("type", ""), bytes(picture[:12])))


def _mime(said: str, beginning: bytes) -> str:
    """Return what sort of picture BEGINNING begins; SAID is what its file claims, and not to be relied on."""
    if beginning[:4] == b"RIFF" and beginning[8:] == b"WEBP":
        return "image/webp"
    known = next((mime for start, mime in _BEGINNINGS.items() if beginning.startswith(start)), "")
    return known or (said if said.startswith("image/") else "application/octet-stream")


class PartitionCommands(MpdClientBase):
    """The part of ports_player.Player that is about partitions. None of it is done from within one that may be gone."""

    async def list_partitions(self) -> Sequence[Partition]:
        """Return the partitions there are."""
        async with self._session(partition=False) as line:
            return [Partition(name=name) for name in parsing.values(await line.ask("listpartitions"), "partition")]

    async def use_partition(self, name: str) -> None:
        """Speak of the partition NAME from now on, on every connection. Raises Refused if there is none."""
        async with self._session(partition=False) as line:
            await self._enter(line, name)
        self._partition = name
        for each in self._open:
            each.wake()  # who waits for changes waits for those of this partition now

    async def create_partition(self, name: str) -> None:
        """Make a partition."""
        told = {
            EXISTS: f"there is a partition called {name!r} already",
            WRONG_WORDS: f"{name!r} cannot be a partition's name; use letters, digits, - and _",
        }
        async with self._session(partition=False) as line:
            try:
                await line.act("new partition", ("newpartition", name))
            except MpdAckError as no:
                raise Refused(told[no.code]) if no.code in told else no from None

    async def delete_partition(self, name: str) -> None:
        """Delete a partition that has no outputs and no listeners. Raises Refused otherwise."""
        async with self._session(partition=False) as line:
            try:
                await line.act("delete partition", ("delpartition", name))
            except MpdAckError as no:
                raise self._no_partition(name) if no.code == NO_SUCH_THING else no from None

    async def move_output(self, name: str) -> None:
        """Move the output called NAME into the partition that is spoken of."""
        async with self._session() as line:
            await line.ask("moveoutput", name)


SUBSYSTEMS = (
    *("database", "update", "stored_playlist", "playlist", "player", "mixer", "output", "options"),
    *("sticker", "partition"),
)
_PARTITIONED = (0, 22)  # the first MPD that tells of partitions
_ONCE_CONSUMED = (0, 24)  # the first MPD with `consume oneshot`
_NEEDS = {
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
    Capability.PLAYLISTS: {"listplaylists", "load"},  # MPD does not count those it cannot without a playlist_directory
    Capability.EDIT_PLAYLISTS: {"playlistadd", "playlistdelete", "playlistmove", "rename", "rm"},
    Capability.SAVE: {"save", "rm", "rename"},
    Capability.PARTITIONS: {"partition", "newpartition", "delpartition", "moveoutput"},
}
_NEEDS_OF_A_LIBRARY = {
    Capability.FOLDERS: {"lsinfo"},
    Capability.TAGS: {"list", "find"},
    Capability.SEARCH: {"search"},
    Capability.STICKERS: {"sticker"},  # nor this one without a sticker_file
    Capability.ART: {"albumart"},
    Capability.UPDATE: {"update"},
}


class PlaybackCommands(MpdClientBase):
    """The part of ports_player.Player that is about what plays, how loud and in which order."""

    async def state(self) -> PlayerState:
        """Return what it is doing now."""
        async with self._session() as line:
            answers = await line.ask_all(("status",), ("currentsong",), ("replay_gain_status",))
            return parsing.state(*map(parsing.fields, answers))

    async def capabilities(self) -> frozenset[Capability]:
        """Return what it can, as it is set up at this moment, with the permissions that the password gives."""
        async with self._session() as line:
            commands, status, stats = await line.ask_all(("commands",), ("status",), ("stats",))
        known = set(parsing.values(commands, "command"))
        needs = _NEEDS | (_NEEDS_OF_A_LIBRARY if "songs" in parsing.fields(stats) else {})
        can = {can for can, needed in needs.items() if needed <= known}
        if "setvol" in known and _has_mixer(status):
            can.add(Capability.VOLUME)
        return frozenset(can)

    async def play(self, position: int | None = None, *, at: float = 0.0) -> None:
        """Play the track at POSITION, from its second AT on, or go on. Raises Refused if there is nothing there."""
        async with self._session() as line:
            there = await length(line)
            if there == 0:
                raise Refused("the queue is empty; add something to it first")
            if position is not None and not 0 <= position < there:
                raise Refused(f"there is no track {position + 1} in the queue; it ends with {there}")
            if position is not None and at > 0:
                # In one, so that nothing of its beginning is heard.
                with contextlib.suppress(MpdAckError):  # it cannot be sought in
                    await line.ask("seek", position, f"{at:.3f}")
                    return
            await line.ask("play", *(() if position is None else (position,)))

    async def play_id(self, id: int) -> None:  # noqa: A002 - MPD's word
        """Play the track of the queue that has ID. Raises Refused if it is gone."""
        async with self._session() as line:
            await line.ask("playid", id)

    async def pause(self) -> None:
        """Pause; nothing happens unless it plays."""
        async with self._session() as line:
            await line.ask("pause", 1)

    async def toggle(self) -> None:
        """Pause if it plays, else play."""
        async with self._session() as line:
            status = parsing.fields(await line.ask("status"))
            if status["state"] != "play" and int(status["playlistlength"]) == 0:
                raise Refused("the queue is empty; add something to it first")
            await line.act("toggle", ("pause", 1) if status["state"] == "play" else ("play",))

    async def stop(self) -> None:
        """Stop."""
        async with self._session() as line:
            await line.ask("stop")

    async def next(self) -> None:
        """Go to the next track."""
        async with self._session() as line:
            await line.act("next", ("next",))

    async def previous(self) -> None:
        """Go to the previous track."""
        async with self._session() as line:
            await line.act("previous", ("previous",))

    async def seek(self, seconds: float) -> None:
        """Go to SECONDS from the start of the current track."""
        async with self._session() as line:
            await line.ask("seekcur", f"{max(0.0, seconds):.3f}")  # a sign would mean: from here

    async def set_volume(self, volume: int) -> None:
        """Set the volume, 0 to 100. Raises Refused where the player has no mixer."""
        async with self._session() as line:
            if not _has_mixer(await line.ask("status")):
                raise Refused(
                    f'MPD at {self._name} has no mixer; give its audio_output a mixer_type such as "software"'
                )
            await line.ask("setvol", volume)

    async def set_mute(self, on: bool) -> None:  # noqa: ARG002 - neither works
        """Refuse: MPD has no such thing, and the appliance does it by the volume."""
        raise Refused("MPD cannot be muted but by its volume")

    async def set_modes(
        self,
        *,
        repeat: bool | None = None,
        random: bool | None = None,
        single: Mode | None = None,
        consume: Mode | None = None,
    ) -> None:
        """Set those that are given."""
        switches = {"repeat": repeat, "random": random}
        modes = {"single": single, "consume": consume}
        commands: list[Command] = [(name, int(on)) for name, on in switches.items() if on is not None]
        commands += [(name, parsing.mode(mode)) for name, mode in modes.items() if mode is not None]
        async with self._session() as line:
            if consume is Mode.ONCE and line.version < _ONCE_CONSUMED:
                raise Refused(f"this MPD speaks the language of {_dotted(line)}; to consume once needs that of 0.24")
            if commands:
                await line.ask_all(*commands)

    async def set_crossfade(self, seconds: int) -> None:
        """Let tracks overlap by SECONDS; 0: not."""
        async with self._session() as line:
            await line.ask("crossfade", seconds)

    async def set_replay_gain(self, gain: ReplayGainMode) -> None:
        """Choose by what loudness is made even."""
        async with self._session() as line:
            await line.ask("replay_gain_mode", gain.value)

    async def list_outputs(self) -> Sequence[Output]:
        """Return where sound comes out."""
        async with self._session() as line:
            return parsing.outputs(await line.ask("outputs"))

    async def set_output(self, id: int, on: bool) -> None:  # noqa: A002 - MPD's word
        """Switch the output that has ID."""
        async with self._session() as line:
            await line.ask("enableoutput" if on else "disableoutput", id)


class MpdPlayer(
    PlaybackCommands,
    QueueCommands,
    LibraryCommands,
    PlaylistCommands,
    RatingCommands,
    AlbumArtCommands,
    PartitionCommands,
):
    """An MPD, all of it."""

    async def watch_changes(self) -> AsyncIterator[frozenset[str]]:
        """Yield the names of what changed, as MPD calls them; at first all. Raises Unavailable when it is lost."""
        async with self._session() as line:
            line.keep_alive()
            line.patience = None
            subsystems = SUBSYSTEMS if line.version >= _PARTITIONED else SUBSYSTEMS[:-1]
            yield frozenset(subsystems)
            while True:
                if line.partition != self._partition:  # use_partition() has woken it
                    await self._enter(line, self._partition)
                    yield frozenset(subsystems)
                    continue
                line.idle = True
                changed = frozenset(parsing.values(await line.ask("idle", *subsystems), "changed"))
                line.idle = False
                if changed:
                    yield changed

    async def close(self) -> None:
        """Let go of every connection; whoever waits for changes gets Unavailable."""
        for line in list(self._open):
            line.close()


def _has_mixer(status: bytes) -> bool:
    return parsing.fields(status).get("volume", "-1") != "-1"


def _dotted(line: MpdConnection) -> str:
    return ".".join(map(str, line.version))
