"""A Context over a folder: real files, written as the appliance writes them; networks in memory."""

import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from random import Random
from typing import IO

from pi_appliance.errors import UnknownName
from pi_appliance.model.post import Report
from pi_appliance.ports import Ledger, Network, Rules
from pi_appliance.store.posts import Posts
from pi_appliance.store.sqlite import Store
from pi_appliance.system import files


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

    def clock(self) -> datetime:
        """Return the instant the run began and what it took."""
        return self.now + self.took

    @property
    def slot(self) -> str:
        return self.due or f"run {self.run}"

    @cached_property
    def posts(self) -> Ledger:
        """Give a real ledger, in a file of its own."""
        store = Store(files.make_folder(self.folder) / "ledger.db")
        weakref.finalize(self, store.close)
        return Posts(store).of_job(self.job, self.run, self.clock)

    def local_time(self) -> datetime:
        return self.clock()

    def rules(self, name: str) -> Rules:
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
        with files.replacing_text(files.make_folder(self.folder) / name) as file:
            yield file

    def progress(self, done: float | None, note: str = "") -> None:
        """Keep what was told in `told`."""
        self.told.append((done, note))
