"""What a run sees of the world: the Context of jobs/interface.py, over the real disk, store and networks."""

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from random import Random, SystemRandom
from typing import IO, Any

from pi_appliance import plugins
from pi_appliance.config import secrets
from pi_appliance.config.model import Config
from pi_appliance.config.secrets import secret_names
from pi_appliance.errors import Refused, Unavailable, UnknownName
from pi_appliance.jobs import reports
from pi_appliance.jobs.interface import ReportSet, Timestamp
from pi_appliance.music.limited_player import allowed
from pi_appliance.music.model import Source, Station
from pi_appliance.music.player import Player
from pi_appliance.posting.connect import connect, part_of
from pi_appliance.posting.interface import Network, PostLimits, PostStore
from pi_appliance.posting.store import Posts
from pi_appliance.puzzles.runtime.interface import SearchRuntime
from pi_appliance.scheduling.due import uniform_for_label
from pi_appliance.storage.model import Report, Trigger
from pi_appliance.storage.runs import Store
from pi_appliance.system import clock, files
from pi_appliance.system.sensors import Sensors

_EVERY = 0.5  # seconds between two words about progress


class ProgressChannel:
    """Lines of JSON to the runner."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._told = float("-inf")

    def tell(self, **message: Any) -> None:
        """Write one line."""
        self._file.write(json.dumps(message) + "\n")
        self._file.flush()

    def progress(self, done: float | None, note: str) -> None:
        """Say how far the run is, unless that was said a moment ago."""
        now = time.monotonic()
        if now - self._told >= _EVERY or done == 1:
            self._told = now
            self.tell(progress=done, note=note)


@dataclass
class RunContext:
    """The world of one run: the Context of jobs/interface.py."""

    config: Config
    store: Store
    teller: ProgressChannel
    job: str
    run: int
    due: str | None
    environment: Mapping[str, str]
    """What the run was started with, keys included; the programs that it starts do not get those."""
    secret: bytes = b""
    only_left: bool = False
    ends: float | None = None
    """When the deadline is, by the steady clock, if the run is not held meanwhile; None: nobody knows of one."""
    now: datetime = field(default_factory=clock.now)
    random: Random = field(default_factory=SystemRandom)
    _looked: int | None = None  # the version of the history at the last look for a word
    _others: tuple[int, Mapping[str, str]] = (-1, {})  # what others hold, and the version of the history by then

    def clock(self) -> datetime:
        """Return what time it is now."""
        return clock.now()

    def local_time(self) -> datetime:
        """Return what time it is now, in the job's time zone."""
        return clock.now().astimezone(self.config.zone_of(self.config.jobs[self.job]))

    @property
    def slot(self) -> str:
        """The slot as text, or which run it is."""
        return self.due or f"run {self.run}"

    @property
    def by_hand(self) -> bool:
        """Whether a person started the run."""
        row = self.store.run(self.run)
        return row is not None and row.trigger is Trigger.HAND

    @property
    def hostname(self) -> str:
        """The name of this machine."""
        return os.uname().nodename

    @cached_property
    def posts(self) -> PostStore:
        """The ledger of this job's posts."""
        installation = hashlib.sha256(b"installation" + self.secret).hexdigest()[:8]
        return Posts(self.store).of_job(self.job, self.run, clock.now, installation)

    def rules(self, name: str) -> PostLimits:
        """Return what the network called NAME takes."""
        part = part_of(self.config, name)
        rules: PostLimits = plugins.load("networks", part.kind).rules(part.with_, self.config.network_dirs(name))
        return rules

    def network(self, name: str) -> Network:
        """Return the network called NAME, connected. Raises Refused, naming the keys that are missing."""
        keys = secrets.load(self.config.path, self.environment, secret_names(self.config))
        return connect(self.config, name, keys)

    def draw(self, label: str) -> float:
        """Return what is drawn for LABEL at this slot."""
        return uniform_for_label(self.secret, self.job, self.slot, label)

    def recall(self) -> str | None:
        """Return what this job remembered last."""
        try:
            return self._memory().read_text("utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise Refused(f"{self._memory()} cannot be read: {error}; move it away to begin anew") from None

    def remember(self, text: str) -> None:
        """Keep TEXT for the next run, durably."""
        files.make_folder(self._memory().parent)
        with files.atomic_write_text(self._memory()) as file:
            file.write(text)

    def _memory(self) -> Path:
        return self.config.state / "memory" / f"{self.job}.txt"

    def temperature(self) -> float | None:
        """Return the degrees Celsius of the processor."""
        return Sensors().temperature()

    def last_report(self, job: str, *, picture: bool = False) -> Report | None:
        """Return the newest report of JOB."""
        if job not in self.config.jobs:
            raise UnknownName("job", job, tuple(self.config.jobs))
        from pi_appliance.jobs.newest_report import newest_report  # noqa: PLC0415 - it brings a puzzle with it

        return newest_report(self.config, self.store, job, picture=picture)

    @contextlib.contextmanager
    def report(self, name: str) -> Iterator[IO[str]]:
        """Give a file to write; it becomes report NAME when the block ends well."""
        folder = files.make_folder(self.config.reports / self.job)
        with files.atomic_write_text(folder / name) as file:
            yield file

    def edition(self, keep: int) -> contextlib.AbstractContextManager[ReportSet]:
        """Give what takes all reports of this run, dated by its slot, or by when it began."""
        slot = datetime.fromisoformat(self.due) if self.due and self.due[0].isdigit() else self.now
        moment = slot.astimezone(self.config.zone_of(self.config.jobs[self.job]))
        return reports.report_set(self.config.reports / self.job, moment, keep=keep)

    def progress(self, done: float | None, note: str = "") -> None:
        """Tell the runner, not more often than a person can read."""
        self.teller.progress(done, note)

    def work(
        self, progress: Callable[[float | None, str], None] | None = None
    ) -> AbstractContextManager[SearchRuntime]:
        """Give what a long search may use, until the block ends."""
        from pi_appliance.puzzles.runtime import cache, local  # noqa: PLC0415 - most jobs search for nothing

        folder = self.config.state / local.FOLDER
        cache.FileCache(folder).sweep()
        return local.open_runtime(
            folder,
            progress or self.progress,
            seconds=None if self.ends is None else self.ends - time.monotonic(),
            share=self.config.jobs[self.job].cpu,
            raise_it=f"let job {self.job} have `memory: {{}}`",
        )

    def player(self) -> Player:
        """Return the player, within the volume policy; nothing is asked of it yet."""
        from pi_appliance.music.hub import NO_PLAYER  # noqa: PLC0415
        from pi_appliance.music.limited_player import PlayerPolicy, apply_policy  # noqa: PLC0415 - most jobs make no music

        part = self.config.player
        if part is None:
            raise Unavailable(NO_PLAYER)
        keys = secrets.load(self.config.path, self.environment, secret_names(self.config))
        player: Player = plugins.load("players", part.kind).connect(part.with_, keys)
        zone = self.config.time_zone
        return apply_policy(player, PlayerPolicy(policy=self.config.volume, zone=zone, store=lambda: self.store))

    def stations(self) -> Sequence[Station]:
        """Return the web radio stations."""
        from pi_appliance.music.stations.service import Stations  # noqa: PLC0415 - most jobs need none

        return Stations(self.config.stations, self.config.state).all()

    def tuned(self, source: Source) -> Source:
        """Return SOURCE with the address of the stream itself."""
        from pi_appliance.music.stations import service  # noqa: PLC0415 - as above

        return service.tuned(service.Stations(self.config.stations, self.config.state), source)

    def loudest(self) -> int:
        """Return how loud the music may be just now, by the zone of the file, as the page has it."""
        return allowed(self.config.volume, clock.now().astimezone(self.config.time_zone))

    def moment(self) -> Timestamp:
        """Return this moment by all the clocks there are."""
        return Timestamp(clock.now(), clock.MachineClock().steady(), clock.boot_name())

    async def rest(self, seconds: float) -> None:
        """Let SECONDS pass."""
        import asyncio  # noqa: PLC0415 - who waits for this has it already; most jobs never need it

        await asyncio.sleep(max(0.0, seconds))

    def hold(self, text: str | None) -> None:
        """Keep TEXT durably as what this job is in the middle of; None: it is through."""
        if text is None:
            self.store.asks.let_go(self.job)
        else:
            self.store.asks.hold(self.job, text, now=clock.now())

    def held(self) -> str | None:
        """Return what this job is in the middle of."""
        held = self.store.asks.held(self.job)
        return held.text if held else None

    def others(self) -> Mapping[str, str]:
        """Return what other jobs are in the middle of. Nothing is read while nobody has written."""
        try:
            version = self.store.version()
            if version != self._others[0]:
                helds = self.store.asks.all_held()
                self._others = (version, {held.job: held.text for held in helds if held.job != self.job})
        except Unavailable:
            return {}
        return self._others[1]

    def asked(self) -> str:
        """Return what a person asks, once. Nothing is read while nobody has written; what cannot be read is none."""
        try:
            version = self.store.version()
            if version == self._looked:
                return ""
            word = self.store.asks.hear(self.job)
        except Unavailable:
            return ""
        self._looked = version
        return word
