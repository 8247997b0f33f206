"""What the page asks of the daemon, and nothing more."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from pi_appliance.music.model import Capability, PlayerState
from pi_appliance.music.player import Player
from pi_appliance.music.usb.drives import UsbDrive
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.scheduling.child_runs import Runs
from pi_appliance.system.clock import ClockState

if TYPE_CHECKING:
    from pi_appliance.web.actions import Actions


class Music(Protocol):
    """The player, as the daemon's hub holds it."""

    trouble: str
    note: str
    stand_in: bool

    @property
    def abilities(self) -> frozenset[Capability]:
        """What the player can, as it was when it was reached; nothing while there is none."""

    @property
    def state(self) -> PlayerState | None:
        """What the player does at this moment; None while there is none."""

    async def player(self) -> Player:
        """Return the player. Raises Unavailable with the reason if there is none."""

    def watch(self) -> AsyncIterator[frozenset[str]]:
        """Yield what changed. The first item comes at once."""


class Scheduler(Protocol):
    """What starts the jobs at their slots, as far as it tells how it goes."""

    clock_state: ClockState
    steps: int
    last_step: str
    beat: float
    """When it looked last, in seconds since the machine started."""

    @property
    def clock_wait(self) -> float:
        """For how many seconds more a clock that nobody has set is waited for."""

    @property
    def trouble(self) -> str:
        """Why some slot cannot be started or told of just now; '' if all is well."""

    @property
    def waiting(self) -> int:
        """How many slots wait for their turn."""

    def next(self) -> tuple[datetime, str] | None:
        """Return when a job will start next, and its name."""


class Sticks(Protocol):
    """The USB sticks with music."""

    def all(self) -> Sequence[UsbDrive]:
        """Return every stick, by name. Raises Unavailable where sticks are not configured."""

    async def remove(self, name: str) -> UsbDrive:
        """Let go of the stick NAME, and return it when it may be pulled. Raises ApplianceError if it may not."""


class Daemon(Protocol):
    """The daemon. Its parts may be replaced while it runs, so they are read again each time."""

    @property
    def started_at(self) -> datetime:
        """When it was started."""

    @property
    def addresses(self) -> Sequence[str]:
        """Where it listens, in words."""

    @property
    def messages(self) -> Sequence[tuple[datetime, str]]:
        """Its newest messages, the oldest first."""

    @property
    def appliance(self) -> Appliance:
        """The configuration and the state."""

    @property
    def hub(self) -> Music:
        """The player."""

    @property
    def sticks(self) -> Sticks:
        """The USB sticks."""

    @property
    def runs(self) -> Runs:
        """What starts a run."""

    @property
    def scheduler(self) -> Scheduler:
        """What starts runs at their slots."""

    def request_reload(self) -> None:
        """Have the configuration read again. Raises ConfigError."""

    def wake(self) -> None:
        """Let the scheduler look now: somebody changed what it goes by."""


@dataclass(frozen=True, slots=True)
class Services:
    """Everything that the handler of an operation may use."""

    daemon: Daemon
    actions: "Actions"

    @property
    def appliance(self) -> Appliance:
        """The configuration and the state, as they are now."""
        return self.daemon.appliance

    def now(self) -> datetime:
        """Return the wall clock's time, aware, in UTC."""
        return self.actions.now()
