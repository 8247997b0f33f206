"""Protocols of what the pages and handlers use of the daemon."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from pi_appliance.music.model import Capability, PlayerState
from pi_appliance.music.player import Player
from pi_appliance.music.usb.drives import UsbDrive
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.scheduling.child_runs import ChildRuns
from pi_appliance.system.clock import ClockState

if TYPE_CHECKING:
    from pi_appliance.web.actions import Actions


class Music(Protocol):
    """The connection to the player."""

    error: str
    status_text: str
    uses_fallback: bool

    @property
    def capabilities(self) -> frozenset[Capability]:
        """The capabilities of the player when it was last reached; empty while there is none."""

    @property
    def state(self) -> PlayerState | None:
        """The state of the player now; None while there is none."""

    async def player(self) -> Player:
        """Return the player. Raises Unavailable with the reason if there is none."""

    def watch_changes(self) -> AsyncIterator[frozenset[str]]:
        """Yield the names of the changed subsystems. The first item comes at once."""


class Scheduler(Protocol):
    """The state of the scheduler."""

    clock_state: ClockState
    steps: int
    last_step: str
    last_tick: float
    """When it last ticked, in seconds since the machine started."""

    @property
    def clock_wait(self) -> float:
        """Seconds for which it still waits for the clock to be set."""

    @property
    def error(self) -> str:
        """Why a slot currently cannot be started or recorded; empty if all is well."""

    @property
    def waiting(self) -> int:
        """How many slots wait to be started."""

    def next(self) -> tuple[datetime, str] | None:
        """Return when a job will start next, and its name."""


class UsbDriveService(Protocol):
    """The USB drives with music."""

    def all(self) -> Sequence[UsbDrive]:
        """Return every drive, by name. Raises Unavailable if USB drives are not configured."""

    async def eject(self, name: str) -> UsbDrive:
        """Eject the drive `name` and return it once it may be unplugged.

        Raises ApplianceError if it may not.
        """


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
    def usb_drives(self) -> UsbDriveService:
        """The USB drives."""

    @property
    def runs(self) -> ChildRuns:
        """Starts runs."""

    @property
    def scheduler(self) -> Scheduler:
        """Starts runs at their slots."""

    def request_reload(self) -> None:
        """Have the configuration read again. Raises ConfigError."""

    def wake(self) -> None:
        """Have the scheduler tick now, because something it depends on changed."""


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
