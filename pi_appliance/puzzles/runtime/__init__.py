"""The runtime of a search: executor, progress and deadline; caches and checkpoints.

Puzzles reach the machine only through `SearchRuntime`; `local.LocalRuntime` extends it.
"""

import contextlib
import json
import mmap
import os
import re
import secrets
import struct
import threading
import time
import zlib
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from hashlib import blake2b
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from pi_appliance.errors import Unavailable

if TYPE_CHECKING:
    from pi_appliance.puzzles.runtime.remote import ExecutorSource

Shared = TypeVar("Shared")
Item = TypeVar("Item")
Result = TypeVar("Result")
Key = TypeVar("Key")
Move = TypeVar("Move")
Buffer: TypeAlias = "bytes | bytearray | memoryview | array[int] | array[float]"


class Interrupted(Exception):
    """The search must end now, because of its deadline, a signal or the user.

    A search may catch this to save a checkpoint and set `partial_result`, and then raises it again.
    """

    def __init__(self, reason: str, partial_result: str = "") -> None:
        super().__init__(reason)
        self.reason, self.partial_result = reason, partial_result


class Cache:
    """Named blobs that outlive a search: tables, opening books, checkpoints.

    This class keeps them in memory.

    Entries for one board (see `is_board_specific`) may expire after a month without use.
    """

    def __init__(self) -> None:
        self._entries: dict[str, bytes] = {}

    def load(self, name: str) -> memoryview | None:
        """Return the content as a read-only view without a copy; None if missing or damaged."""
        return memoryview(self._entries[name]).toreadonly() if name in self._entries else None

    def save(self, name: str, parts: Iterable[Buffer]) -> None:
        """Replace the content durably by the concatenated `parts`. Raises Unavailable."""
        self._entries[name] = b"".join(parts)

    def remove(self, name: str) -> None:
        """Delete the entry, if it exists."""
        self._entries.pop(name, None)

    def names(self) -> Iterable[str]:
        """Return all names, sorted."""
        return sorted(self._entries)


class LazyExecutor(Executor, ABC):
    """An executor whose `map` runs only a few calls ahead of the results that are requested."""

    def map(
        self,
        fn: Callable[..., Result],
        *iterables: Iterable[Any],
        timeout: float | None = None,  # noqa: ARG002 - the runtime ends a map
        chunksize: int = 1,  # noqa: ARG002 - items should be large enough
    ) -> Iterator[Result]:
        """Yield the results in order. No call is made before the first `next`."""
        if len(iterables) == 1:
            return self._map(fn, iterables[0])
        return self._map(lambda args: fn(*args), zip(*iterables, strict=False))

    @abstractmethod
    def _map(self, function: Callable[[Any], Result], items: Iterable[Any]) -> Iterator[Result]:
        """Call `function` with each of `items`, and yield the results in order."""


class SerialExecutor(LazyExecutor):
    """Makes each call in this process, inside the context manager that `around` returns."""

    def __init__(self, around: Callable[[], AbstractContextManager[object]] = nullcontext) -> None:
        self._around = around

    def _map(self, function: Callable[[Any], Result], items: Iterable[Any]) -> Iterator[Result]:
        for item in items:
            with self._around():
                result = function(item)
            yield result


Prepare: TypeAlias = Callable[[Shared, "SearchRuntime"], Callable[[Item], Result]]
"""Makes the function for the items of `SearchRuntime.map`. Workers find it in its module."""


class _Prepared(NamedTuple):
    """A function that `SearchRuntime.map` has prepared, and what it was prepared from."""

    thread: int
    prepare: object
    shared: object
    function: Callable[[Any], Any]


class SearchRuntime:
    """Everything that a search may use.

    This class has one core, a cache in memory and no deadline.
    """

    cores = 1  # calls that `executor` makes at the same time
    memory_is_limited = True
    checkpoint_writes: float = float("inf")  # bytes that checkpoints may write in all, to spare the SD card
    executor: Executor = SerialExecutor()
    """Its `map` makes calls in copies of this process, forked at the first `next`.

    With one core, it makes them here. Calls see all memory and change only a `shared_buffer`.
    Results are pickled. Items should take 0.05 s or more.
    """

    def __init__(
        self,
        monotonic: Callable[[], float] = lambda: 0.0,
        *,
        executor: "ExecutorSource | None" = None,
    ) -> None:
        """Let `map` use the executor, or the function that makes one.

        Without either, calls run in this process.
        """
        self.remote = None
        if executor is not None:
            from pi_appliance.puzzles.runtime.remote import RemoteExecutor  # noqa: PLC0415 - it imports this module

            self.remote = RemoteExecutor(executor)
        self.cache = Cache()
        self.checkpoints: set[str] = set()  # names of the saved checkpoints
        self.checkpoint_bytes = 0  # bytes written so far
        self.monotonic = monotonic  # returns the seconds of a clock that never goes back
        self.prepared: _Prepared | None = None  # function of the last `map`

    def map(self, prepare: Prepare[Shared, Item, Result], shared: Shared, items: Iterable[Item]) -> Iterator[Result]:
        """Yield the result for each item, in order: the long work of a search, on all workers.

        Each worker calls `prepare(shared, runtime)` once, and the function that it returns for
        each of its items. All of these are pickled if the workers do not see this memory. The next
        map with the same `prepare` and `shared` uses the same functions, with what they remember.
        A thread uses only functions that it prepared.
        """
        if self.remote is not None and not (isinstance(items, Sequence) and len(items) == 1):
            return self.remote.map(prepare, shared, items, self.check_stop)
        thread, prepared = threading.get_ident(), self.prepared
        if not (prepared and prepared.thread == thread and prepared.prepare is prepare and prepared.shared is shared):
            prepared = self.prepared = None  # frees the old tables before there are new ones
            prepared = self.prepared = _Prepared(thread, prepare, shared, prepare(shared, self))
        return self.executor.map(prepared.function, items)

    def check_stop(self) -> None:
        """Raise Interrupted if the search must end now."""

    def report_progress(self, part: float | None, note: str) -> None:
        """Report the part that is done, 0 to 1 (None: unknown), and the current step.

        Raises Interrupted. Cheap: call it several times a second, also from kernels.
        """

    def shared_buffer(self, size: int) -> memoryview:
        """Return `size` zero bytes that are shared with the calls of `executor`."""
        return memoryview(bytearray(size)) if size < _LARGE_BUFFER else _map_large_pages(size)

    def require_memory(self, size: int, purpose: str) -> None:
        """Raise Refused, with a remedy, unless `size` bytes for `purpose` fit into memory."""

    def detach(self, *, memory_is_limited: bool = True) -> "SearchRuntime":
        """Return a runtime like this one, but without its saved tables and checkpoints."""
        other = copy(self)
        other.cache, other.checkpoints, other.memory_is_limited = Cache(), set(), memory_is_limited
        other.prepared = None
        return other

    def seconds_left(self) -> float | None:
        """Return the seconds until the deadline, or None without one."""
        return None


_LARGE_BUFFER = 2**24  # bytes; for larger buffers, pages of 2 MB are worth the time to clear them


def _map_large_pages(size: int) -> memoryview:
    """Return zero bytes in memory of this process, if possible in large pages.

    Random reads of a table take a quarter less time than with pages of 4 kB.
    """
    try:
        mapping = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, OverflowError):
        raise MemoryError from None
    with contextlib.suppress(OSError):  # the kernel may have no large pages
        mapping.madvise(mmap.MADV_HUGEPAGE)
    return memoryview(mapping)


SERIAL = SearchRuntime()  # for searches without a runtime of their own


def find_solutions(run: Callable[[], int], report: Callable[[], object]) -> Iterator[None]:
    """Yield at each solution that a kernel search finds.

    Call `report` whenever its budget is spent.

    `run` continues the search with a new budget; it returns 0 at the end and 1 for a solution.
    """
    while result := run():
        if result == 1:
            yield
        else:
            report()


def spans(size: int, step: int, report: Callable[[], object] = lambda: None) -> Iterator[tuple[int, int]]:
    """Yield ranges of length `step` up to `size`. Call `report` after each."""
    for first in range(0, size, step):
        yield first, min(first + step, size)
        report()


def walk_levels(
    key: Key,
    levels: Sequence[Container[Key]],
    list_moves: Callable[[Key], Iterable[tuple[Move, Key]]],
    class_of: Callable[[Key], Key] = lambda key: key,
) -> Iterator[tuple[Move, ...]]:
    """Yield the moves of every path from a position `key` through the levels below it.

    A level has the classes of its positions.
    """
    if not levels:
        yield ()
        return
    for move, child in list_moves(key):
        if class_of(child) in levels[0]:
            for rest in walk_levels(child, levels[1:], list_moves, class_of):
                yield (move, *rest)


@contextlib.contextmanager
def partial_result(describe: Callable[[], str]) -> Iterator[None]:
    """Describe the partial result if the block is interrupted, unless a block within it did so."""
    try:
        yield
    except Interrupted as interrupted:
        interrupted.partial_result = interrupted.partial_result or describe()
        raise


_MAGIC = b"pi-state"
_HEADER = struct.Struct("<8sII")  # magic, CRC-32 of the name and of everything that follows, length of the JSON


class SavedState(NamedTuple):
    """The content of a cache entry: a JSON object, and buffers of numbers."""

    values: dict[str, Any]
    buffers: list[memoryview]


def save_entry(cache: Cache, name: str, values: Mapping[str, object], buffers: Sequence[Buffer] = ()) -> None:
    """Save `values` and `buffers` for `load_entry`. Raises Unavailable."""
    views = [memoryview(buffer) for buffer in buffers]
    words = json.dumps([values, [(view.format, view.nbytes) for view in views]]).encode()
    words += b" " * (-len(words) % 8)  # padded, because numbers are read faster at a multiple of eight
    parts: list[Buffer] = [words, *(view.cast("B") for view in views)]
    cache.save(name, [_HEADER.pack(_MAGIC, _checksum(name, parts), len(words)), *parts])


def load_entry(cache: Cache, name: str) -> SavedState | None:
    """Return the entry that `save_entry` saved.

    It is None if the entry is missing, damaged or of another format.
    """
    content = cache.load(name)
    if content is None or len(content) < _HEADER.size:
        return None
    magic, checksum, length = _HEADER.unpack(content[: _HEADER.size])
    content = content[_HEADER.size :]
    if magic != _MAGIC or checksum != _checksum(name, [content]):
        return None
    values, kinds = json.loads(bytes(content[:length]))
    buffers, start = list[memoryview](), length
    for kind, size in kinds:
        buffers.append(content[start : start + size].cast(kind))
        start += size
    return SavedState(values, buffers)


def _checksum(name: str, parts: Iterable[Buffer]) -> int:
    checksum = zlib.crc32(name.encode())
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    return checksum


def format_bytes(size: int) -> str:
    """Return `size` in the largest decimal unit, such as 1.1GB."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.1f}".removesuffix(".0") + unit
    return f"{size}B"


class Checkpoint:
    """The saved state of a search, from which the next run continues."""

    def __init__(self, runtime: SearchRuntime, name: str, identity: object = None, interval: float = 60.0) -> None:
        """Name the cache entry; `identity` (bytes or a repr) tells searches apart, such as a board.

        The state is saved every `interval` seconds, to spare the SD card, and when interrupted.
        All checkpoints of a runtime write at most its `checkpoint_writes`, half of which is kept
        for the interruption.
        """
        content = identity if isinstance(identity, bytes) else repr(identity).encode()
        digest = blake2b(content, digest_size=8).hexdigest()
        self.name = name if identity is None else f"{name}-{digest}"
        self._runtime, self._interval, self._saved_at = runtime, interval, runtime.monotonic()

    def load(self) -> SavedState | None:
        """Return the saved state; None if missing or damaged."""
        return load_entry(self._runtime.cache, self.name)

    def save(self, values: Mapping[str, object], buffers: Sequence[Buffer] = (), *, share: float = 1.0) -> str:
        """Save the state; return text to append to a progress sentence if that fails, else ''.

        It fails if the run would write more than `share` of its `checkpoint_writes` (bytes).
        """
        runtime, size = self._runtime, sum(memoryview(buffer).nbytes for buffer in buffers)
        self._saved_at = runtime.monotonic()
        if runtime.checkpoint_bytes + size > runtime.checkpoint_writes * share:
            limit = format_bytes(int(runtime.checkpoint_writes))
            return f"; its checkpoint of {format_bytes(size)} is not saved: a run writes {limit} (checkpoint-writes)"
        runtime.checkpoint_bytes += size
        runtime.checkpoints.add(self.name)
        return try_to_save(runtime.cache, self.name, values, buffers)

    def remove(self) -> None:
        """Remove the state: the search is complete."""
        self._runtime.cache.remove(self.name)

    @contextlib.contextmanager
    def guard(
        self,
        state: Callable[[], tuple[Mapping[str, object], Sequence[Buffer]]],
        describe: Callable[[], str],
        note: str = "",
    ) -> Iterator[Callable[[], None]]:
        """Save the state if the block is interrupted; remove it if the block ends.

        The partial result is the description, with `note` if the state could be saved. Yields
        a function to call after each step: it saves the state if the interval is over.
        """

        def save_sometimes() -> None:
            if self._runtime.monotonic() - self._saved_at > self._interval:
                self.save(*state(), share=0.5)

        try:
            yield save_sometimes
        except Interrupted as interrupted:
            interrupted.partial_result = describe() + (self.save(*state()) or note)
            raise
        self.remove()


def try_to_save(cache: Cache, name: str, values: Mapping[str, object], buffers: Sequence[Buffer] = ()) -> str:
    """Save a cache entry; return text to append to a progress sentence if that fails, else ''."""
    try:
        save_entry(cache, name, values, buffers)
    except Unavailable as error:
        return f"; the checkpoint could not be saved: {error}"
    return ""


_SUFFIX, _DAMAGED = ".cache", ".damaged"
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]*(?:/[a-z0-9][a-z0-9.-]*)?")
_DRAFT = re.compile(r"\..+\.new")
_BOARD_HASH = re.compile(r"[0-9a-f]{8}")
_DAY = 86_400.0  # seconds
_MAX_AGE = 30 * _DAY  # age at which unused entries of one board, and damaged files, are deleted
_FILE_HEADER = struct.Struct("<8sQQ")  # magic, CRC-32, length
_FILE_MAGIC = b"pi-cache"
_READ_SIZE = 1_000_000  # bytes read at a time


def is_board_specific(name: str) -> bool:
    """Return whether the entry is for one board: its name then has a hash of 8 digits or more."""
    return _BOARD_HASH.search(name) is not None


class FileCache(Cache):
    """A `Cache` in a folder, which is created when the first entry is saved.

    Each `load` verifies the header of a file (magic, CRC-32, length): worn SD cards lose bits.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def load(self, name: str) -> memoryview | None:
        """Return the content, mapped from its file. A damaged file is renamed."""
        path = self._path(name)
        content = None
        try:
            with path.open("rb") as file:
                if _is_intact(file):
                    content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))[_FILE_HEADER.size :]
        except OSError:
            return None
        if content is None:
            with contextlib.suppress(OSError):  # one damaged file of each name is kept
                path.replace(path.with_suffix(_DAMAGED))
        elif is_board_specific(name):
            with contextlib.suppress(OSError):  # marks the file as used, only once a day to spare the SD card
                if time.time() - path.stat().st_mtime > _DAY:
                    os.utime(path)
        return content

    def save(self, name: str, parts: Iterable[Buffer]) -> None:
        """Write the entry, or raise Unavailable."""
        path = self._path(name)
        length = checksum = 0
        with _atomic_write(path) as file:
            file.write(bytes(_FILE_HEADER.size))
            for part in parts:
                view = memoryview(part).cast("B")
                checksum, length = zlib.crc32(view, checksum), length + view.nbytes
                file.write(view)
            file.seek(0)
            file.write(_FILE_HEADER.pack(_FILE_MAGIC, checksum, length))

    def remove(self, name: str) -> None:
        """Delete the entry. If that is not possible, it only takes space."""
        with contextlib.suppress(OSError):
            self._path(name).unlink()

    def names(self) -> Iterable[str]:
        """Return all names, sorted."""
        paths = (path.relative_to(self._folder).as_posix() for path in self._folder.rglob(f"*{_SUFFIX}"))
        return sorted(name.removesuffix(_SUFFIX) for name in paths)

    def remove_stale_files(self) -> None:
        """Delete board entries unused for a month, old damaged files, and drafts."""
        now = time.time()
        for path in self._folder.rglob("*"):
            if path.suffix == _SUFFIX:
                max_age = _MAX_AGE if is_board_specific(path.name) else None
            else:
                max_age = _MAX_AGE if path.suffix == _DAMAGED else _DAY if _DRAFT.fullmatch(path.name) else None
            with contextlib.suppress(OSError):
                if max_age is not None and now - path.stat().st_mtime > max_age:
                    path.unlink()

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not a valid name of a cache entry")
        return self._folder / f"{name}{_SUFFIX}"


@contextlib.contextmanager
def _atomic_write(path: Path) -> Iterator[IO[bytes]]:
    """Write a draft that replaces `path` when the block ends. Raises Unavailable."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise Unavailable(
            f"{path} cannot be written: {error.strerror}; check the rights and the free space of {path.parent}"
        ) from None
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()


def _is_intact(file: IO[bytes]) -> bool:
    """Verify a file by reading it.

    Reading an unreadable page of a mapped file would kill the process.
    """
    header = file.read(_FILE_HEADER.size)
    if len(header) < _FILE_HEADER.size:
        return False
    length = checksum = 0
    while piece := file.read(_READ_SIZE):
        checksum, length = zlib.crc32(piece, checksum), length + len(piece)
    return header == _FILE_HEADER.pack(_FILE_MAGIC, checksum, length)
