"""An executor that makes calls in forked copies of this process, on all cores: see ADR 0040.

Unlike the standard process pool, it pickles no function, because tables are too large, and takes
only few items ahead.
"""

import contextlib
import ctypes
import gc
import os
import pickle
import signal
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, NoReturn, TypeVar

from pi_appliance.errors import Refused
from pi_appliance.puzzles.runtime import LazyExecutor

POLL_INTERVAL = 0.1  # seconds between two checks whether the search must end
_PREFETCH = 4  # items per worker that may wait for the result of an earlier item
_IGNORED_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PR_SET_PDEATHSIG = 1

Result = TypeVar("Result")


class ForkExecutor(LazyExecutor):
    """Makes each call of `map` in a forked worker, which sees all memory as it is at the fork.

    Workers ignore the signals that stop a search, and end with this process. `check` is called
    while results are awaited, and when `wakeup_fd` is readable; its exceptions end the wait.
    """

    def __init__(
        self,
        max_workers: int,
        *,
        check: Callable[[], None] = lambda: None,
        wakeup_fd: int | None = None,
        initializer: Callable[[], None] = lambda: None,
    ) -> None:
        self._max_workers, self._check, self._initializer = max_workers, check, initializer
        self._wakeup_fds = () if wakeup_fd is None else (wakeup_fd,)

    def _map(self, function: Callable[[Any], Result], items: Iterable[Any]) -> Iterator[Result]:
        """Yield the results in order. Workers are forked at the first `next`. Raises Refused."""
        if isinstance(items, Sequence):  # the fork has the items already, so only their indices are sent
            all_items, call, items = items, function, range(len(items))

            def function(at: int) -> Result:
                return call(all_items[at])

        remaining = iter(items)
        first_items = list(islice(remaining, self._max_workers))
        workers: list[_Worker] = []
        try:
            for _ in first_items:
                workers.append(_Worker(function, self._initializer))  # noqa: PERF401 - kill the started ones
            yield from self._results(workers, chain(first_items, remaining))
        finally:
            for worker in workers:
                worker.kill()

    def _results(self, workers: Sequence["_Worker"], items: Iterator[Any]) -> Iterator[Any]:
        idle, busy = list(workers), dict[Connection, tuple["_Worker", int]]()
        results: dict[int, Any] = {}
        next_sent = next_yielded = 0  # item numbers
        while True:
            room = next_yielded + _PREFETCH * len(workers) - next_sent
            for item in islice(items, max(0, min(room, len(idle)))):
                worker = idle.pop()
                worker.send(item)
                busy[worker.connection] = worker, next_sent
                next_sent += 1
            self._check()
            if next_yielded in results:
                yield results.pop(next_yielded)
                next_yielded += 1
            elif not busy:
                return
            else:
                for connection in wait([*busy, *self._wakeup_fds], POLL_INTERVAL):
                    if connection in busy:
                        worker, number = busy.pop(connection)
                        results[number] = worker.receive()
                        idle.append(worker)


class _Worker:
    def __init__(self, function: Callable[[Any], Any], initializer: Callable[[], None]) -> None:
        self._parent = os.getpid()
        try:
            self.connection, child_connection = Pipe()
        except OSError as error:
            raise _refuse(error) from None
        # Signals are blocked until the copy ignores them.
        old_mask = signal.pthread_sigmask(signal.SIG_BLOCK, _IGNORED_SIGNALS)
        try:
            self._pid = os.fork()
            if not self._pid:
                _run_worker(self._parent, old_mask, child_connection, function, initializer)
        except OSError as error:
            self.connection.close()
            raise _refuse(error) from None
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)
            child_connection.close()

    def send(self, item: Any) -> None:
        """Start the call for `item`. Raises Refused if the worker was killed."""
        message = pickle.dumps(item, pickle.HIGHEST_PROTOCOL)
        try:
            self.connection.send_bytes(message)
        except OSError:
            raise self._explain_death() from None

    def receive(self) -> Any:
        """Return the result, or raise the exception of the call, or Refused."""
        try:
            message = self.connection.recv_bytes()
        except (EOFError, OSError):
            raise self._explain_death() from None
        return unpickle_result(message)

    def kill(self) -> None:
        if os.getpid() != self._parent:  # another forked process has inherited this object
            return
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
            self._pid = 0
        self.connection.close()

    def _explain_death(self) -> Refused:
        os.kill(self._pid, signal.SIGKILL)  # usually the worker has ended by now
        _, status = os.waitpid(self._pid, 0)
        self._pid = 0
        if os.WIFSIGNALED(status):
            how = f"was killed by signal {os.WTERMSIG(status)}"
        else:
            how = f"ended with status {os.WEXITSTATUS(status)}"
        return Refused(
            f"a process of the search {how}, most likely because memory ran out; raise its limit or use fewer cores"
        )


def _refuse(error: OSError) -> Refused:
    return Refused(f"no process can be started for the search: {error.strerror}; use fewer cores")


def _run_worker(
    parent: int,
    old_mask: Iterable[int],
    connection: Connection,
    function: Callable[[Any], Any],
    initializer: Callable[[], None],
) -> NoReturn:
    status = 1
    try:
        for kind in _IGNORED_SIGNALS:
            signal.signal(kind, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        gc.freeze()  # a garbage collection would copy all shared memory
        initializer()
        while os.getppid() == parent:
            item = pickle.loads(connection.recv_bytes())  # noqa: S301 - written by the parent
            connection.send_bytes(pickle_result(function, item))
    except (EOFError, OSError):
        status = 0
    finally:
        os._exit(status)  # without the exit handlers of the parent process


def pickle_result(function: Callable[[Any], Any], item: Any) -> bytes:
    """Make a call, and pickle its result: `(None, result)`, or `(class, state)` of an exception."""
    try:
        return pickle.dumps((None, function(item)), pickle.HIGHEST_PROTOCOL)
    except BaseException as error:  # noqa: BLE001 - the parent raises it
        error.add_note(f"in a worker: {traceback.format_exc()}")
        with contextlib.suppress(Exception):
            return pickle.dumps((type(error), (error.__reduce__()[1], vars(error))), pickle.HIGHEST_PROTOCOL)
        text = "".join(traceback.format_exception_only(error)).strip()
        return pickle.dumps((RuntimeError, ((text,), {})))


def unpickle_result(message: bytes) -> Any:
    """Return the result in a message of `pickle_result`, or raise its exception."""
    error_type, result = pickle.loads(message)  # noqa: S301 - written by another process of the search
    if error_type is None:
        return result
    args, attributes = result
    error = error_type.__new__(error_type, *args)  # without `__init__`, whose parameters may differ from `args`
    vars(error).update(attributes)
    raise error
