"""The state of a fake X: one account, its log, and the faults to come."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.fakes.x_oauth import Keys

SECRETS = {
    "X_CONSUMER_KEY": "consumer-key-1",
    "X_CONSUMER_SECRET": "consumer-secret-2",
    "X_ACCESS_TOKEN": "access-token-3",
    "X_ACCESS_TOKEN_SECRET": "access-secret-4",
}
USER, NAME = "7001", "shelf_bot"


@dataclass(frozen=True, slots=True)
class Raw:
    """A complete answer."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One request and its status; 0 is no or an incomplete answer."""

    method: str
    path: str
    status: int
    accepted: str | None = None  # the text of the post that it made


@dataclass
class Picture:
    """An uploaded picture."""

    data: bytes
    mime: str
    alt: str = ""
    post: str = ""  # the id of the post that shows it


@dataclass(frozen=True, slots=True)
class CreatedPost:
    """An accepted post."""

    id: str
    text: str
    above: str | None  # the id of the post that it replies to
    pictures: tuple[str, ...]
    looks: int  # number of earlier searches
    at: float = 0.0  # when, by the clock of the server


@dataclass
class FakeX:
    """The log of the server, and the faults to come."""

    address: str = ""
    posts: list[str] = field(default_factory=list)
    made: list[CreatedPost] = field(default_factory=list)
    pictures: dict[str, Picture] = field(default_factory=dict)
    lines: int = 0  # connections
    requests: int = 0
    log: list[RecordedRequest] = field(default_factory=list)
    faults: list[int | str | Raw | None] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)  # with every answer
    lag: int = 0  # number of searches that miss a new post
    looks: int = 0
    lag_seconds: float = 0.0  # that a new post is missing from the timeline
    clock: Callable[[], float] = time.monotonic
    refuses_twice: bool = True  # the same text
    pin_allowed: bool = True
    stopped: threading.Event = field(default_factory=threading.Event)
    keys: Keys = field(default_factory=lambda: Keys(*SECRETS.values()))
    lock: threading.RLock = field(default_factory=threading.RLock)

    def paths(self) -> list[str]:
        """Return method and path of all requests in order."""
        return [f"{seen.method} {seen.path.partition('?')[0]}" for seen in self.log]
