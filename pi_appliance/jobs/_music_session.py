"""What a music job is in the middle of, kept so that another run can finish it: options, phase, since when."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from pi_appliance.jobs._music_options import Do, Finish, Options
from pi_appliance.model.music import Mode, PlayerState
from pi_appliance.model.units import Names
from pi_appliance.ports import Moment


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
    since: Moment  # when the phase began, or when it would have at the pace of its fade
    began: Moment  # when the session did, or the last ringing
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


def phases(held: Mapping[str, str], now: Moment, within: float) -> set[Phase]:
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
        case Moment():
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
    values["do"] = Do(values["do"])
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


def _moment(data: dict[str, Any]) -> Moment:
    return Moment(datetime.fromisoformat(data["wall"]), float(data["steady"]), data["boot"])
