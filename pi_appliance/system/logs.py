"""What a run printed: one file a run, made when there is something to keep, never longer than its cap."""

from io import FileIO
from pathlib import Path

from pi_appliance.system.files import cannot_write, make_folder

CAP = 1_000_000  # bytes a run may keep; a chatty job must not fill the card


class RunLog:
    """The log of one run, written as it comes. Not flushed to the card: a run is not worth a write for every line."""

    def __init__(self, path: Path, cap: int = CAP) -> None:
        self.path, self._cap = path, cap
        self._file: FileIO | None = None
        self._size = 0

    def write(self, chunk: bytes) -> None:
        """Keep CHUNK, or as much of it as fits. Raises Unavailable if the file cannot be written."""
        try:
            if self._file is None:
                make_folder(self.path.parent)
                # Unbuffered, so that it can be read while the run goes on.
                self._file = self.path.open("wb", buffering=0)
            self._file.write(chunk[: max(0, self._cap - self._size)])
            self._size += len(chunk)
        except OSError as error:
            raise cannot_write(self.path, error) from None

    def close(self) -> None:
        """Say how much was not kept, and close."""
        if self._file is None:
            return
        try:
            if self._size > self._cap:
                self._file.write(f"\n… {self._size - self._cap:,} bytes more were printed and not kept\n".encode())
            self._file.close()
        except OSError as error:
            raise cannot_write(self.path, error) from None


def read(path: Path) -> str:
    """Return what the log PATH holds; nothing if the run printed nothing."""
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
