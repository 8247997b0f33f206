"""Requests of the service to units that run as root: small files in its runtime folder."""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

_MAX_REQUEST = 1024  # bytes


@contextlib.contextmanager
def read_request(request: Path) -> Iterator[str]:
    """Yield the content of the file `request`, "" without one, and delete the file at the end.

    The folder belongs to the service, which is not trusted here: links are not followed, only a
    file is read.
    """
    try:
        folder = os.open(request.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        yield ""
        return
    try:
        yield _read(request.name, folder)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(request.name, dir_fd=folder)
        os.close(folder)


def _read(name: str, folder: int) -> str:
    try:
        number = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        with os.fdopen(number, "rb") as file:
            return file.read(_MAX_REQUEST).decode("utf-8", "replace") if stat.S_ISREG(os.fstat(number).st_mode) else ""
    except OSError:
        return ""
