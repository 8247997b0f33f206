"""Unpack archives that somebody may have changed.

`TarFile.extractall(filter="data")` needs Python 3.11.4, and Debian 12 has 3.11.2.
"""

import os
import shutil
import tarfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from pi_appliance.errors import Refused

_CHUNK = 1 << 20  # bytes


def is_inside(name: str) -> bool:
    """Return whether `name` in an archive stays below the folder that it is unpacked to."""
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts


def unpack_files(archive: tarfile.TarFile, members: Iterable[tarfile.TarInfo], folder: Path) -> None:
    """Write the regular files among `members` below `folder`, which only their owner can read.

    Links, devices and folders without files are left out.

    Raises:
        Refused: The name of a member leads out of `folder`.
        OSError: A file cannot be written.
        tarfile.TarError: The archive is damaged.
    """
    for member in members:
        if not is_inside(member.name):
            raise Refused(f"{archive.name!s} is not a backup of pi-appliance: {member.name!r} leads out of it")
        source = archive.extractfile(member) if member.isreg() else None
        if source is not None:
            path = folder / member.name
            path.parent.mkdir(parents=True, exist_ok=True)
            private = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
            with os.fdopen(private, "wb") as target:
                shutil.copyfileobj(source, target, _CHUNK)
