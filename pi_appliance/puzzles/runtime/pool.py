"""Copies of this process that make calls on all cores: forked, fed one item at a time, and never outliving the map.

A worker sees all memory as it was when the map began, and ends when it is killed: by the map, however that ends, or by
the kernel when this process dies. Signals that ask a run to end are for this process alone.
"""

import contextlib
import gc
import os
import pickle
import signal
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, NoReturn

from pi_appliance.errors import Refused
from pi_appliance.puzzles.runtime.interface import Item, Result
from pi_appliance.system import process

LOOK = 0.1  # seconds between two looks at whether it must end
_PREFETCH = 4  # items a worker that may wait for the result of an earlier one: what comes too soon is kept in memory
_IGNORED_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def fork_map(
    cores: int,
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    check: Callable[[], None],
    ear: int | None = None,
    on_fork: Callable[[], None] = lambda: None,
) -> Iterator[Result]:
    """Yield what FUNCTION makes of each of ITEMS, in their order, with so many workers.

    CHECK is called every LOOK seconds, and at once when the descriptor EAR can be read; what it raises ends the map. A
    worker calls ON_FORK first. What FUNCTION raises is raised here. Raises Refused if a worker is killed.
    """
    # What stands in a sequence is there already in every copy of this process; the rest is sent to it.
    place = items.__getitem__ if isinstance(items, Sequence) else None
    ahead: Iterator[Any] = iter(range(len(items))) if isinstance(items, Sequence) else iter(items)
    first = list(islice(ahead, cores))
    crew: list[_Worker] = []
    try:
        for _ in first:
            crew.append(_Worker(function, place, on_fork))  # noqa: PERF401 - those that are there must be seen
        yield from _results(crew, chain(first, ahead), check, ear)
    finally:
        for worker in crew:
            worker.kill()


def _results(
    crew: Sequence["_Worker"], items: Iterator[Any], check: Callable[[], None], ear: int | None
) -> Iterator[Any]:
    idle, busy = list(crew), dict[Connection, tuple["_Worker", int]]()
    came: dict[int, Any] = {}
    given = wanted = 0  # numbers of items: the next one to be given out, and to be yielded
    more = True
    while True:
        while more and idle and given < wanted + _PREFETCH * len(crew):
            try:
                item = next(items)
            except StopIteration:
                more = False
                break
            worker = idle.pop()
            worker.give(item)
            busy[worker.line] = worker, given
            given += 1
        check()
        if wanted in came:
            yield came.pop(wanted)
            wanted += 1
        elif not busy:
            return
        else:
            for line in wait([*busy, *(() if ear is None else (ear,))], LOOK):
                if line in busy:
                    worker, number = busy.pop(line)
                    came[number] = worker.take()
                    idle.append(worker)


class _Worker:
    """One copy of this process, and the line to it."""

    def __init__(
        self, function: Callable[[Any], Any], place: Callable[[int], Any] | None, on_fork: Callable[[], None]
    ) -> None:
        self._parent = os.getpid()
        try:
            self.line, its_end = Pipe()
        except OSError as error:
            raise _refused(error) from None
        # Nothing may reach the copy before it is deaf to it.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _IGNORED_SIGNALS)
        try:
            self._pid = os.fork()
            if not self._pid:
                _work(self._parent, before, its_end, function, place, on_fork)
        except OSError as error:
            self.line.close()
            raise _refused(error) from None
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            its_end.close()

    def give(self, item: Any) -> None:
        """Let it begin with ITEM. Raises Refused if it was killed."""
        message = pickle.dumps(item, pickle.HIGHEST_PROTOCOL)
        try:
            self.line.send_bytes(message)
        except OSError:
            raise self._killed() from None

    def take(self) -> Any:
        """Return what came of the item, or raise what the call raised. Raises Refused if it was killed."""
        try:
            message = self.line.recv_bytes()
        except (EOFError, OSError):
            raise self._killed() from None
        error, came = pickle.loads(message)  # noqa: S301 - a copy of this process wrote it
        if error is not None:
            raise _error_of(error, *came)
        return came

    def kill(self) -> None:
        """End it, whatever it does, and take leave of it."""
        if os.getpid() != self._parent:  # a later copy of this process has this object, too
            return
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
            self._pid = 0
        self.line.close()

    def _killed(self) -> Refused:
        os.kill(self._pid, signal.SIGKILL)  # it is a zombie, unless it closed its line and nothing else
        _, status = os.waitpid(self._pid, 0)
        self._pid = 0
        if os.WIFSIGNALED(status):
            how = f"was killed by signal {os.WTERMSIG(status)}"
        else:
            how = f"ended with status {os.WEXITSTATUS(status)}"
        return Refused(
            f"a process of the search {how}, most likely for want of memory; let it have more, or fewer cores"
        )


def _refused(error: OSError) -> Refused:
    return Refused(f"no process can be started for the search: {error.strerror}; let it have fewer cores")


def _work(
    parent: int,
    mask: Iterable[int],
    line: Connection,
    function: Callable[[Any], Any],
    place: Callable[[int], Any] | None,
    on_fork: Callable[[], None],
) -> NoReturn:
    """Be a worker: answer each item until there is nobody to answer."""
    status = 1
    try:
        for kind in _IGNORED_SIGNALS:
            signal.signal(kind, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        process.die_with_parent(signal.SIGKILL)
        gc.freeze()  # or looking for garbage would copy all that is shared
        on_fork()
        while os.getppid() == parent:
            item = pickle.loads(line.recv_bytes())  # noqa: S301 - our parent wrote it
            line.send_bytes(_answer(function, item if place is None else place(item)))
    except (EOFError, OSError):
        status = 0
    finally:
        os._exit(status)  # nothing of the parent's is tidied up here


def _answer(function: Callable[[Any], Any], item: Any) -> bytes:
    """Return (None, what FUNCTION makes of ITEM), or what it raised: (its class, what it is made of), pickled."""
    try:
        return pickle.dumps((None, function(item)), pickle.HIGHEST_PROTOCOL)
    except BaseException as error:  # noqa: BLE001 - the edge of this process: the other one raises it
        error.add_note(f"in a worker: {traceback.format_exc()}")
        with contextlib.suppress(Exception):
            return pickle.dumps((type(error), (error.__reduce__()[1], vars(error))), pickle.HIGHEST_PROTOCOL)
        told = "".join(traceback.format_exception_only(error)).strip()
        return pickle.dumps((RuntimeError, ((told,), {})))


def _error_of(kind: type[BaseException], args: tuple[Any, ...], its: dict[str, Any]) -> BaseException:
    """Return an error as it was. Calling its class would not do: not every one is made of its `args`."""
    error = kind.__new__(kind, *args)
    vars(error).update(its)
    return error
