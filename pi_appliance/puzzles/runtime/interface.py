"""What a long search may use: hands, a shelf, and somebody to tell how far it is. Puzzles see the world only so."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Interrupted(Exception):
    """The search must end now: a deadline, a person, the end of the daemon.

    Work raises it in `progress` and `map`. A search may catch it to say what is certain by then, in `so_far`, and
    raises it on; what it wants to go on from later is on the shelf by then.
    """

    def __init__(self, reason: str, partial_result: str = "") -> None:
        super().__init__(reason)
        self.reason, self.partial_result = reason, partial_result


_BOARD = re.compile(r"[0-9a-f]{8}")


def is_board_specific(name: str) -> bool:
    """Say whether what a shelf has as NAME is of one board alone: its name has a hash of eight digits or more."""
    return _BOARD.search(name) is not None


class Cache(Protocol):
    """Where tables, books and checkpoints outlive a run, by name. What is there is whole, and was made by this code.

    What is of one board alone (see `is_of_a_board`) goes when nobody has asked for it for a month.
    """

    def load(self, name: str) -> memoryview | None:
        """Return what was saved as NAME, to be read only; None if nothing is, or it is damaged. No copy is made."""

    def save(self, name: str, parts: Iterable[bytes | bytearray | memoryview]) -> None:
        """Keep PARTS, one behind the other, as NAME, durably, in place of what was there. Raises Unavailable."""

    def remove(self, name: str) -> None:
        """Take NAME away; nothing happens if it is not there."""

    def names(self) -> Iterable[str]:
        """Return what there is, sorted."""


class SearchRuntime(Protocol):
    """What a search is given."""

    cores: int
    """How many calls `map` makes at the same time."""
    cache: Cache

    def report_progress(self, part: float | None, note: str) -> None:
        """Tell how far it is, from 0 to 1 (None: nobody knows), and what it does. Raises Interrupted when it must end.

        Cheap; to be called several times a second, also from within a kernel, so that an end is heard within a second.
        """

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Call FUNCTION for each of ITEMS on all cores, and yield what came of it in their order.

        Each call runs in a copy of this process as it is at the first `next`: it sees all memory there is, and what it
        changes stays its own, except in a `buffer`. What it returns is pickled; what it raises comes out here. Raises
        Interrupted when it must end, whatever the calls do. An item should take from 0.05 to some seconds. Where
        there is one core, the calls are made here, one after the other.
        """

    def shared_buffer(self, size: int) -> memoryview:
        """Return SIZE bytes of zeros that the calls of `map` share with this process."""

    def require_memory(self, size: int, purpose: str) -> None:
        """Raise Refused, with what to do, if WHAT, which takes SIZE bytes at its peak, cannot fit here."""

    def seconds_left(self) -> float | None:
        """Return the seconds that are left until it must end; None: nobody is in a hurry."""

    def monotonic(self) -> float:
        """Return a steady clock's seconds, to measure how long things take."""
