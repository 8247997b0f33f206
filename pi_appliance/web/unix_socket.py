"""The unix socket on which the command line reaches the daemon.

The socket has mode 0660 and, if possible, belongs to the group `pi-appliance`: the file system
decides who may connect. The credentials of the peer are also checked (SO_PEERCRED, unix(7)), in
case the rights of the folder were changed.
"""

import asyncio
import contextlib
import grp
import os
import pwd
import socket
import struct
from dataclasses import dataclass
from pathlib import Path

from pi_appliance.errors import Refused
from pi_appliance.system.runtime_socket import DEFAULT_NAME, GROUP, socket_name, user_runtime_dir

_MODE = 0o660
_DIR_MODE = 0o750


@dataclass(frozen=True, slots=True)
class UnixSocket:
    """A listening socket, its path, and the link `api.sock` to it, unless another daemon has it."""

    listener: socket.socket
    path: Path

    def close(self) -> None:
        """Stop listening and remove the socket from the file system."""
        self.listener.close()
        link = self.path.with_name(DEFAULT_NAME)
        with contextlib.suppress(OSError):
            if link.readlink().name == self.path.name:
                link.unlink()
        self.path.unlink(missing_ok=True)


def listen(config: Path) -> UnixSocket:
    """Listen for commands to the daemon that reads `config`.

    Raises:
        Refused: another daemon reads that file, or the folder for the socket cannot be used.

    """
    folder = Path(os.environ.get("RUNTIME_DIRECTORY", "").partition(":")[0] or user_runtime_dir())
    path = folder / socket_name(str(config))
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        folder.mkdir(mode=_DIR_MODE, parents=True, exist_ok=True)
        if folder.stat().st_uid not in (os.geteuid(), 0):
            raise Refused(f"{folder} belongs to another user, so commands cannot be received there; remove it")
        if _is_alive(path):
            raise Refused(f"another daemon runs with {config}; stop it first, or look at it with `pi-appliance status`")
        path.unlink(missing_ok=True)
        listener.bind(str(path))
        path.chmod(_MODE)
        with contextlib.suppress(OSError, KeyError):  # not root, or no such group: then it is this user's alone
            os.chown(path, -1, grp.getgrnam(GROUP).gr_gid)
        listener.listen()
        listener.setblocking(False)
        _link(folder / DEFAULT_NAME, path)
    except OSError as error:
        listener.close()
        raise Refused(f"commands cannot be received at {path}: {error.strerror or error}") from None
    except Refused:
        listener.close()
        raise
    return UnixSocket(listener, path)


def _is_alive(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def _link(link: Path, path: Path) -> None:
    """Have `link` lead to `path`, unless it leads to a daemon that is alive."""
    if _is_alive(link):
        return
    draft = link.with_name(f".{path.name}.link")
    draft.unlink(missing_ok=True)
    draft.symlink_to(path.name)
    draft.replace(link)


def may_connect(transport: asyncio.BaseTransport) -> bool:
    """Return whether the peer may give commands; over TCP, always: the password decides."""
    connection = transport.get_extra_info("socket")
    if connection is None or connection.family != socket.AF_UNIX:
        return True
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, user, group = struct.unpack("3i", credentials)
    return user in (0, os.geteuid()) or _is_in_group(user, group)


def _is_in_group(user: int, group: int) -> bool:
    try:
        allowed = grp.getgrnam(GROUP)
        return group == allowed.gr_gid or pwd.getpwuid(user).pw_name in allowed.gr_mem
    except KeyError:
        return False
