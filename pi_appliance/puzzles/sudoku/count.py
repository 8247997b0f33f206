"""Find and count the solutions of one grid; 9x9 is counted on all cores and can be resumed.

A branch that has spent its budget is split along its search stack: each guess whose negation is
unsearched becomes a branch. No part is searched twice, and an interruption loses little.
"""

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from pi_appliance.puzzles import pluralize
from pi_appliance.puzzles.runtime import Buffer, Checkpoint, SearchRuntime, find_solutions, partial_result
from pi_appliance.puzzles.sudoku import kernel
from pi_appliance.puzzles.sudoku.sat import SatSearch

# Guesses between two progress reports: at most 0.3 s on a small Pi.
PROGRESS_BUDGET = 50_000 if kernel.COMPILED else 500
BRANCH_BUDGET = 100_000 if kernel.COMPILED else 2_000  # guesses per branch: about 0.1 s
WAVE_SIZE = 64  # branches searched between checkpoints and progress reports
_UNLIMITED = 2**62
_FRAME_BYTES = 120  # bytes of a grid in the kernel's format

_Branch = tuple[bytes, float]  # a grid in the kernel's format, and the estimated share of the whole search


class SolutionCount(NamedTuple):
    """The number of solutions found, whether these are all, and how many guesses that took."""

    solutions: int
    is_complete: bool
    guesses: int


class BandSearch:
    """Search for the solutions of one 9x9 grid, with progress reports."""

    def __init__(self, grid: str, runtime: SearchRuntime) -> None:
        self._runtime = runtime
        self._search = kernel.GridSearch()
        self._search.begin(grid.encode(), 0)

    def solutions(self) -> Iterator[str]:
        """Yield each solution. Raises `Interrupted`."""
        cells = bytearray(81)
        for _ in find_solutions(lambda: self._search.find_next(PROGRESS_BUDGET), self._report):
            self._search.write_solution(cells, 0)
            yield cells.decode()
            self._report()

    def guesses(self) -> int:
        """Return the number of guesses so far."""
        return int(self._search.guesses)

    def _report(self) -> None:
        self._runtime.report_progress(None, f"{self.guesses():,} guesses")


def is_unique_grid(grid: str, runtime: SearchRuntime) -> bool:
    """Return whether a 9x9 grid has exactly one solution. Raises `Interrupted`."""
    return len(list(islice(BandSearch(grid, runtime).solutions(), 2))) == 1


def count_grid(grid: str, size: int, limit: int | None, runtime: SearchRuntime) -> SolutionCount:
    """Count the solutions of a grid of any size, up to `limit`. Raises Interrupted, Refused."""
    if size == 9:
        return count_parallel(grid, limit, runtime)
    search = SatSearch(grid, size, runtime)
    count = 0
    with partial_result(lambda: f"{pluralize(count, 'solution')} counted, and there may be more"):
        for count, _ in enumerate(islice(search.solutions(), limit), 1):
            runtime.report_progress(None, f"{pluralize(count, 'solution')} so far")
    return SolutionCount(count, limit is None or count < limit, search.guesses())


@dataclass(slots=True)
class _CountState:
    """Solutions and guesses so far, and the branches still to be searched."""

    solutions: int
    guesses: int
    branches: list[_Branch]

    def dump(self) -> tuple[dict[str, object], list[Buffer]]:
        values = {"solutions": self.solutions, "guesses": self.guesses, "weights": [part for _, part in self.branches]}
        return values, [b"".join(frame for frame, _ in self.branches)]

    def describe(self) -> str:
        return f"{pluralize(self.solutions, 'solution')} counted, and there may be more"


def count_parallel(
    grid: str, limit: int | None, runtime: SearchRuntime, branch_budget: int = BRANCH_BUDGET
) -> SolutionCount:
    """Count the solutions of a 9x9 grid, up to `limit`."""
    search = kernel.GridSearch()
    search.begin(grid.encode(), 0)
    state = _CountState(0, 0, list(_open_branches(search, 1.0)))
    checkpoint, most = Checkpoint(runtime, "sudoku/count", grid), _UNLIMITED if limit is None else limit
    if saved := checkpoint.load():
        frames, weights = bytes(saved.buffers[0]), saved.values["weights"]
        branches = [(frames[n * _FRAME_BYTES : (n + 1) * _FRAME_BYTES], part) for n, part in enumerate(weights)]
        state = _CountState(saved.values["solutions"], saved.values["guesses"], branches)
    with checkpoint.guard(state.dump, state.describe, "; the next run continues from there") as save_sometimes:
        while state.branches and state.solutions < most:
            part = 1 - sum(weight for _, weight in state.branches)
            runtime.report_progress(max(0.0, part), f"{pluralize(state.solutions, 'solution')} so far")
            # The last branches are the deepest. Searching them first keeps the list short.
            wave, new_branches, searched = state.branches[-WAVE_SIZE:], list[_Branch](), 0
            del state.branches[-WAVE_SIZE:]
            try:
                for solutions, guesses, branches in runtime.map(_branch_counter, (most, branch_budget), wave):
                    state.solutions += solutions
                    state.guesses += guesses
                    new_branches += branches
                    searched += 1
            finally:
                state.branches += wave[searched:] + new_branches
            save_sometimes()
    return SolutionCount(min(state.solutions, most), is_complete=state.solutions < most, guesses=state.guesses)


def _branch_counter(budgets: tuple[int, int], _: SearchRuntime) -> Callable[[_Branch], tuple[int, int, list[_Branch]]]:
    def count_branch(branch: _Branch) -> tuple[int, int, list[_Branch]]:
        """Search a branch; return its solutions, guesses and unsearched branches."""
        search = kernel.GridSearch()
        search.load_frame(array("I", branch[0]))
        solutions = search.count_next(*budgets)
        return solutions, search.guesses, list(_open_branches(search, branch[1]))

    return count_branch


def _open_branches(search: kernel.GridSearch, weight: float) -> Iterator[_Branch]:
    """Yield the unsearched frames of a search. Each guess is assumed to cover half of the rest."""
    frame_words = array("I", bytes(_FRAME_BYTES))
    for frame in range(search.top + 1):
        search.save_frame(frame, frame_words)
        weight /= 1 if frame == search.top else 2
        yield frame_words.tobytes(), weight
