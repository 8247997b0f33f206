"""One lock a job, held for as long as its run lives. The kernel lets go of it, whatever ends the process.

The run's own process inherits the open file, so the lock is held until both the runner and the run are gone. The file
also carries how far the run is: written in place now and then, it says nothing once the lock is free.
"""

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pi_appliance.system.files import cannot_write

_LOOK = 0.05  # seconds between two tries; the kernel tells nobody who waits with a limit


@dataclass(slots=True)
class Lock:
    """A lock that is held. `number` is the open file, to be handed to the run's process."""

    number: int

    def say(self, run: int, done: float | None, note: str) -> None:
        """Write how far the run is, if the disk takes it: no run ends because nobody can be told of it."""
        text = json.dumps({"run": run, "done": done, "note": note[:200]}).encode()
        with contextlib.suppress(OSError):
            os.pwrite(self.number, text.ljust(512), 0)


@contextlib.contextmanager
def taken(path: Path, *, patience: float = 0.0) -> Iterator[Lock | None]:
    """Hold the lock PATH for the block; None if somebody else holds it for more than PATIENCE seconds.

    Raises Unavailable if it cannot be made.
    """
    try:
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise cannot_write(path, error) from None
    try:
        yield Lock(number) if _locked(number, time.monotonic() + patience) else None
    finally:
        os.close(number)


def _locked(number: int, until: float) -> bool:
    """Lock the open file NUMBER, trying until then; say whether it is locked."""
    while True:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(_LOOK)
        else:
            return True


def said(path: Path) -> tuple[int, float | None, str] | None:
    """Return what the holder of the lock PATH said last: run, how far, doing what. None if it said nothing."""
    try:
        told = json.loads(path.read_bytes())
        return int(told["run"]), told["done"], str(told["note"])
    except (OSError, ValueError, KeyError, TypeError):
        return None  # never held, or caught in the middle of a word: the next look will tell
