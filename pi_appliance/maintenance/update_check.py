"""The daily check for a newer release, and the request to install it.

The daemon cannot install anything: it leaves a file for pi-appliance-update.path, and root runs
`pi-appliance update` (ADR 107).
"""

import asyncio
import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Any

from pi_appliance import __version__
from pi_appliance.config.options import Config
from pi_appliance.errors import ApplianceError, Refused
from pi_appliance.maintenance.releases import Installation, Release, find_newer, how_to_update, read_address
from pi_appliance.system import files
from pi_appliance.system.runtime_socket import SYSTEM_DIR

log = logging.getLogger("pi_appliance.updates")
_CHECK_INTERVAL = timedelta(days=1)  # between two checks
_FIRST_DELAY = timedelta(minutes=5)  # after the start, which keeps a small machine busy
_STEP = 900.0  # seconds between two checks whether a check is due
_INSTALLATION = Installation(Path("/opt/pi-appliance"))
_REQUEST = Path(SYSTEM_DIR, "update")
_START_TIMEOUT = timedelta(minutes=2)
_NOT_STARTED = "this appliance cannot update itself; type on it: sudo pi-appliance update"


@dataclass(frozen=True, slots=True)
class UpdatePlaces:
    """The paths of the releases, of the file with their address, and of an update request."""

    installation: Installation = _INSTALLATION
    address_file: Path = Path("/etc/pi-appliance-update.conf")
    request_file: Path = _REQUEST
    prefix: Path = Path(sys.prefix)  # the folder in which this program is installed


class UpdateChecker:
    """Looks for a newer release once a day, and requests its installation if the owner wants it."""

    def __init__(
        self, config: Callable[[], Config], now: Callable[[], datetime], places: UpdatePlaces | None = None
    ) -> None:
        self._places = places or UpdatePlaces()
        self._config, self._now = config, now
        self._started_at = now()
        self.newest: Release | None = None
        self.checked_at: datetime | None = None
        self.error = ""
        self._requested_at: datetime | None = None
        self._progress_before: dict[str, Any] = {}

    @property
    def installation(self) -> Installation:
        """The installed releases."""
        return self._places.installation

    @property
    def obstacle(self) -> str:
        """Why this machine cannot find or install releases; '' if it can."""
        if not self._places.prefix.is_relative_to(self.installation.home / "releases"):
            return how_to_update(self._places.prefix)
        try:
            address = read_address(self._places.address_file)
        except Refused as error:
            return str(error)
        if address:
            return ""
        return f"no list of releases is known; write address=https://… into {self._places.address_file}"

    def read_progress(self) -> dict[str, Any]:
        """Return the state, version, steps and message of the last update; {} without one."""
        progress = self.installation.read_progress()
        if self._requested_at is None or progress != self._progress_before:
            return progress
        # Root has not begun yet, which takes some seconds on a small machine.
        is_late = self._now() - self._requested_at > _START_TIMEOUT
        return {
            "state": "failed" if is_late else "running",
            "version": self.newest.version if self.newest else "",
            "steps": ["starting"],
            "message": _NOT_STARTED if is_late else "",
        }

    async def run(self) -> None:
        """Check once a day, until cancelled."""
        while True:
            await asyncio.sleep(_STEP)
            await self.tick()

    async def tick(self) -> None:
        """Check if a check is due, and request the installation if its time has come."""
        updates, now, last = self._config().updates, self._now(), self.checked_at
        at = _latest(updates.automatic, now.astimezone(self._config().time_zone)) if updates.automatic else None
        is_time = at is not None and at > self._started_at and (last is None or last < at)
        is_due = updates.check and now >= (last + _CHECK_INTERVAL if last else self._started_at + _FIRST_DELAY)
        if not (is_time or is_due) or self.obstacle:
            return
        await self.check()
        progress = self.read_progress()
        # A version that failed once, or that the owner has left, is installed only by the owner.
        tried = (progress.get("version"), progress.get("left"))
        if is_time and self.newest and self.newest.version not in tried:
            try:
                self.request()
            except ApplianceError as error:
                log.warning("the update to %s was not started: %s", self.newest.version, error)

    async def check(self) -> None:
        """Look for a newer release now. `error` says why that failed."""
        try:
            found = await asyncio.to_thread(find_newer, read_address(self._places.address_file), __version__)
        except ApplianceError as error:
            self.error = str(error)
        else:
            self.newest, self.error = next(iter(found), None), ""
        self.checked_at = self._now()

    def request(self) -> None:
        """Have root install the newest release. Raises Refused if that is not possible here."""
        if self.newest is None:
            raise Refused("there is no newer release")
        if self.read_progress().get("state") == "running":
            raise Refused("an update is running already")
        try:
            files.write_file(self._places.request_file, f"{self.newest.version}\n".encode())
        except (ApplianceError, OSError):
            raise Refused(_NOT_STARTED) from None
        self._requested_at, self._progress_before = self._now(), self.installation.read_progress()


def _latest(at: time, now: datetime) -> datetime:
    """Return the last time before `now` at which the clock on the wall showed `at`."""
    today = now.replace(hour=at.hour, minute=at.minute, second=0, microsecond=0)
    return today if today <= now else today - timedelta(days=1)
