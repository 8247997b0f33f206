"""The addresses of streams: playlist files that contain them, and hosts that must not be used."""

import ipaddress
import re
import socket
import threading
import time
from collections.abc import Callable, Collection
from urllib.parse import urljoin, urlsplit

from pi_appliance.errors import ApplianceError, Refused, Unavailable
from pi_appliance.system.http import fetch, hide_credentials, is_web_address

PLAYLIST_SUFFIXES = (".m3u", ".m3u8", ".pls")
PLAYLIST_TYPES = frozenset(
    {
        "application/pls+xml",
        "application/vnd.apple.mpegurl",
        "application/x-mpegurl",
        "audio/mpegurl",
        "audio/scpls",
        "audio/x-mpegurl",
        "audio/x-scpls",
        "text/x-scpls",
    }
)
_MAX_STREAMS = 50  # addresses of one playlist file
_MAX_NESTING = 3  # how deep playlists may contain playlists
_PLS_ENTRY = re.compile(r"file(\d{1,6})\s*=\s*(.+)", re.IGNORECASE)
_PAGE_TYPES = ("text/html", "application/xhtml+xml")
_PLAY_TIMEOUT = 3.0  # seconds that a user waits after pressing play
_MAX_CONCURRENT = 3  # resolutions at the same time, because covers and host names use the same threads
_slots = threading.BoundedSemaphore(_MAX_CONCURRENT)


AddressCheck = Callable[[str], None]
"""Raises Refused for an address that must not be used."""


def allow_all(_: str) -> None:
    """Allow every address, as for the owner's own files and commands."""


def is_playlist_url(url: str) -> bool:
    """Return whether `url` ends like a playlist file."""
    try:
        return urlsplit(url).path.lower().endswith(PLAYLIST_SUFFIXES)
    except ValueError:
        return False


def is_hls(text: str) -> bool:
    """Return whether the playlist `text` is an HLS stream, which players play by its playlist."""
    return any(line.startswith("#EXT-X-") for line in text.splitlines())


def parse_playlist(text: str, address: str) -> list[str]:
    """Return the distinct web addresses in the M3U or PLS file `text`, in its order."""
    lines = [line.strip() for line in text.removeprefix("\ufeff").splitlines()]
    is_pls = any(line.lower() == "[playlist]" for line in lines)
    entries = _pls_entries(lines) if is_pls else [line for line in lines if line and not line.startswith("#")]
    absolute = (_absolute(address, each) for each in entries)
    return list(dict.fromkeys(each for each in absolute if is_web_address(each)))[:_MAX_STREAMS]


def _pls_entries(lines: list[str]) -> list[str]:
    numbered = [(int(match[1]), match[2].strip()) for match in map(_PLS_ENTRY.fullmatch, lines) if match]
    return [address for _, address in sorted(numbered, key=lambda each: each[0])]


def _absolute(address: str, entry: str) -> str:
    try:
        return entry if "://" in entry else urljoin(address, entry)
    except ValueError:
        return ""


def resolve_stream(url: str, *, seconds: float = 5.0, check_address: AddressCheck = allow_all) -> str:
    """Return the address of the stream: `url`, or the first entry of the playlist file there.

    It waits for the network: call it in a thread.

    Raises:
        Unavailable: `url` does not answer within `seconds`, or too many addresses are being
            checked.
        Refused: The answer is an error, a web page, or a playlist without a stream.
    """
    if not _slots.acquire(blocking=False):
        raise Unavailable(f"{_MAX_CONCURRENT} other addresses are being checked; try again in a moment")
    try:
        return _resolve(url, time.monotonic() + seconds, check_address)
    finally:
        _slots.release()


def _resolve(url: str, deadline: float, check_address: AddressCheck) -> str:
    first_url = url
    for _ in range(_MAX_NESTING):
        response = fetch(
            url,
            read_body=lambda head: _is_playlist_type(head.url, head.mime),
            seconds=max(0.1, deadline - time.monotonic()),
            check_address=check_address,
        )
        if response.mime in _PAGE_TYPES and not _is_playlist_type(response.url, response.mime):
            raise Refused(
                f"{hide_credentials(url)} is a web page; give the address of the stream, which the page may contain"
            )
        if not _is_playlist_type(response.url, response.mime) or is_hls(response.text):
            return url
        streams = parse_playlist(response.text, response.url)
        if not streams:
            raise Refused(f"{hide_credentials(url)} is a playlist without the address of a stream")
        url = streams[0]
        check_address(url)
        if not is_playlist_url(url):
            return url
    raise Refused(f"{hide_credentials(first_url)} is a playlist of playlists; give the address of the stream itself")


def try_resolve_stream(url: str, check_address: AddressCheck = allow_all) -> str:
    """Return the address of the stream, or `url` if it cannot be resolved.

    Raises Refused if it leads to an address that must not be used.
    """
    refusals = list[Refused]()

    def check(address: str) -> None:
        try:
            check_address(address)
        except Refused as error:
            refusals.append(error)
            raise

    try:
        return resolve_stream(url, seconds=_PLAY_TIMEOUT, check_address=check)
    except ApplianceError:
        if refusals:
            raise refusals[0] from None
        return url


def _is_playlist_type(url: str, mime: str) -> bool:
    if mime in PLAYLIST_TYPES:
        return True
    # Many servers send playlists as plain text, or without a type.
    return is_playlist_url(url) and not mime.startswith(("audio/", "video/"))


def require_public_host(uri: str, allowed: Collection[str]) -> None:
    """Refuse `uri` if its host is this machine or a link-local address.

    MPD fetches what is in its queue. Without this check, a guest's phone could make it ask services
    that listen on this machine only, or the metadata service of a cloud machine (169.254.169.254).
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
