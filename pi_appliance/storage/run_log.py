"""The log of a run, which is limited in size."""

import contextlib
from io import FileIO
from pathlib import Path
from typing import Self

from pi_appliance.system.files import make_directory, write_error

MAX_LOG_BYTES = 1_000_000  # a job with much output must not fill the SD card


class RunLog:
    """The log of one run.

    It is created by the first write and not synced, which spares the SD card.

    If the output is longer than `cap` bytes, its first half and its last half are kept.
    """

    def __init__(self, path: Path, cap: int = MAX_LOG_BYTES) -> None:
        self.path, self.cap, self._half = path, cap, cap // 2
        self._file: FileIO | None = None
        self._size = 0
        self._end = bytearray()  # tail buffer: between cap/2 and cap bytes of the latest output

    @classmethod
    def resume(cls, path: Path, cap: int = MAX_LOG_BYTES) -> Self:
        """Continue the log that another process began. It `is_complete`."""
        log = cls(path, cap)
        with contextlib.suppress(FileNotFoundError):
            log._end += path.read_bytes()
            log._size = len(log._end)
            log._file = path.open("r+b", buffering=0)
            log._file.seek(log._size)
        return log

    @property
    def is_complete(self) -> bool:
        """Whether the file has all output so far, and room for more."""
        return self._size <= self._half

    def tail(self, size: int) -> bytes:
        """Return the last `size` bytes that were written."""
        return bytes(self._end[-size:])

    def write(self, chunk: bytes) -> None:
        """Append `chunk`. Raises Unavailable if the file cannot be written."""
        try:
            if self._file is None:
                make_directory(self.path.parent)
                # Unbuffered, so that the log can be read during the run.
                self._file = self.path.open("wb", buffering=0)
            self._file.write(chunk[: max(0, self.cap - self._size)])
        except OSError as error:
            raise write_error(self.path, error) from None
        self._size += len(chunk)
        self._end += chunk
        if len(self._end) > self.cap:
            del self._end[: -self._half]

    def close(self) -> None:
        """Write the tail of an output that is too long, note how much is missing, and close."""
        if self._file is None:
            return
        try:
            if self._size > self.cap:
                omitted = self._size - 2 * self._half
                self._file.seek(self._half)
                self._file.truncate()
                self._file.write(f"\n… {omitted:,} bytes of output omitted …\n".encode())
                self._file.write(self._end[-self._half :])
            self._file.close()
        except OSError as error:
            raise write_error(self.path, error) from None


def read_log(path: Path) -> str:
    """Return the content of the log `path`; '' if the run printed nothing."""
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
