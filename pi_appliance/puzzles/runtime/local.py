"""The Work of a real machine: its cores, its memory, its disk, and whoever may end it."""

import contextlib
import mmap
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from pi_appliance.puzzles.runtime import memory, pool
from pi_appliance.puzzles.runtime.cache import FileCache
from pi_appliance.puzzles.runtime.interface import Cache, Interrupted, Item, Result
from pi_appliance.system.process import StopSignal

FOLDER = "puzzles"
"""Where the shelf is, in the state folder."""
ProgressCallback = Callable[[float | None, str], None]
_NEARLY = 2.0  # seconds: who is asked to end so near its deadline, is asked because of that
_EVERY = 0.1  # seconds between two words about progress


def ignore_progress(part: float | None, note: str) -> None:
    """Be told how far it is, and do nothing about it."""


class Deadline:
    """How long it may take. The time in which this process was held (SIGSTOP, Ctrl-Z) does not count."""

    def __init__(self, seconds: float | None) -> None:
        self._looked = time.monotonic()
        self._end = None if seconds is None else self._looked + seconds
        self._held, self._gap = False, 0.0  # the gap between the last two looks

    @contextlib.contextmanager
    def watched(self) -> Iterator["Deadline"]:
        """Notice when this process goes on."""
        before = signal.signal(signal.SIGCONT, self._go_on)
        try:
            yield self
        finally:
            signal.signal(signal.SIGCONT, before)

    def seconds_left(self) -> float | None:
        """Return the seconds that are left; None: there is no limit. To be asked often: a hold began after that."""
        now = time.monotonic()
        before, self._gap, self._looked = self._gap, now - self._looked, now
        if self._held and self._end is not None:
            # Python hears of the signal a moment late: the last look may already have been after the hold.
            self._end += max(before, self._gap)
        self._held = False
        return None if self._end is None else max(0.0, self._end - now)

    def _go_on(self, _: int, __: object) -> None:
        self._held = True


class LocalRuntime:
    """What a search works with in this process; `open_bench` makes one."""

    def __init__(
        self, cache: Cache, stop: StopSignal, allowance: Deadline, *, cores: int, tell: ProgressCallback, raise_it: str
    ) -> None:
        self.cache, self.cores, self.seconds_left = cache, cores, allowance.seconds_left
        self._stop, self._tell, self._raise_it = stop, tell, raise_it
        self._told = float("-inf")

    def report_progress(self, part: float | None, note: str) -> None:
        """Pass on how far it is, not too often. Raises Interrupted when it must end."""
        self._look()
        now = time.monotonic()
        if now - self._told >= _EVERY or part == 1:
            self._told = now
            self._tell(part, note)

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Call FUNCTION for each of ITEMS on all cores. Nobody hears of the progress that FUNCTION tells."""
        if self.cores > 1:
            yield from pool.fork_map(
                self.cores, function, items, check=self._look, ear=self._stop.reader, on_fork=self._become_a_hand
            )
            return
        for item in items:
            self._look()
            with self._quiet():
                came = function(item)
            yield came

    def shared_buffer(self, size: int) -> memoryview:
        """Return SIZE bytes of zeros that workers share. Raises MemoryError."""
        if not size:
            return memoryview(bytearray())
        try:
            return memoryview(mmap.mmap(-1, size))
        except OSError:
            raise MemoryError from None

    def require_memory(self, size: int, purpose: str) -> None:
        """Raise Refused if WHAT, which takes SIZE bytes at its peak, does not fit beside what is there."""
        memory.require(size, purpose, memory.memory_budgets(self._raise_it))

    def monotonic(self) -> float:
        """Return a steady clock's seconds."""
        return time.monotonic()

    def _look(self) -> None:
        left = self.seconds_left()
        if left == 0 or (self._stop.signal and left is not None and left < _NEARLY):
            raise Interrupted("its time is over")
        if self._stop.signal == signal.SIGINT:
            raise Interrupted("a person stopped it")
        if self._stop.signal:
            raise Interrupted("it was asked to end")

    def _become_a_hand(self) -> None:
        """Be what a worker has: whom it would tell is not there, and the cores are taken."""
        self._tell, self.cores = ignore_progress, 1

    @contextlib.contextmanager
    def _quiet(self) -> Iterator[None]:
        tell, told = self._tell, self._told
        self._tell = ignore_progress
        try:
            yield
        finally:
            self._tell, self._told = tell, told


@contextlib.contextmanager
def open_runtime(
    folder: Path,
    tell: ProgressCallback = ignore_progress,
    *,
    seconds: float | None = None,
    share: int | None = None,
    raise_it: str = "",
    cores: int | None = None,
) -> Iterator[LocalRuntime]:
    """Give the Work of this machine, with its shelf in FOLDER, for the block.

    Until the block ends, SIGINT, SIGTERM and SIGHUP interrupt the search, a second SIGINT whatever goes on. TELL hears
    of progress. It has so many SECONDS; a SHARE of the processors, in hundredths of one, or so many CORES. RAISE_IT
    says what to do about a job's limit of memory, with {} for how much.
    """
    with StopSignal(impatient=True).caught() as stop, Deadline(seconds).watched() as allowance:
        hands = cores or memory.cores(share)
        yield LocalRuntime(FileCache(folder), stop, allowance, cores=hands, tell=tell, raise_it=raise_it)
