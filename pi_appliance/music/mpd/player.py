"""Player kind 'mpd': an MPD on this machine or elsewhere in the house. What it does stands in _mpd_player.py."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

if TYPE_CHECKING:
    from pi_appliance.music.mpd.playback import MpdPlayer


MpdAddress = Path | tuple[str, int]


def parse_address(text: str) -> MpdAddress:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys a player of this kind takes under `with:`."""

    address: Annotated[str, "host:port or the path of a socket; a password goes among the secrets, as MPD_PASSWORD"] = (
        "localhost:6600"
    )
    fallback_mpd: Annotated[bool, "use a built-in silent MPD while none answers"] = True
    music: Annotated[Path | None, "the music folder of the silent player; without it, an empty one"] = None
    partition: Annotated[str, "the partition of MPD to speak of; without it, MPD's first one"] = ""

    def check(self) -> list[tuple[tuple[str | int, ...], str, str]]:
        """Return what is wrong with the address: where, what, and what would be right."""
        try:
            parse_address(self.address)
        except ValueError as error:
            shown = "this" if "@" in self.address else repr(self.address)  # never a password
            return [(("address",), f"{shown} is not an address of MPD", str(error))]
        return []

    @property
    def place(self) -> MpdAddress:
        """Where it is: the path of a socket, or host and port."""
        return parse_address(self.address)


def connect(options: Options, secrets: Mapping[str, str]) -> "MpdPlayer":
    """Return the player. Nothing is sent before the first command; each command finds out for itself who is there."""
    from pi_appliance.music.mpd.playback import MpdPlayer  # noqa: PLC0415 - asyncio is as big as all the rest

    return MpdPlayer(options.address, options.place, secrets.get("MPD_PASSWORD", ""), options.partition)
