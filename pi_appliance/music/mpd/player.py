"""Player kind `mpd`: an MPD on this machine or in the local network, and its music folder here."""

import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pi_appliance.config.options import Config
from pi_appliance.errors import Issues
from pi_appliance.system import network
from pi_appliance.system.files import expand_user

if TYPE_CHECKING:
    from pi_appliance.music.mpd.playback import MpdPlayer

_MUSIC_SETTING = re.compile(r'^\s*music_directory\s+"([^"]+)"', re.MULTILINE)
_DEFAULT_MUSIC = "/var/lib/mpd/music"
LOCAL_ADDRESSES = ("localhost", "127.", "/")
"""How the addresses of a player of this machine begin."""

MpdAddress = Path | tuple[str, int]


def parse_address(text: str) -> MpdAddress:
    """Parse an address such as localhost:6600, [::1]:6600 or /run/mpd/socket.

    Raises:
        ValueError: it is not valid; the message says what to write.
    """
    if text.startswith(("/", "~")):
        return expand_user(text)
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
    """Options under `with:` of a player of kind `mpd`."""

    address: Annotated[
        str, "host:port or the path of a socket; the password belongs into the secrets, as MPD_PASSWORD"
    ] = "localhost:6600"
    fallback_mpd: Annotated[bool, "use a built-in silent MPD while none answers"] = True
    music: Annotated[Path | None, "the music folder of the silent player; without it, an empty one"] = None
    partition: Annotated[str, "the partition of MPD to use; without it, the default one"] = ""

    def check(self) -> Issues:
        """Return the problems: key, message, hint."""
        try:
            parse_address(self.address)
        except ValueError as error:
            shown = "this" if "@" in self.address else repr(self.address)  # an address with a password is not repeated
            return [(("address",), f"{shown} is not an address of MPD", str(error))]
        return []

    @property
    def place(self) -> MpdAddress:
        """The parsed address: the path of a socket, or host and port."""
        return parse_address(self.address)


def connect(options: Options, secrets: Mapping[str, str]) -> "MpdPlayer":
    """Return the player.

    Nothing is sent before the first command, and each command opens its own connection.
    """
    from pi_appliance.music.mpd.playback import MpdPlayer  # noqa: PLC0415 - asyncio is slow to import

    return MpdPlayer(options.address, options.place, secrets.get("MPD_PASSWORD", ""), options.partition)


@dataclass(frozen=True, slots=True)
class MusicFolder:
    """The music folder of MPD, with two commands for the owner.

    One copies an album into the folder, the other lets users write there.
    """

    path: Path
    copy_command: str
    open_command: str  # "" if users can write there already


def has_local_player(config: Config) -> bool:
    """Return whether the player of the configuration runs on this machine."""
    address = getattr(config.player.options, "address", "") if config.player else ""
    return address.startswith(LOCAL_ADDRESSES)


def find_music_folder(config: Config, root: Path) -> MusicFolder | None:
    """Return the music folder of the MPD of the machine below `root`; None if it is not known."""
    if config.player is None or config.player.kind != "mpd" or not has_local_player(config):
        return None
    try:
        found = _MUSIC_SETTING.search((root / "etc/mpd.conf").read_text("utf-8", "replace"))
    except OSError:  # only MPD may be able to read its configuration
        found = None
    path = Path(found[1] if found else _DEFAULT_MUSIC)
    try:
        status = (root / path.relative_to("/")).stat()
    except (OSError, ValueError):  # the folder does not exist, or is a server such as nfs://
        return None
    is_closed = status.st_uid == 0 and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return MusicFolder(
        path,
        f"scp -r Album USER@{network.host_name()}.local:{path}/",
        f'sudo chown "$USER" {path}' if is_closed else "",
    )
