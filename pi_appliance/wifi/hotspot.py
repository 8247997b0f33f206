"""The hot spot for the set-up: open while the machine has no network, closed when one is back.

NetworkManager does not scan while a hot spot is open. So every few minutes, if nobody is connected
to it, the hot spot closes for some seconds, in which NetworkManager connects to a network it knows.
"""

import asyncio
import contextlib
import logging
import os
import secrets as randomness
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from pi_appliance.config import secrets
from pi_appliance.config.options import Config
from pi_appliance.config.secret_writer import store_own_secret
from pi_appliance.errors import ApplianceError, Refused
from pi_appliance.system import network
from pi_appliance.wifi.network_manager import Network, NetworkManager

ADDRESS = "10.42.0.1"
_PREFIX = "10.42.0."
SECRET = "HOTSPOT_PASSWORD"  # noqa: S105 - its name
_PROFILE = "6f2b7c1e-5d0a-4c53-9a57-706961707031"  # UUID of the hot spot's profile
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # no letters that look alike
_MAX_SSID = 32  # bytes in the name of a network
_DISCARD = 9  # a port on which nobody listens
_NO_DNSMASQ = "it gives no addresses without dnsmasq; type on the machine: sudo apt install dnsmasq-base"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Timing:
    """The times of the hot spot in seconds."""

    patience: float = 60.0  # time without a network after which the hot spot opens
    interval: float = 300.0  # time between two searches for a known network, also after a failure
    settle: float = 40.0  # time in which NetworkManager finds and joins a known network
    probe: float = 12.0  # time after which the kernel knows that a phone has gone


_watch = partial(network.AddressWatcher, with_links=True)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The network as the kernel sees it: functions that ask the kernel, or watch it."""

    addresses: Callable[[], Sequence[str]] = network.local_addresses
    has_route: Callable[[], bool] = network.has_route
    neighbours: Callable[[], Sequence[str]] = network.neighbours
    has_link: Callable[[str], bool] = network.has_link
    watch: Callable[[Callable[[], None]], network.AddressWatcher] = _watch


class Hotspot:
    """The hot spot of the daemon. `run` opens and closes it; `say` takes lines for the log."""

    def __init__(
        self,
        config: Callable[[], Config],
        manager: NetworkManager,
        say: Callable[[str], None],
        surroundings: Surroundings | None = None,
        timing: Timing | None = None,
    ) -> None:
        self._config, self._manager, self._say = config, manager, say
        self._around, self._timing = surroundings or Surroundings(), timing or Timing()
        self._changed = asyncio.Event()
        self._offline_since: float | None = None
        self._next_look = 0.0  # monotonic time of the next search: opening the hot spot also reports a change
        self._next_attempt = 0.0  # monotonic time of the next attempt: a failed one may have changed a link
        self._last_error = ""
        self.lock = asyncio.Lock()
        """Held by whoever uses the device, so that no hot spot opens while a network is joined."""
        self.seen: Sequence[Network] = ()
        """The networks in reach before it opened."""

    @property
    def is_open(self) -> bool:
        """Whether the hot spot is open, according to the kernel."""
        return ADDRESS in self._around.addresses()

    @property
    def is_wanted(self) -> bool:
        """Whether the configuration has a hot spot."""
        return self._config().hotspot is not None

    @property
    def ssid(self) -> str:
        """The name of the hot spot."""
        return hotspot_name(self._config())

    def wake(self) -> None:
        """Check again, because the owner has changed something."""
        self._next_attempt = 0.0
        self._changed.set()

    async def run(self) -> None:
        """Open and close the hot spot until cancelled.

        With a network, wait until the kernel reports a change.
        """
        watcher = self._around.watch(self._changed.set)
        try:
            while True:
                self._changed.clear()
                try:
                    async with self.lock:
                        wait = await self._check()
                    self._last_error = ""
                except ApplianceError as error:
                    wait = self._timing.interval
                    self._next_attempt = time.monotonic() + wait
                    if str(error) != self._last_error:
                        _log.warning("the hot spot cannot be used: %s", error)
                    self._last_error = str(error)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(wait):
                        await self._changed.wait()
        finally:
            watcher.close()

    async def _check(self) -> float | None:
        """Open or close the hot spot, and return the seconds to the next check.

        None means that only a change needs another check.
        """
        if self.is_open:
            return await self._check_open()
        if not self.is_wanted or self._around.has_route():
            self._offline_since = None
            return None
        now = time.monotonic()
        self._offline_since = self._offline_since or now
        if (rest := max(self._offline_since + self._timing.patience, self._next_attempt) - now) > 0:
            return rest
        if await self._has_network():  # a network that does not lead to the internet
            return None
        await self.open()
        return self._timing.interval

    async def _check_open(self) -> float | None:
        if not self.is_wanted or self._around.has_route():
            await self.close()
            return None
        if (rest := self._next_look - time.monotonic()) > 0:
            return rest
        self._next_look = time.monotonic() + self._timing.interval
        if not await self._manager.list_profiles() or await self._has_visitors():
            return self._timing.interval
        await self.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._timing.settle):
                while not self._around.has_route():
                    self._changed.clear()
                    await self._changed.wait()
        if await self._has_network():
            return None
        await self.open()
        return self._timing.interval

    async def _has_network(self) -> bool:
        """Return whether a device is connected to a network, also according to the kernel."""
        return any(each.is_modem or self._around.has_link(each.device) for each in await self._manager.list_uplinks())

    async def _has_visitors(self) -> bool:
        """Return whether a phone is connected.

        The kernel checks that when something is sent to it.
        """
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for address in (known := self._visitors()):
                with contextlib.suppress(OSError):
                    sender.sendto(b"", (address, _DISCARD))
        if known:
            await asyncio.sleep(self._timing.probe)
        return bool(known and self._visitors())

    def _visitors(self) -> list[str]:
        return [each for each in self._around.neighbours() if each.startswith(_PREFIX)]

    async def open(self) -> None:
        """Open the hot spot. Raises ApplianceError, also without a password of 8 characters."""
        require_reachable_page(self._config())
        password = await asyncio.to_thread(ensure_password, self._config())
        device = await self._manager.find_device()
        with contextlib.suppress(ApplianceError):
            self.seen = await self._manager.list_networks(device, rescan=True)
        await self._delete()
        await self._manager.add_hotspot(_PROFILE, self.ssid, ADDRESS)
        try:
            await self._manager.connect(_PROFILE, password)
        except ApplianceError as error:
            await self._delete()
            if "Shared connection service" in str(error):
                raise Refused(_NO_DNSMASQ) from None
            raise
        self._next_look = time.monotonic() + self._timing.interval
        self._say(f"there is no network, so the hot spot {self.ssid} is open: {page_address(self._config(), ADDRESS)}")

    async def close(self) -> None:
        """Close the hot spot."""
        await self._delete()
        self._offline_since = None
        self._say(f"the hot spot {self.ssid} is closed")

    async def _delete(self) -> None:
        with contextlib.suppress(ApplianceError):  # usually there is no profile to delete
            await self._manager.delete_profile(_PROFILE)


def describe(config: Config, code: str = "") -> Iterator[str]:
    """Yield how to reach the machine without a network, with the `code` of the set-up."""
    if config.hotspot is None:
        return
    try:
        password = require_password(config)
    except ApplianceError as error:
        yield f"The password of its hot spot cannot be shown: {error}"
        return
    address = f"{page_address(config, ADDRESS)}/" + (f"setup?code={code}" if code else "")
    yield f"Without a network, its Wi-Fi is {hotspot_name(config)} with the password {password}; open {address}"


def page_address(config: Config, host: str) -> str:
    """Return the address of the page at `host`."""
    return f"http://{host}" + ("" if config.web.port == 80 else f":{config.web.port}")


def hotspot_name(config: Config) -> str:
    """Return the configured name of the hot spot, or else one made of the name of the appliance."""
    wanted = config.hotspot.name if config.hotspot else ""
    name = wanted or f"{config.name or network.host_name()} set-up"
    return name.encode()[:_MAX_SSID].decode("utf-8", "ignore")


def find_password_problem(password: str) -> str:
    """Return why `password` cannot protect a Wi-Fi network, or ""."""
    is_plain = password.isascii() and password.isprintable()
    return "" if is_plain and 8 <= len(password) <= 63 else "it has 8 to 63 characters: letters, digits and signs"


def require_reachable_page(config: Config) -> None:
    """Raise Refused if no phone could open the page over the hot spot."""
    if network.is_loopback_only(config.web.host):
        raise Refused(f"the page listens on {config.web.host}, so no phone reaches it; write host: 0.0.0.0 under web:")


def require_password(config: Config) -> str:
    """Return the password of the hot spot. Raises Refused if there is none that is good."""
    password = secrets.load(config.path, os.environ).get(SECRET, "")
    if problem := find_password_problem(password):
        raise Refused(f"write {SECRET}=… into secrets.env; {problem}")
    return password


def ensure_password(config: Config) -> str:
    """Return the password of the hot spot; without one, create it and store it in the secrets.

    Raises:
        ApplianceError: The secrets cannot be read or written.
    """
    if not secrets.load(config.path, os.environ).get(SECRET):
        groups = ("".join(randomness.choice(_LETTERS) for _ in range(4)) for _ in range(3))
        store_own_secret(config.path, SECRET, "-".join(groups), os.environ)
    return require_password(config)
