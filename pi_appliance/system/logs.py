"""What a run printed: one file a run, made when there is something to keep, never longer than its cap."""

import contextlib
import signal
from collections.abc import Iterator
from io import FileIO
from pathlib import Path

from pi_appliance.errors import DeadlineExceeded
from pi_appliance.system.files import make_directory, write_error

MAX_LOG_BYTES = 1_000_000  # bytes a run may keep; a chatty job must not fill the card


class RunLog:
    """The log of one run, written as it comes. Not flushed to the card: a run is not worth a write for every line.

    Of more than the cap, the first half and the last are kept: how it began and how it ended say more than the middle.
    """

    def __init__(self, path: Path, cap: int = MAX_LOG_BYTES) -> None:
        self.path, self._cap, self._half = path, cap, cap // 2
        self._file: FileIO | None = None
        self._size = 0
        self._end = bytearray()  # what was printed last, from a half to two halves of the cap

    def write(self, chunk: bytes) -> None:
        """Keep CHUNK, for the time being at least. Raises Unavailable if the file cannot be written."""
        try:
            if self._file is None:
                make_directory(self.path.parent)
                # Unbuffered, so that it can be read while the run goes on.
                self._file = self.path.open("wb", buffering=0)
            self._file.write(chunk[: max(0, self._cap - self._size)])
        except OSError as error:
            raise write_error(self.path, error) from None
        self._size += len(chunk)
        self._end += chunk
        if len(self._end) > self._cap:
            del self._end[: -self._half]

    def close(self) -> None:
        """Put the end of what was too long in its place, say how much was not kept, and close."""
        if self._file is None:
            return
        try:
            if self._size > self._cap:
                left_out = self._size - 2 * self._half
                self._file.seek(self._half)
                self._file.truncate()
                self._file.write(f"\n… {left_out:,} bytes more were printed and not kept …\n".encode())
                self._file.write(self._end[-self._half :])
            self._file.close()
        except OSError as error:
            raise write_error(self.path, error) from None


def read_log(path: Path) -> str:
    """Return what the log PATH holds; nothing if the run printed nothing."""
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Let the block take SECONDS. Raises OutOfTime in it, and once more each second if that is not taken for an end.

    A look-up of a name cannot be interrupted; the error comes when it has ended.
    """

    def ring(*_: object) -> None:
        raise DeadlineExceeded(f"it took longer than {seconds:.0f}s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
