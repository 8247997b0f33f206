"""Job kind `music`: alarm, sleep timer, stop, volume change and announcement.

It defines the options of these jobs, and the context of their runs.
"""

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from enum import StrEnum
from typing import Annotated

from pi_appliance import plugins
from pi_appliance.config import secrets
from pi_appliance.config.binding import yaml_key
from pi_appliance.config.options import Job
from pi_appliance.config.secrets import secret_names
from pi_appliance.config.units import VOLUME, Names
from pi_appliance.errors import Issues, Refused, Unavailable, UnknownName
from pi_appliance.jobs.context import JobContext
from pi_appliance.music import model
from pi_appliance.music.player import NO_PLAYER, Player
from pi_appliance.music.radio import stations
from pi_appliance.music.volume_limits import PlayerPolicy, apply_policy, max_volume
from pi_appliance.scheduling import schedule
from pi_appliance.storage.model import Result
from pi_appliance.system import clock
from pi_appliance.system.clock import Timestamp

KIND = "music"
RINGING = "ringing"
BLOCKS_ALARM = {RINGING, "snoozing", "fading-out", "playing-out", "changing-volume"}
"""Phases of other sessions that must end before an alarm can ring."""
TTS_PROGRAMS = ("espeak-ng", "pico2wave", "flite")
TTS_HINT = "install one: sudo apt install espeak-ng"
CANNOT_SPEAK = "no program that can speak is installed"


def can_speak() -> bool:
    """Return whether a text can be spoken on this machine."""
    return any(shutil.which(name) for name in TTS_PROGRAMS)


class Action(StrEnum):
    """The type of a music job."""

    ALARM = "alarm"
    SLEEP = "sleep"
    VOLUME = "volume"
    STOP = "stop"
    ANNOUNCE = "announce"


class PlayOut(StrEnum):
    """The unit that a sleep timer plays to its end."""

    TRACK = "track"
    ALBUM = "album"
    QUEUE = "queue"


_KEYS = {
    Action.ALARM: {"play", "volume", "start-volume", "fade", "duration", "snooze", "one-shot"},
    Action.SLEEP: {"in", "at", "play-out", "fade"},
    Action.VOLUME: {"volume", "fade"},
    Action.STOP: {"fade"},
    Action.ANNOUNCE: {"text", "source", "volume"},
}
_RUN_OPTIONS = {
    Action.ALARM: ("play", "volume", "fade"),
    Action.SLEEP: ("in", "at", "play-out", "fade"),
    Action.VOLUME: ("volume", "fade"),
    Action.STOP: ("fade",),
    Action.ANNOUNCE: ("text", "source", "volume"),
}
_DEFAULT_FADES = {Action.ALARM: timedelta(minutes=5), Action.SLEEP: timedelta(minutes=1)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys below `with:` of a music job."""

    action: Annotated[Action, "alarm, sleep, volume, stop or announce; the other keys belong to some of these actions"]
    play: Annotated[Names | None, f"alarm: the sources, tried in this order until one plays: {model.FORMS}"] = None
    volume: Annotated[
        int | None, "alarm: the final volume, default 40; volume: the new volume; announce: its volume", VOLUME
    ] = None
    start_volume: Annotated[int, "alarm: the volume at which the fade starts", VOLUME] = 5
    fade: Annotated[
        timedelta | None,
        "how long the volume takes to change; default 5m for an alarm, the last 1m of a sleep timer, else 0s",
    ] = None
    duration: Annotated[timedelta | None, "alarm: stops after this time; without it, the music continues"] = None
    snooze: Annotated[timedelta, "alarm: how long a snooze is silent"] = timedelta(minutes=9)
    one_shot: Annotated[bool, "alarm: rings at the next scheduled time, then the job is paused"] = False
    in_: Annotated[timedelta | None, "sleep: time until the music stops; without in, at and play-out, 30m"] = None
    at: Annotated[str | None, 'sleep: the time of day at which the music stops, such as "23:30"'] = None
    play_out: Annotated[PlayOut | None, "sleep: at that time, first play the track, album or queue to its end"] = None
    text: Annotated[str | None, "announce: the text to speak"] = None
    source: Annotated[str | None, "announce: the sound to play: a file of the library, an address, or chime"] = None

    def check(self) -> Issues:
        """Return the problems of the options."""
        return [*self._misplaced_keys(), *self._missing_keys(), *self._invalid_values()]

    def warnings(self) -> Issues:
        """Return the problems that a run on this machine would have."""
        speaks = self.text is not None or (self.action is Action.ANNOUNCE and self.source is None)
        if speaks and not can_speak():
            return [(("text",), CANNOT_SPEAK, TTS_HINT)]
        return []

    def _misplaced_keys(self) -> Issues:
        changed = [each for each in fields(self) if each.name != "action" and getattr(self, each.name) != each.default]
        return [
            (
                (key,),
                f"{key} does not belong to action: {self.action}",
                f"its keys are {', '.join(sorted(_KEYS[self.action]))}",
            )
            for key in map(yaml_key, changed)
            if key not in _KEYS[self.action]
        ]

    def _missing_keys(self) -> Issues:
        match self.action:
            case Action.ALARM if self.play is None:
                return [((), "the alarm has nothing to play", "add play: and a station, a playlist or a folder")]
            case Action.VOLUME if self.volume is None:
                return [((), "the volume is missing", "add volume: and a number from 0 to 100")]
            case Action.ANNOUNCE if self.text is not None and self.source is not None:
                return [(("source",), "a job announces one thing", "write either text: or source:")]
        return []

    def _invalid_values(self) -> Issues:
        problems: Issues = []
        if self.action is Action.ALARM and self.final_volume < self.start_volume:
            problems.append(
                (("start-volume",), f"{self.start_volume} is louder than volume: {self.final_volume}", "write less")
            )
        if self.action is Action.ALARM and self.final_volume == 0:
            problems.append((("volume",), "an alarm with volume 0 is silent", "write 1 to 100"))
        if self.duration is not None and self.duration <= self.fade_time:
            problems.append((("duration",), "the alarm would stop before its fade ends", "write more than fade:"))
        if self.snooze < timedelta(minutes=1):
            problems.append((("snooze",), "the snooze time is too short", "write 1m or more"))
        for number, text in enumerate(self.play or ()):
            problems += [(("play", number), message, "") for message in _source_errors(text)]
        return problems + self._invalid_texts()

    def _invalid_texts(self) -> Issues:
        problems: Issues = []
        if self.in_ is not None and self.at is not None:
            problems.append((("at",), "in: already says when the music stops", "write either in: or at:"))
        if self.at is not None:
            try:
                schedule.parse_time(self.at)
            except ValueError:
                problems.append((("at",), f"{self.at!r} is not a valid time of day", 'write a time such as "23:30"'))
        for key, text in (("text", self.text), ("source", self.source)):
            if text is not None and not text.strip():
                problems.append(((key,), "the value is empty", "write some text"))
            if text is not None and any("\ud800" <= letter <= "\udfff" for letter in text):
                problems.append(((key,), "the text contains invalid characters", "write it in UTF-8"))
        return problems

    @property
    def final_volume(self) -> int:
        """The volume at the end of an alarm's fade."""
        return 40 if self.volume is None else self.volume

    @property
    def fade_time(self) -> timedelta:
        """How long a change of the volume takes."""
        return _DEFAULT_FADES.get(self.action, timedelta(0)) if self.fade is None else self.fade

    @property
    def time_until_sleep(self) -> timedelta:
        """How long the music plays before it sleeps, if no time of day is set."""
        if self.in_ is not None:
            return self.in_
        # Without a time, `play-out: track` means the end of the current track, not half an hour
        # later.
        return timedelta(0) if self.play_out or self.action is Action.STOP else timedelta(minutes=30)


def _source_errors(text: str) -> list[str]:
    try:
        model.parse_source(text, ())
    except UnknownName:  # it may be a station; the file of stations is not read here
        return []
    except ValueError as error:
        return [str(error)]
    return []


TIMEOUT = timedelta(hours=25)
"""Long, because a sleep timer may be set a day ahead."""
URGENT = True
"""A run does not wait for other runs to end: an alarm rings on time."""
RESUMABLE = True
"""A run may leave a checkpoint for a later run."""


def action_of(job: Job) -> str:
    """Return the action of a music job; '' for other jobs."""
    return str(getattr(job.options, "action", "")) if job.kind == KIND else ""


def is_alarm(job: Job) -> bool:
    """Return whether `job` is an alarm."""
    return action_of(job) == "alarm"


def phase_of(checkpoint: str) -> str:
    """Return the phase in a `checkpoint` of `music_session.dump`, or '' for any other text.

    '' for any other checkpoint.
    """
    try:
        return str(json.loads(checkpoint)["session"]["phase"])
    except (ValueError, KeyError, TypeError):
        return ""


class MusicContext(JobContext):
    """The context of a run that may play music."""

    def player(self) -> Player:
        """Return the configured player within the volume policy. The caller closes it.

        Raises:
            Unavailable: no player is configured.
        """
        part = self.config.player
        if part is None:
            raise Unavailable(NO_PLAYER)
        keys = secrets.load(self.config.path, self.parameters.environment, secret_names(self.config))
        player: Player = plugins.load("players", part.kind).connect(part.options, keys)
        zone = self.config.time_zone
        return apply_policy(
            player, PlayerPolicy(volume_policy=self.config.volume, time_zone=zone, open_store=lambda: self.store)
        )

    def stations(self) -> Sequence[model.Station]:
        """Return the web radio stations, the owner's first.

        Raises `ConfigError` if the file is invalid.
        """
        return stations.stations_of(self.config).all()

    def resolve_stream(self, source: model.Source) -> model.Source:
        """Return `source`, with the address of the stream if its own address is a playlist."""
        return stations.resolve_source(stations.stations_of(self.config), source)

    def max_volume(self) -> int:
        """Return the maximum volume allowed now, 0 to 100."""
        return max_volume(self.config.volume, clock.now().astimezone(self.config.time_zone))

    def timestamp(self) -> Timestamp:
        """Return the current time by the wall clock and by the monotonic clock."""
        return Timestamp(clock.now(), clock.SystemClock().monotonic(), clock.boot_id())

    async def sleep(self, seconds: float) -> None:
        """Wait for `seconds`, measured by the monotonic clock."""
        import asyncio  # noqa: PLC0415  # loading a configuration loads this module

        await asyncio.sleep(max(0.0, seconds))


Context = MusicContext
preempts = is_alarm


def is_preemptible(checkpoint: str) -> bool:
    """Return whether the session of `checkpoint` must end before an alarm can ring."""
    return phase_of(checkpoint) in BLOCKS_ALARM


def run_options(options: Options) -> Sequence[str]:
    """Return the keys that may differ for one run, the most common one first."""
    return _RUN_OPTIONS[options.action]


def missing_for_run(options: Options) -> str:
    """Return why a run would fail, '' if nothing is missing."""
    is_silent = options.action is Action.ANNOUNCE and not (options.text or options.source)
    if options.text is not None and not can_speak():
        return f"{CANNOT_SPEAK}; {TTS_HINT}"
    return "nothing to announce; give a text or a source" if is_silent else ""


def own_page(options: Options) -> str:
    """Return the page on which people manage the job, '' for the list of jobs."""
    if options.action is Action.ALARM:
        return "/music/alarms/{job}"
    return "/music/alarms" if options.action in (Action.SLEEP, Action.ANNOUNCE) else ""


def run(options: Options, context: MusicContext) -> Result:
    """Do the action of `options`, or resume the session of the checkpoint.

    Raises:
        Unavailable: The player cannot be reached.
        Refused: The player rejects it, or something is missing.
    """
    import asyncio  # noqa: PLC0415  # loading a configuration loads this module

    return asyncio.run(_run(options, context))


async def _run(options: Options, context: MusicContext) -> Result:
    from pi_appliance.music.alarms import alarm_session, announce, music_session, sleep  # noqa: PLC0415  # they load asyncio

    actions = {
        Action.ALARM: alarm_session.ring,
        Action.SLEEP: sleep.sleep,
        Action.STOP: sleep.sleep,
        Action.VOLUME: sleep.change_volume,
        Action.ANNOUNCE: announce.announce,
    }
    checkpoint: music_session.Checkpoint | None = None
    if context.resume_only:
        text = context.load_checkpoint()
        if text is None:
            return Result("there was no session to resume")
        loaded = music_session.load(text)
        if loaded is None:
            context.clear_checkpoint()
            return Result("the checkpoint of another release was deleted")
        options, checkpoint = loaded
    if checkpoint is None and options.action is Action.ANNOUNCE and not (options.text or options.source):
        raise Refused('nothing to announce; run: pi-appliance music announce "dinner is ready"')
    player = context.player()
    try:
        return await actions[options.action](options, context, player, checkpoint)
    finally:
        await player.close()
