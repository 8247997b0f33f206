"""The processes below a process, found in /proc, and signals that cannot hit a stranger under a dead one's number."""

import contextlib
import ctypes
import os
import select
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_TORN = 3  # readings of the table at the most; where /proc hides other users' processes, every one looks torn
_MOMENT = 0.2  # seconds
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


@dataclass(frozen=True, slots=True)
class Process:
    """One process. Number and birth together belong to one only."""

    pid: int
    parent: int
    born: int  # in ticks of the kernel
    dead: bool  # and not yet taken leave of


def below(top: int) -> set[Process]:
    """Return the living processes that process TOP has started, and those that these have started."""
    for _ in range(_TORN):
        table = _table()
        # One that died while we read handed its children on: then they have a parent that the table lacks.
        if all(each.parent in table or not each.parent for each in table.values()):
            break
    found, ahead = set[Process](), [top]
    children: dict[int, list[Process]] = {}
    for each in table.values():
        children.setdefault(each.parent, []).append(each)
    while ahead:
        more = children.get(ahead.pop(), [])
        found.update(more)
        ahead += [each.pid for each in more]
    return {each for each in found if not each.dead}


def children() -> set[int]:
    """Return the numbers of this process's own children, the dead included, where the kernel tells (PROC_CHILDREN).

    Also of those that hide in /proc, as ssh-agent does where ProtectProc=invisible shows what we could debug only.
    """
    try:
        return set(map(int, (_PROC / f"self/task/{os.getpid()}/children").read_text("ascii").split()))
    except OSError:
        return set()


def look(pid: int) -> Process | None:
    """Return what is known of the process PID; None if there is none."""
    try:
        words = (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return Process(pid, int(words[1]), int(words[19]), words[0] in b"ZX")


def tell(process: Process, kind: signal.Signals) -> None:
    """Send a signal to PROCESS, if it still is and we may."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        number = os.pidfd_open(process.pid)
        try:
            now = look(process.pid)
            if now is not None and now.born == process.born:
                signal.pidfd_send_signal(number, kind)
        finally:
            os.close(number)


def bury(process: Process) -> None:
    """Wait a moment for PROCESS, which was killed, to end; take leave of it if it is our child."""
    with contextlib.suppress(ProcessLookupError):
        number = os.pidfd_open(process.pid)
        select.select([number], [], [], _MOMENT)
        os.close(number)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(process.pid, os.WNOHANG)


def die_with_parent(kind: signal.Signals) -> None:
    """Have the kernel send signal KIND to this process when its parent dies, however that dies."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(kind), 0, 0, 0)


def adopt(*, orphans: bool) -> None:
    """Become the parent of every process below this one whose own parent dies; or leave them to the machine's first."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(orphans), 0, 0, 0)


def _table() -> Mapping[int, Process]:
    found = (look(int(name)) for name in os.listdir(_PROC) if name.isdigit())  # noqa: PTH208 - thrice as fast
    return {each.pid: each for each in found if each is not None}
