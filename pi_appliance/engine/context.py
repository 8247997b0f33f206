"""What a run sees of the world: the Context of ports.py, over the real disk, store and networks."""

import contextlib
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from random import Random, SystemRandom
from typing import IO, Any

from pi_appliance import registry
from pi_appliance.config.secret_names import secret_names
from pi_appliance.errors import UnknownName
from pi_appliance.model.config import Config
from pi_appliance.ports import Network
from pi_appliance.store.sqlite import Store
from pi_appliance.system import clock, files, secrets

_EVERY = 0.5  # seconds between two words about progress


class Teller:
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
    """The world of one run: the Context of ports.py."""

    config: Config
    store: Store
    teller: Teller
    job: str
    run: int
    due: str | None
    environment: Mapping[str, str]
    """What the run was started with, keys included; the programs that it starts do not get those."""
    now: datetime = field(default_factory=clock.now)
    random: Random = field(default_factory=SystemRandom)

    def clock(self) -> datetime:
        """Return what time it is now."""
        return clock.now()

    def network(self, name: str) -> Network:
        """Return the network called NAME, connected."""
        if name not in self.config.networks:
            raise UnknownName("network", name, tuple(self.config.networks))
        part = self.config.networks[name]
        keys = secrets.load(self.config.path, self.environment, secret_names(self.config))
        network: Network = registry.load("networks", part.kind).connect(part.with_, keys, self.config.reports / name)
        return network

    def claim(self, key: str) -> bool:
        """Take KEY for ever, durably."""
        return self.store.claim(f"{self.job} {key}", self.run, now=clock.now())

    def release(self, key: str) -> None:
        """Give KEY back."""
        self.store.release(f"{self.job} {key}")

    @contextlib.contextmanager
    def report(self, name: str) -> Iterator[IO[str]]:
        """Give a file to write; it becomes report NAME when the block ends well."""
        folder = files.make_folder(self.config.reports / self.job)
        with files.replacing_text(folder / name) as file:
            yield file

    def progress(self, done: float | None, note: str = "") -> None:
        """Tell the runner, not more often than a person can read."""
        self.teller.progress(done, note)
