"""Memory that unrelated processes of one machine share, such as the workers of an executor.

A table is a file in a folder in memory. Each process that uses the table holds a lock on the file.
The lock ends with the process, so tables of killed processes are found and removed.
"""

import contextlib
import fcntl
import mmap
import os
import weakref
from pathlib import Path

FOLDER = Path("/dev/shm")  # noqa: S108 - a file of another user is not used
PREFIX = f"pi-appliance-{os.getuid()}-"
_OPEN_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC


def open_table(name: str, size: int, folder: Path = FOLDER) -> memoryview:
    """Return `size` bytes that all processes of this user share under `name`.

    They are zero at first.

    If the folder is missing or full, only this process has the bytes.
    """
    remove_unused_tables(folder)
    path = folder / f"{PREFIX}{name}"
    try:
        descriptor = _lock(path)
    except OSError:
        return memoryview(bytearray(size))
    try:
        os.posix_fallocate(descriptor, 0, size)  # reserved now: writing without room would kill the process
        table = mmap.mmap(descriptor, size)
    except OSError:
        _release(descriptor, path)
        return memoryview(bytearray(size))
    weakref.finalize(table, _release, descriptor, path)
    return memoryview(table)


def _lock(path: Path) -> int:
    """Return a descriptor of the file, with a lock that several processes may have.

    Raises OSError, also if the file belongs to another user, who could write wrong results into it.
    """
    while True:
        descriptor = os.open(path, _OPEN_FLAGS | os.O_CREAT, 0o600)
        if os.fstat(descriptor).st_uid != os.getuid():
            os.close(descriptor)
            raise PermissionError
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        if os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)  # another process removed the file before it was locked


def remove_unused_tables(folder: Path = FOLDER) -> None:
    """Remove the tables of this user that no process has."""
    for path in folder.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            _release(os.open(path, _OPEN_FLAGS), path)


def _release(descriptor: int, path: Path) -> None:
    """Close a table, and delete its file if no other process uses it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_nlink:
            path.unlink()
    except OSError:  # another process uses the table
        pass
    finally:
        os.close(descriptor)
