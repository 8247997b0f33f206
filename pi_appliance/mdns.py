"""Tells the house by multicast DNS what is where: the one file that knows zeroconf.

It has a host name of its own, NAME-appliance.local. NAME.local belongs to avahi, which every Pi OS runs: were we to say
it too, with other addresses, avahi would take that for another machine and change its own.
"""

import asyncio
import socket
from collections.abc import Collection, Mapping

from zeroconf import DNSQuestionType, Error, IPVersion
from zeroconf.asyncio import AsyncServiceBrowser, AsyncServiceInfo, AsyncZeroconf

from pi_appliance.errors import Unavailable

_LISTEN = 1.5  # seconds, in which it is asked twice: who has answered somebody within the last one keeps silent


class Announcer:
    """What is announced, until it is closed. The network is that of ADDRESSES."""

    def __init__(self, name: str, host: str, addresses: Collection[str]) -> None:
        self._name, self._host, self._addresses = name, host, list(addresses)
        self._zeroconf: AsyncZeroconf | None = None

    async def announce(self, ports: Mapping[str, int]) -> list[str]:
        """Announce PORTS by the kind of service, as in _http._tcp, and return under which name each is known.

        A name that somebody else has gets a number. Raises Unavailable where the network does not take it.
        """
        try:
            self._zeroconf = AsyncZeroconf(interfaces=self._addresses, ip_version=IPVersion.V4Only)
            await self._listen([f"{kind}.local." for kind in ports])
            return await asyncio.gather(*(self._one(kind, port) for kind, port in ports.items()))
        except (OSError, RuntimeError, Error, TimeoutError) as error:
            await self.aclose()
            why = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise Unavailable(f"phones cannot be told where the appliance is: {why}") from None

    async def aclose(self) -> None:
        """Say goodbye, and let go of the network."""
        zeroconf, self._zeroconf = self._zeroconf, None
        if zeroconf is not None:
            await zeroconf.async_unregister_all_services()
            await zeroconf.async_close()

    async def _listen(self, kinds: list[str]) -> None:
        """Learn which names others have.

        Probing alone does not tell: who has the name answers to port 5353 of this machine, and where avahi listens
        there, too, the kernel gives that answer to one of the two. What goes to everybody, both hear.
        """
        assert self._zeroconf is not None
        browser = AsyncServiceBrowser(
            self._zeroconf.zeroconf, kinds, handlers=[_keep_in_mind], question_type=DNSQuestionType.QM
        )
        await asyncio.sleep(_LISTEN)
        await browser.async_cancel()

    async def _one(self, kind: str, port: int) -> str:
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


def _keep_in_mind(**_: object) -> None:
    """Do nothing: zeroconf itself keeps what it hears."""
