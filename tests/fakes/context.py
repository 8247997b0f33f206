"""A job context over a folder: real files, written as the appliance writes them; networks and the player in memory."""

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
from pi_appliance.jobs.reports import ReportSet
from pi_appliance.music.alarms.music_job import MusicContext
from pi_appliance.music.model import Source, Station
from pi_appliance.music.player import Player
from pi_appliance.posting.exactly_once import PostingContext
from pi_appliance.posting.model import Network, PostLimits
from pi_appliance.posting.store import JobPostStore
from pi_appliance.puzzles.puzzle_job import PuzzleContext
from pi_appliance.puzzles.runtime import SearchRuntime
from pi_appliance.puzzles.runtime.local import open_runtime
from pi_appliance.storage.history import Store
from pi_appliance.storage.model import Report
from pi_appliance.system import files
from pi_appliance.system.clock import Timestamp
from tests.fakes.timed_player import Timeline


@dataclass(eq=False)
class FakeContext(PostingContext, MusicContext, PuzzleContext):
    """The context of a run in a test, for a job of any kind. Reports and the ledger are in `folder`."""

    folder: Path
    networks: Mapping[str, Network] = field(default_factory=dict)
    job: str = "test"
    run_id: int = 1
    scheduled_for: str | None = None
    resume_only: bool = False
    manual: bool = False
    hostname: str = "shelf"
    state: str | None = None
    now: datetime = datetime(2027, 3, 1, 6, 0, tzinfo=UTC)
    duration: timedelta = timedelta(seconds=90)
    random: Random = field(default_factory=lambda: Random(1))
    progress_reports: list[tuple[float | None, str]] = field(default_factory=list)
    zone: tzinfo = UTC
    timeline: Timeline | None = None  # the clocks of a run that sleeps
    search_seconds: float | None = None  # until a search is interrupted
    fake_player: Player | None = None
    radio_stations: Sequence[Station] = ()
    checkpoint: str | None = None
    other_checkpoints: Mapping[str, str] = field(default_factory=dict)
    signals: list[str] = field(default_factory=list)  # the next one first

    def clock(self) -> datetime:
        """Return the start of the run plus its `duration`, or the time of the `timeline`."""
        return self.now + self.duration if self.timeline is None else self.timeline.wall

    @cached_property
    def posts(self) -> JobPostStore:
        """A real ledger in its own file."""
        store = Store(files.make_directory(self.folder) / "ledger.db")
        weakref.finalize(self, store.close)
        return JobPostStore(store, self.job, self.run_id, self.clock)

    def local_time(self) -> datetime:
        return self.clock().astimezone(self.zone)

    def limits(self, name: str) -> PostLimits:
        return self.network(name).limits

    def random_for(self, label: str) -> float:  # noqa: ARG002 - the signature of a context
        return self.random.random()

    def load_state(self) -> str | None:
        return self.state

    def save_state(self, text: str) -> None:
        self.state = text

    def temperature(self) -> float | None:
        return None

    def latest_report(self, job: str, **_: bool) -> Report | None:  # type: ignore[override]  # noqa: ARG002 - as above
        return None

    def network(self, name: str) -> Network:
        if name not in self.networks:
            raise UnknownName("network", name, tuple(self.networks))
        return self.networks[name]

    @contextmanager
    def report(self, name: str) -> Iterator[IO[str]]:
        with files.atomic_write_text(files.make_directory(self.folder) / name) as file:
            yield file

    def report_set(self, keep: int) -> AbstractContextManager[ReportSet]:
        """Create the reports of this run in a folder named by `now`."""
        return reports.report_set(self.folder, self.now, keep=keep)

    def progress(self, done: float | None, note: str = "") -> None:
        self.progress_reports.append((done, note))

    def search_runtime(
        self, progress: Callable[[float | None, str], None] | None = None
    ) -> AbstractContextManager[SearchRuntime]:
        """Create a runtime with one core, a cache in the folder, and `search_seconds`."""
        return open_runtime(self.folder / "cache", progress or self.progress, seconds=self.search_seconds, cores=1)

    def player(self) -> Player:
        if self.fake_player is None:
            raise Unavailable("no player is configured")
        return self.fake_player

    def stations(self) -> Sequence[Station]:
        return self.radio_stations

    def resolve_stream(self, source: Source) -> Source:
        return source

    def max_volume(self) -> int:
        """Return the maximum of the fake player."""
        return int(getattr(self.fake_player, "max_volume", 100))

    def timestamp(self) -> Timestamp:
        return self._clocks().timestamp()

    async def sleep(self, seconds: float) -> None:
        """Advance the clocks of the test."""
        self._clocks().advance(seconds)

    def save_checkpoint(self, text: str) -> None:
        self.checkpoint = text

    def clear_checkpoint(self) -> None:
        self.checkpoint = None

    def load_checkpoint(self) -> str | None:
        return self.checkpoint

    def active_checkpoints(self) -> Mapping[str, str]:
        return self.other_checkpoints

    def next_signal(self) -> str:
        return self.signals.pop(0) if self.signals else ""

    def _clocks(self) -> Timeline:
        assert self.timeline is not None, "the test gave no clocks"
        return self.timeline
