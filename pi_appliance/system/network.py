"""Under which addresses this machine is reached at home, and an alarm for when they become others."""

import asyncio
import contextlib
import fcntl
import ipaddress
import socket
import struct
from collections.abc import Callable

_SIOCGIFADDR = 0x8915
_RTMGRP_IPV4_IFADDR = 0x10
_ANYWHERE = ("192.0.2.1", 9)  # an address that nobody has (RFC 5737)


def host_name() -> str:
    """Return what this machine is called at home, without any domain."""
    return socket.gethostname().partition(".")[0] or "appliance"


def mdns_name(machine: str) -> str:
    """Return the name of the host by which phones find the machine called so (see mdns.py)."""
    return f"{machine}-appliance.local"


def local_addresses() -> list[str]:
    """Return the IPv4 addresses that others may reach, that of the way out of the house first."""
    found = [
        each
        for _, name in socket.if_nameindex()
        if (each := _address_of(name)) and not ipaddress.ip_address(each).is_loopback
    ]
    first = _on_the_way_out()
    return sorted(dict.fromkeys(found), key=lambda each: each != first)


def public_addresses(host: str, own: Callable[[], list[str]] = local_addresses) -> list[str]:
    """Return those of our OWN addresses at which others reach who listens on HOST; none for 127.0.0.1."""
    told = _addresses_of(host)
    everywhere = any(each.is_unspecified for each in told)
    return [each for each in own() if everywhere or ipaddress.ip_address(each) in told]


def is_loopback_only(host: str) -> bool:
    """Say whether only this machine reaches who listens on HOST."""
    return all(each.is_loopback for each in _addresses_of(host))


def _addresses_of(host: str) -> set[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    try:
        told = socket.getaddrinfo(host or None, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        return set()
    return {ipaddress.ip_address(str(place[0]).partition("%")[0]) for *_, place in told}


class AddressWatcher:
    """Calls RING in the running loop when this machine gains or loses an address: the kernel says so by itself."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring, self._loop = ring, asyncio.get_running_loop()
        self._line: socket.socket | None = None
        line = None
        try:
            line = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
            line.setblocking(False)
            line.bind((0, _RTMGRP_IPV4_IFADDR))
        except OSError:  # no such line here: nothing rings
            if line is not None:
                line.close()
            return
        self._line = line
        self._loop.add_reader(line, self._rung)

    def close(self) -> None:
        """Ring no more."""
        if self._line is not None:
            self._loop.remove_reader(self._line)
            self._line.close()
            self._line = None

    def _rung(self) -> None:
        assert self._line is not None
        with contextlib.suppress(OSError):  # also ENOBUFS: there was more than it could hold, so something changed
            while self._line.recv(65_536):
                pass
        self._ring()


def _address_of(interface: str) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            told = fcntl.ioctl(asked, _SIOCGIFADDR, struct.pack("256s", interface.encode()[:15]))
        except OSError:  # it has none
            return ""
    return socket.inet_ntoa(told[20:24])


def _on_the_way_out() -> str:
    """Return from where we would speak to the world; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            asked.connect(_ANYWHERE)
        except OSError:
            return ""
        return str(asked.getsockname()[0])
