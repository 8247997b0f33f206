"""The configuration: the data classes of config/appliance.yaml, with absolute paths.

Field names are the YAML keys with _ for -. The text in Annotated describes a key to editors, docs
and `config init`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import time, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pi_appliance.config.triggers import Mqtt, Triggers
from pi_appliance.config.units import EVERY_DAY, PORT, VOLUME, Days, Limits, Percent, Size
from pi_appliance.errors import Issues
from pi_appliance.scheduling.chance import Chance
from pi_appliance.scheduling.schedule import Schedule

_SCHEDULER = re.compile(r"(tls|tcp)://([\w.-]+|\[[0-9A-Fa-f:.]+\]):(\d{1,5})")
_THIS_MACHINE = ("localhost", "127.0.0.1", "[::1]")


class StartedBy(StrEnum):
    """The starter of the scheduled runs of a job."""

    CRON = "cron"
    DAEMON = "daemon"


class ConcurrencyPolicy(StrEnum):
    """The action at a slot while a run of the same job is active."""

    SKIP = "skip"
    QUEUE = "queue"
    REPLACE = "replace"


class Priority(StrEnum):
    """The order in which runs start while others have to end first."""

    URGENT = "urgent"  # never waits
    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"


@dataclass(frozen=True, slots=True, kw_only=True)
class CatchUp:
    """Which missed slots are run later."""

    max_age: Annotated[timedelta, "missed slots up to this old are run later; 0s: none after misfire-grace"] = (
        timedelta(0)
    )
    max_runs: Annotated[
        int,
        "how many missed slots are run, the newest first; the others are skipped",
        Limits(1, wrong="would never run a missed slot"),
    ] = 1
    stagger: Annotated[timedelta, "late runs start at random within this time, so that jobs do not start together"] = (
        timedelta(0)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """Conditions for using a slot. A condition without a sensor counts as met."""

    temperature_below: Annotated[float | None, "degrees Celsius of the processor"] = None
    not_throttled: Annotated[bool, "the power supply is good and the processor is not slowed down by heat"] = False
    disk_free: Annotated[Size | None, "free space on the disk of the state directory, such as 500MB"] = None
    online: Annotated[bool, "there is a route to the internet"] = False
    command: Annotated[list[str] | None, "a program and its arguments; the condition holds if it exits with 0"] = None

    def check(self) -> Issues:
        """Return the problems of the values."""
        if self.command is not None and (not self.command or not self.command[0]):
            return [(("command",), "no program is named", 'write command: ["/usr/bin/test", "-e", "/mnt/backup"]')]
        return []


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspendWhen:
    """When to suspend an active run. That time does not count towards its timeout."""

    temperature_above: Annotated[float | None, "degrees Celsius; the run continues 5 degrees below"] = None
    throttled: Annotated[bool, "while the power supply is bad or the processor is slowed down by heat"] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How often a run that certainly had no effect is tried again."""

    max_retries: Annotated[int, "how many more attempts", Limits(0, wrong="is not a number of retries")] = 0
    delay: Annotated[timedelta, "before the first retry; doubled each time"] = timedelta(seconds=30)
    max_delay: Annotated[timedelta, "the longest delay between two attempts"] = timedelta(minutes=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notify:
    """Which notifiers send which events."""

    on_failure: Annotated[list[str] | None, "notifiers used when a job begins to fail; [] for none"] = None
    on_recovery: Annotated[list[str] | None, "notifiers used when a job succeeds again; [] for none"] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One entry under `jobs:`."""

    name: Annotated[str, "the key of the entry"] = field(default="", metadata={"key": None})
    kind: Annotated[str, "the kind of job, such as command, tweet, music or puzzle"]
    schedule: Annotated[
        Schedule | None, "a cron expression, a list of times, @daily, @reboot, every: 15m; without it, manual runs only"
    ] = None
    triggers: Annotated[Triggers, "what starts it besides the schedule"] = field(default_factory=Triggers)
    started_by: Annotated[StartedBy, "the starter: the daemon, or an entry in the real crontab"] = StartedBy.DAEMON
    chance: Annotated[Chance | None, "the share of its slots that are used, at random, such as 1/4"] = None
    timeout: Annotated[timedelta, "a run that takes longer is stopped"] = timedelta(hours=1)
    misfire_grace: Annotated[timedelta, "how late a slot may start; after that it is a misfire"] = timedelta(minutes=5)
    catch_up: Annotated[CatchUp, "which missed slots are run later"] = field(default_factory=CatchUp)
    jitter: Annotated[timedelta, "each slot starts up to this much later, at random"] = timedelta(0)
    time_zone: Annotated[ZoneInfo | None, "an IANA name; without it, the time zone of the file"] = None
    depends_on: Annotated[list[str], "jobs; it runs once all of them have succeeded since its last run"] = field(
        default_factory=list
    )
    concurrency: Annotated[ConcurrencyPolicy, "the action at a slot while a run of this job is active"] = (
        ConcurrencyPolicy.SKIP
    )
    priority: Annotated[
        Priority | None,
        "which waiting run starts first: high, normal or low; urgent never waits; without it, urgent for music,"
        " normal for others",
    ] = None
    conditions: Annotated[Conditions | None, "conditions for using a slot"] = None
    suspend_when: Annotated[SuspendWhen | None, "when an active run is suspended"] = None
    nice: Annotated[
        int, "0 to 19: the higher, the more other processes come first", Limits(0, 19, wrong="is not a valid niceness")
    ] = 0
    memory: Annotated[Size | None, "the memory limit, such as 300MB"] = None
    cpu: Annotated[Percent | None, "the limit in percent of one processor, such as 50%"] = None
    notify: Annotated[Notify, "notifiers for this job; each key that is left out is that of the file"] = field(
        default_factory=Notify
    )
    healthchecks_url: Annotated[
        str | None, "an address called at each start, success and failure, as healthchecks.io expects it"
    ] = None
    retry: Annotated[Retry, "retries after something could not be reached"] = field(default_factory=Retry)
    options: Annotated[Any, "the options of the kind"] = field(default=None, metadata={"key": "with"})

    @property
    def is_automatic(self) -> bool:
        """Whether anything but a person starts it."""
        return self.schedule is not None or bool(self.depends_on) or self.triggers.any

    @property
    def max_lateness(self) -> timedelta:
        """How late a slot may start at all: within the misfire grace, or as a catch-up run."""
        return max(self.misfire_grace, self.catch_up.max_age)

    def check(self) -> Issues:
        """Return the problems of the values."""
        is_long_enough = self.timeout >= timedelta(seconds=1)
        return [] if is_long_enough else [(("timeout",), "a run needs some time", "write 1s or more")]


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginConfig:
    """The kind of a plug-in and its options."""

    kind: Annotated[str, "the kind, such as mpd, mastodon or apprise"]
    options: Annotated[Any, "the options of the kind"] = field(default=None, metadata={"key": "with"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockConfig:
    """When the machine's clock is trusted."""

    max_wait_for_sync: Annotated[
        timedelta, "how long after boot to wait until the clock is synchronized; then it is trusted anyway"
    ] = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How many runs are kept. A run is deleted together with its log."""

    max_age: Annotated[timedelta, "older runs are deleted"] = timedelta(days=90)
    max_runs: Annotated[int, "the number of runs kept of each job", Limits(1, wrong="keeps nothing")] = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Web:
    """The web page."""

    host: Annotated[
        str, "the address to listen on; for anything but 127.0.0.1 the page asks for a password, at first for a new one"
    ] = "127.0.0.1"
    port: Annotated[int, "the port to listen on", PORT] = 8080


@dataclass(frozen=True, slots=True, kw_only=True)
class MpdProxy:
    """The port for MPD apps on phones. The volume policy applies to their commands too."""

    host: Annotated[
        str, "the address to listen on; anything but 127.0.0.1 needs an MPD_PROXY_PASSWORD of 8 characters or more"
    ] = "127.0.0.1"
    port: Annotated[int, "the port to listen on; not the one the player's own MPD has on this machine", PORT] = 6601


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietHours:
    """A daily period with a lower maximum volume."""

    from_: Annotated[time, 'when it begins by the clock on the wall, such as "22:00"']
    to: Annotated[time, "when it ends; an earlier time than `from` is one of the next day"]
    maximum: Annotated[int, "the loudest that is allowed then, 0 to 100", VOLUME]
    days: Annotated[Days, "the days on which it begins, such as [sun-thu]; without it, every day"] = EVERY_DAY

    def check(self) -> Issues:
        """Return the problems of the values."""
        if self.from_ == self.to:
            return [(("to",), "it is the same time as `from`", 'write a later time, such as "07:00"')]
        return []


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumePolicy:
    """The volume limits, which apply to every way of changing the volume."""

    start: Annotated[int | None, "the loudest that the player may be when it has just started, 0 to 100", VOLUME] = None
    maximum: Annotated[int, "the loudest that is ever allowed, 0 to 100", VOLUME] = 100
    quiet: Annotated[list[QuietHours], "quiet hours; where several hold, the lowest maximum counts"] = field(
        default_factory=list
    )

    def check(self) -> Issues:
        """Return the problems of the values."""
        if self.start is not None and self.start > self.maximum:
            wrong = f"{self.start} is more than `maximum`, {self.maximum}"
            return [(("start",), wrong, f"write {self.maximum} or less")]
        return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Radio:
    """How an interrupted web radio stream is reconnected and replaced."""

    auto_reconnect: Annotated[bool, "reconnect a station that breaks off"] = True
    silence_timeout: Annotated[timedelta, "how long it may be silent before it is reconnected"] = timedelta(seconds=20)
    fallback: Annotated[
        list[str], "sources while the station cannot be reached, tried in order: a station, playlist:NAME, a file …"
    ] = field(default_factory=list)
    retry_every: Annotated[timedelta, "how often the station is tried meanwhile; the interval doubles each time"] = (
        timedelta(minutes=5)
    )
    local_hosts: Annotated[
        list[str], "hosts on this machine whose streams may be added on the page, such as localhost:8000"
    ] = field(default_factory=list)

    def check(self) -> Issues:
        """Return the problems of the values."""
        problems: Issues = []
        if self.silence_timeout < timedelta(seconds=1):
            problems.append((("silence-timeout",), "a station needs longer than that to start", "write 5s or more"))
        if self.retry_every < timedelta(seconds=10):
            message = "that leaves no time for music between two attempts"
            problems.append((("retry-every",), message, "write 10s or more"))
        for number, name in enumerate(self.fallback):
            if not name.strip():
                problems.append((("fallback", number), "nothing is named to play", "write the name of a station"))
        return problems


@dataclass(frozen=True, slots=True, kw_only=True)
class Usb:
    """USB drives with music."""

    mount_dir: Annotated[Path, "the folder of the drives, inside MPD's music folder"] = Path("/var/lib/mpd/music/USB")
    library_path: Annotated[str, "the path of that folder in the library; default: the last part of mount-dir"] = ""

    @property
    def uri(self) -> str:
        """The path of the folder in the library."""
        return self.library_path.strip("/") or self.mount_dir.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Hotspot:
    """The hot spot for the set-up. Its password is HOTSPOT_PASSWORD in secrets.env."""

    name: Annotated[str, "the name of its Wi-Fi; without it, that of the appliance with: set-up"] = ""

    def check(self) -> Issues:
        """Return the problems of the values."""
        if len(self.name.encode()) > 32 or not self.name.isprintable():
            return [(("name",), f"{self.name!r} cannot be the name of a Wi-Fi", "write up to 32 letters")]
        return []


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupFolder:
    """A further folder for backups, such as one on a USB drive."""

    folder: Annotated[Path, "an existing folder, such as /mnt/usb/backups; it is never created"]
    keep: Annotated[int, "how many backups are kept there", Limits(1, wrong="keeps nothing")] = 7
    whole: Annotated[bool, "the whole appliance, with the secrets encrypted by BACKUP_PASSPHRASE of secrets.env"] = (
        False
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterConfig:
    """The cluster that helps with puzzles; `pi-appliance cluster` writes this section."""

    scheduler: Annotated[str, "the address of Dask's scheduler, such as tls://192.168.1.20:8786"]
    unencrypted: Annotated[
        bool, "allow tcp:// to other machines, where everybody in the network can run programs as a worker's user"
    ] = False

    def check(self) -> Issues:
        """Return the problems of the values."""
        found = _SCHEDULER.fullmatch(self.scheduler)
        if found is None or not 0 < int(found[3]) < 65536:
            wrong = f"{self.scheduler!r} is not the address of a scheduler"
            return [(("scheduler",), wrong, "write one such as tls://192.168.1.20:8786")]
        if found[1] == "tcp" and found[2] not in _THIS_MACHINE and not self.unencrypted:
            wrong = f"{self.scheduler} is not encrypted"
            return [(("scheduler",), wrong, "write tls://, or unencrypted: true if nobody else is in the network")]
        return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Updates:
    """New releases of an installed appliance."""

    check: Annotated[bool, "look once a day whether there is a newer release; the page then says so"] = True
    automatic: Annotated[time | None, 'install it at this time, such as "04:00"; without it, the owner does'] = None


@dataclass(frozen=True, slots=True)
class NetworkDirs:
    """The two directories of a network. They need not exist."""

    private: Path  # the network's own state
    public: Path  # files for the owner, shown with the reports


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The whole configuration file."""

    path: Annotated[Path, "the file itself"] = field(default=Path(), metadata={"key": None})
    text: Annotated[str, "the text of the file"] = field(default="", metadata={"key": None}, repr=False)
    error: Annotated[Any, "the ConfigError of the file, if this is its last good copy"] = field(
        default=None, metadata={"key": None}
    )
    name: Annotated[str, "the name on the page and in the network, such as Kitchen; without it, the host name"] = ""
    time_zone: Annotated[ZoneInfo, "an IANA name such as Europe/London; without it, the machine's"] = field(
        default_factory=lambda: ZoneInfo("UTC")
    )
    state_dir: Annotated[Path, "the directory of database, logs and reports"]
    stations: Annotated[Path | None, "the file of web radio stations"] = None
    clock: Annotated[ClockConfig, "when the machine's clock is trusted"] = field(default_factory=ClockConfig)
    retention: Annotated[Retention, "how many runs are kept"] = field(default_factory=Retention)
    backup: Annotated[BackupFolder | None, "a folder for a further backup each day; without it, there is none"] = None
    updates: Annotated[Updates, "how new releases are found and installed"] = field(default_factory=Updates)
    max_concurrent_runs: Annotated[
        int | None,
        "how many scheduled runs may be active at the same time; without it, by memory and cores",
        Limits(1, wrong="would never start a job"),
    ] = None
    stop_grace: Annotated[timedelta, "how long running jobs may go on when the appliance stops"] = timedelta(seconds=10)
    web: Annotated[Web, "the page on the phone"] = field(default_factory=Web)
    player: Annotated[PluginConfig | None, "the music player"] = None
    mpd_proxy: Annotated[MpdProxy | None, "the port for MPD apps; without it, there is none"] = None
    volume: Annotated[VolumePolicy | None, "how loud the music may be; without it, as loud as it goes"] = None
    radio: Annotated[Radio, "how web radio that breaks off is reconnected"] = field(default_factory=Radio)
    resume: Annotated[bool, "after a power cut, play on where it was"] = True
    usb: Annotated[Usb | None, "USB drives with music; without it, they are ignored"] = None
    discovery: Annotated[bool, "tell phones at home where the page and the MPD port are"] = True
    hotspot: Annotated[
        Hotspot | None, "a Wi-Fi of its own that opens whenever the machine has no network; without it, there is none"
    ] = None
    mqtt: Annotated[Mqtt | None, "the MQTT broker, for triggers and Home Assistant"] = None
    cluster: Annotated[ClusterConfig | None, "the machines that help with puzzles; without it, there are none"] = None
    networks: Annotated[Mapping[str, PluginConfig], "where posts go, by a name of your own"] = field(
        default_factory=dict
    )
    notifiers: Annotated[Mapping[str, PluginConfig], "where notifications go, by a name of your own"] = field(
        default_factory=dict
    )
    notify: Annotated[Notify, "the notifiers for every job that names no others"] = field(default_factory=Notify)
    jobs: Annotated[Mapping[str, Job], "the jobs, by names of your own"] = field(default_factory=dict)

    def check(self) -> Issues:
        """Return the problems of the values that belong to no section."""
        # It is also the name of a service in multicast DNS, which has 63 bytes for it.
        if len(self.name) > 40 or len(self.name.encode()) > 60 or not self.name.isprintable():
            return [(("name",), f"{self.name!r} cannot be a name", "write up to 40 letters, such as Kitchen")]
        return []

    def zone_of(self, job: Job) -> ZoneInfo:
        """Return the time zone of `job`, which defaults to that of the file."""
        return job.time_zone or self.time_zone

    def network_dirs(self, network: str) -> NetworkDirs:
        """Return the directories of `network`."""
        return NetworkDirs(self.state_dir / "networks" / network, self.reports / network)

    @property
    def reports(self) -> Path:
        """The directory of reports, with one subdirectory per job."""
        return self.state_dir / "reports"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyTargets:
    """The notifiers of one job, and whether it has a `healthchecks-url`."""

    on_failure: Sequence[str] = ()
    on_recovery: Sequence[str] = ()
    ping: bool = False

    @classmethod
    def for_job(cls, config: Config, job: Job) -> "NotifyTargets":
        """Return the targets of `job`; those of `config` are the default."""
        return cls(
            on_failure=(config.notify if job.notify.on_failure is None else job.notify).on_failure or (),
            on_recovery=(config.notify if job.notify.on_recovery is None else job.notify).on_recovery or (),
            ping=job.healthchecks_url is not None,
        )
