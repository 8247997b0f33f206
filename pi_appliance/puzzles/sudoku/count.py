"""Find and count the solutions of one grid; 9x9 is counted on all cores and can be resumed.

A branch that has spent its budget is split along its search stack: each guess whose negation is
unsearched becomes a branch. No part is searched twice, and an interruption loses little.
"""

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from typing import NamedTuple

from pi_appliance.puzzles import pluralize
from pi_appliance.puzzles.runtime import Cache, Interrupted, SearchRuntime, save_checkpoint
from pi_appliance.puzzles.sudoku import kernel
from pi_appliance.puzzles.sudoku.sat import SatSearch

# Guesses between progress reports: at most 0.3 s on a small Pi.
PROGRESS_BUDGET = 50_000 if kernel.COMPILED else 500
BRANCH_BUDGET = 100_000 if kernel.COMPILED else 2_000  # guesses per branch: about 0.1 s
WAVE_SIZE = 64  # branches searched between checkpoints and progress reports
SAVE_INTERVAL = 60  # seconds between checkpoints
_UNLIMITED = 2**62
_MAGIC = b"sudoku count 1\n"
_NUMBER_SIZE = 16  # bytes of each number in the header; enough for any count of solutions
_FRAME_WORDS = 30  # words of a grid as the kernel saves it

_Branch = tuple[bytes, float]  # a grid as the kernel saves it, and its estimated part of the whole
_CountBranch = Callable[[_Branch], tuple[int, int, list[_Branch]]]


class SolutionCount(NamedTuple):
    """Number of solutions, whether these are all, and the guesses it took."""

    solutions: int
    is_complete: bool
    guesses: int


@dataclass(slots=True)
class CountState:
    """Solutions and guesses so far, and the branches still to be searched."""

    solutions: int
    guesses: int
    branches: list[_Branch]


class BandSearch:
    """Search for the solutions of one 9x9 grid, with progress reports."""

    def __init__(self, grid: str, runtime: SearchRuntime) -> None:
        self._runtime = runtime
        self._search = kernel.GridSearch()
        self._search.begin(grid.encode(), 0)
        self._cells = bytearray(81)

    def solutions(self) -> Iterator[str]:
        """Yield each solution. Raises `Interrupted`."""
        while (result := self._search.find_next(PROGRESS_BUDGET)) != kernel.DONE:
            if result == kernel.FOUND:
                self._search.write_solution(self._cells, 0)
                yield self._cells.decode()
            self._runtime.report_progress(None, f"{self.guesses():,} guesses")

    def guesses(self) -> int:
        """Return the number of guesses so far."""
        return int(self._search.guesses)


def is_unique(grid: str, runtime: SearchRuntime) -> bool:
    """Return whether a 9x9 grid has exactly one solution. Raises `Interrupted`."""
    search = kernel.GridSearch()
    search.begin(grid.encode(), 0)
    solutions = 0
    while search.top >= 0 and solutions < 2:
        solutions += search.count_next(2 - solutions, PROGRESS_BUDGET)
        if search.top >= 0 and solutions < 2:
            runtime.report_progress(None, f"{search.guesses:,} guesses")
    return solutions == 1


def count_solutions(grid: str, size: int, limit: int | None, runtime: SearchRuntime) -> SolutionCount:
    """Count the solutions of a grid of any size, up to `limit`. Raises Interrupted, Refused."""
    if size == 9:
        state = count_parallel(grid, limit, runtime)
        return SolutionCount(state.solutions, not state.branches, state.guesses)
    search = SatSearch(grid, size, runtime)
    count = 0
    try:
        for count, _ in enumerate(islice(search.solutions(), limit), 1):
            runtime.report_progress(None, f"{pluralize(count, 'solution')} so far")
    except Interrupted as interrupted:
        interrupted.partial_result = f"{pluralize(count, 'solution')} counted, and there may be more"
        raise
    return SolutionCount(count, limit is None or count < limit, search.guesses())


def count_parallel(
    grid: str, limit: int | None, runtime: SearchRuntime, branch_budget: int = BRANCH_BUDGET
) -> CountState:
    """Count the solutions of a 9x9 grid, up to `limit`; no branch left means all."""
    count_branch = _branch_counter(limit, branch_budget)
    name = f"sudoku/count-1-{sha256(grid.encode()).hexdigest()[:24]}"
    state = _load_state(runtime.cache, name) or CountState(0, 0, list(_root_branches(grid)))
    saved_at = runtime.monotonic()
    try:
        while state.branches and (limit is None or state.solutions < limit):
            part = 1 - sum(weight for _, weight in state.branches)
            runtime.report_progress(max(0.0, part), f"{pluralize(state.solutions, 'solution')} so far")
            _run_wave(state, count_branch, runtime)
            if runtime.monotonic() - saved_at > SAVE_INTERVAL:
                save_checkpoint(_save_state, runtime.cache, name, state)
                saved_at = runtime.monotonic()
    except Interrupted as interrupted:
        failure = save_checkpoint(_save_state, runtime.cache, name, state)
        interrupted.partial_result = f"{pluralize(state.solutions, 'solution')} counted, and there may be more"
        interrupted.partial_result += failure or "; the next run continues from there"
        raise
    runtime.cache.remove(name)
    if limit is not None and state.solutions >= limit:
        return CountState(limit, state.guesses, state.branches or list(_root_branches(grid)))
    return state


def _root_branches(grid: str) -> Iterator[_Branch]:
    search = kernel.GridSearch()
    search.begin(grid.encode(), 0)
    yield from _open_branches(search, 1.0)


def _run_wave(state: CountState, count_branch: _CountBranch, runtime: SearchRuntime) -> None:
    """Search the last branches: they are the deepest, so the list of waiting ones stays short."""
    wave = state.branches[-WAVE_SIZE:]
    del state.branches[-WAVE_SIZE:]
    new_branches: list[_Branch] = []
    searched = 0
    try:
        for solutions, guesses, branches in runtime.executor.map(count_branch, wave):
            state.solutions += solutions
            state.guesses += guesses
            new_branches += branches
            searched += 1
    finally:
        state.branches += wave[searched:] + new_branches


def _branch_counter(limit: int | None, budget: int) -> _CountBranch:
    """Return a function that searches a branch: its solutions, guesses and unsearched branches."""

    def count_branch(branch: _Branch) -> tuple[int, int, list[_Branch]]:
        frame, weight = branch
        search = kernel.GridSearch()
        search.load_frame(array("I", frame))
        solutions = search.count_next(_UNLIMITED if limit is None else limit, budget)
        return solutions, search.guesses, list(_open_branches(search, weight))

    return count_branch


def _open_branches(search: kernel.GridSearch, weight: float) -> Iterator[_Branch]:
    """Yield the unsearched frames of a search; each guess is taken for half of the rest."""
    frame_words = array("I", bytes(4 * _FRAME_WORDS))
    for frame in range(search.top + 1):
        search.save_frame(frame, frame_words)
        weight /= 1 if frame == search.top else 2
        yield frame_words.tobytes(), weight


def _save_state(cache: Cache, name: str, state: CountState) -> None:
    numbers = [number.to_bytes(_NUMBER_SIZE, "little") for number in (state.solutions, state.guesses)]
    weights = array("d", [weight for _, weight in state.branches]).tobytes()
    cache.save(name, [_MAGIC, *numbers, weights, *(frame for frame, _ in state.branches)])


def _load_state(cache: Cache, name: str) -> CountState | None:
    content = bytes(cache.load(name) or b"")
    start = len(_MAGIC) + 2 * _NUMBER_SIZE
    count, remainder = divmod(len(content) - start, 8 + 4 * _FRAME_WORDS)
    if not content.startswith(_MAGIC) or count < 0 or remainder:
        return None
    weights, frames = array("d", content[start : start + 8 * count]), content[start + 8 * count :]
    if any(word >> 27 for word in array("I", frames)) or not all(0 <= weight <= 1 for weight in weights):
        return None
    solutions, guesses = (
        int.from_bytes(content[at : at + _NUMBER_SIZE], "little") for at in (len(_MAGIC), len(_MAGIC) + _NUMBER_SIZE)
    )
    size = 4 * _FRAME_WORDS
    branches = [(frames[n * size : (n + 1) * size], weight) for n, weight in enumerate(weights)]
    return CountState(solutions, guesses, branches)
