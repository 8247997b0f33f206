"""Grids of 9x9, by the search in bands: one solution after the other, told how it goes on in between."""

from collections.abc import Iterator

from pi_appliance.puzzles.runtime.interface import SearchRuntime
from pi_appliance.puzzles.sudoku import kernel

BUDGET = 50_000 if kernel.COMPILED else 500  # guesses between two signs of life: at most 0.3 s on a small Pi


class Bands:
    """The search for the solutions of one grid."""

    def __init__(self, grid: str, runtime: SearchRuntime) -> None:
        self.runtime = runtime
        self._search = kernel.Search()
        self._search.begin(grid.encode(), 0)
        self._cells = bytearray(81)

    def solutions(self) -> Iterator[str]:
        """Yield each solution. Raises Interrupted."""
        while (came := self._search.next(BUDGET)) != kernel.DONE:
            if came == kernel.FOUND:
                self._search.write(self._cells, 0)
                yield self._cells.decode()
            self.runtime.report_progress(None, f"{self.guesses():,} guesses")

    def guesses(self) -> int:
        """Return how many guesses were made until now."""
        return int(self._search.guesses)
