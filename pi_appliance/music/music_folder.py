"""The music folder of the MPD of this machine, and how music gets into it."""

import re
import stat
from dataclasses import dataclass
from pathlib import Path

from pi_appliance.config.model import Config
from pi_appliance.system import network

_SETTING = re.compile(r'^\s*music_directory\s+"([^"]+)"', re.MULTILINE)
_DEFAULT = "/var/lib/mpd/music"
LOCAL_ADDRESSES = ("localhost", "127.", "/")
"""How the addresses of a player of this machine begin."""


@dataclass(frozen=True, slots=True)
class MusicFolder:
    """The folder, the command that copies an album into it, and the one that lets users write."""

    path: Path
    copy_command: str
    open_command: str  # "" if others than root may write there


def has_local_player(config: Config) -> bool:
    """Return whether the player of the configuration runs on this machine."""
    address = getattr(config.player.options, "address", "") if config.player else ""
    return address.startswith(LOCAL_ADDRESSES)


def find_music_folder(config: Config, root: Path) -> MusicFolder | None:
    """Return the music folder of the MPD of the machine below `root`; None if it is not known."""
    if config.player is None or config.player.kind != "mpd" or not has_local_player(config):
        return None
    try:
        found = _SETTING.search((root / "etc/mpd.conf").read_text("utf-8", "replace"))
    except OSError:  # the configuration of MPD may be readable by MPD only
        found = None
    path = Path(found[1] if found else _DEFAULT)
    try:
        status = (root / path.relative_to("/")).stat()
    except (OSError, ValueError):  # it does not exist, or it is a server such as nfs://
        return None
    is_closed = status.st_uid == 0 and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return MusicFolder(
        path,
        f"scp -r Album USER@{network.host_name()}.local:{path}/",
        f'sudo chown "$USER" {path}' if is_closed else "",
    )
