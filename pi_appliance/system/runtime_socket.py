"""Where the daemon listens for commands: the folder and the name of its unix socket.

The command line imports this at every start, so it imports next to nothing.
"""

import os
from zlib import crc32

GROUP = "pi-appliance"
"""The group whose members may give commands to the system service."""
SYSTEM_DIR = "/run/pi-appliance"
DEFAULT_NAME = "api.sock"
"""A symbolic link to the socket of the daemon that was started first."""

NO_HANDOVER = "PI_APPLIANCE_NO_HANDOVER"
"""Set in the environment of the runs that the daemon starts: they must not hand themselves to the daemon again."""


def user_runtime_dir() -> str:
    """Return the folder in which a daemon of this user listens."""
    base = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    # `su` keeps the variable, which then names a folder of the other user.
    is_usable = os.access(base, os.W_OK | os.X_OK)
    return f"{base}/pi-appliance" if is_usable else f"/tmp/pi-appliance-{os.getuid()}"  # noqa: S108


def socket_name(config: str) -> str:
    """Return the name of the socket of the daemon that reads the file `config`, whatever link leads to it."""
    return f"{crc32(os.fsencode(os.path.realpath(config))):08x}.sock"
