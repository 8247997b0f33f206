"""Announce the page and the MPD proxy in the local network by mDNS, if other machines can reach them.

It waits until the machine has an address and announces again when the addresses change. It does nothing if the
optional library zeroconf is not installed.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from datetime import timedelta
from importlib.util import find_spec
from random import Random
from typing import TYPE_CHECKING

from pi_appliance.config.model import Config
from pi_appliance.daemon import Daemon
from pi_appliance.errors import Unavailable
from pi_appliance.system import clock, network

if TYPE_CHECKING:
    from pi_appliance.mdns import Announcer

_FIRST, _LONGEST = timedelta(seconds=5), timedelta(minutes=10)  # between attempts
_SETTLE = 2.0  # seconds; a network that comes up changes several times
_log = logging.getLogger(__name__)

Offer = tuple[tuple[str, ...], dict[str, int]]
"""Addresses, and the port of each service type."""


class DiscoveryService:
    """The daemon service that announces. `own` returns the addresses of the machine `name`."""

    def __init__(
        self, own: Callable[[], list[str]] = network.local_addresses, name: str | None = None, settle: float = _SETTLE
    ) -> None:
        self._own, self._name, self._settle = own, name or network.host_name(), settle
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.known_as: list[str] = []
        """The announced service names."""

    async def start(self, daemon: Daemon) -> str:
        """Start to announce in the background."""
        config = daemon.appliance.config
        if config.discovery and _open(config) and find_spec("zeroconf") is not None:
            self._task = asyncio.create_task(self._live(config))
        return ""

    async def stop(self) -> None:
        """Withdraw the announcements."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    def check_addresses(self) -> None:
        """Check whether the addresses changed."""
        self._changed.set()

    async def _live(self, config: Config) -> None:
        from pi_appliance.mdns import Announcer  # noqa: PLC0415 - 70 ms and 5 MB

        alarm = network.AddressWatcher(self.check_addresses)
        try:
            while True:
                offer = offered(config, self._own)
                async with contextlib.aclosing(
                    Announcer(self._name, network.mdns_name(self._name), offer[0])
                ) as announcer:
                    await self._announce(announcer, offer, config)
                    while offered(config, self._own) == offer:  # also if an address was lost and came back
                        await self._changed.wait()
                        self._changed.clear()
                        await asyncio.sleep(self._settle)
        finally:
            self.known_as = []
            alarm.close()

    async def _announce(self, announcer: "Announcer", offer: Offer, config: Config) -> None:
        """Announce `offer`, with retries. Return early if it is empty or changed."""
        attempt = 0
        while offer[0] and offered(config, self._own) == offer:
            attempt += 1
            try:
                self.known_as = await announcer.announce(offer[1])
            except Unavailable as error:
                _log.log(logging.WARNING if attempt == 1 else logging.DEBUG, "discovery: %s", str(error))
            else:
                return _log.info("discovery: announced as %s", ", ".join(self.known_as))
            wait = clock.retry_delay(attempt, first=_FIRST, at_most=_LONGEST, random=Random())  # noqa: S311 - jitter
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), wait.total_seconds())
            self._changed.clear()
        return None


def offered(config: Config, own: Callable[[], list[str]]) -> Offer:
    """Return the services of `config` that other machines can reach."""
    reached = {kind: network.public_addresses(host, own) for kind, (host, _) in _open(config).items()}
    addresses = dict.fromkeys(each for those in reached.values() for each in those)
    return tuple(addresses), {kind: port for kind, (_, port) in _open(config).items() if reached[kind]}


def _open(config: Config) -> dict[str, tuple[str, int]]:
    """Return host and port of each service that does not listen on this machine only."""
    places = {"_http._tcp": (config.web.host, config.web.port)}
    if config.mpd_proxy is not None:
        places["_mpd._tcp"] = (config.mpd_proxy.host, config.mpd_proxy.port)
    # Port 0 is any free port, for tests only.
    return {kind: (host, port) for kind, (host, port) in places.items() if port and not network.is_loopback_only(host)}
