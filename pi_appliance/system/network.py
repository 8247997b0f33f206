"""The addresses of this machine in the local network, and a watcher for changes."""

import contextlib
import fcntl
import ipaddress
import socket
import struct
from collections.abc import Callable

_SIOCGIFADDR = 0x8915
_RTMGRP_LINK, _RTMGRP_IPV4_IFADDR = 0x01, 0x10
_ARP_COMPLETE = 0x02  # flag: the neighbour has answered
_TEST_ADDRESS = ("192.0.2.1", 9)  # reserved for documentation (RFC 5737); nothing is sent to it


def host_name() -> str:
    """Return the host name of this machine without a domain."""
    return socket.gethostname().partition(".")[0] or "appliance"


def mdns_name(machine: str) -> str:
    """Return the mDNS name of the machine with the host name `machine`."""
    return f"{machine}-appliance.local"


def local_addresses() -> list[str]:
    """Return the IPv4 addresses of this machine, that of the default route first."""
    addresses = [
        each
        for _, name in socket.if_nameindex()
        if (each := _address_of(name)) and not ipaddress.ip_address(each).is_loopback
    ]
    first = _default_route_address()
    return sorted(dict.fromkeys(addresses), key=lambda each: each != first)


def public_addresses(host: str, own: Callable[[], list[str]] = local_addresses) -> list[str]:
    """Return the addresses by which other machines reach a server on `host`; none for 127.0.0.1."""
    bound = _addresses_of(host)
    is_everywhere = any(each.is_unspecified for each in bound)
    return [each for each in own() if is_everywhere or ipaddress.ip_address(each) in bound]


def is_loopback_only(host: str) -> bool:
    """Return whether only this machine can reach a server that listens on `host`."""
    return all(each.is_loopback for each in _addresses_of(host))


def _addresses_of(host: str) -> set[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    try:
        answers = socket.getaddrinfo(host or None, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        return set()
    return {ipaddress.ip_address(str(place[0]).partition("%")[0]) for *_, place in answers}


def address_towards(host: str, port: int) -> str:
    """Return the address of this machine from which it reaches `host`. Nothing is sent.

    Raises OSError if there is no route.
    """
    family, kind, *_, place = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind) as sock:
        sock.connect(place)
        return str(sock.getsockname()[0])


def has_route() -> bool:
    """Return whether this machine has a way to other networks, over a device with a link."""
    address = _default_route_address()
    return bool(address) and all(has_link(name) for _, name in socket.if_nameindex() if _address_of(name) == address)


def has_link(device: str) -> bool:
    """Return whether a device is connected to a cable or to an access point.

    NetworkManager does not always notice that an access point has gone, and keeps its route.
    """
    try:
        with open(f"/sys/class/net/{device}/carrier", encoding="ascii") as file:  # noqa: PTH123 - not on a disk
            return file.read() == "1\n"
    except OSError:  # the device is gone, or switched off
        return False


def neighbours() -> list[str]:
    """Return the IPv4 addresses of the machines that the kernel has seen in the local networks."""
    with open("/proc/net/arp", encoding="ascii") as table:  # noqa: PTH123 - not a file on a disk
        rows = [line.split() for line in table][1:]
    return [row[0] for row in rows if int(row[2], 16) & _ARP_COMPLETE]


class AddressWatcher:
    """Call `on_change` in the event loop when this machine gains or loses an address.

    With `with_links`, it is also called when a device gains or loses its link. Other reports of the
    kernel about links, such as one for each scan for Wi-Fi networks, are ignored.
    """

    def __init__(self, on_change: Callable[[], None], *, with_links: bool = False) -> None:
        import asyncio  # noqa: PLC0415 - slow to import, and commands read addresses, too

        self._on_change, self._loop = on_change, asyncio.get_running_loop()
        self._socket: socket.socket | None = None
        netlink = None
        try:
            netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
            netlink.setblocking(False)
            netlink.bind((0, _RTMGRP_IPV4_IFADDR | (_RTMGRP_LINK if with_links else 0)))
        except OSError:  # without netlink, changes are not reported
            if netlink is not None:
                netlink.close()
            return
        self._socket = netlink
        self._links = self._read_links() if with_links else None
        self._loop.add_reader(netlink, self._on_event)

    def close(self) -> None:
        """Stop watching."""
        if self._socket is not None:
            self._loop.remove_reader(self._socket)
            self._socket.close()
            self._socket = None

    def _on_event(self) -> None:
        assert self._socket is not None
        with contextlib.suppress(OSError):  # also ENOBUFS: the buffer overflowed, so something has changed
            while self._socket.recv(65_536):
                pass
        if self._links is not None:
            before, self._links = self._links, self._read_links()
            if self._links == before:
                return
        self._on_change()

    def _read_links(self) -> list[tuple[str, str, bool]]:
        return [(name, _address_of(name), has_link(name)) for _, name in socket.if_nameindex()]


def _address_of(interface: str) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            answer = fcntl.ioctl(sock, _SIOCGIFADDR, struct.pack("256s", interface.encode()[:15]))
        except OSError:  # the device has no IPv4 address
            return ""
    return socket.inet_ntoa(answer[20:24])


def _default_route_address() -> str:
    """Return the address of the default route; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect(_TEST_ADDRESS)
        except OSError:
            return ""
        return str(sock.getsockname()[0])
