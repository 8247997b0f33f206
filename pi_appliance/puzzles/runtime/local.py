"""The search runtime of this machine: all cores, memory limits, a cache on the disk, signals and a deadline."""

import contextlib
import mmap
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from pathlib import Path

from pi_appliance.puzzles.runtime import memory
from pi_appliance.puzzles.runtime.cache import FileCache
from pi_appliance.puzzles.runtime.interface import Cache, Interrupted, SerialExecutor
from pi_appliance.puzzles.runtime.pool import ForkExecutor

FOLDER = "puzzles"
"""The folder of the cache, in the state folder."""
ProgressCallback = Callable[[float | None, str], None]
_NEAR_DEADLINE = 2.0  # seconds: a stop signal this close to the deadline is caused by the deadline
_PROGRESS_INTERVAL = 0.1  # seconds


def ignore_progress(part: float | None, note: str) -> None:
    """Discard a progress report."""


class StopSignals:
    """The first SIGTERM, SIGINT or SIGHUP; a second SIGINT raises KeyboardInterrupt.

    `wakeup_fd` is readable once a signal has arrived.
    """

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


class Deadline:
    """The time limit of a search. Time during which the process was suspended (SIGSTOP, Ctrl-Z) does not count."""

    def __init__(self, seconds: float | None) -> None:
        self._checked_at = time.monotonic()
        self._end = None if seconds is None else self._checked_at + seconds
        self._was_resumed, self._gap = False, 0.0  # seconds between the last two checks

    @contextlib.contextmanager
    def watch_suspension(self) -> Iterator["Deadline"]:
        """Detect suspensions during the block."""
        old_handler = signal.signal(signal.SIGCONT, self._on_resume)
        try:
            yield self
        finally:
            signal.signal(signal.SIGCONT, old_handler)

    def seconds_left(self) -> float | None:
        """Return the seconds left, or None without a limit. Call it often: a suspension began after the last call."""
        now = time.monotonic()
        previous_gap, self._gap, self._checked_at = self._gap, now - self._checked_at, now
        if self._was_resumed and self._end is not None:
            # Python runs the signal handler late: the suspension may lie before the last check.
            self._end += max(previous_gap, self._gap)
        self._was_resumed = False
        return None if self._end is None else max(0.0, self._end - now)

    def _on_resume(self, _: int, __: object) -> None:
        self._was_resumed = True


class LocalRuntime:
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
    ) -> None:
        self.cache, self.cores, self.seconds_left = cache, cores, deadline.seconds_left
        self._stop, self._on_progress, self._memory_advice = stop, on_progress, memory_advice
        self._reported_at = float("-inf")
        self.executor: Executor = SerialExecutor(self._around_call)
        if cores > 1:
            self.executor = ForkExecutor(
                cores, check=self._check_stop, wakeup_fd=stop.wakeup_fd, initializer=self._become_worker
            )

    def report_progress(self, part: float | None, note: str) -> None:
        """Forward a progress report, at most ten a second."""
        self._check_stop()
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
        """Raise Refused if `size` bytes do not fit."""
        memory.require_memory(size, purpose, memory.memory_budgets(self._memory_advice))

    def monotonic(self) -> float:
        """Return the seconds of the monotonic clock."""
        return time.monotonic()

    def _check_stop(self) -> None:
        left = self.seconds_left()
        if left == 0 or (self._stop.signal and left is not None and left < _NEAR_DEADLINE):
            raise Interrupted("its time is over")
        if self._stop.signal == signal.SIGINT:
            raise Interrupted("a person stopped it")
        if self._stop.signal:
            raise Interrupted("it was asked to end")

    def _become_worker(self) -> None:
        """Discard progress and use one core: this is a forked copy."""
        self._on_progress, self.cores, self.executor = ignore_progress, 1, SerialExecutor(self._around_call)

    @contextlib.contextmanager
    def _around_call(self) -> Iterator[None]:
        """Discard the progress that a call reports, as with a worker process."""
        self._check_stop()
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
) -> Iterator[LocalRuntime]:
    """Create a `SearchRuntime` for the duration of the `with` block.

    During the block, SIGINT, SIGTERM and SIGHUP interrupt the search; a second SIGINT raises KeyboardInterrupt.

    Args:
        folder: the folder of the cache.
        on_progress: receives progress reports.
        seconds: the time limit.
        cpu_percent: a limit on the cores, in hundredths of one processor.
        memory_advice: how to raise the memory limit of a job, with {} for the new limit.
        cores: the number of cores; default: as many as there are, within `cpu_percent`.

    """
    with StopSignals().install_handlers() as stop, Deadline(seconds).watch_suspension() as deadline:
        yield LocalRuntime(
            FileCache(folder),
            stop,
            deadline,
            cores=cores or memory.available_cores(cpu_percent),
            on_progress=on_progress,
            memory_advice=memory_advice,
        )


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
        left = round(elapsed * (1 - part) / done)
        return f"about {format_seconds(max(1, left - left % (10 if left > 60 else 1)))} left"


def format_seconds(seconds: int) -> str:
    """Return whole seconds as 2h30m or 5m10s."""
    parts = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
