"""A player with its clocks, and music jobs that run, are interrupted and resumed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

from pi_appliance.config import units
from pi_appliance.config.units import Names
from pi_appliance.music.alarms import music_job
from pi_appliance.music.model import Station
from pi_appliance.storage.model import Result
from tests.fakes.context import FakeContext
from tests.fakes.timed_player import RunKilled, Sound, TimedPlayer, Timeline

SEVEN = datetime(2027, 3, 1, 7, 0, tzinfo=UTC)
FIP, RADIO = "http://radio/fip", "http://radio/other"


def options(do: str, **keys: Any) -> music_job.Options:
    """Return options as YAML would, with durations as texts."""
    values = dict(keys)
    for name in ("fade", "duration", "snooze", "in_"):
        if isinstance(values.get(name), str):
            values[name] = units.parse_duration(values[name])
    if "play" in values:
        values["play"] = Names([values["play"]] if isinstance(values["play"], str) else values["play"])
    if "play_out" in values:
        values["play_out"] = music_job.PlayOut(values["play_out"])
    return music_job.Options(action=music_job.Action(do), **values)


@dataclass
class JobRunner:
    """One player through many runs. `held` is the checkpoint of the job."""

    folder: Path
    sounds: dict[str, Sound] = field(default_factory=dict)
    volume: int | None = 60
    wall: datetime = SEVEN
    zone: tzinfo = UTC
    held: str | None = None
    stations: Sequence[Station] = (Station(name="FIP", url=FIP),)
    words: list[str] = field(default_factory=list)
    notes: list[tuple[float | None, str]] = field(default_factory=list)
    other_checkpoints: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.time = Timeline(self.wall)
        self.player = TimedPlayer(self.time, self.sounds, volume=self.volume)

    def run(self, do: str, **keys: Any) -> Result:
        """Run the job to its end."""
        return self._run(options(do, **keys), resume=False)

    def kill_after(self, seconds: float, do: str, **keys: Any) -> None:
        """Run the job, and kill it after `seconds`."""
        self.time.kill_after(seconds)
        try:
            self._run(options(do, **keys), resume=False)
        except RunKilled:
            return
        raise AssertionError("it was over before")

    def kill_again_after(self, seconds: float) -> None:
        """Resume the checkpoint, and kill that run too."""
        self.time.kill_after(seconds)
        try:
            self.go_on()
        except RunKilled:
            return
        raise AssertionError("it was over before")

    def go_on(self) -> Result:
        """Resume the checkpoint to its end."""
        return self._run(options("stop"), resume=True)

    def say(self, seconds: float, word: str) -> None:
        """Send a signal to the run after `seconds`."""
        self.time.at(seconds, lambda: self.words.append(word))

    def reboot(self, seconds: float) -> None:
        """Cut the power for `seconds`; the monotonic clock restarts."""
        self.time.wall += timedelta(seconds=seconds)
        self.time.monotonic_time, self.time.boot = 5.0, "boot-2"

    def _run(self, job_options: music_job.Options, *, resume: bool) -> Result:
        context = FakeContext(
            self.folder,
            resume_only=resume,
            timeline=self.time,
            fake_player=self.player,
            radio_stations=self.stations,
            checkpoint=self.held,
            signals=self.words,
            zone=self.zone,
            progress_reports=self.notes,
            other_checkpoints=self.other_checkpoints,
        )
        try:
            return music_job.run(job_options, context)
        finally:
            self.held = context.checkpoint

    # The recorded volumes

    @property
    def loud(self) -> list[tuple[float, int]]:
        """The volumes during playback by seconds since the first clock reading."""
        return [(round(at - 1000.0, 3), volume) for at, volume, plays in self.player.volumes if plays]
