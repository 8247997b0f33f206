"""Where an MPD is: host:port, or the path of its socket."""

from pathlib import Path

Place = Path | tuple[str, int]


def parse(text: str) -> Place:
    """Read TEXT such as localhost:6600, [::1]:6600 or /run/mpd/socket. Raises ValueError with what would be right."""
    if text.startswith(("/", "~")):
        return Path(text).expanduser()
    if "@" in text:
        raise ValueError("a password does not belong here; put MPD_PASSWORD=… among the secrets")
    host, _, port = text.rpartition(":")
    if not host or not port.isascii() or not port.isdecimal():
        raise ValueError("write host:port such as localhost:6600, or the path of a socket such as /run/mpd/socket")
    if not 0 < int(port) < 65_536:
        raise ValueError("a port is a number from 1 to 65535")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError(f"write an IPv6 address in brackets, such as [{host}]:{port}")
    return host, int(port)
