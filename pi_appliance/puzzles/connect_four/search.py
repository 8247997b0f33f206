"""Finds the exact score of positions by narrowing it down with the kernel. One table is shared by all cores."""

from collections.abc import Callable

from pi_appliance.puzzles.connect_four import kernel
from pi_appliance.puzzles.connect_four.position import Position, highest, lowest
from pi_appliance.puzzles.runtime.interface import SearchRuntime

# Up to so many discs, a table of 2 ** so many positions of 8 bytes. Four times the larger one would save the empty
# board an eighth of its positions.
_TABLES = ((14, 22), (42, 20))


def _no_book(_key: int) -> int:
    return kernel.UNKNOWN


class Search:
    """The kernel with a table. Scores are those of whoever is to move.

    It is asked for positions with DISCS discs or more. BOOK says scores of positions with up to PLIES discs by their
    keys. NOTE is what `work` is told.
    """

    def __init__(
        self, runtime: SearchRuntime, discs: int, note: str, book: Callable[[int], int] = _no_book, plies: int = -1
    ) -> None:
        bits = next(bits for most, bits in _TABLES if discs <= most)
        self.runtime, self.note = runtime, note
        self._kernel = kernel.Search(runtime.shared_buffer(8 << bits).cast("Q"), bits, self._tick, book, plies)

    @property
    def tried(self) -> int:
        """How many positions were looked at."""
        return int(self._kernel.nodes)

    def exact(
        self,
        position: Position,
        low: int | None = None,
        high: int | None = None,
        narrowed: Callable[[int, int], None] = lambda _low, _high: None,
    ) -> int:
        """Return the score of POSITION, which is undecided; it is known to be from LOW to HIGH.

        NARROWED is told whenever more is known. Raises Interrupted.
        """
        discs = position.discs
        low = lowest(discs) if low is None else low
        high = highest(discs) if high is None else high
        while low < high:
            goal = _between(low, high)
            bound = self._kernel.bound(position.own, position.mask, discs, goal)
            if bound >= goal:
                low = bound
            else:
                high = bound
            narrowed(low, high)
        return low

    def reaches(self, position: Position, goal: int) -> bool:
        """Say whether the score of POSITION is GOAL or more. Raises Interrupted."""
        return bool(self._kernel.bound(position.own, position.mask, position.discs, goal) >= goal)

    def _tick(self, tried: int) -> None:
        self.runtime.report_progress(None, f"{self.note}: {tried:,} positions tried")


def _between(low: int, high: int) -> int:
    """Return what to ask next, LOW < it <= HIGH: about games that end soon first, as that is quick."""
    middle = low + (high - low + 1) // 2
    if middle <= 0:
        return min(middle, max(low + 1, -(-low // 2)))
    return max(middle, high // 2)
