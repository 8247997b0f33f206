"""Files: atomic and durable writing, write probes, and the locks of jobs."""

import contextlib
import errno
import fcntl
import grp
import io
import json
import os
import pwd
import secrets
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO

from pi_appliance.errors import Refused, Unavailable
from pi_appliance.system.runtime_socket import GROUP, JOIN_GROUP

_POLL_INTERVAL = 0.05  # seconds; flock has no timeout
_MAX_POLL_INTERVAL = 1.0  # seconds, reached after a long wait
_BLOCK = 1024  # bytes for each of the two JSON texts in the file
_MIN_FREE = 128 * 1024  # bytes; the records of one run need a little less


@contextlib.contextmanager
def atomic_write(path: Path, *, mode: int = 0o644) -> Iterator[IO[bytes]]:
    """Yield a file that replaces `path` when the block ends without an error.

    The folder must exist. Raises Unavailable if the disk is full, if the folder is not writable, or
    if `path` is not a regular file: replacing /dev/null would break the machine.
    """
    if path.exists() and not path.is_file():
        raise Unavailable(f"{path} is not a regular file; choose another name")
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")
    try:
        try:
            with os.fdopen(_open_draft(draft, mode), "wb") as file:
                os.fchmod(file.fileno(), mode)  # sets the mode regardless of the umask
                yield file
                file.flush()
                os.fsync(file.fileno())
                if not draft.exists():
                    _name(file.fileno(), draft)
            draft.replace(path)
            sync_directory(path.parent)
        except OSError as error:
            raise write_error(path, error) from None
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()


def _name(number: int, draft: Path) -> None:
    """Link the open file `number` as `draft`.

    Without a directory fd, Python would link the symlink in /proc itself.
    """
    folder = os.open(draft.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.link(f"/proc/self/fd/{number}", draft.name, dst_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def _open_draft(draft: Path, mode: int) -> int:
    """Open an unnamed file, so that a killed process leaves nothing behind.

    On file systems without unnamed files (FAT, old overlays) it is named `draft` from the start.
    """
    try:
        return os.open(draft.parent, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, mode)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL):
            raise
    return os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)


@contextlib.contextmanager
def atomic_write_text(path: Path) -> Iterator[IO[str]]:
    """Do the same as `atomic_write`, for text in UTF-8."""
    with atomic_write(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
        yield text
        text.flush()
        text.detach()


def write_file(path: Path, content: bytes, *, mode: int = 0o644) -> None:
    """Replace `path` by `content` atomically. Raises Unavailable."""
    with atomic_write(path, mode=mode) as file:
        file.write(content)


def make_directory(path: Path, *, mode: int = 0o755) -> Path:
    """Create the directory `path` and its parents, and return it. Raises Unavailable."""
    try:
        path.mkdir(mode=mode, parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(path, error) from None
    return path


def require_free_space(folder: Path) -> None:
    """Raise Unavailable, with a hint, if `folder` is not writable or its disk is full."""
    disk = os.statvfs(folder)
    if disk.f_flag & os.ST_RDONLY:
        raise Unavailable(f"{folder} is read-only: mount it so that it can be written; is the card worn out?")
    if not os.access(folder, os.W_OK):
        raise Unavailable(f"{folder} cannot be written; {access_advice(folder)}")
    if disk.f_bavail * disk.f_frsize < _MIN_FREE:
        raise Unavailable(f"{folder} is full: make room there")


def sync_directory(folder: Path) -> None:
    """Sync the directory `folder`, so that its entries survive a power cut."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def write_error(path: Path, error: OSError) -> Unavailable:
    """Return the error for a failed write to `path`, with its remedy."""
    if isinstance(error, PermissionError):
        advice = access_advice(path.parent)
    elif error.errno in (errno.ENOSPC, errno.EDQUOT):
        advice = f"make room in {path.parent}"
    elif error.errno == errno.ENOENT:
        advice = f"create the folder {path.parent}"
    else:
        advice = f"check the rights and the free space of {path.parent}"
    return Unavailable(f"{path} cannot be written: {error.strerror}; {advice}")


def access_advice(folder: Path) -> str:
    """Return how this user gets the right to use the file or folder `folder`."""
    place = nearest_existing(folder)
    owner = place.stat().st_uid
    name = user_name(owner)
    if owner == os.geteuid() or os.geteuid() == 0:
        return f"check the rights of {place}"
    if name != GROUP:
        return f"{place} belongs to {name}; run this as that user: sudo -u {name} …"
    if _is_in_group(GROUP):
        return f"{place} belongs to the appliance; start it with `sudo systemctl start {GROUP}`"
    return f"{place} belongs to the appliance, which only the group {GROUP} may use; {JOIN_GROUP}"


def _is_in_group(name: str) -> bool:
    try:
        return grp.getgrnam(name).gr_gid in (os.getegid(), *os.getgroups())
    except KeyError:
        return False


def probe_write(folder: Path) -> str:
    """Write, sync and remove a small file in `folder`. Return the reason of a failure, or ''."""
    path = folder / f".probe.{secrets.token_hex(4)}"
    try:
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.write(number, b"probe\n")
            os.fsync(number)
        finally:
            os.close(number)
            path.unlink()
    except OSError as error:
        return str(error.strerror)
    return ""


def nearest_existing(folder: Path) -> Path:
    """Return `folder`, or its nearest parent that exists."""
    while folder != folder.parent and not _exists(folder):
        folder = folder.parent
    return folder


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a parent folder is not accessible
        return False


def expand_user(text: str) -> Path:
    """Return the path `text`, in which ~ is a home. Raises ValueError for an unknown user."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise ValueError(f"no user owns {text!r}; write the whole path") from None


def display_path(path: Path) -> str:
    """Return `path` relative to the working directory if it is below it."""
    try:
        here = Path.cwd()
        return str(path.relative_to(here)) if here != Path("/") else str(path)
    except (ValueError, OSError):  # the path is not below it, or the working directory was removed
        return str(path)


def user_name(user: int) -> str:
    """Return the name of the user with the id `user`, or `#` and the id."""
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"#{user}"


@contextlib.contextmanager
def as_user(user: int) -> Iterator[None]:
    """Run the block with the rights of `user` if this process is root; otherwise change nothing."""
    if os.geteuid() != 0 or user == 0:
        yield
        return
    try:
        group = pwd.getpwuid(user).pw_gid
    except KeyError:
        group = user
    before, groups = os.getegid(), os.getgroups()
    os.setgroups([group])
    os.setegid(group)
    os.seteuid(user)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(before)
        os.setgroups(groups)


# Lock files, one for each job, which also contain the status of the run. The kernel releases a lock
# when the process ends. The worker inherits the open file, so the lock is held until the runner and
# the worker have both ended. The content means nothing once the lock is free.


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
        text = _to_bytes({"run": run, "done": done, "note": note[:200], "pid": os.getpid(), "due": self.slot})
        with contextlib.suppress(OSError):
            os.pwrite(self.fd, text.ljust(_BLOCK), 0)

    def leave_result(self, result: "UnreportedResult") -> None:
        """Write the result for the next holder, even on a full disk: the block is allocated."""
        text = _to_bytes(
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
        """Return the result that the previous run stored in the lock file, if any."""
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
def acquire_lock(
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


def read_lock_status(path: Path) -> tuple[int, float | None, str] | None:
    """Return run, progress and note of the holder of the lock `path`; None if there are none."""
    try:
        with path.open("rb") as file:
            status = json.loads(file.read(_BLOCK))
        return int(status["run"]), status["done"], str(status["note"])
    except (OSError, ValueError, KeyError, TypeError):
        return None  # no run has held the lock yet, or it is being written at this moment


def read_lock_claim(path: Path) -> tuple[int, str | None] | None:
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
        return False  # no run has held the lock yet
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
            os.pwrite(number, _to_bytes({"run": run, "why": why[:200]}).ljust(_BLOCK), _BLOCK)
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


def _to_bytes(status: Mapping[str, object]) -> bytes:
    """Return `status` as JSON. Letters are not escaped, so that a long note fits into a block."""
    return json.dumps(status, ensure_ascii=False).encode("utf-8", "replace")


WAKEUP_FILE = "daemon.lock"  # in the state folder
WAKEUP_SIGNAL = signal.SIGUSR1


@contextlib.contextmanager
def listen_for_wakeup(path: Path) -> Iterator[Lock]:
    """Let other processes wake this daemon by the file `path` for the duration of the block.

    Yields the lock. The status note of the lock has the addresses of this daemon, which a second
    daemon reports when it is refused. The caller must handle `WAKEUP_SIGNAL` before it enters.

    Yields the lock. A second daemon reports the note of its status, the addresses of the first.

    The caller must handle `WAKEUP_SIGNAL` before it enters.

    Raises:
        Refused: another daemon has the file, so it uses the same state folder.
        Unavailable: the file cannot be made.
    """
    with acquire_lock(path) as lock:
        if lock is None:
            raise Refused(
                f"another daemon{_describe_holder(path)} uses {path.parent}; stop it first: "
                "two would start the same jobs twice"
            )
        lock.write_status(0, None, "")
        yield lock


def _describe_holder(path: Path) -> str:
    """Return process and addresses of the daemon that holds the lock `path`, in brackets."""
    try:
        status = json.loads(path.read_bytes()[:_BLOCK])
        names = [f"process {status['pid']}", status["note"]]
        return f" ({', '.join(filter(None, names))})"
    except (OSError, ValueError, KeyError, TypeError):
        return ""  # the other daemon is starting at this moment


def wake_daemon(path: Path) -> bool:
    """Wake the daemon that holds the file `path`; return whether there is one.

    Raises Refused if the daemon belongs to another user.
    """
    try:
        status = json.loads(path.read_bytes().strip(b"\0 ") or b"{}")
        process = os.pidfd_open(int(status["pid"]))
    except (OSError, ValueError, KeyError, TypeError):
        return False
    try:
        # The lock is checked after the process was opened, so another process with the same id is
        # not mistaken for the daemon.
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
