"""Music, in MPD's words: track, queue, state, output, station."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Play(StrEnum):
    """What the player is doing."""

    PLAYING = "play"
    PAUSED = "pause"
    STOPPED = "stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """One thing that can be played. `position` and `id` are its place in the queue, where it has one."""

    uri: str
    title: str = ""
    artist: str = ""
    album: str = ""
    duration: float | None = None  # seconds; None for a stream
    position: int | None = None
    id: int | None = None

    @property
    def label(self) -> str:
        """What to call it: its title, else the last part of its address."""
        return self.title or self.uri.rstrip("/").rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayerState:
    """What a player says of itself at one moment."""

    play: Play
    track: Track | None = None
    elapsed: float | None = None  # seconds
    volume: int | None = None  # 0 to 100; None where the player has no mixer
    repeat: bool = False
    random: bool = False
    single: bool = False
    consume: bool = False
    queue_length: int = 0
    error: str = ""  # what went wrong last, in the player's own words


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A window of what plays next, and how long the whole is."""

    tracks: Sequence[Track]
    start: int
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Station:
    """A web radio station."""

    name: str
    url: str
    genre: str = ""
    country: str = ""
