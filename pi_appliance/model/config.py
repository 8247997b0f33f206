"""The configuration: what config/appliance.yaml says, checked, with every path absolute.

Field names are the YAML keys with _ for -. The text in Annotated describes a key to editors, docs and `config init`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pi_appliance.model.schedule import Chance, Schedule


class RunsBy(StrEnum):
    """Who starts a job at its slots."""

    CRON = "cron"
    DAEMON = "daemon"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How often a run that certainly did nothing is tried again."""

    times: Annotated[int, "how many times more, at the most"] = 0
    wait: Annotated[timedelta, "before the first new try; doubled each time"] = timedelta(seconds=30)
    at_most: Annotated[timedelta, "the longest wait between two tries"] = timedelta(minutes=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One entry under `jobs:`."""

    name: Annotated[str, "the key of the entry"] = field(default="", metadata={"yaml": False})
    kind: Annotated[str, "what it does: the name of a file in pi_appliance/jobs"]
    schedule: Annotated[
        Schedule | None, "a cron expression, a list of times, @daily, @reboot, every: 15m; without it only by hand"
    ] = None
    runs_by: Annotated[RunsBy, "who starts it: the daemon, or an entry in the real crontab"] = RunsBy.DAEMON
    chance: Annotated[Chance | None, "how many of its slots are used, at random, such as 1/4"] = None
    deadline: Annotated[timedelta, "a run that takes longer is ended"] = timedelta(hours=1)
    grace: Annotated[timedelta, "how late a slot may start; later it counts as misfired"] = timedelta(minutes=5)
    retry: Annotated[Retry, "what to do when something could not be reached"] = field(default_factory=Retry)
    with_: Annotated[Any, "what the kind wants to know"] = None

    def check(self) -> list[tuple[tuple[str | int, ...], str, str]]:
        """Return what is wrong with a value: where, what, and what would be right."""
        problems: list[tuple[tuple[str | int, ...], str, str]] = []
        if self.deadline < timedelta(seconds=1):
            problems.append((("deadline",), "nothing is done in no time", "write 1s or more"))
        if self.retry.times < 0:
            problems.append((("retry", "times"), f"{self.retry.times} is no number of tries", "write 0 or more"))
        return problems


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A network or a player: a kind and what that kind wants to know."""

    kind: Annotated[str, "which one: the name of a file in the folder of that family"]
    with_: Annotated[Any, "what the kind wants to know"] = None


def _port_problems(port: int) -> list[tuple[tuple[str | int, ...], str, str]]:
    if not 0 <= port <= 65535:  # 0: any that is free
        return [(("port",), f"{port} is no port", "write 1024 to 65535")]
    return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Web:
    """The page on the phone."""

    host: Annotated[
        str,
        "the address to listen on; anything but 127.0.0.1 needs a WEB_PASSWORD of 8 characters or more",
    ] = "127.0.0.1"
    port: Annotated[int, "the port to listen on"] = 8080

    def check(self) -> list[tuple[tuple[str | int, ...], str, str]]:
        """Return what is wrong with a value: where, what, and what would be right."""
        return _port_problems(self.port)


@dataclass(frozen=True, slots=True, kw_only=True)
class MpdPort:
    """The door for MPD apps on phones: whatever they send goes on to the player's MPD."""

    host: Annotated[str, "the address to listen on; MPD knows no encryption, so 0.0.0.0 only at home"] = "127.0.0.1"
    port: Annotated[int, "the port to listen on; not the one the player's own MPD has on this machine"] = 6601

    def check(self) -> list[tuple[tuple[str | int, ...], str, str]]:
        """Return what is wrong with a value: where, what, and what would be right."""
        return _port_problems(self.port)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The whole file."""

    path: Annotated[Path, "the file itself"] = field(default=Path(), metadata={"yaml": False})
    time_zone: Annotated[ZoneInfo, "an IANA name such as Europe/London; without it, the machine's"] = field(
        default_factory=lambda: ZoneInfo("UTC")
    )
    state: Annotated[Path, "the folder for history, logs and reports"]
    stations: Annotated[Path | None, "the file of web radio stations"] = None
    stop_grace: Annotated[timedelta, "how long running jobs may go on when the appliance stops"] = timedelta(seconds=10)
    web: Annotated[Web, "the page on the phone"] = field(default_factory=Web)
    player: Annotated[Part | None, "what makes the music"] = None
    mpd_port: Annotated[MpdPort | None, "the door for MPD apps; without it, there is none"] = None
    networks: Annotated[Mapping[str, Part], "where posts go, by a name of your own"] = field(default_factory=dict)
    jobs: Annotated[Mapping[str, Job], "what is done and when, by a name of your own"] = field(default_factory=dict)

    @property
    def reports(self) -> Path:
        """The folder that jobs write their reports into, one folder a job."""
        return self.state / "reports"
