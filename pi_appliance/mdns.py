"""Announce services by mDNS, with zeroconf.

The host name is NAME-appliance.local. NAME.local belongs to avahi, which every Pi OS runs: if this process announced
it with other addresses, avahi would see a conflict and change its own name.
"""

import asyncio
import socket
from collections.abc import Collection, Mapping

from zeroconf import DNSQuestionType, Error, IPVersion
from zeroconf.asyncio import AsyncServiceBrowser, AsyncServiceInfo, AsyncZeroconf

from pi_appliance.errors import Unavailable

_LISTEN = 1.5  # seconds; two queries are sent, as hosts do not repeat an answer within one second


class Announcer:
    """Announces services on the network of `addresses` until it is closed."""

    def __init__(self, name: str, host: str, addresses: Collection[str]) -> None:
        self._name, self._host, self._addresses = name, host, list(addresses)
        self._zeroconf: AsyncZeroconf | None = None

    async def announce(self, ports: Mapping[str, int]) -> list[str]:
        """Announce `ports` by service type, such as _http._tcp, and return the service names.

        If a name is taken, a number is appended. Raises Unavailable if the network rejects it.
        """
        try:
            self._zeroconf = AsyncZeroconf(interfaces=self._addresses, ip_version=IPVersion.V4Only)
            await self._listen([f"{kind}.local." for kind in ports])
            return await asyncio.gather(*(self._register(kind, port) for kind, port in ports.items()))
        except (OSError, RuntimeError, Error, TimeoutError) as error:
            await self.aclose()
            why = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise Unavailable(f"the appliance could not be announced in the network: {why}") from None

    async def aclose(self) -> None:
        """Withdraw the announcements and close the sockets."""
        zeroconf, self._zeroconf = self._zeroconf, None
        if zeroconf is not None:
            await zeroconf.async_unregister_all_services()
            await zeroconf.async_close()

    async def _listen(self, kinds: list[str]) -> None:
        """Fill the cache of zeroconf with the names that others use.

        Probing alone is not enough: the answer goes to port 5353 of this machine, and if avahi listens there too, the
        kernel delivers it to one of the two. Both receive multicast answers.
        """
        assert self._zeroconf is not None
        browser = AsyncServiceBrowser(
            self._zeroconf.zeroconf, kinds, handlers=[_ignore], question_type=DNSQuestionType.QM
        )
        await asyncio.sleep(_LISTEN)
        await browser.async_cancel()

    async def _register(self, kind: str, port: int) -> str:
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
