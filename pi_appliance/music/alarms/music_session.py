"""Base class of alarms, sleep timers, volume changes and announcements, and their checkpoint.

The checkpoint is saved with each change of phase, so that another run can resume the session.
"""

import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from types import UnionType
from typing import Any, cast, get_args, get_type_hints

from pi_appliance.config import units
from pi_appliance.config.units import Names
from pi_appliance.errors import Refused, Unavailable
from pi_appliance.music.alarms.fade import VolumeControl
from pi_appliance.music.alarms.music_job import MusicContext, Options
from pi_appliance.music.model import Mode, PlaybackState, PlayerState
from pi_appliance.music.player import Player
from pi_appliance.system.clock import Timestamp

MAX_AGE = 3600.0  # seconds after which an interrupted session is not resumed
POLL_INTERVAL = 1.0  # seconds between two polls of the player, and between two changes of the volume
RETRY_TIMEOUT = 8.0  # seconds for which a failed call to the player is repeated
_RETRY_INTERVAL = 0.25  # seconds between two attempts of a failed call
_MAX_ANNOUNCEMENT_AGE = 300.0  # seconds after which an announcement counts as ended


class Phase(StrEnum):
    """The state of a session."""

    RINGING = "ringing"  # an alarm, including its fade
    SNOOZING = "snoozing"
    WAITING = "waiting"  # until the sleep time
    PLAYING_OUT = "playing-out"  # until the end of the track, album or queue
    FADING_OUT = "fading-out"  # before the music stops
    CHANGING_VOLUME = "changing-volume"
    ANNOUNCING = "announcing"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueModes:
    """The playback modes of the queue."""

    repeat: bool
    random: bool
    single: Mode
    consume: Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaybackPosition:
    """The position of the player before an announcement."""

    play: str
    id: int | None
    position: int | None
    uri: str
    elapsed: float | None
    is_file: bool  # a file has an end, so the position in it can be restored
    queue_length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """The saved state of a session."""

    phase: Phase
    phase_started: Timestamp  # when a phase began; for a fade, when it would have begun at its pace
    session_started: Timestamp  # when the session began; after a snooze, when the alarm rang again
    seconds: float = 0.0  # length of the phase
    start_volume: int = 0  # volume at which the fade of this phase begins
    source: int = 0  # index of the source that plays; higher ones are the built-in sound
    heard: bool = False
    user_took_volume: bool = False
    snoozes: bool = False  # whether the alarm snoozes after FADING_OUT; otherwise it ends
    previous_volume: int | None = None  # volume to restore at the end
    modes: QueueModes | None = None  # modes to restore at the end
    until: str = ""  # local time at which the session ends, without a time zone
    album: str = ""  # the album that is played out
    player_position: PlaybackPosition | None = None
    queue_id: int | None = None  # id of the announcement in the queue
    uri: str = ""  # address of the announcement, or of the track that is played out


def dump(options: Options, checkpoint: Checkpoint) -> str:
    """Serialize `options` and `checkpoint` as JSON."""
    return json.dumps({"with": _to_json(options), "session": _to_json(checkpoint)})


def load(text: str) -> tuple[Options, Checkpoint] | None:
    """Parse the result of `dump`; None if another release wrote a different form."""
    try:
        data = json.loads(text)
        return _from_json(Options, data["with"]), _from_json(Checkpoint, data["session"])
    except (ValueError, TypeError, KeyError):
        return None


def active_phases(checkpoints: Mapping[str, str], now: Timestamp, max_age: float) -> set[Phase]:
    """Return the phases of `checkpoints` that started at most `max_age` seconds before `now`."""
    loaded = (result[1] for text in checkpoints.values() if (result := load(text)) is not None)
    return {each.phase for each in loaded if now.seconds_since(each.phase_started) <= max_age}


def modes_of(state: PlayerState) -> QueueModes:
    """Return the playback modes of `state`."""
    return QueueModes(repeat=state.repeat, random=state.random, single=state.single, consume=state.consume)


def _to_json(item: Any) -> dict[str, Any]:
    return {each.name: _value_to_json(getattr(item, each.name)) for each in fields(item)}


def _value_to_json(value: Any) -> Any:
    match value:
        case Timestamp():
            return {"wall": value.wall.isoformat(), "monotonic": value.monotonic, "boot": value.boot}
        case timedelta():
            return value.total_seconds()
        case QueueModes() | PlaybackPosition():
            return _to_json(value)
    return value


def _from_json(kind: Any, value: Any) -> Any:
    """Return the value of the type `kind` of which `_value_to_json` made `value`."""
    if isinstance(kind, UnionType):  # such as `int | None`: the other type is None
        return None if value is None else _from_json(get_args(kind)[0], value)
    if kind is Timestamp:
        return _parse_timestamp(value)
    if kind is timedelta:
        return timedelta(seconds=value)
    if isinstance(kind, type) and is_dataclass(kind):
        if not isinstance(value, dict):
            raise TypeError(f"{value!r} is not an object")
        hints = get_type_hints(kind)
        return kind(**{name: _from_json(hints[name], each) for name, each in value.items()})
    if issubclass(kind, StrEnum | Names):
        return kind(value)
    if not isinstance(value, (int, float) if kind is float else kind):
        raise TypeError(f"{value!r} is not a {kind.__name__}")
    return value


def _parse_timestamp(data: Mapping[str, Any]) -> Timestamp:
    """Parse a timestamp of a checkpoint."""
    return Timestamp(datetime.fromisoformat(data["wall"]), float(data["monotonic"]), str(data["boot"]))


class MusicSession:
    """A music job that runs for a while: its player, volume, clock and checkpoint."""

    def __init__(self, options: Options, context: MusicContext, player: Player, checkpoint: Checkpoint) -> None:
        self.options, self.context, self.player, self.checkpoint = options, context, player, checkpoint
        self.volume = self.new_volume()
        self._was_announcing = False
        self.end_reason = ""  # why the session ended, once that is known
        self.finished = False

    def new_volume(self) -> VolumeControl:
        """Create a volume control that knows of no earlier changes."""
        return VolumeControl(self.player, self.context.max_volume)

    def now(self) -> float:
        """Return seconds by the monotonic clock."""
        return self.context.timestamp().monotonic

    async def poll_player(self) -> PlayerState | None:
        """Return the player's state, or None during an announcement, which another run plays.

        None during an announcement, which is not played by this session.
        """
        before = self._was_announcing or self._is_announcing()
        state = await self.player.state()
        self._was_announcing = self._is_announcing()
        return None if before or self._was_announcing else state

    def _is_announcing(self) -> bool:
        others = self.context.active_checkpoints()
        now = self.context.timestamp()
        return bool(others) and Phase.ANNOUNCING in active_phases(others, now, _MAX_ANNOUNCEMENT_AGE)

    def phase_age(self) -> float:
        """Return the seconds since the phase started."""
        return self.context.timestamp().seconds_since(self.checkpoint.phase_started)

    def save(self, **changes: object) -> None:
        """Change the checkpoint and save it durably."""
        self.checkpoint = replace(self.checkpoint, **changes)  # type: ignore[arg-type] # each name is a field
        self.context.save_checkpoint(dump(self.options, self.checkpoint))

    def start_phase(self, phase: Phase, seconds: float, **changes: object) -> None:
        """Start `phase`, which lasts `seconds`."""
        self.save(phase=phase, phase_started=self.context.timestamp(), seconds=seconds, **changes)

    def finish(self, reason: str) -> None:
        """End the session and delete its checkpoint. `reason` is for the user."""
        self.end_reason, self.finished = reason, True
        self.context.clear_checkpoint()

    async def silence(self, state: PlayerState) -> None:
        """Pause a file, so that it can continue; stop a stream, which would fall behind."""
        if state.playback is PlaybackState.PLAYING and state.track is not None and state.track.duration is not None:
            await self.player.pause()
        elif state.playback is not PlaybackState.STOPPED:
            await self.player.stop()

    async def restore(self) -> None:
        """Restore the volume from before the session."""
        if self.checkpoint.previous_volume is not None:
            await self.volume.set(self.checkpoint.previous_volume)

    async def end_outdated(self, reason: str) -> None:
        """End an outdated session; restore the volume unless that would make music louder."""
        state, previous = await self.player.state(), self.checkpoint.previous_volume
        if previous is not None and (state.playback is not PlaybackState.PLAYING or previous < (state.volume or 0)):
            await self.restore()
        self.finish(reason)

    async def set_modes(self, modes: QueueModes) -> None:
        """Set the playback modes that the player has."""
        await self.player.set_modes(repeat=modes.repeat, random=modes.random)
        with contextlib.suppress(Refused):
            await self.player.set_modes(single=modes.single)
        with contextlib.suppress(Refused):
            await self.player.set_modes(consume=modes.consume)


def format_seconds(seconds: float) -> str:
    """Format a length of time: minutes from 90 seconds on."""
    if seconds >= 90:
        return f"{round(seconds / 60)} min"
    return units.format_duration(timedelta(seconds=max(0, round(seconds))))


def with_retries(player: Player, sleep: Callable[[float], Awaitable[None]], now: Callable[[], float]) -> Player:
    """Wrap `player` to repeat calls that raise `Unavailable`, for `RETRY_TIMEOUT` seconds.

    `Unavailable` means that the player certainly did nothing.
    """
    return cast("Player", _RetryingPlayer(player, sleep, now))


class _RetryingPlayer:
    def __init__(self, player: Player, sleep: Callable[[float], Awaitable[None]], now: Callable[[], float]) -> None:
        self._player, self._sleep, self._now = player, sleep, now

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._player, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            started = self._now()
            while True:
                try:
                    return await method(*args, **kwargs)
                except Unavailable:
                    if self._now() - started >= RETRY_TIMEOUT:
                        raise
                    await self._sleep(_RETRY_INTERVAL)

        return call
