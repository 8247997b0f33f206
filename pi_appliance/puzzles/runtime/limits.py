"""Limits of a search on this machine: cores, memory, stop signals and a deadline."""

import contextlib
import math
import os
import resource
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pi_appliance.errors import Refused

_HEADROOM = 1.1  # factor for the recommended limit: the rest of the process grows, too
_ROUND_TO = 10**7  # bytes, for recommended limits
_MAX_CORES = 1_024


@dataclass(frozen=True, slots=True)
class MemoryBudget:
    """One limit on the memory of this process, in bytes."""

    limit: int
    used: int
    owner: str  # who sets the limit, in words: "the limit of the job"
    advice: str  # how to raise it, with {} for the new limit; "" if it cannot be raised


@dataclass(frozen=True, slots=True)
class SysPaths:
    """Where Linux reports limits and usage."""

    proc: Path = Path("/proc")
    cgroups: Path = Path("/sys/fs/cgroup")


SYS_PATHS = SysPaths()


def available_cores(cpu_percent: int | None = None, paths: SysPaths = SYS_PATHS) -> int:
    """Return how many processes can run at once, within `cpu_percent` of one processor."""
    limits = [cpu_percent / 100] if cpu_percent else []
    for folder in _cgroup_folders(paths):
        quota, period = _read_words(folder / "cpu.max", "max 100000")[:2]
        if quota != "max":
            limits.append(int(quota) / int(period))
    return max(1, min(len(os.sched_getaffinity(0)), *(math.ceil(limit) for limit in limits), _MAX_CORES))


def require_memory(size: int, purpose: str, budgets: Sequence[MemoryBudget]) -> None:
    """Raise Refused, naming the tightest limit, unless `size` bytes more fit into `budgets`."""
    exceeded = [budget for budget in budgets if size > budget.limit - budget.used]
    if not exceeded:
        return
    tightest = min(exceeded, key=lambda budget: budget.limit - budget.used)
    needed = math.ceil((tightest.used + size) * _HEADROOM / _ROUND_TO) * _ROUND_TO
    free = format_bytes(max(0, tightest.limit - tightest.used))
    advice = tightest.advice.format(format_bytes(needed)) or "end other programs or use a machine with more memory"
    raise Refused(f"{purpose} needs {format_bytes(size)} of memory, but {tightest.owner} leaves {free}; {advice}")


def memory_budgets(advice: str, paths: SysPaths = SYS_PATHS) -> list[MemoryBudget]:
    """Return all limits on the memory of this process; `advice` is how to raise its job's."""
    owner = "the limit of the job" if advice else "a limit of this shell (ulimit -d)"
    budgets = list(_cgroup_budgets(paths, advice))
    data_limit, _ = resource.getrlimit(resource.RLIMIT_DATA)
    status = _read_table(paths.proc / "self" / "status")
    if data_limit != resource.RLIM_INFINITY:
        # The kernel does not count memory shared with workers as data.
        used = status.get("VmData", 0) + status.get("RssShmem", 0)
        budgets.append(MemoryBudget(data_limit, used, owner, advice or "raise that limit to {}"))
    memory = _read_table(paths.proc / "meminfo")
    if "MemAvailable" in memory:
        total, free = memory.get("MemTotal", 0), memory["MemAvailable"]
        budgets.append(MemoryBudget(total, total - free, "this machine", ""))
    return budgets


def format_bytes(size: int) -> str:
    """Return `size` in the largest decimal unit, such as 1.1GB."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.1f}".removesuffix(".0") + unit
    return f"{size}B"


def _cgroup_budgets(paths: SysPaths, advice: str) -> Iterator[MemoryBudget]:
    for folder in _cgroup_folders(paths):
        limit = _read_words(folder / "memory.max", "max")[0]
        if limit == "max":
            continue
        # The kernel drops cached file pages when the memory is needed.
        words = _read_words(folder / "memory.stat", "")
        file_cache = int(dict(zip(words[::2], words[1::2], strict=False)).get("inactive_file", 0))
        used = max(0, int(_read_words(folder / "memory.current", "0")[0]) - file_cache)
        if folder.name.startswith("run-") and advice:
            yield MemoryBudget(int(limit), used, "the limit of the job", advice)
        else:
            owner = f"the limit of {folder.name or 'this container'}"
            yield MemoryBudget(int(limit), used, owner, "raise that limit to {}")


def _cgroup_folders(paths: SysPaths) -> list[Path]:
    with contextlib.suppress(OSError):
        for line in (paths.proc / "self" / "cgroup").read_text("utf-8").splitlines():
            if line.startswith("0::/"):
                path = Path(line.removeprefix("0::/"))
                return [paths.cgroups / each for each in (path, *path.parents)]
    return []


def _read_words(path: Path, default: str) -> list[str]:
    with contextlib.suppress(OSError):
        return path.read_text("ascii").split()
    return default.split()


def _read_table(path: Path) -> dict[str, int]:
    """Return the lines "Name: 12 kB" of a file, in bytes."""
    table: dict[str, int] = {}
    with contextlib.suppress(OSError):
        for line in path.read_text("utf-8", "replace").splitlines():
            name, _, rest = line.partition(":")
            match rest.split():
                case [number, "kB"]:
                    table[name] = int(number) * 1024
    return table


class StopSignals:
    """The first SIGTERM, SIGINT or SIGHUP makes `wakeup_fd` readable; a second SIGINT raises."""

    def __init__(self) -> None:
        self.signal = 0
        self.wakeup_fd, self._writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    @contextlib.contextmanager
    def install_handlers(self) -> Iterator["StopSignals"]:
        """Handle the signals during the block, and restore the old handlers after it."""
        old_handlers = {
            kind: signal.signal(kind, self._on_signal) for kind in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        }
        try:
            yield self
        finally:
            for kind, handler in old_handlers.items():
                signal.signal(kind, handler)
            os.close(self.wakeup_fd)
            os.close(self._writer)

    def _on_signal(self, number: int, _: object) -> None:
        if self.signal == number == signal.SIGINT:
            raise KeyboardInterrupt
        self.signal = self.signal or number
        with contextlib.suppress(BlockingIOError):
            os.write(self._writer, b".")


LATE_SIGNAL_SECONDS = 1.0


class Deadline:
    """The time limit of a search, without the time of suspensions (SIGSTOP, Ctrl-Z)."""

    def __init__(self, seconds: float | None) -> None:
        self._checked_at = time.monotonic()
        self._end = None if seconds is None else self._checked_at + seconds
        self._was_resumed = False
        self._longest_gap, self._gap_ended_at = 0.0, self._checked_at  # between two checks of the last second

    @contextlib.contextmanager
    def watch_suspension(self) -> Iterator["Deadline"]:
        """Detect suspensions during the block."""
        old_handler = signal.signal(signal.SIGCONT, self._on_resume)
        try:
            yield self
        finally:
            signal.signal(signal.SIGCONT, old_handler)

    def seconds_left(self) -> float | None:
        """Return the seconds left, or None without a limit. Call it often."""
        now = time.monotonic()
        gap, self._checked_at = now - self._checked_at, now
        if gap >= self._longest_gap or now - self._gap_ended_at > LATE_SIGNAL_SECONDS:
            self._longest_gap, self._gap_ended_at = gap, now
        if self._was_resumed:
            # Another thread may take the signal, and takes it late on a busy machine: by then many
            # checks may lie behind the suspension, which is the longest gap between two of them.
            if self._end is not None:
                self._end += self._longest_gap
            self._was_resumed, self._longest_gap = False, 0.0
        return None if self._end is None else max(0.0, self._end - now)

    def _on_resume(self, _: int, __: object) -> None:
        self._was_resumed = True
