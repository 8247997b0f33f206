"""Protocols of the daemon's player and USB drives, for the handlers of operations and the pages."""

import functools
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pi_appliance.music.model import Capability, PlayerState
from pi_appliance.music.player import Player
from pi_appliance.music.stations.service import Stations
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.scheduling.interface import RunningDaemon, Services

if TYPE_CHECKING:
    from pi_appliance.music.usb.drives import UsbDrive


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

    def reconnect_now(self) -> None:
        """Try to reach the configured player now."""

    def watch_changes(self) -> AsyncIterator[frozenset[str]]:
        """Yield the names of the changed subsystems. The first item comes at once."""


class UsbDriveService(Protocol):
    """The USB drives with music."""

    def all(self) -> Sequence["UsbDrive"]:
        """Return every drive, by name. Raises UsbNotConfigured without a folder for them."""

    async def eject(self, name: str) -> "UsbDrive":
        """Eject the drive `name` and return it once it may be unplugged. Raises ApplianceError."""


class MusicDaemon(RunningDaemon, Protocol):
    """The daemon with its player and its USB drives."""

    @property
    def hub(self) -> Music:
        """The player."""

    @property
    def usb_drives(self) -> UsbDriveService:
        """The USB drives."""


@dataclass(frozen=True, slots=True)
class MusicServices(Services):
    """Everything that the handler of an operation on music may use."""

    daemon: MusicDaemon

    @property
    def stations(self) -> Stations:
        """The web radio stations of the current configuration."""
        return stations_of(self.daemon.appliance)


def stations_of(appliance: Appliance) -> Stations:
    """Return the web radio stations of the configuration."""
    return _stations(appliance.config.stations, appliance.config.state_dir)


@functools.lru_cache(maxsize=2)  # it keeps the content of the files, and reads them again when they change
def _stations(file: Path | None, state_dir: Path) -> Stations:
    return Stations(file, state_dir)
