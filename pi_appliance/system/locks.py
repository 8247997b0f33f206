"""One lock a job, held for as long as its run lives. The kernel lets go of it, whatever ends the process.

The run's own process inherits the open file, so the lock is held until both the runner and the run are gone. The file
also carries how far the run is, whose process it is, and why it was asked to end: written in place now and then, it
says nothing once the lock is free.
"""

import contextlib
import fcntl
import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pi_appliance.errors import Refused
from pi_appliance.system.files import write_error

_LOOK = 0.05  # seconds between two tries; the kernel tells nobody who waits with a limit
_SLOWEST_LOOK = 1.0  # after a while of waiting
_ROOM = 1024  # bytes for each of the two texts in the file


@dataclass(frozen=True, slots=True)
class UnreportedResult:
    """How a run ended that could not tell the history."""

    run_id: int
    outcome: str
    summary: str
    ended_at: datetime
    attempts: int


@dataclass(slots=True)
class Lock:
    """A lock that is held. `number` is the open file, to be handed to the run's process."""

    fd: int
    slot: str | None = None
    """The slot that its run belongs to."""

    def write_status(self, run: int, done: float | None, note: str) -> None:
        """Write how far the run is, if the disk takes it: no run ends because nobody can be told of it."""
        text = _bytes({"run": run, "done": done, "note": note[:200], "pid": os.getpid(), "due": self.slot})
        with contextlib.suppress(OSError):
            os.pwrite(self.fd, text.ljust(_ROOM), 0)

    def leave_result(self, left: "UnreportedResult") -> None:
        """Write how the run ended, for who holds the lock next: the history takes nothing just now.

        The place is there already, so a full disk takes it.
        """
        text = _bytes(
            {
                "run": left.run_id,
                "due": self.slot,
                "ended": [left.outcome, left.summary[:150], left.ended_at.isoformat()],
                "attempts": left.attempts,
            }
        )
        with contextlib.suppress(OSError):
            os.pwrite(self.fd, text.ljust(_ROOM), 0)

    def previous_result(self) -> "UnreportedResult | None":
        """Return how the run before ended, if it had to leave that here."""
        try:
            told = json.loads(os.pread(self.fd, _ROOM, 0))
            outcome, summary, at = told["ended"]
            return UnreportedResult(
                int(told["run"]), str(outcome), str(summary), datetime.fromisoformat(at), int(told["attempts"])
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def stop_reason(self, run: int) -> str:
        """Return why somebody asked RUN to end by `ask_to_end`; '' if nobody did."""
        try:
            told = json.loads(os.pread(self.fd, _ROOM, _ROOM))
            return str(told["why"]) if told["run"] == run else ""
        except (OSError, ValueError, KeyError, TypeError):
            return ""


@contextlib.contextmanager
def acquire(
    path: Path, *, patience: float = 0.0, give_up: Callable[[], object] = lambda: False
) -> Iterator[Lock | None]:
    """Hold the lock PATH for the block; None if somebody else holds it for more than PATIENCE seconds.

    None, too, as soon as GIVE_UP says so. Raises Unavailable if it cannot be made.
    """
    try:
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise write_error(path, error) from None
    try:
        yield Lock(number) if _locked(number, time.monotonic() + patience, give_up) else None
    finally:
        os.close(number)


def _locked(number: int, until: float, give_up: Callable[[], object]) -> bool:
    """Lock the open file NUMBER, trying until then; say whether it is locked."""
    nap = _LOOK
    while True:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until or give_up():
                return False
            time.sleep(nap)
            nap = min(nap * 1.1, _SLOWEST_LOOK)
        else:
            return True


def read_status(path: Path) -> tuple[int, float | None, str] | None:
    """Return what the holder of the lock PATH said last: run, how far, doing what. None if it said nothing."""
    try:
        with path.open("rb") as file:
            told = json.loads(file.read(_ROOM))
        return int(told["run"]), told["done"], str(told["note"])
    except (OSError, ValueError, KeyError, TypeError):
        return None  # never held, or caught in the middle of a word: the next look will tell


def read_claim(path: Path) -> tuple[int, str | None] | None:
    """Return the last run that held the lock PATH, and the slot it belongs to. None if none is known."""
    try:
        with path.open("rb") as file:
            told = json.loads(file.read(_ROOM))
        return int(told["run"]), told.get("due")
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_locked(path: Path) -> bool:
    """Say whether somebody holds the lock PATH."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False  # never held
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(number)
    return False


def request_stop(path: Path, run: int, why: str) -> bool:
    """Ask RUN, which holds the lock PATH, to end because of WHY. False if it does not hold it (any more, or yet).

    Raises Refused if it belongs to another user.
    """
    try:
        number = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise write_error(path, error) from None
    try:
        told = json.loads(os.pread(number, _ROOM, 0))
        process = os.pidfd_open(int(told["pid"]))
        try:
            if told["run"] != run or not is_locked(path):
                return False
            os.pwrite(number, _bytes({"run": run, "why": why[:200]}).ljust(_ROOM), _ROOM)
            signal.pidfd_send_signal(process, signal.SIGTERM)
        finally:
            os.close(process)
    except PermissionError:
        raise Refused(f"run {run} belongs to another user; ask it to end as that user") from None
    except (OSError, ValueError, KeyError, TypeError):
        return False
    finally:
        os.close(number)
    return True


def _bytes(told: Mapping[str, object]) -> bytes:
    """Return TOLD as JSON that fits into its place: letters beyond ASCII as they are, four bytes at the most."""
    return json.dumps(told, ensure_ascii=False).encode("utf-8", "replace")
