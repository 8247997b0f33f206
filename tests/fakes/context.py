"""A Context over a folder: real files, written as the appliance writes them; networks and the player in memory."""

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cached_property
from pathlib import Path
from random import Random
from typing import IO

from pi_appliance.errors import Unavailable, UnknownName
from pi_appliance.jobs import reports
from pi_appliance.jobs.interface import ReportSet, Timestamp
from pi_appliance.music.model import Source, Station
from pi_appliance.music.player import Player
from pi_appliance.posting.interface import Network, PostLimits, PostStore
from pi_appliance.posting.store import Posts
from pi_appliance.puzzles.runtime.interface import SearchRuntime
from pi_appliance.puzzles.runtime.local import open_runtime
from pi_appliance.storage.model import Report
from pi_appliance.storage.runs import Store
from pi_appliance.system import files
from tests.fakes.timed_player import Timeline


@dataclass
class FolderContext:
    """What a run sees in a test. Reports and the ledger lie in `folder`."""

    folder: Path
    networks: Mapping[str, Network] = field(default_factory=dict)
    job: str = "test"
    run: int = 1
    due: str | None = None
    only_left: bool = False
    by_hand: bool = False
    hostname: str = "shelf"
    memory: str | None = None
    now: datetime = datetime(2027, 3, 1, 6, 0, tzinfo=UTC)
    took: timedelta = timedelta(seconds=90)
    random: Random = field(default_factory=lambda: Random(1))
    told: list[tuple[float | None, str]] = field(default_factory=list)
    zone: tzinfo = UTC
    time: Timeline | None = None  # the clocks of a run that rests
    seconds: float | None = None  # until a search is interrupted
    plays: Player | None = None
    radio: Sequence[Station] = ()
    in_the_middle: str | None = None  # what the job holds
    elsewhere: Mapping[str, str] = field(default_factory=dict)  # what other jobs hold
    words: list[str] = field(default_factory=list)  # what a person asks of it, the next one first

    def clock(self) -> datetime:
        """Return the instant the run began and what it took, or what the clocks of the test show."""
        return self.now + self.took if self.time is None else self.time.wall

    @property
    def slot(self) -> str:
        return self.due or f"run {self.run}"

    @cached_property
    def posts(self) -> PostStore:
        """Give a real ledger, in a file of its own."""
        store = Store(files.make_folder(self.folder) / "ledger.db")
        weakref.finalize(self, store.close)
        return Posts(store).of_job(self.job, self.run, self.clock)

    def local_time(self) -> datetime:
        return self.clock().astimezone(self.zone)

    def rules(self, name: str) -> PostLimits:
        """Return what the network that the test gave takes."""
        return self.network(name).rules

    def draw(self, label: str) -> float:  # noqa: ARG002 - the shape of a Context
        return self.random.random()

    def recall(self) -> str | None:
        return self.memory

    def remember(self, text: str) -> None:
        self.memory = text

    def temperature(self) -> float | None:
        return None

    def last_report(self, job: str, *, picture: bool = False) -> Report | None:  # noqa: ARG002 - the shape of a Context
        return None

    def network(self, name: str) -> Network:
        """Return the network that the test gave."""
        if name not in self.networks:
            raise UnknownName("network", name, tuple(self.networks))
        return self.networks[name]

    @contextmanager
    def report(self, name: str) -> Iterator[IO[str]]:
        """Give a file that becomes report NAME when the block ends well."""
        with files.atomic_write_text(files.make_folder(self.folder) / name) as file:
            yield file

    def edition(self, keep: int) -> AbstractContextManager[ReportSet]:
        """Give what takes all reports of this run, in a folder named by `now`."""
        return reports.report_set(self.folder, self.now, keep=keep)

    def progress(self, done: float | None, note: str = "") -> None:
        """Keep what was told in `told`."""
        self.told.append((done, note))

    def work(
        self, progress: Callable[[float | None, str], None] | None = None
    ) -> AbstractContextManager[SearchRuntime]:
        """Give one core, a shelf in the folder, and the `seconds` of the test."""
        return open_runtime(self.folder / "shelf", progress or self.progress, seconds=self.seconds, cores=1)

    def player(self) -> Player:
        """Return the player that the test gave."""
        if self.plays is None:
            raise Unavailable("no player is configured")
        return self.plays

    def stations(self) -> Sequence[Station]:
        return self.radio

    def tuned(self, source: Source) -> Source:
        return source

    def loudest(self) -> int:
        """Return what the player of the test lets through."""
        return int(getattr(self.plays, "most", 100))

    def moment(self) -> Timestamp:
        return self._time().moment()

    async def rest(self, seconds: float) -> None:
        """Let the clocks of the test go on."""
        self._time().go(seconds)

    def hold(self, text: str | None) -> None:
        self.in_the_middle = text

    def held(self) -> str | None:
        return self.in_the_middle

    def others(self) -> Mapping[str, str]:
        return self.elsewhere

    def asked(self) -> str:
        return self.words.pop(0) if self.words else ""

    def _time(self) -> Timeline:
        assert self.time is not None, "the test gave no clocks"
        return self.time
