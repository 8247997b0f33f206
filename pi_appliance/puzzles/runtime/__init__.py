"""The runtime of a search: executor, cache, memory, progress and deadline.

Puzzles reach the machine only through `SearchRuntime`: `SerialRuntime` or `local.LocalRuntime`.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol, TypeVar

from pi_appliance.errors import Unavailable

Result = TypeVar("Result")


class Interrupted(Exception):
    """The search must end now: deadline, signal or user request.

    A search may catch it to save a checkpoint and set `partial_result`, and raises it again.
    """

    def __init__(self, reason: str, partial_result: str = "") -> None:
        super().__init__(reason)
        self.reason, self.partial_result = reason, partial_result


class Cache(Protocol):
    """Named blobs that outlive a run: tables, opening books, checkpoints.

    Entries of one board (see `cache.is_board_specific`) may expire after a month without use.
    """

    def load(self, name: str) -> memoryview | None:
        """Return the content as a read-only view without a copy, or None if it is missing or damaged."""

    def save(self, name: str, parts: Iterable[bytes | bytearray | memoryview]) -> None:
        """Replace the content atomically and durably by the concatenated `parts`. Raises Unavailable."""

    def remove(self, name: str) -> None:
        """Delete the entry, if it exists."""

    def names(self) -> Iterable[str]:
        """Return all names, sorted."""


class SearchRuntime(Protocol):
    """Everything a search may use."""

    cores: int  # the number of calls that `executor` makes at the same time
    executor: Executor
    """Its `map` makes calls in copies of this process, forked at the first `next`; with one core, here.

    Calls see all memory and change only a `shared_buffer`. Results are pickled. Items should take 0.05 s or more.
    """
    cache: Cache

    def report_progress(self, part: float | None, note: str) -> None:
        """Report the part that is done, 0 to 1 (None: unknown), and the current step. Raises Interrupted.

        Cheap: call it several times a second, also from kernels.
        """

    def shared_buffer(self, size: int) -> memoryview:
        """Return `size` zero bytes that are shared with the calls of `executor`."""

    def require_memory(self, size: int, purpose: str) -> None:
        """Raise Refused, with a remedy, if `size` bytes, the peak of `purpose`, do not fit into memory."""

    def seconds_left(self) -> float | None:
        """Return the seconds until the deadline, or None without one."""

    def monotonic(self) -> float:
        """Return the seconds of a monotonic clock."""


class SerialExecutor(Executor):
    """Makes each call in this process, inside the context manager that `around` returns."""

    def __init__(self, around: Callable[[], AbstractContextManager[object]] = nullcontext) -> None:
        self._around = around

    def map(
        self,
        fn: Callable[..., Result],
        *iterables: Iterable[Any],
        timeout: float | None = None,  # noqa: ARG002
        chunksize: int = 1,  # noqa: ARG002
    ) -> Iterator[Result]:
        """Make each call when its result is requested."""
        for args in zip(*iterables, strict=False):
            with self._around():
                result = fn(*args)
            yield result


class MemoryCache:
    """A `Cache` in memory."""

    def __init__(self) -> None:
        self._entries: dict[str, bytes] = {}

    def load(self, name: str) -> memoryview | None:
        """Return the content, or None."""
        return memoryview(self._entries[name]).toreadonly() if name in self._entries else None

    def save(self, name: str, parts: Iterable[bytes | bytearray | memoryview]) -> None:
        """Replace the content."""
        self._entries[name] = b"".join(parts)

    def remove(self, name: str) -> None:
        """Delete the entry."""
        self._entries.pop(name, None)

    def names(self) -> list[str]:
        """Return all names, sorted."""
        return sorted(self._entries)


class SerialRuntime:
    """A `SearchRuntime` with one core, a cache in memory and no deadline; by default its clock stands still."""

    cores = 1
    executor: Executor = SerialExecutor()

    def __init__(self, monotonic: Callable[[], float] = lambda: 0.0) -> None:
        self.cache: Cache = MemoryCache()
        self.monotonic = monotonic

    def report_progress(self, part: float | None, note: str) -> None:
        """Ignore the report."""

    def shared_buffer(self, size: int) -> memoryview:
        """Return zero bytes."""
        return memoryview(bytearray(size))

    def require_memory(self, size: int, purpose: str) -> None:
        """Accept any size."""

    def seconds_left(self) -> float | None:
        """Return None: there is no deadline."""
        return None


def save_checkpoint(save: Callable[..., None], *args: object) -> str:
    """Call `save(*args)`; return the text to append to a progress sentence if it fails, else ''."""
    try:
        save(*args)
    except Unavailable as error:
        return f"; the checkpoint could not be saved: {error}"
    return ""
