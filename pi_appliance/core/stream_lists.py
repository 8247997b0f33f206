"""Lists that web radios give out in place of their streams, M3U and PLS: which addresses are in them."""

import re
from urllib.parse import urljoin, urlsplit

ENDINGS = (".m3u", ".m3u8", ".pls")
"""How the addresses of such lists end."""
TYPES = frozenset(
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
"""What web servers call them."""
_MOST = 50  # addresses of one list; a station has a handful
_FILE = re.compile(r"file(\d{1,6})\s*=\s*(.+)", re.IGNORECASE)


def is_address_of_list(url: str) -> bool:
    """Say whether URL looks like that of a list, by its end."""
    try:
        return urlsplit(url).path.lower().endswith(ENDINGS)
    except ValueError:
        return False


def is_stream_in_parts(text: str) -> bool:
    """Say whether TEXT is no list of streams but a stream itself, cut into parts (HLS)."""
    return any(line.startswith("#EXT-X-") for line in text.splitlines())


def streams(text: str, address: str) -> list[str]:
    """Return the web addresses in the list TEXT, which came from ADDRESS, in its order, each once.

    Relative ones are those of a file beside it. What is no web address is left out.
    """
    lines = [line.strip() for line in text.removeprefix("\ufeff").splitlines()]
    found = _of_pls(lines) if any(line.lower() == "[playlist]" for line in lines) else _of_m3u(lines)
    joined = (_joined(address, each) for each in found)
    return list(dict.fromkeys(each for each in joined if is_web_address(each)))[:_MOST]


def is_web_address(url: str) -> bool:
    """Say whether URL is one that a player may be sent to: http or https, a host, nothing that could not be typed."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and url.isprintable() and " " not in url
    except ValueError:
        return False


def _of_pls(lines: list[str]) -> list[str]:
    numbered = [(int(match[1]), match[2].strip()) for match in map(_FILE.fullmatch, lines) if match]
    return [address for _, address in sorted(numbered, key=lambda each: each[0])]


def _of_m3u(lines: list[str]) -> list[str]:
    return [line for line in lines if line and not line.startswith("#")]


def _joined(address: str, found: str) -> str:
    try:
        return found if "://" in found else urljoin(address, found)
    except ValueError:
        return ""
