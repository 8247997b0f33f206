"""The resources that a process and its children used, as counted by Linux in /proc."""

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

HEADERS = (
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
    """Current sizes, and counters since the start or between two measurements."""

    resident: int  # bytes
    proportional: int  # bytes; shared pages are divided among the processes
    threads: int
    wakeups: int  # voluntary context switches
    preempted: int  # involuntary context switches, which show other load on the machine
    cpu: float  # seconds
    written: int  # bytes that went to a disk
    passed: int  # bytes given to write(), for a disk, a pipe or a terminal

    def __sub__(self, before: Self) -> "Cost":
        """Return the current sizes and the counters since `before`."""
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

    def format_cells(self) -> list[str]:
        """Return the cells under `HEADERS`."""
        sizes = [f"{size / 1e6:.1f}" for size in (self.resident, self.proportional)]
        counts = (self.threads, self.wakeups, self.preempted, round(self.cpu * 1e3), self.written, self.passed)
        return [*sizes, *map(str, counts)]


def measure_process(pid: int) -> Cost:
    """Return the resources that the process `pid` and its children used so far."""
    family = list(_list_processes(pid))
    threads = [thread for folder in family for thread in (folder / "task").iterdir()]
    return Cost(
        resident=sum(_read_number(folder / "status", "VmRSS") for folder in family) * 1024,
        proportional=sum(_read_number(folder / "smaps_rollup", "Pss") for folder in family) * 1024,
        threads=len(threads),
        wakeups=sum(_read_number(thread / "status", "voluntary_ctxt_switches") for thread in threads),
        preempted=sum(_read_number(thread / "status", "nonvoluntary_ctxt_switches") for thread in threads),
        cpu=sum(int((thread / "schedstat").read_text("ascii").split()[0]) for thread in threads) / 1e9,
        written=sum(_read_number(folder / "io", "write_bytes") for folder in family),
        passed=sum(_read_number(folder / "io", "wchar") for folder in family),
    )


def _list_processes(pid: int) -> Iterator[Path]:
    home = Path("/proc", str(pid))
    yield home
    for thread in (home / "task").iterdir():
        for child in (thread / "children").read_text("ascii").split():
            yield from _list_processes(int(child))


def _read_number(file: Path, key: str) -> int:
    result = re.search(rf"^{key}:\s*(\d+)", file.read_text("ascii", "replace"), re.MULTILINE)
    return int(result[1]) if result else 0


def count_processes(pid: int) -> int:
    """Return the number of processes of `pid` and its children."""
    return len(list(_list_processes(pid)))


def descendants_memory(pid: int) -> int:
    """Return the proportional bytes of all descendants of the process `pid`, without its own."""
    total = 0
    with contextlib.suppress(OSError):  # one has just ended
        for home in list(_list_processes(pid))[1:]:
            total += _read_number(home / "smaps_rollup", "Pss") * 1024
    return total


def children_written() -> int:
    """Return the bytes that this process, and all children that it waited for, sent to a disk."""
    return _read_number(Path("/proc/self/io"), "write_bytes")
