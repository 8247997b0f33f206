"""The daemon's doorbell: another process of this user lets it look at once, instead of at its next round.

A file that the daemon keeps locked names its process; SIGUSR1 is the ring. A number that stands in a file nobody locks
is that of a process which may long be another one, and is left alone.
"""

import contextlib
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

from pi_appliance.errors import Refused
from pi_appliance.system import locks

NAME = "daemon.lock"
"""What the file is called in the state folder."""
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
    """Let the daemon that hangs at the file PATH look now. False if there is none.

    Raises Refused if it belongs to another user.
    """
    try:
        told = json.loads(path.read_bytes().strip(b"\0 ") or b"{}")
        process = os.pidfd_open(int(told["pid"]))
    except (OSError, ValueError, KeyError, TypeError):
        return False
    try:
        # It is asked first and looked for second: a process that has died since is not there to be mistaken for it.
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
