"""The search runtime of this machine: all cores, a cache on disk, signals, a deadline."""

import contextlib
import mmap
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pi_appliance.puzzles.runtime import Cache, FileCache, Interrupted, SearchRuntime, SerialExecutor
from pi_appliance.puzzles.runtime.limits import Deadline, StopSignals, available_cores, memory_budgets, require_memory
from pi_appliance.puzzles.runtime.pool import ForkExecutor

if TYPE_CHECKING:
    from pi_appliance.puzzles.runtime.remote import ExecutorSource

FOLDER = "puzzles"  # the folder of the cache, in the state folder
ProgressCallback = Callable[[float | None, str], None]
CHECKPOINT_WRITES = 200_000_000  # bytes a run, unless an option says otherwise
_NEAR_DEADLINE = 2.0  # seconds: a stop signal this close to the deadline is caused by the deadline
_PROGRESS_INTERVAL = 0.1  # seconds


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
        except OSError:
            raise MemoryError from None

    def require_memory(self, size: int, purpose: str) -> None:
        """Raise Refused, naming the tightest limit, unless `size` bytes more fit into memory."""
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
            if runtime.remote:
                runtime.remote.close()


_MIN_ELAPSED = 3.0  # seconds
_MIN_PART = 0.02


class Estimate:
    """Estimates the remaining time from the progress so far, assuming a constant pace."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic, self._started_at = monotonic, monotonic()
        self._first_part: float | None = None

    def format_remaining(self, part: float | None) -> str:
        """Return the remaining time in words, or '' if it is not known yet."""
        now = self._monotonic()
        if part is None or (self._first_part is not None and part < self._first_part):
            self._started_at, self._first_part = now, part
            return ""
        if self._first_part is None:
            self._started_at, self._first_part = now, part
        done, elapsed = part - self._first_part, now - self._started_at
        if done < _MIN_PART or elapsed < _MIN_ELAPSED or part >= 1:
            return ""
        seconds_left = round(elapsed * (1 - part) / done)
        return f"about {format_seconds(max(1, seconds_left - seconds_left % (10 if seconds_left > 60 else 1)))} left"


def format_seconds(seconds: int) -> str:
    """Return whole seconds as 2h30m or 5m10s."""
    parts = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
