"""The configuration: what config/appliance.yaml says, checked, with every path absolute.

Field names are the YAML keys with _ for -. The text in Annotated describes a key to editors, docs and `config init`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import time, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pi_appliance.config.units import EVERY_DAY, Days, Percent, Size
from pi_appliance.scheduling.model import Chance, Schedule

Wrong = list[tuple[tuple[str | int, ...], str, str]]
"""What is wrong with values: where, what, and what would be right."""


class RunsBy(StrEnum):
    """Who starts a job at its slots."""

    CRON = "cron"
    DAEMON = "daemon"


class Overlap(StrEnum):
    """What becomes of a slot that comes while a run of its job goes on."""

    SKIP = "skip"
    QUEUE = "queue"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True, kw_only=True)
class CatchUp:
    """What is made up for of the slots that could not start in time."""

    window: Annotated[timedelta, "slots up to this old are made up for; 0s: none beyond the grace"] = timedelta(0)
    at_most: Annotated[int, "how many of them, the newest first; the others are told as skipped"] = 1
    spread: Annotated[timedelta, "they start at random within this time, so that not all jobs begin at once"] = (
        timedelta(0)
    )

    def check(self) -> Wrong:
        """Return what is wrong with a value."""
        return [] if self.at_most >= 1 else [(("at-most",), f"{self.at_most} makes up for nothing", "write 1 or more")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What must hold for a slot to be used; else it is skipped. Where a machine cannot tell, it counts as held."""

    temperature_below: Annotated[float | None, "degrees Celsius of the processor"] = None
    not_throttled: Annotated[bool, "the power is good and the processor not slowed down by heat"] = False
    disk_free: Annotated[Size | None, "room where the state folder is, such as 500MB"] = None
    online: Annotated[bool, "the network has a way out"] = False
    command: Annotated[list[str] | None, "a program and its arguments; it holds if that ends with status 0"] = None

    def check(self) -> Wrong:
        """Return what is wrong with a value."""
        if self.command is not None and (not self.command or not self.command[0]):
            return [(("command",), "no program is named", 'write command: ["/usr/bin/test", "-e", "/mnt/backup"]')]
        return []


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseWhen:
    """When a run that goes on is held, until things are better. The time does not count towards its deadline."""

    temperature_above: Annotated[float | None, "degrees Celsius; it goes on 5 degrees below"] = None
    throttled: Annotated[bool, "while the power is bad or the processor slowed down by heat"] = False


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
    catch_up: Annotated[CatchUp, "what is made up for of slots that came while nothing could start"] = field(
        default_factory=CatchUp
    )
    jitter: Annotated[timedelta, "each slot starts up to this much later, by a draw of its own"] = timedelta(0)
    time_zone: Annotated[ZoneInfo | None, "an IANA name; without it, the zone of the file"] = None
    after: Annotated[list[str], "jobs; it runs when all of them have succeeded since its last time"] = field(
        default_factory=list
    )
    overlap: Annotated[Overlap, "what becomes of a slot that comes while a run goes on"] = Overlap.SKIP
    only_if: Annotated[Conditions | None, "what must hold for a slot to be used"] = None
    pause_when: Annotated[PauseWhen | None, "when a run is held for a while"] = None
    nice: Annotated[int, "0 to 19: how far it steps back where others want the processor too"] = 0
    memory: Annotated[Size | None, "the most it may use, such as 300MB"] = None
    cpu: Annotated[Percent | None, "the most of one processor it may use, such as 50%"] = None
    on_failure: Annotated[list[str] | None, "notices sent when it begins to fail; without it, those of the file"] = None
    on_recovery: Annotated[list[str] | None, "notices sent when it succeeds again; without it, those of the file"] = (
        None
    )
    ping: Annotated[str | None, "an address called at each start, success and failure, as healthchecks.io wants it"] = (
        None
    )
    retry: Annotated[Retry, "what to do when something could not be reached"] = field(default_factory=Retry)
    with_: Annotated[Any, "what the kind wants to know"] = None

    def check(self) -> Wrong:
        """Return what is wrong with a value."""
        problems: Wrong = []
        if self.deadline < timedelta(seconds=1):
            problems.append((("deadline",), "nothing is done in no time", "write 1s or more"))
        if self.retry.times < 0:
            problems.append((("retry", "times"), f"{self.retry.times} is no number of tries", "write 0 or more"))
        if not 0 <= self.nice <= 19:
            problems.append((("nice",), f"{self.nice} is not from 0 to 19", "write 10 to step back for others"))
        for key, part in (("catch-up", self.catch_up), ("only-if", self.only_if)):
            if part is not None:
                problems += [((key, *where), wrong, right) for where, wrong, right in part.check()]
        return problems


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginConfig:
    """A network or a player: a kind and what that kind wants to know."""

    kind: Annotated[str, "which one: the name of a file in the folder of that family"]
    with_: Annotated[Any, "what the kind wants to know"] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """When the machine's clock is believed."""

    wait: Annotated[
        timedelta, "how long after its start a machine whose clock nobody has set is waited for; then it is believed"
    ] = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How much of the past is kept. What goes, goes with its log."""

    age: Annotated[timedelta, "runs older than this go"] = timedelta(days=90)
    runs: Annotated[int, "of each job, runs beyond this many go"] = 1000

    def check(self) -> Wrong:
        """Return what is wrong with a value."""
        return [] if self.runs >= 1 else [(("runs",), f"{self.runs} keeps nothing", "write 1 or more")]


def _port_problems(port: int) -> Wrong:
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

    def check(self) -> Wrong:
        """Return what is wrong with a value."""
        return _port_problems(self.port)


@dataclass(frozen=True, slots=True, kw_only=True)
class MpdPort:
    """The door for MPD apps on phones: whatever they send goes on to the player's MPD."""

    host: Annotated[str, "the address to listen on; MPD knows no encryption, so 0.0.0.0 only at home"] = "127.0.0.1"
    port: Annotated[int, "the port to listen on; not the one the player's own MPD has on this machine"] = 6601

    def check(self) -> Wrong:
        """Return what is wrong with a value."""
        return _port_problems(self.port)


def _volume_problems(key: str, volume: int) -> Wrong:
    return [] if 0 <= volume <= 100 else [((key,), f"{volume} is no volume", "write 0 to 100")]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietHours:
    """A time of the day in which the house is to be quiet."""

    from_: Annotated[time, 'when it begins by the clock on the wall, such as "22:00"']
    to: Annotated[time, "when it ends; an earlier time than `from` is one of the next day"]
    maximum: Annotated[int, "the loudest that is allowed then, 0 to 100"]
    days: Annotated[Days, "the days on which it begins, such as [sun-thu]; without it, every day"] = EVERY_DAY

    def check(self) -> Wrong:
        """Return what is wrong with a value."""
        problems = _volume_problems("maximum", self.maximum)
        if self.from_ == self.to:
            problems.append((("to",), "it would end as it begins", 'write a later time, such as "07:00"'))
        return problems


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumePolicy:
    """How loud the music may be, whoever turns the knob."""

    start: Annotated[int | None, "the loudest that the player may be when it has just started, 0 to 100"] = None
    maximum: Annotated[int, "the loudest that is ever allowed, 0 to 100"] = 100
    quiet: Annotated[list[QuietHours], "quiet hours; where several hold, the lowest maximum counts"] = field(
        default_factory=list
    )

    def check(self) -> Wrong:
        """Return what is wrong with a value."""
        problems = _volume_problems("maximum", self.maximum)
        if self.start is not None:
            problems += _volume_problems("start", self.start)
            if not problems and self.start > self.maximum:
                right = f"write {self.maximum} or less"
                problems.append((("start",), f"{self.start} is more than `maximum`, {self.maximum}", right))
        for number, hours in enumerate(self.quiet):
            problems += [(("quiet", number, *where), wrong, right) for where, wrong, right in hours.check()]
        return problems


@dataclass(frozen=True, slots=True, kw_only=True)
class Radio:
    """What is done for web radio that has stopped by itself."""

    watch: Annotated[bool, "let it come back"] = True
    patience: Annotated[timedelta, "how long it may be silent before something is done"] = timedelta(seconds=20)
    fallback: Annotated[
        list[str], "what plays while it cannot be brought back, tried in order: a station, playlist:NAME, a file …"
    ] = field(default_factory=list)
    back: Annotated[timedelta, "how often it is tried again meanwhile; more and more seldom"] = timedelta(minutes=5)

    def check(self) -> Wrong:
        """Return what is wrong with a value."""
        problems: Wrong = []
        if self.patience < timedelta(seconds=1):
            problems.append((("patience",), "no station begins in no time", "write 5s or more"))
        if self.back < timedelta(seconds=10):
            problems.append((("back",), "music could not be heard between two tries", "write 10s or more"))
        for number, name in enumerate(self.fallback):
            if not name.strip():
                problems.append((("fallback", number), "nothing is named to play", "write the name of a station"))
        return problems


@dataclass(frozen=True, slots=True, kw_only=True)
class Usb:
    """The sticks with music."""

    folder: Annotated[Path, "where they appear: a folder in the music folder of MPD"] = Path("/var/lib/mpd/music/USB")
    library: Annotated[str, "what MPD calls that folder; without it, the last part of `folder`"] = ""

    @property
    def uri(self) -> str:
        """What MPD calls the folder."""
        return self.library.strip("/") or self.folder.name


@dataclass(frozen=True, slots=True)
class NetworkDirs:
    """The two directories of a network. They need not exist."""

    private: Path  # the network's own state
    public: Path  # files for the owner, shown with the reports


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The whole file."""

    path: Annotated[Path, "the file itself"] = field(default=Path(), metadata={"yaml": False})
    time_zone: Annotated[ZoneInfo, "an IANA name such as Europe/London; without it, the machine's"] = field(
        default_factory=lambda: ZoneInfo("UTC")
    )
    state: Annotated[Path, "the folder for history, logs and reports"]
    stations: Annotated[Path | None, "the file of web radio stations"] = None
    clock: Annotated[Clock, "when the machine's clock is believed"] = field(default_factory=Clock)
    history: Annotated[Retention, "how much of the past is kept"] = field(default_factory=Retention)
    stop_grace: Annotated[timedelta, "how long running jobs may go on when the appliance stops"] = timedelta(seconds=10)
    web: Annotated[Web, "the page on the phone"] = field(default_factory=Web)
    player: Annotated[PluginConfig | None, "what makes the music"] = None
    mpd_port: Annotated[MpdPort | None, "the door for MPD apps; without it, there is none"] = None
    volume: Annotated[VolumePolicy | None, "how loud the music may be; without it, as loud as it goes"] = None
    radio: Annotated[Radio, "what is done for web radio that has stopped by itself"] = field(default_factory=Radio)
    resume: Annotated[bool, "after a power cut, play on where it was"] = True
    usb: Annotated[Usb | None, "USB sticks with music; without it, they are left alone"] = None
    discovery: Annotated[bool, "tell phones at home where the page and the MPD port are"] = True
    networks: Annotated[Mapping[str, PluginConfig], "where posts go, by a name of your own"] = field(
        default_factory=dict
    )
    notices: Annotated[Mapping[str, PluginConfig], "who is told when a job fails, by a name of your own"] = field(
        default_factory=dict
    )
    on_failure: Annotated[list[str], "the notices sent when a job begins to fail"] = field(default_factory=list)
    on_recovery: Annotated[list[str], "the notices sent when a job succeeds again"] = field(default_factory=list)
    jobs: Annotated[Mapping[str, Job], "what is done and when, by a name of your own"] = field(default_factory=dict)

    def zone_of(self, job: Job) -> ZoneInfo:
        """Return the time zone that JOB goes by."""
        return job.time_zone or self.time_zone

    def network_dirs(self, network: str) -> NetworkDirs:
        """Return the directories of `network`."""
        return NetworkDirs(self.state / "networks" / network, self.reports / network)

    @property
    def reports(self) -> Path:
        """The folder that jobs write their reports into, one folder a job."""
        return self.state / "reports"
