"""Wake the daemon: another process of the same user makes it check its work at once, by SIGUSR1.

A file that the daemon keeps locked contains its process id. If the file is not locked, the id may already belong to
another process, so no signal is sent.
"""

import contextlib
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

from pi_appliance.errors import Refused
from pi_appliance.system import locks

NAME = "daemon.lock"  # in the state folder
RING = signal.SIGUSR1


@contextlib.contextmanager
def listen(path: Path) -> Iterator[None]:
    """Let other processes wake this daemon by the file `path` for the duration of the block.

    The caller must handle the signal `RING` before it enters.

    Raises:
        Refused: another daemon has the file, so it uses the same state folder.
        Unavailable: the file cannot be made.

    """
    with locks.acquire(path) as lock:
        if lock is None:
            raise Refused(
                f"another daemon uses {path.parent}; stop it first, or give this one a state folder of its own"
            )
        lock.write_status(0, None, "")
        yield


def wake_daemon(path: Path) -> bool:
    """Wake the daemon that listens at the file `path`, and return whether there is one.

    Raises:
        Refused: it belongs to another user.

    """
    try:
        status = json.loads(path.read_bytes().strip(b"\0 ") or b"{}")
        process = os.pidfd_open(int(status["pid"]))
    except (OSError, ValueError, KeyError, TypeError):
        return False
    try:
        # The lock is checked after the process was opened, so a recycled process id cannot be mistaken for it.
        if not locks.is_locked(path):
            return False
        signal.pidfd_send_signal(process, RING)
    except PermissionError:
        raise Refused("the daemon belongs to another user; do this as that user") from None
    except ProcessLookupError:
        return False
    finally:
        os.close(process)
    return True
