"""Find the pages of other appliances by mDNS, as `pi_appliance/discovery.py` announces them."""

import socket
import time

from pi_appliance.errors import Refused

_KIND = "_http._tcp.local."
_HOST_END = "-appliance.local."
_LISTEN_TIME = 3.0  # seconds


def find_pages(seconds: float = _LISTEN_TIME) -> list[tuple[str, int]]:
    """Return address and port of the pages that answer. Raises Refused without the library."""
    try:
        from zeroconf import IPVersion, ServiceBrowser, Zeroconf  # noqa: PLC0415 - optional, 5 MB
    except ImportError:
        raise Refused("to find the first machine, the package zeroconf is missing; name it with --address") from None
    names = set[str]()

    def note(*, name: str, **_: object) -> None:
        names.add(name)

    try:
        zeroconf = Zeroconf(ip_version=IPVersion.V4Only)
    except OSError as error:
        raise Refused(
            f"the network cannot be searched: {error.strerror}; name the first machine by --address"
        ) from None
    pages = list[tuple[str, int]]()
    try:
        browser = ServiceBrowser(zeroconf, _KIND, handlers=[note])
        time.sleep(seconds)
        for name in sorted(names):
            info = zeroconf.get_service_info(_KIND, name, 1000)
            if info is not None and info.port and (info.server or "").endswith(_HOST_END):
                pages += [(socket.inet_ntoa(address), info.port) for address in info.addresses]
        browser.cancel()
    finally:
        zeroconf.close()
    return pages
