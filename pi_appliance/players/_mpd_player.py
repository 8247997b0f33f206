"""An MPD, listened to and told what to do, as ports_player.Player describes it: playing, loudness, modes, changes.

The other things one can ask of it stand in files of their own. After what, done twice, does two things or is refused
(`next`, `add`, `rename`, …), an answer that never came is Uncertain; else it is Unavailable, and may be asked again.
"""

import contextlib
from collections.abc import AsyncIterator, Sequence

from pi_appliance.errors import Refused
from pi_appliance.model.music import Can, Gain, Mode, Output, PlayerState
from pi_appliance.players import _mpd_words
from pi_appliance.players._mpd_art import Picturing
from pi_appliance.players._mpd_door import Door
from pi_appliance.players._mpd_library import Browsing
from pi_appliance.players._mpd_line import Command, Line, Said
from pi_appliance.players._mpd_partitions import Partitioning
from pi_appliance.players._mpd_playlists import Listing
from pi_appliance.players._mpd_queue import Queueing, length
from pi_appliance.players._mpd_stickers import Judging

SUBSYSTEMS = (
    *("database", "update", "stored_playlist", "playlist", "player", "mixer", "output", "options"),
    *("sticker", "partition"),
)
_PARTITIONED = (0, 22)  # the first MPD that tells of partitions
_ONCE_CONSUMED = (0, 24)  # the first MPD with `consume oneshot`
_NEEDS = {
    Can.SEEK: {"seekcur"},
    Can.SINGLE: {"single"},
    Can.CONSUME: {"consume"},
    Can.CROSSFADE: {"crossfade"},
    Can.REPLAY_GAIN: {"replay_gain_mode"},
    Can.OUTPUTS: {"outputs", "enableoutput", "disableoutput"},
    Can.NEXT: {"add", "move"},
    Can.MOVE: {"moveid"},
    Can.REMOVE: {"deleteid"},
    Can.SHUFFLE: {"shuffle"},
    Can.PLAYLISTS: {"listplaylists", "load"},  # MPD does not count those it cannot without a playlist_directory
    Can.EDIT_PLAYLISTS: {"playlistadd", "playlistdelete", "playlistmove", "rename", "rm"},
    Can.SAVE: {"save", "rm", "rename"},
    Can.PARTITIONS: {"partition", "newpartition", "delpartition", "moveoutput"},
}
_NEEDS_OF_A_LIBRARY = {
    Can.FOLDERS: {"lsinfo"},
    Can.TAGS: {"list", "find"},
    Can.SEARCH: {"search"},
    Can.STICKERS: {"sticker"},  # nor this one without a sticker_file
    Can.ART: {"albumart"},
    Can.UPDATE: {"update"},
}


class _Playing(Door):
    """The part of ports_player.Player that is about what plays, how loud and in which order."""

    async def state(self) -> PlayerState:
        """Return what it is doing now."""
        async with self._session() as line:
            answers = await line.ask_all(("status",), ("currentsong",), ("replay_gain_status",))
            return _mpd_words.state(*map(_mpd_words.fields, answers))

    async def abilities(self) -> frozenset[Can]:
        """Return what it can, as it is set up at this moment, with the permissions that the password gives."""
        async with self._session() as line:
            commands, status, stats = await line.ask_all(("commands",), ("status",), ("stats",))
        known = set(_mpd_words.values(commands, "command"))
        needs = _NEEDS | (_NEEDS_OF_A_LIBRARY if "songs" in _mpd_words.fields(stats) else {})
        can = {can for can, needed in needs.items() if needed <= known}
        if "setvol" in known and _has_mixer(status):
            can.add(Can.VOLUME)
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
                with contextlib.suppress(Said):  # it cannot be sought in
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
            status = _mpd_words.fields(await line.ask("status"))
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
        commands += [(name, _mpd_words.mode(mode)) for name, mode in modes.items() if mode is not None]
        async with self._session() as line:
            if consume is Mode.ONCE and line.version < _ONCE_CONSUMED:
                raise Refused(f"this MPD speaks the language of {_dotted(line)}; to consume once needs that of 0.24")
            if commands:
                await line.ask_all(*commands)

    async def set_crossfade(self, seconds: int) -> None:
        """Let tracks overlap by SECONDS; 0: not."""
        async with self._session() as line:
            await line.ask("crossfade", seconds)

    async def set_replay_gain(self, gain: Gain) -> None:
        """Choose by what loudness is made even."""
        async with self._session() as line:
            await line.ask("replay_gain_mode", gain.value)

    async def outputs(self) -> Sequence[Output]:
        """Return where sound comes out."""
        async with self._session() as line:
            return _mpd_words.outputs(await line.ask("outputs"))

    async def set_output(self, id: int, on: bool) -> None:  # noqa: A002 - MPD's word
        """Switch the output that has ID."""
        async with self._session() as line:
            await line.ask("enableoutput" if on else "disableoutput", id)


class Mpd(_Playing, Queueing, Browsing, Listing, Judging, Picturing, Partitioning):
    """An MPD, all of it."""

    async def changes(self) -> AsyncIterator[frozenset[str]]:
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
                changed = frozenset(_mpd_words.values(await line.ask("idle", *subsystems), "changed"))
                line.idle = False
                if changed:
                    yield changed

    async def close(self) -> None:
        """Let go of every connection; whoever waits for changes gets Unavailable."""
        for line in list(self._open):
            line.close()


def _has_mixer(status: bytes) -> bool:
    return _mpd_words.fields(status).get("volume", "-1") != "-1"


def _dotted(line: Line) -> str:
    return ".".join(map(str, line.version))
