"""Refuse addresses of this machine that somebody adds from the network.

MPD fetches what is in its queue. Without this check, a guest's phone could make it ask services
that listen on this machine only, or the metadata service of a cloud machine (169.254.169.254).
"""

import ipaddress
import socket
from collections.abc import Collection
from urllib.parse import urlsplit

from pi_appliance.errors import Refused
from pi_appliance.system.http import hide_credentials


def require_public_host(uri: str, allowed: Collection[str]) -> None:
    """Refuse `uri` if its host is this machine or a link-local address.

    It may wait for the name service: call it in a thread. A name that cannot be resolved passes,
    because MPD reports that better.

    Args:
        uri: A path of the library or an address.
        allowed: Hosts that may be used nevertheless, such as "localhost:8000" or "localhost".

    Raises:
        Refused: The host is not allowed.
    """
    if "://" not in uri:
        return
    try:
        parts = urlsplit(uri)
        host, place = parts.hostname or "", parts.netloc.rpartition("@")[2].lower()
    except ValueError:
        raise Refused(f"{hide_credentials(uri)!r} is not a valid address") from None
    if host in allowed or place in allowed:
        return
    try:
        answers = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM) if host else ()
    except (OSError, UnicodeError):
        return
    for *_, address in answers:
        if _is_internal(str(address[0])):
            raise Refused(
                f"{hide_credentials(uri)!r} leads to this machine or to a link-local address, so it cannot be added "
                "from the page; the owner can allow it under radio: in the configuration, "
                f"with local-hosts: [{place!r}]"
            )


def _is_internal(text: str) -> bool:
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return address.is_loopback or address.is_link_local or address.is_unspecified
