"""A Context over a folder: real files, written as the appliance writes them; claims and networks in memory."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import IO

from pi_appliance.errors import UnknownName
from pi_appliance.ports import Network
from pi_appliance.system import files


@dataclass
class FolderContext:
    """What a run sees in a test. Reports lie in `folder`; `claims` may be shared by several runs."""

    folder: Path
    networks: Mapping[str, Network] = field(default_factory=dict)
    claims: set[str] = field(default_factory=set)
    job: str = "test"
    run: int = 1
    due: str | None = None
    now: datetime = datetime(2027, 3, 1, 6, 0, tzinfo=UTC)
    took: timedelta = timedelta(seconds=90)
    random: Random = field(default_factory=lambda: Random(1))
    told: list[tuple[float | None, str]] = field(default_factory=list)

    def clock(self) -> datetime:
        """Return the instant the run began and what it took."""
        return self.now + self.took

    def network(self, name: str) -> Network:
        """Return the network that the test gave."""
        if name not in self.networks:
            raise UnknownName("network", name, tuple(self.networks))
        return self.networks[name]

    def claim(self, key: str) -> bool:
        """Take KEY; False if it was taken before."""
        fresh = key not in self.claims
        self.claims.add(key)
        return fresh

    def release(self, key: str) -> None:
        """Give KEY back."""
        self.claims.discard(key)

    @contextmanager
    def report(self, name: str) -> Iterator[IO[str]]:
        """Give a file that becomes report NAME when the block ends well."""
        with files.replacing_text(files.make_folder(self.folder) / name) as file:
            yield file

    def progress(self, done: float | None, note: str = "") -> None:
        """Keep what was told in `told`."""
        self.told.append((done, note))
