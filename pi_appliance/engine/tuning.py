"""Finds the stream behind the address of a web radio, which may be that of a list of streams (.m3u, .m3u8, .pls)."""

import threading
import time

from pi_appliance.core import stream_lists
from pi_appliance.errors import ApplianceError, Refused, Unavailable
from pi_appliance.system.fetch import fetch

_LEVELS = 3  # lists that lead to lists
_PAGES = ("text/html", "application/xhtml+xml")
_AT_PLAY = 3.0  # seconds that somebody who has pressed a button waits
_AT_ONCE = 3  # addresses; each keeps one of the few threads that pictures and names of hosts need as well
_places = threading.BoundedSemaphore(_AT_ONCE)


def tune(url: str, *, seconds: float = 5.0) -> str:
    """Return the address of the stream that URL leads to: itself, unless a list answers there.

    A stream that is cut into parts (HLS) is played by its list. Raises Unavailable if URL is not reached in so many
    SECONDS, or too many others are being tried; Refused if what answers is no, or a list without a stream. It waits for
    the network: call it in a thread.
    """
    if not _places.acquire(blocking=False):
        raise Unavailable(f"{_AT_ONCE} other addresses are being tried just now; try again in a moment")
    try:
        return _tuned(url, time.monotonic() + seconds)
    finally:
        _places.release()


def _tuned(url: str, until: float) -> str:
    first = url
    for _ in range(_LEVELS):
        got = fetch(url, wanted=_is_list, seconds=max(0.1, until - time.monotonic()))
        if got.mime in _PAGES and not _is_list(got.url, got.mime):
            raise Refused(f"{url} is a web page; give the address of the stream, which it may name")
        if not _is_list(got.url, got.mime) or stream_lists.is_stream_in_parts(got.text):
            return url
        found = stream_lists.streams(got.text, got.url)
        if not found:
            raise Refused(f"{url} is a list without the address of a stream")
        url = found[0]
        if not stream_lists.is_address_of_list(url):
            return url
    raise Refused(f"{first} leads from list to list; give the address of the stream itself")


def tune_to_play(url: str) -> str:
    """As `tune`, for who is about to play URL: what cannot be found out is left to the player itself."""
    try:
        return tune(url, seconds=_AT_PLAY)
    except ApplianceError:
        return url


def _is_list(url: str, mime: str) -> bool:
    if mime in stream_lists.TYPES:
        return True
    # Many servers call a list plain text, or nothing at all.
    return stream_lists.is_address_of_list(url) and not mime.startswith(("audio/", "video/"))
