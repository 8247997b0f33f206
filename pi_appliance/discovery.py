"""Announce the page and the MPD proxy by mDNS, if other machines can reach them.

The service waits until the machine has an address, and announces again when the addresses change.
It does nothing if the optional library zeroconf is not installed.
"""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable, Collection, Mapping
from datetime import timedelta
from importlib.util import find_spec
from random import Random
from typing import Any

from pi_appliance.config.options import Config
from pi_appliance.errors import Unavailable
from pi_appliance.music.player_hub import MusicDaemon
from pi_appliance.system import network
from pi_appliance.system.backoff import retry_delay

_MIN_DELAY, _MAX_DELAY = timedelta(seconds=5), timedelta(minutes=10)  # limits of the wait between two attempts
_SETTLE = 2.0  # seconds; the addresses change several times while a network comes up
_log = logging.getLogger(__name__)

_LISTEN_TIME = 1.5  # seconds for two queries, because a host repeats an answer after one second at the earliest

Offer = tuple[tuple[str, ...], dict[str, int]]
"""Addresses, and the port of each service type."""


class Announcer:
    """Announces services on the network of `addresses` until it is closed.

    The host name is NAME-appliance.local. NAME.local belongs to avahi, which every Pi OS runs. If
    this process announced it with other addresses, avahi would see a conflict and change its own
    name.
    """

    def __init__(self, name: str, host: str, addresses: Collection[str]) -> None:
        self._name, self._host, self._addresses = name, host, list(addresses)
        self._zeroconf: Any = None

    async def announce(self, ports: Mapping[str, int]) -> list[str]:
        """Announce `ports` by service type, such as _http._tcp, and return the service names.

        If a name is taken, a number is appended. Raises Unavailable if the network rejects it.
        """
        from zeroconf import Error, IPVersion  # noqa: PLC0415 - 70 ms and 5 MB
        from zeroconf.asyncio import AsyncZeroconf  # noqa: PLC0415

        try:
            self._zeroconf = AsyncZeroconf(interfaces=self._addresses, ip_version=IPVersion.V4Only)
            await self._listen([f"{kind}.local." for kind in ports])
            return await asyncio.gather(*(self._register(kind, port) for kind, port in ports.items()))
        except (OSError, RuntimeError, Error, TimeoutError) as error:
            await self.aclose()
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise Unavailable(f"the appliance could not be announced in the network: {reason}") from None

    async def aclose(self) -> None:
        """Withdraw the announcements and close the sockets."""
        zeroconf, self._zeroconf = self._zeroconf, None
        if zeroconf is not None:
            await zeroconf.async_unregister_all_services()
            await zeroconf.async_close()

    async def _listen(self, kinds: list[str]) -> None:
        """Fill the cache of zeroconf with the names that other machines use.

        Probing alone is not enough. Its answers go to port 5353 of this machine, and if avahi
        listens there too, the kernel delivers each answer to one of the two. Both receive multicast
        answers.
        """
        from zeroconf import DNSQuestionType  # noqa: PLC0415
        from zeroconf.asyncio import AsyncServiceBrowser  # noqa: PLC0415

        assert self._zeroconf is not None
        browser = AsyncServiceBrowser(
            self._zeroconf.zeroconf, kinds, handlers=[_ignore], question_type=DNSQuestionType.QM
        )
        await asyncio.sleep(_LISTEN_TIME)
        await browser.async_cancel()

    async def _register(self, kind: str, port: int) -> str:
        from zeroconf.asyncio import AsyncServiceInfo  # noqa: PLC0415

        assert self._zeroconf is not None
        info = AsyncServiceInfo(
            f"{kind}.local.",
            f"{self._name}.{kind}.local.",
            port=port,
            server=f"{self._host}.",
            addresses=[socket.inet_aton(each) for each in self._addresses],
            properties={"path": "/"} if kind == "_http._tcp" else {},
        )
        await (await self._zeroconf.async_register_service(info, allow_name_change=True))
        return info.name.removesuffix(f".{kind}.local.")


def _ignore(**_: object) -> None:
    """Do nothing: zeroconf fills its cache itself."""


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

    async def start(self, daemon: MusicDaemon) -> str:
        """Start to announce in the background."""
        config = daemon.appliance.config
        if config.discovery and _reachable_ports(config) and find_spec("zeroconf") is not None:
            self._task = asyncio.create_task(self._run(config))
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

    async def _run(self, config: Config) -> None:
        watcher = network.AddressWatcher(self.check_addresses)
        try:
            while True:
                offer = reachable_services(config, self._own)
                # A service name must not contain a dot.
                shown = (config.name or self._name).replace(".", " ")
                async with contextlib.aclosing(Announcer(shown, network.mdns_name(self._name), offer[0])) as announcer:
                    await self._announce(announcer, offer, config)
                    # ends when an address changes, also if it comes back
                    while reachable_services(config, self._own) == offer:
                        await self._changed.wait()
                        self._changed.clear()
                        await asyncio.sleep(self._settle)
        finally:
            self.known_as = []
            watcher.close()

    async def _announce(self, announcer: Announcer, offer: Offer, config: Config) -> None:
        """Announce `offer`, with retries. Return early if it is empty or changed."""
        attempt = 0
        while offer[0] and reachable_services(config, self._own) == offer:
            attempt += 1
            try:
                self.known_as = await announcer.announce(offer[1])
            except Unavailable as error:
                _log.log(logging.WARNING if attempt == 1 else logging.DEBUG, "discovery: %s", str(error))
            else:
                return _log.info("discovery: announced as %s", ", ".join(self.known_as))
            wait = retry_delay(attempt, first=_MIN_DELAY, at_most=_MAX_DELAY, random=Random())  # noqa: S311 - jitter
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait.total_seconds()):
                    await self._changed.wait()
            self._changed.clear()
        return None


def reachable_services(config: Config, own: Callable[[], list[str]]) -> Offer:
    """Return the services of `config` that other machines can reach."""
    reached = {kind: network.public_addresses(host, own) for kind, (host, _) in _reachable_ports(config).items()}
    addresses = dict.fromkeys(each for those in reached.values() for each in those)
    return tuple(addresses), {kind: port for kind, (_, port) in _reachable_ports(config).items() if reached[kind]}


def _reachable_ports(config: Config) -> dict[str, tuple[str, int]]:
    places = {"_http._tcp": (config.web.host, config.web.port)}
    if config.mpd_proxy is not None:
        places["_mpd._tcp"] = (config.mpd_proxy.host, config.mpd_proxy.port)
    # Port 0 stands for any free port, which only tests use.
    return {kind: (host, port) for kind, (host, port) in places.items() if port and not network.is_loopback_only(host)}
