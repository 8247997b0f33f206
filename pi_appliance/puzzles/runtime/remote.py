"""Make the calls of a search by any standard executor: processes, or the machines of a cluster.

Data that all calls share, such as a table, goes to each worker once, under the hash of its bytes:
see ADR 0160. Several items are sent together, so that a distant worker is busy for a while.
"""

import io
import os
import pickle
import secrets
import socket
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from typing import Any, NamedTuple, TypeAlias, TypeVar

from pi_appliance.errors import Refused
from pi_appliance.puzzles.runtime import Buffer, Interrupted, Prepare, SearchRuntime
from pi_appliance.puzzles.runtime.fork_executor import POLL_INTERVAL, pickle_result, unpickle_result
from pi_appliance.puzzles.runtime.shared_memory import open_table

Shared = TypeVar("Shared")
Item = TypeVar("Item")
Result = TypeVar("Result")
ExecutorSource: TypeAlias = Executor | Callable[[], Executor]
"""An executor, or a function that makes one, called again when the last one is broken."""

_PREFETCH = 3  # batches per worker that are being computed, or wait for the result of an earlier batch
_MIN_WORKERS = 2  # workers that are assumed until more have answered
_SMALL_TABLE = 10_000  # bytes; a smaller table is sent with each batch
_BATCH_SECONDS = 0.3  # seconds that a batch should take, which an interruption loses
_MAX_FAILURES = 5  # failures of one batch after which the search ends
_TABLE_SENDS = 3  # times that a table is sent for a worker that lacks it: the executor may choose another worker
_KEPT_TABLES = 2  # newest tables that a worker keeps


class RemoteExecutor:
    """Makes calls by an executor whose workers do not share memory with this process."""

    def __init__(self, source: ExecutorSource) -> None:
        self.source = source
        self.executor = source if isinstance(source, Executor) else source()
        self.seen_threads: set[str] = set()  # worker threads that have answered
        self.packed: tuple[object, object, _Table] | None = None

    @property
    def workers(self) -> int:
        """The number of calls that seem to be made at once."""
        return max(_MIN_WORKERS, len(self.seen_threads))

    def map(
        self,
        prepare: Prepare[Shared, Item, Result],
        shared: Shared,
        items: Iterable[Item],
        check_stop: Callable[[], None] = lambda: None,
    ) -> Iterator[Result]:
        """Yield the results in order. `check_stop` is called ten times a second. Raises Refused."""
        batches = _Batches(self, self._pack(prepare, shared), items, check_stop)
        try:
            yield from batches.results()
        finally:
            batches.cancel()

    def _pack(self, prepare: Callable[..., object], shared: object) -> "_Table":
        """Return `prepare` and `shared` as bytes.

        The same objects are packed once for several maps in a row.
        """
        if self.packed is None or self.packed[0] is not prepare or self.packed[1] is not shared:
            content = _pack((prepare, shared))
            self.packed = prepare, shared, _Table(blake2b(content, digest_size=16).hexdigest(), content)
        return self.packed[2]

    def replace_broken(self, broken: Executor, error: BaseException) -> None:
        """Replace a broken executor by a new one. Raises Refused if this object cannot make one."""
        if broken is not self.executor:
            return  # it has been replaced already
        if isinstance(self.source, Executor):
            raise Refused(
                f"a worker of the search was killed, and its executor takes no more calls: {_one_line(error)}; "
                "give a function that makes the executor, or use fewer workers if memory ran out"
            )
        broken.shutdown(wait=False)
        self.executor = self.source()

    def close(self) -> None:
        """Shut down the executor if this object has made it."""
        if not isinstance(self.source, Executor):
            self.executor.shutdown(wait=False, cancel_futures=True)


class _Table(NamedTuple):
    """A `prepare` function and its shared data, pickled."""

    digest: str
    content: bytes


@dataclass(frozen=True, slots=True)
class _Call:
    """A batch of items for a worker. `content` is the pickled table if the worker may lack it."""

    digest: str
    content: bytes | None  # pickled table, or None
    items: bytes
    token: str = field(default_factory=lambda: secrets.token_hex(16))

    def __dask_tokenize__(self) -> str:
        """Return a unique text.

        Dask would reuse the results of equal calls, and would hash tables.
        """
        return self.token


class _Reply(NamedTuple):
    """The answer of a worker. Without results, it says that the worker lacks the table."""

    worker: str
    thread: str
    seconds: float
    results: list[bytes]


@dataclass(slots=True, eq=False)
class _Batch:
    """Items that are sent to a worker together."""

    items: bytes
    size: int
    failures: int = 0
    results: list[bytes] = field(default_factory=list)


class _Batches:
    """The batches of one `map` that are on their way through the executor."""

    def __init__(
        self, remote: RemoteExecutor, table: _Table, items: Iterable[Any], check_stop: Callable[[], None]
    ) -> None:
        self._remote, self._table, self._check_stop = remote, table, check_stop
        self._items = iter(items)
        self._ahead: deque[Any] = deque()  # items that follow; few are left when the end is near
        self._size = 1  # items in the next batch, except near the end
        self._ordered: deque[_Batch] = deque()  # batches whose results were not taken yet, in order
        self._pending: dict[Future[_Reply], tuple[_Batch, Executor]] = {}
        self._lacking: dict[str, int] = {}  # for each worker that lacks the table, how often it may still be sent
        self._carriers: dict[_Batch, str] = {}  # batches that contain the table, and the worker for which it is
        self._held: list[_Batch] = []  # batches that wait until a worker has received the table

    def results(self) -> Iterator[Any]:
        """Yield the results in the order of the items."""
        while True:
            self._send_ahead()
            self._check_stop()
            if self._ordered and self._ordered[0].results:
                for result in self._ordered.popleft().results:
                    yield unpickle_result(result)
            elif not self._ordered:
                return
            else:
                for future in wait(self._pending, POLL_INTERVAL, FIRST_COMPLETED).done:
                    self._receive(future)

    def cancel(self) -> None:
        """Cancel the batches that have not begun."""
        for future in self._pending:
            future.cancel()

    def _send_ahead(self) -> None:
        while len(self._ordered) < _PREFETCH * self._remote.workers and (items := self._take_items()):
            batch = _Batch(_pack(items), len(items))
            self._ordered.append(batch)
            self._send(batch)

    def _take_items(self) -> list[Any]:
        """Return the next items: fewer towards the end, so that all workers end together."""
        shares = 2 * self._remote.workers
        self._ahead.extend(islice(self._items, max(0, shares * self._size - len(self._ahead))))
        size = min(self._size, max(1, len(self._ahead) // shares), len(self._ahead))
        return [self._ahead.popleft() for _ in range(size)]

    def _send(self, batch: _Batch) -> None:
        is_small = len(self._table.content) <= _SMALL_TABLE
        if waiting := self._lacking.keys() - self._carriers.values():
            self._carriers.setdefault(batch, min(waiting))
        content = self._table.content if is_small or batch in self._carriers else None
        while True:
            executor = self._remote.executor
            try:
                with warnings.catch_warnings():  # Dask's advice would be right if each call had a table of its own
                    warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
                    future = executor.submit(run_calls, _Call(self._table.digest, content, batch.items))
            except (RuntimeError, OSError) as error:  # the executor is broken, shut down or not connected
                self._note_failure(batch, executor, error)
            else:
                self._pending[future] = batch, executor
                return

    def _receive(self, future: "Future[_Reply]") -> None:
        batch, executor = self._pending.pop(future)
        try:
            reply = future.result()
        except Exception as error:  # noqa: BLE001 - exceptions of calls are results: this is a lost worker
            self._note_failure(batch, executor, error)
            self._send(batch)
            return
        if reply.results:
            batch.results = reply.results
            self._remote.seen_threads.add(reply.thread)
            self._plan_size(reply.seconds / batch.size)
            self._lacking.pop(reply.worker, None)
            if asking := self._carriers.pop(batch, None):
                self._note_arrival(asking)
        else:
            self._lacking[reply.worker] = _TABLE_SENDS
            if reply.worker in self._carriers.values():
                self._held.append(batch)
            else:
                self._send(batch)

    def _note_arrival(self, asking: str) -> None:
        """Send the batches that were held back until a worker had received the table.

        If another worker received it, the first batch contains the table again.
        """
        if asking in self._lacking:
            self._lacking[asking] -= 1
            if not self._lacking[asking]:  # the worker may have left; if not, it asks again
                del self._lacking[asking]
        held, self._held = self._held, []
        for each in held:
            self._send(each)

    def _note_failure(self, batch: _Batch, executor: Executor, error: BaseException) -> None:
        batch.failures += 1
        if batch.failures >= _MAX_FAILURES:
            raise Refused(
                f"the workers of the search failed {batch.failures} times in a row: {_one_line(error)}; "
                "see that they run the same version of this program and have enough memory"
            ) from error
        if isinstance(error, BrokenExecutor):
            self._remote.replace_broken(executor, error)

    def _plan_size(self, seconds: float) -> None:
        """Choose the size of the next batch from the `seconds` of an item."""
        self._size = max(1, min(2 * self._size, int(_BATCH_SECONDS / max(seconds, 1e-6))))


def run_calls(call: _Call) -> _Reply:
    """Make the calls of a batch on a worker. If the worker lacks the table, ask for it."""
    if not _WORKER.has_table(call.digest, call.content):
        return _Reply(_WORKER.name, "", 0, [])
    began, results = time.monotonic(), list[bytes]()
    for item in pickle.loads(call.items):  # noqa: S301 - from a search
        results.append(pickle_result(_WORKER.call, (call.digest, item)))
        if is_cancelled():  # if Dask needs the result after all, the batch is sent again
            raise CancelledError
    thread = f"{_WORKER.name}-{threading.get_ident()}"
    return _Reply(_WORKER.name, thread, time.monotonic() - began, results)


def is_cancelled() -> bool:
    """Return whether Dask has cancelled the call of this thread. Other executors do not tell."""
    if (dask := sys.modules.get("distributed")) is None:
        return False
    try:
        task = dask.get_worker().state.tasks.get(dask.worker.thread_state.key)
    except (AttributeError, ValueError):  # no worker of Dask makes this call
        return False
    return task is None or task.state == "cancelled"


class _WorkerRuntime(SearchRuntime):
    """The runtime of calls on a worker. It interrupts the calls of a cancelled search."""

    def __init__(self, digest: str) -> None:
        super().__init__(time.monotonic)
        self._digest = digest

    def check_stop(self) -> None:
        """Raise Interrupted after the end of the search that made the call."""
        if is_cancelled():
            raise Interrupted("its search has ended")

    def report_progress(self, part: float | None, note: str) -> None:  # noqa: ARG002 - the search reports its own
        """Raise Interrupted after the end of the search that made the call."""
        self.check_stop()

    def shared_buffer(self, size: int) -> memoryview:
        """Return bytes that the workers of this machine share, for calls by the same table."""
        return open_table(f"{self._digest}-{size}", size)


class _Worker:
    """The tables of this process, and the functions that each of its threads prepared from them."""

    def __init__(self) -> None:
        self.name = f"{socket.gethostname()}-{os.getpid()}"
        self._lock = threading.Lock()
        self._tables: dict[str, tuple[Prepare[Any, Any, Any], Any]] = {}  # key: digest; newest last
        self._thread = threading.local()

    def has_table(self, digest: str, content: bytes | None) -> bool:
        """Return whether the table is in this process.

        A new one is first unpickled from `content`.
        """
        with self._lock:
            if digest not in self._tables and content is not None:
                self._tables[digest] = pickle.loads(content)  # noqa: S301 - from a search
                for old in list(self._tables)[:-_KEPT_TABLES]:
                    del self._tables[old]
            return digest in self._tables

    def call(self, arguments: tuple[str, Any]) -> object:
        """Call the function of a table for an item."""
        digest, item = arguments
        functions: dict[str, Callable[[Any], object]] = self._thread.__dict__
        if digest not in functions:
            with self._lock:
                prepare, shared = self._tables[digest]
                for old in functions.keys() - self._tables.keys():
                    del functions[old]
            functions[digest] = prepare(shared, _WorkerRuntime(digest))
        return functions[digest](item)


_WORKER = _Worker()


class _Pickler(pickle.Pickler):
    """A pickler that also accepts views of numbers."""

    def reducer_override(self, obj: Any) -> Any:
        """Return how to rebuild a view, or that the usual way is right."""
        if isinstance(obj, memoryview):
            return _restore_view, (pickle.PickleBuffer(obj.cast("B")), obj.format)
        return NotImplemented


def _restore_view(content: Buffer, kind: Any) -> "memoryview[int]":
    return memoryview(content).cast(kind)


def _pack(value: object) -> bytes:
    out = io.BytesIO()
    _Pickler(out, pickle.HIGHEST_PROTOCOL).dump(value)
    return out.getvalue()


def _one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
