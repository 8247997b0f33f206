"""A shelf on the disk: tables, books and checkpoints of puzzles, one file each, whole or not there.

A file is a header (magic, checksum, length) and what was kept. The checksum is looked at with every `load`: a card
that forgets bits is found out before a search believes it (100 MB take a Pi 4 about a tenth of a second).
"""

import contextlib
import mmap
import os
import re
import struct
import time
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from pi_appliance.puzzles.runtime.interface import is_board_specific
from pi_appliance.system import files

_SUFFIX, _DAMAGED = ".shelf", ".damaged"
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]*(?:/[a-z0-9][a-z0-9.-]*)?")
_DRAFT = re.compile(r"\..+\.new")
_DAY = 86_400.0  # seconds
_PATIENCE = 30 * _DAY  # until nobody asks any more for what is of one board, or was damaged
_HEADER = struct.Struct("<8sIQ")
_MAGIC = b"pi-shelf"
_PIECE = 1_000_000  # bytes that are read at once


class FileCache:
    """The Shelf of ports_work, in a folder. The folder is made when something is first kept."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, name: str) -> memoryview | None:
        """Return what was saved as NAME, mapped from its file; None if it is not there, or not to be read by us.

        A damaged file is set aside.
        """
        path = self._path(name)
        content = None
        try:
            with path.open("rb") as file:
                if _is_whole(file):
                    content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))[_HEADER.size :]
        except OSError:
            return None
        if content is None:
            with contextlib.suppress(OSError):  # one damaged file a name is enough to look at
                path.replace(path.with_suffix(_DAMAGED))
        elif is_board_specific(name):
            _touch(path)
        return content

    def save(self, name: str, parts: Iterable[bytes | bytearray | memoryview]) -> None:
        """Keep PARTS as NAME, durably, in place of what was there. Raises Unavailable."""
        path = self._path(name)
        files.make_folder(path.parent)
        length = checksum = 0
        with files.atomic_write(path) as file:
            file.write(bytes(_HEADER.size))
            for part in parts:
                view = memoryview(part).cast("B")
                checksum, length = zlib.crc32(view, checksum), length + view.nbytes
                file.write(view)
            file.seek(0)
            file.write(_HEADER.pack(_MAGIC, checksum, length))

    def remove(self, name: str) -> None:
        """Take NAME away; nothing happens if it is not there, or not ours to take: it only takes room then."""
        with contextlib.suppress(OSError):
            self._path(name).unlink()

    def names(self) -> list[str]:
        """Return what there is, sorted."""
        found = (path.relative_to(self._folder).as_posix() for path in self._folder.rglob(f"*{_SUFFIX}"))
        return sorted(name.removesuffix(_SUFFIX) for name in found)

    def sweep(self) -> None:
        """Take away what is of one board and was not asked for in a month, and what a power cut left half written.

        Boards are solved, changed or given up, and their checkpoints may fill a card.
        """
        now = time.time()
        for path in self._folder.rglob("*"):
            if path.suffix == _SUFFIX:
                left = _PATIENCE if is_board_specific(path.name) else None
            else:
                left = _PATIENCE if path.suffix == _DAMAGED else _DAY if _DRAFT.fullmatch(path.name) else None
            with contextlib.suppress(OSError):
                if left is not None and now - path.stat().st_mtime > left:
                    path.unlink()

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} cannot name what is on a shelf")
        return self._folder / f"{name}{_SUFFIX}"


def _touch(path: Path) -> None:
    """Note that PATH is in use, once a day: a card does not last forever."""
    with contextlib.suppress(OSError):
        if time.time() - path.stat().st_mtime > _DAY:
            os.utime(path)


def _is_whole(file: IO[bytes]) -> bool:
    """Say whether FILE holds what was written. Raises OSError, where a worn card does not give it back.

    Of a mapped file that would be a signal, and the end of the process.
    """
    header = file.read(_HEADER.size)
    if len(header) < _HEADER.size:
        return False
    length = checksum = 0
    while piece := file.read(_PIECE):
        checksum, length = zlib.crc32(piece, checksum), length + len(piece)
    return header == _HEADER.pack(_MAGIC, checksum, length)
