"""Join Wi-Fi networks in the background, go back after a failure, and forget networks."""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from pi_appliance.config.options import Config
from pi_appliance.config.units import join_clauses
from pi_appliance.errors import ApplianceError, InvalidOption, Refused, UnknownName
from pi_appliance.wifi.hotspot import Hotspot, Surroundings, Timing, find_password_problem
from pi_appliance.wifi.network_manager import (
    JOIN_TIMEOUT,
    Network,
    NetworkManager,
    NmcliError,
    Profile,
    Security,
)

_NOT_OFFERED = {
    Security.ENTERPRISE: "asks for a user name or a certificate, which only works on the machine: sudo nmtui",
    Security.WEP: "uses WEP, which protects nothing; let its router use WPA2 or WPA3",
}


class AttemptState(StrEnum):
    """The progress of an attempt to join a network."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Attempt:
    """The newest attempt to join a network."""

    ssid: str
    state: AttemptState
    message: str = ""


class WifiService:
    """The Wi-Fi of the machine.

    Args:
        config: Returns the configuration in use.
        say: Takes lines for the log.
        manager: NetworkManager.
        surroundings: What the kernel knows.
        timing: Times of the hot spot.
    """

    def __init__(
        self,
        config: Callable[[], Config],
        say: Callable[[str], None],
        manager: NetworkManager | None = None,
        surroundings: Surroundings | None = None,
        timing: Timing | None = None,
    ) -> None:
        self._manager, self._say = manager or NetworkManager(), say
        self.hotspot = Hotspot(config, self._manager, say, surroundings, timing)
        self.last: Attempt | None = None
        self._task: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Open and close the hot spot, until cancelled."""
        try:
            await self.hotspot.run()
        finally:
            if self._task is not None:
                self._task.cancel()
                await asyncio.gather(self._task, return_exceptions=True)

    async def list_networks(self, *, rescan: bool = False) -> list[Network]:
        """Return the networks in reach. Raises Refused without a Wi-Fi that can be used."""
        device = await self._manager.find_device()
        if self.hotspot.is_open:  # while the hot spot is open, a scan only finds the hot spot
            return list(self.hotspot.seen)
        found = await self._manager.list_networks(device, rescan=rescan)
        # NetworkManager forgets other networks after some minutes
        if not rescan and all(each.in_use for each in found):
            found = await self._manager.list_networks(device, rescan=True)
        return found

    async def list_profiles(self) -> list[Profile]:
        """Return the stored networks. Raises Unavailable."""
        return await self._manager.list_profiles()

    async def start_joining(self, ssid: str, password: str, *, hidden: bool) -> asyncio.Task[None]:
        """Begin to join `ssid`. When the task ends, `last` has the outcome.

        Raises:
            InvalidOption: The password is missing, or cannot be one.
            Refused: The kind of network is not offered, another one is being joined, or there is no
                Wi-Fi that can be used.
            UnknownName: The network is not in reach.
        """
        if self._task is not None and not self._task.done():
            raise Refused("another network is being joined; wait until that has ended")
        networks, profiles = await self.list_networks(), await self.list_profiles()
        stored = next((each for each in profiles if each.ssid == ssid), None)
        found = next((each for each in networks if each.ssid == ssid), None)
        if found is None and not hidden:
            names = [each.ssid for each in networks]
            raise UnknownName("Wi-Fi network in reach", ssid, names)
        security = found.security if found else Security.PASSWORD if password else Security.OPEN
        uses_stored = stored is not None and not password
        if not uses_stored:
            _require_good_password(ssid, security, password)
        self.last = Attempt(ssid, AttemptState.RUNNING)
        before = next((each for each in profiles if each.is_active), None)
        target = stored if uses_stored else None
        self._task = asyncio.create_task(self._join(ssid, security, password, hidden, target, before))
        return self._task

    async def _join(
        self, ssid: str, security: Security, password: str, hidden: bool, target: Profile | None, before: Profile | None
    ) -> None:
        async with self.hotspot.lock:
            had_hotspot, identity = self.hotspot.is_open, target.uuid if target else ""
            try:
                identity = identity or await self._manager.add_profile(ssid, security, hidden=hidden)
                await self._manager.connect(identity, password if security.has_password else "")
                await self._manager.keep_profile(identity)
            except ApplianceError as error:
                if identity and target is None:
                    with contextlib.suppress(ApplianceError):
                        await self._manager.delete_profile(identity)
                way_back = await self._go_back(before, had_hotspot=had_hotspot) if identity else ""
                self._end(ssid, AttemptState.FAILED, join_clauses(_explain(error, ssid, security), way_back))
            else:
                self._end(ssid, AttemptState.DONE, f"{ssid} is joined")
                await self._delete_others(ssid, identity)
        self.hotspot.wake()

    async def _delete_others(self, ssid: str, identity: str) -> None:
        """Delete the older profiles of `ssid`, whose password may be an old one."""
        with contextlib.suppress(ApplianceError):
            for each in await self.list_profiles():
                if each.ssid == ssid and each.uuid != identity:
                    await self._manager.delete_profile(each.uuid)

    async def _go_back(self, before: Profile | None, *, had_hotspot: bool) -> str:
        """Connect again what was connected before, and return the result in words."""
        try:
            if had_hotspot:
                await self.hotspot.open()
                return "the hot spot is open again"
            if before is not None:
                await self._manager.connect(before.uuid)
                return f"{before.ssid} is in use again"
        except ApplianceError:
            name = "the hot spot" if before is None else before.ssid
            return f"{name} did not come back yet, and NetworkManager goes on trying"
        return ""

    def _end(self, ssid: str, state: AttemptState, message: str) -> None:
        self.last = Attempt(ssid, state, message)
        self._say(f"Wi-Fi: {message}")

    def drop_outcome(self) -> None:
        """Forget the outcome of the newest attempt, because the owner has seen it."""
        if self.last is not None and self.last.state is not AttemptState.RUNNING:
            self.last = None

    async def forget(self, ssid: str) -> None:
        """Delete the stored network `ssid`. Raises UnknownName, Refused or Unavailable."""
        profiles = await self.list_profiles()
        if not any(each.ssid == ssid for each in profiles):
            raise UnknownName("stored Wi-Fi network", ssid, [each.ssid for each in profiles])
        for each in profiles:
            if each.ssid == ssid:
                await self._manager.delete_profile(each.uuid)


def _require_good_password(ssid: str, security: Security, password: str) -> None:
    if security in _NOT_OFFERED:
        raise Refused(f"{ssid} {_NOT_OFFERED[security]}")
    if security.has_password and not password:
        raise InvalidOption(f"{ssid} asks for a password")
    is_key = len(password) == 64 and all(each in "0123456789abcdefABCDEF" for each in password)
    if security is Security.PASSWORD and not is_key and (problem := find_password_problem(password)):
        raise InvalidOption(f"that cannot be the password of {ssid}: {problem}")


def _explain(error: ApplianceError, ssid: str, security: Security) -> str:
    """Return why `ssid` was not joined, and how to correct that."""
    if not isinstance(error, NmcliError):
        return str(error)
    text = str(error)
    is_secret = any(each in text for each in ("Secrets were required", "supplicant", "authenticate"))
    if security is Security.WPA3:
        more = "or the Wi-Fi of this machine does not know WPA3: let the router offer WPA2 as well"
    else:
        more = "or the machine is too far away"
    if error.is_timeout:
        advice = f"perhaps the password is wrong, {more}" if security.has_password else "move the machine nearer"
        return f"{ssid} did not come up within {JOIN_TIMEOUT} seconds; {advice}"
    if is_secret and security.has_password:
        return f"{ssid} did not accept the password; it is wrong, {more}"
    if "could not be found" in text or "No network with SSID" in text:
        return f"{ssid} is not in reach any more; move the machine nearer, or check the name"
    if "IP configuration" in text:
        return f"{ssid} was joined, but gave this machine no address; restart its router"
    return f"{ssid} was not joined: {text}"
