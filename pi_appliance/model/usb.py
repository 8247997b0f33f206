"""A USB stick with music, as people see it."""

from dataclasses import dataclass
from enum import StrEnum


class StickState(StrEnum):
    """How a stick is."""

    AWAY = "away"  # it was here once: its tracks are kept
    WAITING = "waiting"  # it is here, and the player is not
    SCANNING = "scanning"
    READY = "ready"
    GOING = "going"  # somebody wants to pull it


@dataclass(frozen=True, slots=True, kw_only=True)
class Stick:
    """One stick. What is not known, or not known yet, is None."""

    name: str
    state: StickState
    uri: str  # of its folder in the library
    size: int | None = None  # bytes
    used: int | None = None  # bytes
    files: int | None = None  # of sound, that lie on it
    tracks: int | None = None  # that the player knows of it
    note: str = ""  # what is not as it should be
