"""What the parts may ask of each other. Jobs see the world only through Context."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from random import Random
from typing import IO, Protocol

from pi_appliance.model.music import PlayerState, Queue, Track
from pi_appliance.model.notice import Event, Message


class Network(Protocol):
    """A social network that takes posts."""

    limit: int
    """The longest text it takes, in its own way of counting."""

    def weigh(self, text: str) -> int:
        """Return the length of TEXT as this network counts it."""

    def post(self, text: str, *, key: str) -> str:
        """Post TEXT once and return where it can be seen.

        KEY is the same for every try at the same post. Raises Unavailable (certainly not posted),
        Uncertain (perhaps posted) or Refused (answered no).
        """


class Context(Protocol):
    """All that a run may use. Paths are absolute, instants are aware."""

    job: str
    run: int
    due: str | None
    now: datetime
    random: Random

    def clock(self) -> datetime:
        """Return what time it is now; `now` stays the instant the run began."""

    def network(self, name: str) -> Network:
        """Return the network called NAME in the YAML, connected. Raises UnknownName."""

    def claim(self, key: str) -> bool:
        """Take KEY for ever, durably, before something that must not happen twice. False if it was taken before."""

    def release(self, key: str) -> None:
        """Give KEY back, because the thing certainly did not happen."""

    def report(self, name: str) -> AbstractContextManager[IO[str]]:
        """Give a file to write, UTF-8; it becomes report NAME of this job only when the block ends well.

        Until then the report of the last time stays as it was. Raises Unavailable when it cannot be written.
        """

    def progress(self, done: float | None, note: str = "") -> None:
        """Say how far the run is, from 0 to 1, and what it is doing. Cheap; call it as often as you like."""


class Notice(Protocol):
    """A way to tell the owner something."""

    def send(self, message: Message, event: Event) -> None:
        """Send MESSAGE; EVENT is what it tells of. Raises Unavailable or Refused, in words that hold no address."""


class Clock(Protocol):
    """What time it is, and whether to believe it."""

    def now(self) -> datetime:
        """Return the wall clock's instant, aware, in UTC."""

    def steady(self) -> float:
        """Return seconds since the machine started, sleep included; never put forward or back."""

    def synchronised(self) -> bool:
        """Say whether somebody who knows has set the wall clock since the machine started."""


class Player(Protocol):
    """A program that makes sound. Every call raises Unavailable within a second or so if it does not answer."""

    async def state(self) -> PlayerState:
        """Return what it is doing now."""

    async def queue(self, start: int = 0, count: int = 100) -> Queue:
        """Return COUNT tracks of the queue from position START (both from 0)."""

    async def play(self, position: int | None = None) -> None:
        """Play the track at POSITION, or go on. Raises Refused if there is nothing there."""

    async def pause(self) -> None:
        """Pause; nothing happens unless it plays."""

    async def toggle(self) -> None:
        """Pause if it plays, else play."""

    async def stop(self) -> None:
        """Stop."""

    async def next(self) -> None:
        """Go to the next track."""

    async def previous(self) -> None:
        """Go to the previous track."""

    async def seek(self, seconds: float) -> None:
        """Go to SECONDS from the start of the current track."""

    async def set_volume(self, volume: int) -> None:
        """Set the volume, 0 to 100. Raises Refused where the player has no mixer."""

    async def add(self, uri: str) -> Track:
        """Put a file, a folder or a stream at the end of the queue. Raises Refused if it is not known."""

    async def clear(self) -> None:
        """Empty the queue."""

    async def play_uri(self, uri: str, title: str = "") -> None:
        """Replace the queue by URI and play it."""

    async def library(self, folder: str = "") -> Sequence[Track]:
        """Return the tracks and folders in FOLDER of the library; a folder has a uri that ends in '/'."""

    def changes(self) -> AsyncIterator[frozenset[str]]:
        """Yield the names of what changed, as MPD calls them (player, mixer, playlist, options, …).

        The first item comes at once. Raises Unavailable when the player is lost.
        """

    async def close(self) -> None:
        """Let go of the connection."""
