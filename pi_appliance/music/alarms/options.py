"""The keys of a job of kind 'music', which of them belongs to what it does, and what stands for those left out."""

import shutil
from dataclasses import dataclass, fields
from datetime import timedelta
from enum import StrEnum
from typing import Annotated

from pi_appliance.config.units import Names
from pi_appliance.errors import UnknownName
from pi_appliance.music import sources
from pi_appliance.scheduling import schedule

SPEAKERS = ("espeak-ng", "pico2wave", "flite")
SPEAKER_MISSING = "say: sudo apt install espeak-ng"
Wrong = list[tuple[tuple[str | int, ...], str, str]]


class Action(StrEnum):
    """What is done with the music."""

    ALARM = "alarm"
    SLEEP = "sleep"
    VOLUME = "volume"
    STOP = "stop"
    ANNOUNCE = "announce"


class Finish(StrEnum):
    """What is still played to its end before the music sleeps."""

    TRACK = "track"
    ALBUM = "album"
    QUEUE = "queue"


_KEYS = {
    Action.ALARM: {"play", "volume", "from", "fade", "for", "snooze", "once"},
    Action.SLEEP: {"in", "at", "finish", "fade"},
    Action.VOLUME: {"volume", "fade"},
    Action.STOP: {"fade"},
    Action.ANNOUNCE: {"say", "sound", "volume"},
}
_FADES = {Action.ALARM: timedelta(minutes=5), Action.SLEEP: timedelta(minutes=1)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys a job of this kind takes under `with:`."""

    do: Annotated[Action, "alarm, sleep, volume, stop or announce; each of the other keys belongs to some of them"]
    play: Annotated[Names | None, f"alarm: what wakes, tried in this order until one sounds: {sources.FORMS}"] = None
    volume: Annotated[
        int | None, "alarm: how loud it becomes, without it 40; volume: what it is set to; announce: how loud"
    ] = None
    from_: Annotated[int, "alarm: how loud it begins"] = 5
    fade: Annotated[
        timedelta | None,
        "how long the volume takes; without it, 5m for an alarm, the last 1m of a sleep, 0s for volume and stop",
    ] = None
    for_: Annotated[timedelta | None, "alarm: it stops by itself after this time; without it, the music goes on"] = None
    snooze: Annotated[timedelta, "alarm: how long it is silent when it is asked to wait"] = timedelta(minutes=9)
    once: Annotated[bool, "alarm: it rings at its next slot and is then paused"] = False
    in_: Annotated[timedelta | None, "sleep: how long the music still plays; without in, at and finish, 30m"] = None
    at: Annotated[str | None, 'sleep: the time of the day at which it ends, such as "23:30"'] = None
    finish: Annotated[Finish | None, "sleep: when the time has come, the track, album or queue is played out"] = None
    say: Annotated[str | None, "announce: a text that is spoken"] = None
    sound: Annotated[str | None, "announce: what is played: a file of the library or an address"] = None

    def check(self) -> Wrong:
        """Return what is wrong with the keys: where, what, and what would be right."""
        return [*self._misplaced(), *self._missing(), *self._wrong()]

    def warnings(self) -> Wrong:
        """Return what a run would stumble over as things stand: where, what, and what would be right."""
        if self.say is not None and not any(shutil.which(name) for name in SPEAKERS):
            return [(("say",), "nothing here can speak", SPEAKER_MISSING)]
        return []

    def _misplaced(self) -> Wrong:
        """Return the keys that were given and belong to something else."""
        given = [each for each in fields(self) if each.name != "do" and getattr(self, each.name) != each.default]
        keys = [each.name.rstrip("_") for each in given]
        return [
            ((key,), f"{key} means nothing to do: {self.do}", f"it takes {', '.join(sorted(_KEYS[self.do]))}")
            for key in keys
            if key not in _KEYS[self.do]
        ]

    def _missing(self) -> Wrong:
        match self.do:
            case Action.ALARM if self.play is None:
                return [((), "nobody knows what wakes", "add play: and a station, a playlist or a folder")]
            case Action.VOLUME if self.volume is None:
                return [((), "nobody knows how loud", "add volume: and a number from 0 to 100")]
            case Action.ANNOUNCE if self.say is not None and self.sound is not None:
                return [(("sound",), "one thing is announced at a time", "write either say: or sound:")]
        return []

    def _wrong(self) -> Wrong:
        """Return the values that cannot be used."""
        problems: Wrong = []
        for key, level in (("volume", self.volume), ("from", self.from_)):
            if level is not None and not 0 <= level <= 100:
                problems.append(((key,), f"{level} is no volume", "write 0 to 100"))
        if self.do is Action.ALARM and 0 <= self.loudness < self.from_:
            problems.append((("from",), f"{self.from_} is louder than volume: {self.loudness}", "write less"))
        if self.do is Action.ALARM and self.loudness == 0:
            problems.append((("volume",), "nobody hears a volume of 0", "write 1 to 100"))
        if self.for_ is not None and self.for_ <= self.fading:
            problems.append((("for",), "it would stop while it still fades in", "write more than fade:"))
        if self.snooze < timedelta(minutes=1):
            problems.append((("snooze",), "nobody sleeps in so short a time", "write 1m or more"))
        for number, text in enumerate(self.play or ()):
            problems += [(("play", number), wrong, "") for wrong in _unplayable(text)]
        return problems + self._wrong_times()

    def _wrong_times(self) -> Wrong:
        problems: Wrong = []
        if self.in_ is not None and self.at is not None:
            problems.append((("at",), "in: says already when it ends", "write either in: or at:"))
        if self.at is not None:
            try:
                schedule.parse_wall_time(self.at)
            except ValueError as error:
                problems.append((("at",), f"{self.at!r} is no time of the day", str(error)))
        for key, text in (("say", self.say), ("sound", self.sound)):
            if text is not None and not text.strip():
                problems.append(((key,), "there is nothing to be heard", "write some words"))
            if text is not None and any("\ud800" <= letter <= "\udfff" for letter in text):
                problems.append(((key,), "it holds what is no letter", "write it in UTF-8"))
        return problems

    @property
    def loudness(self) -> int:
        """How loud an alarm becomes."""
        return 40 if self.volume is None else self.volume

    @property
    def fading(self) -> timedelta:
        """How long the volume takes."""
        return _FADES.get(self.do, timedelta(0)) if self.fade is None else self.fade

    @property
    def lasting(self) -> timedelta:
        """How long the music still plays before it sleeps, where no time of the day is given."""
        if self.in_ is not None:
            return self.in_
        # "At the end of this track" is not half an hour and the end of a track.
        return timedelta(0) if self.finish or self.do is Action.STOP else timedelta(minutes=30)


def _unplayable(text: str) -> list[str]:
    try:
        sources.parse(text, ())
    except UnknownName:  # a station: it may well be there
        return []
    except ValueError as error:
        return [str(error)]
    return []
