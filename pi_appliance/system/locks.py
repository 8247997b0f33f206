"""Lock files, one for each job, that also carry the status of the run.

The kernel releases a lock when the process ends. The worker inherits the open file, so the lock is
held until both the runner and the worker have ended. The file contains progress, process id and the
reason of a requested stop. Its content means nothing once the lock is free.
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

_POLL_INTERVAL = 0.05  # seconds; flock has no timeout
_MAX_POLL_INTERVAL = 1.0  # seconds
_BLOCK = 1024  # bytes for each of the two JSON texts in the file


@dataclass(frozen=True, slots=True)
class UnreportedResult:
    """The result of a run that could not be written to the history."""

    run_id: int
    outcome: str
    summary: str
    ended_at: datetime
    attempts: int


@dataclass(slots=True)
class Lock:
    """A lock that is held. `fd` is the open file, which the worker inherits."""

    fd: int
    slot: str | None = None
    """The slot of its run."""

    def write_status(self, run: int, done: float | None, note: str) -> None:
        """Write the progress of the run. A full disk is ignored: it must not end the run."""
        text = _bytes({"run": run, "done": done, "note": note[:200], "pid": os.getpid(), "due": self.slot})
        with contextlib.suppress(OSError):
            os.pwrite(self.fd, text.ljust(_BLOCK), 0)

    def leave_result(self, result: "UnreportedResult") -> None:
        """Write the result for the next holder, even on a full disk: the block is allocated."""
        text = _bytes(
            {
                "run": result.run_id,
                "due": self.slot,
                "ended": [result.outcome, result.summary[:150], result.ended_at.isoformat()],
                "attempts": result.attempts,
            }
        )
        with contextlib.suppress(OSError):
            os.pwrite(self.fd, text.ljust(_BLOCK), 0)

    def previous_result(self) -> "UnreportedResult | None":
        """Return the result that the previous run left here, if any."""
        try:
            status = json.loads(os.pread(self.fd, _BLOCK, 0))
            outcome, summary, at = status["ended"]
            return UnreportedResult(
                int(status["run"]), str(outcome), str(summary), datetime.fromisoformat(at), int(status["attempts"])
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def stop_reason(self, run: int) -> str:
        """Return the reason given to `request_stop` for `run`, or ''."""
        try:
            status = json.loads(os.pread(self.fd, _BLOCK, _BLOCK))
            return str(status["why"]) if status["run"] == run else ""
        except (OSError, ValueError, KeyError, TypeError):
            return ""


@contextlib.contextmanager
def acquire(
    path: Path, *, patience: float = 0.0, give_up: Callable[[], object] = lambda: False
) -> Iterator[Lock | None]:
    """Hold the lock `path` for the block, or yield None if another process holds it.

    Args:
        path: the lock file.
        patience: seconds to wait for it.
        give_up: stop waiting as soon as this returns True.

    Raises:
        Unavailable: the file cannot be created.
    """
    try:
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise write_error(path, error) from None
    try:
        yield Lock(number) if _try_lock(number, time.monotonic() + patience, give_up) else None
    finally:
        os.close(number)


def _try_lock(number: int, until: float, give_up: Callable[[], object]) -> bool:
    """Try to lock the open file `number` until the time `until`."""
    delay = _POLL_INTERVAL
    while True:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until or give_up():
                return False
            time.sleep(delay)
            delay = min(delay * 1.1, _MAX_POLL_INTERVAL)
        else:
            return True


def read_status(path: Path) -> tuple[int, float | None, str] | None:
    """Return run, progress and note of the holder of the lock `path`; None if there are none."""
    try:
        with path.open("rb") as file:
            status = json.loads(file.read(_BLOCK))
        return int(status["run"]), status["done"], str(status["note"])
    except (OSError, ValueError, KeyError, TypeError):
        return None  # never held, or being written at this moment


def read_claim(path: Path) -> tuple[int, str | None] | None:
    """Return the last run that held the lock `path`, and its slot; None if unknown."""
    try:
        with path.open("rb") as file:
            status = json.loads(file.read(_BLOCK))
        return int(status["run"]), status.get("due")
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_locked(path: Path) -> bool:
    """Return whether the lock `path` is held."""
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
    """Ask `run`, the holder of the lock `path`, to stop for the reason `why`.

    Returns:
        False if it does not hold the lock.

    Raises:
        Refused: it belongs to another user.
    """
    try:
        number = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise write_error(path, error) from None
    try:
        status = json.loads(os.pread(number, _BLOCK, 0))
        process = os.pidfd_open(int(status["pid"]))
        try:
            if status["run"] != run or not is_locked(path):
                return False
            os.pwrite(number, _bytes({"run": run, "why": why[:200]}).ljust(_BLOCK), _BLOCK)
            signal.pidfd_send_signal(process, signal.SIGTERM)
        finally:
            os.close(process)
    except PermissionError:
        raise Refused(f"run {run} belongs to another user; stop it as that user") from None
    except (OSError, ValueError, KeyError, TypeError):
        return False
    finally:
        os.close(number)
    return True


def _bytes(status: Mapping[str, object]) -> bytes:
    """Return `status` as JSON, not escaped, so that it fits into a block."""
    return json.dumps(status, ensure_ascii=False).encode("utf-8", "replace")


WAKEUP_FILE = "daemon.lock"  # in the state folder
WAKEUP_SIGNAL = signal.SIGUSR1


@contextlib.contextmanager
def listen_for_wakeup(path: Path) -> Iterator[None]:
    """Let other processes wake this daemon by the file `path` for the duration of the block.

    The caller must handle the signal `RING` before it enters.

    Raises:
        Refused: another daemon has the file, so it uses the same state folder.
        Unavailable: the file cannot be made.
    """
    with acquire(path) as lock:
        if lock is None:
            raise Refused(
                f"another daemon uses {path.parent}; stop it first, or give this one a state folder of its own"
            )
        lock.write_status(0, None, "")
        yield


def wake_daemon(path: Path) -> bool:
    """Wake the daemon of the file `path`, if there is one. Raises Refused for another user's."""
    try:
        status = json.loads(path.read_bytes().strip(b"\0 ") or b"{}")
        process = os.pidfd_open(int(status["pid"]))
    except (OSError, ValueError, KeyError, TypeError):
        return False
    try:
        # The lock is checked after the process was opened, so a recycled process id cannot be
        # mistaken for it.
        if not is_locked(path):
            return False
        signal.pidfd_send_signal(process, WAKEUP_SIGNAL)
    except PermissionError:
        raise Refused("the daemon belongs to another user; do this as that user") from None
    except ProcessLookupError:
        return False
    finally:
        os.close(process)
    return True
