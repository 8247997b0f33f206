"""What this process costs: memory, bytes written to the card, since when it lives. From /proc."""

import contextlib
import os
from pathlib import Path

_START = 19  # of the words behind the name in /proc/self/stat: clock ticks after the machine started


def written(proc: Path = Path("/proc")) -> int | None:
    """Return how many bytes this process has had written to disks; None where the kernel does not count."""
    with contextlib.suppress(OSError, ValueError):
        lines = (proc / "self/io").read_text("ascii").splitlines()
        return next((int(line.split()[1]) for line in lines if line.startswith("write_bytes:")), None)
    return None


def resident(proc: Path = Path("/proc")) -> int | None:
    """Return how many bytes of memory it holds."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int((proc / "self/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return None


def started(proc: Path = Path("/proc")) -> float | None:
    """Return when it started, in seconds since 1970 by the clock of the machine as it is set now."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        ticks = int((proc / "self/stat").read_text("ascii", "replace").rpartition(")")[2].split()[_START])
        lines = (proc / "stat").read_text("ascii").splitlines()
        (boot,) = (int(line.split()[1]) for line in lines if line.startswith("btime "))
        return boot + ticks / os.sysconf("SC_CLK_TCK")
    return None
