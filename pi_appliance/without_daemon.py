"""Run one operation in this process, without a daemon: same handlers, same state."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, cast

from pi_appliance.config import find_config, secrets
from pi_appliance.config.config_file import load_for_history
from pi_appliance.config.loader import load_config
from pi_appliance.config.options import Config
from pi_appliance.errors import Refused, Unavailable
from pi_appliance.music.model import Capability, PlayerState
from pi_appliance.music.player import Player
from pi_appliance.music.player_hub import MusicDaemon, MusicServices, open_player
from pi_appliance.operations import Operation, Values, to_json
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.scheduling.child_runs import ChildRuns, start_detached
from pi_appliance.storage.model import Trigger
from pi_appliance.storage.run_requests import RunRequest
from pi_appliance.system import clock, files
from pi_appliance.system.shown_time import use_time_zone

if TYPE_CHECKING:
    from pi_appliance.music.usb.drives import UsbDrives


def run_locally(operation: Operation, values: Values, config: str | None) -> object:
    """Return the result of `operation` for `config`, by default for the usual configuration.

    Raises:
        ApplianceError: as the handler does, and where the configuration is wrong.
    """
    path = find_config(Path(config) if config else None, os.environ)
    if operation.path.startswith("/config/history"):  # this must be possible while the file is wrong
        return _run(operation, values, cast("Appliance", _ConfigOnly(load_for_history(path))))
    if not operation.needs_state:
        return _run(operation, values, cast("Appliance", _ConfigOnly(load_config(path))))
    with Appliance.open(path) as appliance:
        return _run(operation, values, appliance)


def _run(operation: Operation, values: Values, appliance: Appliance) -> object:
    use_time_zone(str(appliance.config.time_zone))
    return asyncio.run(_run_handler(operation, values, appliance))


async def _run_handler(operation: Operation, values: Values, appliance: Appliance) -> object:
    daemon = _LocalDaemon(appliance)
    services = MusicServices(cast("MusicDaemon", daemon), clock.now)
    try:
        result: object = to_json(await operation.load_handler()(services, values))
    finally:
        await daemon.hub.close()
    return result


@dataclass(frozen=True, slots=True)
class _ConfigOnly:
    """Stands for the appliance of an operation that needs no state."""

    config: Config

    def reload(self) -> "_ConfigOnly":
        """Return the configuration read again."""
        return _ConfigOnly(load_config(self.config.path))


class _LocalDaemon:
    """Takes the place of the daemon during one operation."""

    def __init__(self, appliance: Appliance) -> None:
        self.appliance = appliance
        self.hub = _LocalHub(appliance)

    @property
    def usb_drives(self) -> "UsbDrives":
        """The USB drives, which are not scanned here."""
        from pi_appliance.music.usb import drives  # noqa: PLC0415 - used by few operations

        return drives.UsbDrives(lambda: self.appliance.config.usb, lambda: self.hub, may_scan=False)

    @property
    def runs(self) -> ChildRuns:
        """Starts runs of jobs."""
        return ChildRuns(self.appliance.config.path)

    @property
    def scheduler(self) -> NoReturn:
        """Raise Unavailable: only a daemon has a scheduler."""
        raise Unavailable("the appliance is not running, so there is no scheduler to ask")

    @property
    def power(self) -> NoReturn:
        """Raise Unavailable: only a daemon can restart the machine."""
        raise Unavailable("the appliance is not running")

    def request_restart(self) -> None:
        """Raise Unavailable: there is nothing to restart."""
        raise Unavailable("the appliance is not running")

    async def apply_configuration(self) -> None:
        """Read the changed configuration."""
        if isinstance(self.appliance, Appliance):
            with contextlib.suppress(Refused):  # with another state folder, only the next process uses it
                self.appliance = self.appliance.reload()

    def wake(self) -> bool:
        """Wake a daemon that uses the same state but cannot be reached otherwise.

        Return whether one runs.
        """
        return files.wake_daemon(self.appliance.config.state_dir / files.WAKEUP_FILE)

    def start_request(self, request: RunRequest) -> None:
        """Start the run `request` as a process that continues in the background."""
        if not self.wake():
            start_detached(self.appliance.config.path, request.job, Trigger.MANUAL, request.slot_name)


class _LocalHub:
    """A player that is connected when it is first needed."""

    error = ""
    status_text = ""
    uses_fallback = False

    def __init__(self, appliance: Appliance) -> None:
        self._appliance = appliance
        self._player: Player | None = None
        self.capabilities: frozenset[Capability] = frozenset()
        self.state: PlayerState | None = None

    def reconnect_now(self) -> None:
        """Do nothing: each command connects when it needs the player."""

    async def player(self) -> Player:
        """Return the player. Raises Unavailable."""
        if self._player is None:
            config = self._appliance.config
            try:
                known = secrets.load(config.path, os.environ)
                self._player = await open_player(config, known, notify=self._note_fallback)
            except Unavailable as error:
                self.error = str(error)
                raise
            # the partition in use may be deleted; the operation reports that, or uses another one
            with contextlib.suppress(Refused):
                self.capabilities = await self._player.capabilities()
                self.state = await self._player.state()
        return self._player

    def _note_fallback(self, reason: str) -> None:
        self.error, self.uses_fallback = reason, True

    def watch_changes(self) -> AsyncIterator[frozenset[str]]:
        """Raise Unavailable: changes cannot be watched during one operation."""
        raise Unavailable("the appliance is not running, so nothing can be watched")

    async def close(self) -> None:
        """Close the connection."""
        if self._player is not None:
            await self._player.close()
