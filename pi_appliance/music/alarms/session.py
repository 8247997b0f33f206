"""What a music job is in the middle of, kept so that another run can finish it: options, phase, since when."""

import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, cast

from pi_appliance.config import units
from pi_appliance.config.units import Names
from pi_appliance.errors import Refused, Unavailable
from pi_appliance.music.alarms.options import Action, Finish, Options
from pi_appliance.music.alarms.volume import Volume
from pi_appliance.music.context import MusicContext
from pi_appliance.music.model import Mode, Play, PlayerState
from pi_appliance.music.player import Player
from pi_appliance.system.clock import Timestamp


class Phase(StrEnum):
    """What goes on."""

    RINGING = "ringing"  # the alarm; its fade, and what comes after that
    SNOOZING = "snoozing"
    WAITING = "waiting"  # for the time to sleep
    FINISHING = "finishing"  # the track, album or queue is played out
    FALLING = "falling"  # the volume, before the music stops
    TURNING = "turning"  # the volume, towards what was asked for
    SPEAKING = "speaking"  # the announcement


@dataclass(frozen=True, slots=True, kw_only=True)
class Modes:
    """How the queue was played before."""

    repeat: bool
    random: bool
    single: Mode
    consume: Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the player was before an announcement."""

    play: str
    id: int | None
    position: int | None
    uri: str
    elapsed: float | None
    file: bool  # it has an end, so that one can go back to a second of it
    length: int  # of the queue


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One alarm, sleep, turn of the volume or announcement that goes on."""

    phase: Phase
    since: Timestamp  # when the phase began, or when it would have at the pace of its fade
    began: Timestamp  # when the session did, or the last ringing
    seconds: float = 0.0  # how long the phase takes
    start: int = 0  # the volume at which its fade begins
    source: int = 0  # which of those to play; beyond the last one: the bundled sound
    sounded: bool = False
    hand: bool = False  # somebody has taken the volume into his own
    snoozes: bool = False  # after FALLING it is not over
    before: int | None = None  # the volume to restore
    modes: Modes | None = None  # to restore
    until: str = ""  # the time on the wall at which it ends, without a zone
    album: str = ""  # the album that is played out
    place: Place | None = None
    added: int | None = None  # the id of the announcement in the queue
    uri: str = ""  # the address of that, or of the track that is played out


def dump(options: Options, session: Session) -> str:
    """Write both down."""
    return json.dumps({"with": _plain(options), "session": _plain(session)})


def load(text: str) -> tuple[Options, Session] | None:
    """Read what `dump` has written; None for what another release has."""
    try:
        data = json.loads(text)
        return _options(data["with"]), _session(data["session"])
    except (ValueError, TypeError, KeyError):
        return None


def phases(held: Mapping[str, str], now: Timestamp, within: float) -> set[Phase]:
    """Return the phases of what is HELD, by job; of those that began WITHIN so many seconds before NOW."""
    found = (loaded[1] for text in held.values() if (loaded := load(text)) is not None)
    return {each.phase for each in found if now.seconds_since(each.since) <= within}


def modes_of(state: PlayerState) -> Modes:
    """Return how the queue is played."""
    return Modes(repeat=state.repeat, random=state.random, single=state.single, consume=state.consume)


def _plain(thing: Any) -> dict[str, Any]:
    return {each.name: _value(getattr(thing, each.name)) for each in fields(thing)}


def _value(value: Any) -> Any:
    match value:
        case Timestamp():
            return {"wall": value.wall.isoformat(), "steady": value.steady, "boot": value.boot}
        case timedelta():
            return value.total_seconds()
        case Modes() | Place():
            return _plain(value)
    return value


def _options(data: dict[str, Any]) -> Options:
    values = dict(data)
    for name in ("fade", "for_", "snooze", "in_"):
        values[name] = None if values[name] is None else timedelta(seconds=values[name])
    values["do"] = Action(values["do"])
    values["finish"] = None if values["finish"] is None else Finish(values["finish"])
    values["play"] = None if values["play"] is None else Names(values["play"])
    return Options(**values)


def _session(data: dict[str, Any]) -> Session:
    values = dict(data)
    values["phase"] = Phase(values["phase"])
    for name in ("since", "began"):
        values[name] = _moment(values[name])
    values["modes"] = None if values["modes"] is None else _modes(values["modes"])
    values["place"] = None if values["place"] is None else Place(**values["place"])
    return Session(**values)


def _modes(data: dict[str, Any]) -> Modes:
    return Modes(**{**data, "single": Mode(data["single"]), "consume": Mode(data["consume"])})


def _moment(data: dict[str, Any]) -> Timestamp:
    return Timestamp(datetime.fromisoformat(data["wall"]), float(data["steady"]), data["boot"])


MAX_AGE = 3600.0  # seconds after which what was cut off is not gone on with
_SPEECH = 300.0  # seconds after which an announcement is none any more, whatever became of it
POLL_INTERVAL = 1.0  # seconds between two looks, and so between two steps of the volume


class MusicSession:
    """What an alarm, a sleep and a turn of the volume have in common."""

    def __init__(self, options: Options, context: MusicContext, player: Player, session: Session) -> None:
        self.options, self.context, self.player, self.session = options, context, player, session
        self.volume = self.new_volume()
        self._spoke = False
        self.how = ""  # how it ends, once that is known
        self.over = False

    def new_volume(self) -> Volume:
        """Return the volume as one of which nothing is known yet."""
        return Volume(self.player, self.context.max_volume)

    def now(self) -> float:
        """Return the steady clock's seconds."""
        return self.context.timestamp().steady

    async def look(self) -> PlayerState | None:
        """Return what the player does; None while an announcement is made: what it does then is not our music's."""
        before, state, now = self._spoke or self._speaks(), await self.player.state(), self._speaks()
        self._spoke = now
        return None if before or now else state

    def _speaks(self) -> bool:
        others = self.context.active_checkpoints()
        return bool(others) and Phase.SPEAKING in phases(others, self.context.timestamp(), _SPEECH)

    def age(self) -> float:
        """Return for how many seconds the phase goes on."""
        return self.context.timestamp().seconds_since(self.session.since)

    def keep(self, **changes: object) -> None:
        """Change the session, durably."""
        self.session = replace(self.session, **changes)  # type: ignore[arg-type] # each name is a field
        self.context.save_checkpoint(dump(self.options, self.session))

    def begin(self, phase: Phase, seconds: float, **changes: object) -> None:
        """Begin PHASE, which takes so many SECONDS."""
        self.keep(phase=phase, since=self.context.timestamp(), seconds=seconds, **changes)

    def finish(self, how: str) -> None:
        """Be through with it: HOW is told to people."""
        self.how, self.over = how, True
        self.context.clear_checkpoint()

    async def silence(self, state: PlayerState) -> None:
        """Pause, so that it can go on; stop a stream, which would only fall behind."""
        if state.play is Play.PLAYING and state.track is not None and state.track.duration is not None:
            await self.player.pause()
        elif state.play is not Play.STOPPED:
            await self.player.stop()

    async def restore_volume(self) -> None:
        """Put the volume back to what it was."""
        if self.session.before is not None:
            await self.volume.set(self.session.before)

    async def set_modes(self, modes: Modes) -> None:
        """Have the queue played so; as far as this player can."""
        await self.player.set_modes(repeat=modes.repeat, random=modes.random)
        with contextlib.suppress(Refused):  # it has no such mode
            await self.player.set_modes(single=modes.single)
        with contextlib.suppress(Refused):
            await self.player.set_modes(consume=modes.consume)


def words(seconds: float) -> str:
    """Return a length of time as people say it."""
    if seconds >= 90:
        return f"{round(seconds / 60)} min"
    return units.format_duration(timedelta(seconds=max(0, round(seconds))))


PATIENCE = 8.0  # seconds
_PAUSE = 0.25


def with_retries(player: Player, rest: Callable[[float], Awaitable[None]], now: Callable[[], float]) -> Player:
    """Return PLAYER, asked again for PATIENCE: what raises Unavailable was certainly not done."""
    return cast("Player", _Patient(player, rest, now))


class _Patient:
    def __init__(self, player: Player, rest: Callable[[float], Awaitable[None]], now: Callable[[], float]) -> None:
        self._player, self._rest, self._now = player, rest, now

    def __getattr__(self, name: str) -> Any:
        ask = getattr(self._player, name)

        async def asked(*words: Any, **more: Any) -> Any:
            began = self._now()
            while True:
                try:
                    return await ask(*words, **more)
                except Unavailable:
                    if self._now() - began >= PATIENCE:
                        raise
                    await self._rest(_PAUSE)

        return asked
