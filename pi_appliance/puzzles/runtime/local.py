"""The search runtime of this machine: its cores and its memory, and a cache on disk."""

import contextlib
import math
import mmap
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pi_appliance.errors import Refused
from pi_appliance.puzzles.runtime import Cache, FileCache, Interrupted, SearchRuntime, SerialExecutor, format_bytes
from pi_appliance.puzzles.runtime.deadline import Deadline, StopSignals
from pi_appliance.puzzles.runtime.fork_executor import ForkExecutor

if TYPE_CHECKING:
    from pi_appliance.puzzles.runtime.remote import ExecutorSource

_HEADROOM = 1.1  # factor for the recommended limit, because the rest of the process also grows
_ROUND_TO = 10**7  # bytes, for recommended limits
_MAX_CORES = 1_024
# Bytes that one process can address, or None for more than any machine has.
_ADDRESS_SPACE = 3 * 2**30 if sys.maxsize < 2**32 else None


@dataclass(frozen=True, slots=True)
class MemoryBudget:
    """A limit on the memory of this process, in bytes, and how much of it is used."""

    limit: int
    used: int
    owner: str  # the source of the limit in words, such as "the limit of the job"
    advice: str  # how to raise the limit, with {} for the new one; "" if it cannot be raised


@dataclass(frozen=True, slots=True)
class SysPaths:
    """The folders where Linux reports limits and usage."""

    proc: Path = Path("/proc")
    cgroups: Path = Path("/sys/fs/cgroup")


SYS_PATHS = SysPaths()


def available_cores(cpu_percent: int | None = None, paths: SysPaths = SYS_PATHS) -> int:
    """Return how many processes can run at the same time, within `cpu_percent` of one processor."""
    limits = [cpu_percent / 100] if cpu_percent else []
    for folder in _cgroup_folders(paths):
        quota, period = _read_words(folder / "cpu.max", "max 100000")[:2]
        if quota != "max":
            limits.append(int(quota) / int(period))
    return max(1, min(len(os.sched_getaffinity(0)), *(math.ceil(limit) for limit in limits), _MAX_CORES))


def require_memory(size: int, purpose: str, budgets: Sequence[MemoryBudget]) -> None:
    """Raise Refused unless `size` more bytes fit into `budgets`.

    The message names the tightest limit.
    """
    exceeded = [budget for budget in budgets if size > budget.limit - budget.used]
    if not exceeded:
        return
    tightest = min(exceeded, key=lambda budget: budget.limit - budget.used)
    needed = math.ceil((tightest.used + size) * _HEADROOM / _ROUND_TO) * _ROUND_TO
    free = format_bytes(max(0, tightest.limit - tightest.used))
    advice = tightest.advice.format(format_bytes(needed)) or "end other programs or use a machine with more memory"
    raise Refused(f"{purpose} needs {format_bytes(size)} of memory, but {tightest.owner} leaves {free}; {advice}")


def memory_budgets(
    advice: str, paths: SysPaths = SYS_PATHS, address_space: int | None = _ADDRESS_SPACE
) -> list[MemoryBudget]:
    """Return all limits on the memory of this process.

    `advice` says how to raise the limit of the job.
    """
    owner = "the limit of the job" if advice else "a limit of this shell (ulimit -d)"
    budgets = list(_cgroup_budgets(paths, advice))
    data_limit, _ = resource.getrlimit(resource.RLIMIT_DATA)
    status = _read_table(paths.proc / "self" / "status")
    if data_limit != resource.RLIM_INFINITY:
        # The kernel does not count memory that is shared with workers as data.
        used = status.get("VmData", 0) + status.get("RssShmem", 0)
        budgets.append(MemoryBudget(data_limit, used, owner, advice or "raise that limit to {}"))
    if address_space is not None:
        use_64_bits = "use a system with 64 bits"
        budgets.append(MemoryBudget(address_space, status.get("VmSize", 0), "a process with 32 bits", use_64_bits))
    memory = _read_table(paths.proc / "meminfo")
    if "MemAvailable" in memory:
        total, free = memory.get("MemTotal", 0), memory["MemAvailable"]
        budgets.append(MemoryBudget(total, total - free, "this machine", ""))
    return budgets


def _cgroup_budgets(paths: SysPaths, advice: str) -> Iterator[MemoryBudget]:
    for folder in _cgroup_folders(paths):
        limit = _read_words(folder / "memory.max", "max")[0]
        if limit == "max":
            continue
        # Cached file pages are free: the kernel drops them when the memory is needed.
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


FOLDER = "puzzles"  # the folder of the cache, in the state folder
ProgressCallback = Callable[[float | None, str], None]
CHECKPOINT_WRITES = 200_000_000  # bytes per run, unless an option sets another number
_NEAR_DEADLINE = 2.0  # seconds; a stop signal so close to the deadline is caused by the deadline
_PROGRESS_INTERVAL = 0.1  # seconds between two progress reports


def ignore_progress(part: float | None, note: str) -> None:
    """Discard a progress report."""


class LocalRuntime(SearchRuntime):
    """The `SearchRuntime` that `open_runtime` creates."""

    def __init__(
        self,
        cache: Cache,
        stop: StopSignals,
        deadline: Deadline,
        *,
        cores: int,
        on_progress: ProgressCallback,
        memory_advice: str,
        executor: "ExecutorSource | None",
    ) -> None:
        super().__init__(time.monotonic, executor=executor)
        self.cache, self.cores, self.checkpoint_writes = cache, cores, CHECKPOINT_WRITES
        self._stop, self._deadline, self._on_progress = stop, deadline, on_progress
        self._memory_advice, self._reported_at = memory_advice, float("-inf")

    @cached_property
    def executor(self) -> Executor:  # type: ignore[override]
        """The executor on all cores, created when it is needed."""
        if self.cores == 1:
            return SerialExecutor(self._around_call)
        return ForkExecutor(
            self.cores, check=self.check_stop, wakeup_fd=self._stop.wakeup_fd, initializer=self._become_worker
        )

    def report_progress(self, part: float | None, note: str) -> None:
        """Forward a progress report, at most ten a second."""
        self.check_stop()
        now = time.monotonic()
        if now - self._reported_at >= _PROGRESS_INTERVAL or part == 1:
            self._reported_at = now
            self._on_progress(part, note)

    def shared_buffer(self, size: int) -> memoryview:
        """Return zero bytes in an anonymous shared mapping."""
        if not size:
            return memoryview(bytearray())
        try:
            return memoryview(mmap.mmap(-1, size))
        except (OSError, OverflowError):  # with 32 bits, 2 GiB are too large for the call
            raise MemoryError from None

    def require_memory(self, size: int, purpose: str) -> None:
        """Raise Refused unless `size` more bytes fit into memory.

        The message names the tightest limit.
        """
        if self.memory_is_limited:
            require_memory(size, purpose, memory_budgets(self._memory_advice))

    def seconds_left(self) -> float | None:
        """Return the seconds until the deadline, or None without one."""
        return self._deadline.seconds_left()

    def check_stop(self) -> None:
        """Raise Interrupted after a signal or at the deadline."""
        seconds_left = self.seconds_left()
        if seconds_left == 0 or (self._stop.signal and seconds_left is not None and seconds_left < _NEAR_DEADLINE):
            raise Interrupted("its time is over")
        if self._stop.signal == signal.SIGINT:
            raise Interrupted("a person stopped it")
        if self._stop.signal:
            raise Interrupted("it was asked to end")

    def _become_worker(self) -> None:
        self._on_progress, self.cores, self.executor = ignore_progress, 1, SerialExecutor(self._around_call)

    @contextlib.contextmanager
    def _around_call(self) -> Iterator[None]:
        """Discard the progress that a call reports, as with a worker process."""
        self.check_stop()
        on_progress, reported_at = self._on_progress, self._reported_at
        self._on_progress = ignore_progress
        try:
            yield
        finally:
            self._on_progress, self._reported_at = on_progress, reported_at


@contextlib.contextmanager
def open_runtime(
    folder: Path,
    on_progress: ProgressCallback = ignore_progress,
    *,
    seconds: float | None = None,
    cpu_percent: int | None = None,
    memory_advice: str = "",
    cores: int | None = None,
    executor: "ExecutorSource | None" = None,
) -> Iterator[LocalRuntime]:
    """Create a `SearchRuntime` for a `with` block; SIGINT, SIGTERM and SIGHUP interrupt it.

    `cpu_percent` limits the cores; `memory_advice` says how to raise the limit to {}. An
    `executor` makes the calls of long work (see `remote`); else the cores do.
    """
    with StopSignals().install_handlers() as stop, Deadline(seconds).watch_suspension() as deadline:
        runtime = LocalRuntime(
            FileCache(folder),
            stop,
            deadline,
            cores=cores or available_cores(cpu_percent),
            on_progress=on_progress,
            memory_advice=memory_advice,
            executor=executor,
        )
        try:
            yield runtime
        finally:
            runtime.prepared = None  # breaks a reference cycle, so that the memory is freed at once
            if runtime.remote:
                runtime.remote.close()
