"""What the page asks of the daemon, and nothing more."""

from collections.abc import AsyncIterator
from typing import Protocol

from pi_appliance.engine.assemble import Appliance
from pi_appliance.engine.runs import Runs
from pi_appliance.model.music import PlayerState
from pi_appliance.ports import Player


class Music(Protocol):
    """The player, as the daemon's hub holds it."""

    trouble: str
    stand_in: bool

    @property
    def state(self) -> PlayerState | None:
        """What the player does at this moment; None while there is none."""

    async def player(self) -> Player:
        """Return the player. Raises Unavailable with the reason if there is none."""

    def watch(self) -> AsyncIterator[frozenset[str]]:
        """Yield what changed. The first item comes at once."""


class Rounds(Protocol):
    """The scheduler, as far as it tells how it is."""

    @property
    def clock_state(self) -> str:
        """What it thinks of the wall clock: untrusted, trusted or stepped."""

    @property
    def steps(self) -> int:
        """How often the wall clock was put forward or back."""

    @property
    def waiting(self) -> int:
        """How many slots wait for the run before them."""

    @property
    def beat(self) -> float:
        """When it looked last, in seconds since the machine started."""


class Daemon(Protocol):
    """The daemon. Its parts may be replaced while it lives, so they are read anew each time."""

    @property
    def appliance(self) -> Appliance:
        """The configuration and the state."""

    @property
    def hub(self) -> Music:
        """The player."""

    @property
    def runs(self) -> Runs:
        """What starts a run."""

    @property
    def scheduler(self) -> Rounds:
        """What looks at the clock."""
