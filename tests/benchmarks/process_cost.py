"""What a process and its children have cost, as Linux counts it in /proc."""

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

HEADS = (
    "resident MB",
    "proportional MB",
    "threads",
    "wake-ups",
    "pre-empted",
    "CPU ms",
    "written to disk",
    "write() bytes",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Sizes of the moment, and counts: since the start, or between two looks."""

    resident: int  # bytes
    proportional: int  # bytes; what is shared is shared out
    threads: int
    wakeups: int  # times that a thread slept and was woken
    preempted: int  # times that it had to let another one go first: what else the machine does shows here
    cpu: float  # seconds
    written: int  # bytes that went to a disk
    passed: int  # bytes given to write(), be it a disk, a pipe or a terminal

    def __sub__(self, before: Self) -> "Cost":
        """Return the sizes of now and the counts since `before`."""
        return Cost(
            resident=self.resident,
            proportional=self.proportional,
            threads=self.threads,
            wakeups=self.wakeups - before.wakeups,
            preempted=self.preempted - before.preempted,
            cpu=self.cpu - before.cpu,
            written=self.written - before.written,
            passed=self.passed - before.passed,
        )

    def cells(self) -> list[str]:
        """Return what stands under HEADS."""
        sizes = [f"{size / 1e6:.1f}" for size in (self.resident, self.proportional)]
        counts = (self.threads, self.wakeups, self.preempted, round(self.cpu * 1e3), self.written, self.passed)
        return [*sizes, *map(str, counts)]


def look(pid: int) -> Cost:
    """Return what the process `pid` and its children have cost so far."""
    family = list(_family(pid))
    threads = [thread for each in family for thread in (each / "task").iterdir()]
    return Cost(
        resident=sum(_number(each / "status", "VmRSS") for each in family) * 1024,
        proportional=sum(_number(each / "smaps_rollup", "Pss") for each in family) * 1024,
        threads=len(threads),
        wakeups=sum(_number(thread / "status", "voluntary_ctxt_switches") for thread in threads),
        preempted=sum(_number(thread / "status", "nonvoluntary_ctxt_switches") for thread in threads),
        cpu=sum(int((thread / "schedstat").read_text("ascii").split()[0]) for thread in threads) / 1e9,
        written=sum(_number(each / "io", "write_bytes") for each in family),
        passed=sum(_number(each / "io", "wchar") for each in family),
    )


def _family(pid: int) -> Iterator[Path]:
    home = Path("/proc", str(pid))
    yield home
    for thread in (home / "task").iterdir():
        for child in (thread / "children").read_text("ascii").split():
            yield from _family(int(child))


def _number(file: Path, key: str) -> int:
    result = re.search(rf"^{key}:\s*(\d+)", file.read_text("ascii", "replace"), re.MULTILINE)
    return int(result[1]) if result else 0


def count(pid: int) -> int:
    """Return the number of processes of `pid` and its children."""
    return len(list(_family(pid)))


def descendants_memory(pid: int) -> int:
    """Return the proportional bytes of all descendants of the process `pid`, without its own."""
    total = 0
    with contextlib.suppress(OSError):  # one has just ended
        for home in list(_family(pid))[1:]:
            total += _number(home / "smaps_rollup", "Pss") * 1024
    return total


def children_written() -> int:
    """Return the bytes that this process, and all children that it waited for, sent to a disk."""
    return _number(Path("/proc/self/io"), "write_bytes")
