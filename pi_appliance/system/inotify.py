"""Notifications of the kernel about files, by inotify(7)."""

import ctypes
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CLOSE_WRITE, MOVED_TO, CREATE = 0x8, 0x80, 0x100
DELETE_SELF, MOVE_SELF, UNMOUNT, OVERFLOW, IGNORED = 0x400, 0x800, 0x2000, 0x4000, 0x8000
IS_DIRECTORY = 0x4000_0000
_ONLY_DIRECTORY = 0x0100_0000
_HEAD = struct.Struct("iIII")  # watch, events, cookie, length of the name
_BUFFER = 65_536  # bytes


@dataclass(frozen=True, slots=True)
class FileEvent:
    """An event of the folder with the number `watch`; `name` is that of the file in it, or ""."""

    watch: int
    events: int
    name: str


class Inotify:
    """Watches folders. Its file descriptor is readable when there are events."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = self._call("inotify_init1", os.O_NONBLOCK | os.O_CLOEXEC)

    def fileno(self) -> int:
        """Return the file descriptor."""
        return self._descriptor

    def watch(self, folder: Path, events: int) -> int:
        """Watch `folder` and return the number of the watch. Raises OSError."""
        return self._call("inotify_add_watch", self._descriptor, os.fsencode(folder), events | _ONLY_DIRECTORY)

    def unwatch(self, watch: int) -> None:
        """Remove the watch. Raises OSError if the kernel has removed it already."""
        self._call("inotify_rm_watch", self._descriptor, watch)

    def read(self) -> Iterator[FileEvent]:
        """Yield the events that are there."""
        try:
            data = os.read(self._descriptor, _BUFFER)
        except BlockingIOError:
            return
        start = 0
        while start < len(data):
            watch, events, _, length = _HEAD.unpack_from(data, start)
            start += _HEAD.size
            yield FileEvent(watch, events, os.fsdecode(data[start : start + length].rstrip(b"\0")))
            start += length

    def close(self) -> None:
        """Remove all watches."""
        os.close(self._descriptor)

    def _call(self, function: str, *arguments: int | bytes) -> int:
        result = int(getattr(self._libc, function)(*arguments))
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return result
