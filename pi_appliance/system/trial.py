"""Whether a folder can be written: by doing it, as the user who will have to."""

import contextlib
import os
import pwd
import secrets
from collections.abc import Iterator
from pathlib import Path


def write(folder: Path) -> str:
    """Write a small file into FOLDER, have it on the disk, and remove it. Return why that fails, '' if it does not."""
    path = folder / f".trial.{secrets.token_hex(4)}"
    try:
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.write(number, b"can this be written?\n")
            os.fsync(number)
        finally:
            os.close(number)
            path.unlink()
    except OSError as error:
        return str(error.strerror)
    return ""


def nearest(folder: Path) -> Path:
    """Return FOLDER, or the folder above it that is there."""
    while folder != folder.parent and not _is_there(folder):
        folder = folder.parent
    return folder


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # it lies in a folder that keeps us out
        return False


def name_of(user: int) -> str:
    """Return the name of the user with that number, or #NUMBER."""
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"#{user}"


@contextlib.contextmanager
def acting_as(user: int) -> Iterator[None]:
    """Let root do what is in the block as USER would; nothing for others, who cannot change who they are."""
    if os.geteuid() != 0 or user == 0:
        yield
        return
    try:
        group = pwd.getpwuid(user).pw_gid
    except KeyError:
        group = user
    before, groups = os.getegid(), os.getgroups()
    os.setgroups([group])
    os.setegid(group)
    os.seteuid(user)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(before)
        os.setgroups(groups)
