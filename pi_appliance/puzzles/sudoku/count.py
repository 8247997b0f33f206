"""Counts all solutions of a 9x9 grid, on all cores, and goes on another night where it was cut off.

A search that has spent its budget is taken apart: each guess on its stack that has a contrary still to be looked at is
a piece of its own. So each look at a piece is a matter of a moment, nothing is looked at twice, and little is lost at
an end.
"""

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256

from pi_appliance.puzzles import pluralize
from pi_appliance.puzzles.runtime.interface import Cache, Interrupted, SearchRuntime
from pi_appliance.puzzles.runtime.serial import save_checkpoint
from pi_appliance.puzzles.sudoku import kernel

BUDGET = 100_000 if kernel.COMPILED else 2_000  # guesses for one look: a tenth of a second, more on a small Pi
WAVE = 64  # pieces given out at a time
KEPT = 60  # seconds between two checkpoints
MAGIC = b"sudoku count 1\n"
_HEAD = 16  # bytes of each of the two numbers behind it: more than any count of solutions takes
_STATE = 30  # words of a grid in the kernel

_Piece = tuple[bytes, float]  # a grid as the kernel saves it, and the part of the whole work that it seems to be
_Look = Callable[[_Piece], tuple[int, int, list[_Piece]]]


@dataclass(slots=True)
class Count:
    """How many solutions there are, how many guesses it took, and what is still to be looked at."""

    solutions: int
    guesses: int
    left: list[_Piece]


def count(grid: str, most: int | None, runtime: SearchRuntime, budget: int = BUDGET) -> Count:
    """Count the solutions of GRID, up to MOST. Raises Interrupted; by then it is on the shelf how far it came.

    If nothing is left, these are all.
    """
    look = _look(most, budget)
    name = f"sudoku/count-1-{sha256(grid.encode()).hexdigest()[:24]}"
    state = _kept(runtime.cache, name) or Count(0, 0, list(_whole(grid)))
    kept = runtime.monotonic()
    try:
        while state.left and (most is None or state.solutions < most):
            part = 1 - sum(weight for _, weight in state.left)
            runtime.report_progress(max(0.0, part), f"{pluralize(state.solutions, 'solution')} so far")
            _wave(state, look, runtime)
            if runtime.monotonic() - kept > KEPT:
                save_checkpoint(_keep, runtime.cache, name, state)
                kept = runtime.monotonic()
    except Interrupted as end:
        lost = save_checkpoint(_keep, runtime.cache, name, state)
        end.partial_result = f"{pluralize(state.solutions, 'solution')} counted, and there may be more"
        end.partial_result += lost or "; it goes on from there"
        raise
    runtime.cache.remove(name)
    if most is not None and state.solutions >= most:
        return Count(most, state.guesses, state.left or list(_whole(grid)))
    return state


def _whole(grid: str) -> Iterator[_Piece]:
    """Yield the one piece that GRID is before anything is looked at."""
    search = kernel.Search()
    search.begin(grid.encode(), 0)
    yield from _rest(search, 1.0)


def _wave(state: Count, look: _Look, runtime: SearchRuntime) -> None:
    """Look at some of the pieces left. The last ones are the furthest on: what waits stays short."""
    wave = state.left[-WAVE:]
    del state.left[-WAVE:]
    parts: list[_Piece] = []
    done = 0
    try:
        for found, guesses, more in runtime.map(look, wave):
            state.solutions += found
            state.guesses += guesses
            parts += more
            done += 1
    finally:
        state.left += wave[done:] + parts


def _look(most: int | None, budget: int) -> _Look:
    """Return what looks at a piece: the solutions it found, its guesses, and what it left."""

    def look(piece: _Piece) -> tuple[int, int, list[_Piece]]:
        state, weight = piece
        search = kernel.Search()
        search.load(array("I", state))
        found = search.count(2**62 if most is None else most, budget)
        return found, search.guesses, list(_rest(search, weight))

    return look


def _rest(search: kernel.Search, weight: float) -> Iterator[_Piece]:
    """Yield what SEARCH, which is WEIGHT of the whole, has still to look at: each guess is taken for half of it."""
    state = array("I", bytes(4 * _STATE))
    for floor in range(search.top + 1):
        search.save(floor, state)
        weight /= 1 if floor == search.top else 2
        yield state.tobytes(), weight


def _keep(cache: Cache, name: str, state: Count) -> None:
    numbers = [each.to_bytes(_HEAD, "little") for each in (state.solutions, state.guesses)]
    weights = array("d", [weight for _, weight in state.left]).tobytes()
    cache.save(name, [MAGIC, *numbers, weights, *(grid for grid, _ in state.left)])


def _kept(cache: Cache, name: str) -> Count | None:
    """Return how far the count came in an earlier night; None if there was none, or it cannot be read."""
    kept = bytes(cache.load(name) or b"")
    start = len(MAGIC) + 2 * _HEAD
    pieces, over = divmod(len(kept) - start, 8 + 4 * _STATE)
    if not kept.startswith(MAGIC) or pieces < 0 or over:
        return None
    weights, grids = array("d", kept[start : start + 8 * pieces]), kept[start + 8 * pieces :]
    if any(word >> 27 for word in array("I", grids)) or not all(0 <= each <= 1 for each in weights):
        return None
    solutions, guesses = (int.from_bytes(kept[at : at + _HEAD], "little") for at in (len(MAGIC), len(MAGIC) + _HEAD))
    size = 4 * _STATE
    return Count(solutions, guesses, [(grids[n * size : (n + 1) * size], weight) for n, weight in enumerate(weights)])
