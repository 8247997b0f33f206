"""Counts all solutions of a 9x9 grid, on all cores, and goes on another night where it was cut off.

The grid is taken apart into pieces: the same grid with one more square filled, in every way that it can be. A piece
that takes too long is taken apart in its turn, so that each is a matter of a moment and little is lost at an end.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

from pi_appliance.ports_work import Interrupted, Shelf, Work
from pi_appliance.puzzles import counted
from pi_appliance.puzzles.sudoku import kernel
from pi_appliance.puzzles.sudoku.board import EMPTY, shape

BUDGET = 100_000 if kernel.COMPILED else 2_000  # guesses for one piece: a tenth of a second, more on a small Pi
WAVE = 64  # pieces given out at a time
KEPT = 60  # seconds between two checkpoints
MAGIC = "sudoku count 1"
_PIECE = re.compile(r"[1-9.]{81} [0-9.e-]+")

_Piece = tuple[str, float]  # a grid, and the part of the whole work that it is: as much as each of its siblings
_Look = Callable[[_Piece], tuple[int, int, list[_Piece]]]


@dataclass(slots=True)
class Count:
    """How many solutions there are, how many guesses it took, and what is still to be looked at."""

    solutions: int
    guesses: int
    left: list[_Piece]


def count(grid: str, most: int | None, work: Work, budget: int = BUDGET) -> Count:
    """Count the solutions of GRID, up to MOST. Raises Interrupted; by then it is on the shelf how far it came.

    If nothing is left, these are all.
    """
    look = _look(most, budget)
    name = f"sudoku/count-1-{sha256(grid.encode()).hexdigest()[:24]}"
    state = _kept(work.shelf, name) or Count(*look((grid, 1.0)))
    kept = work.seconds()
    try:
        while state.left and (most is None or state.solutions < most):
            part = 1 - sum(weight for _, weight in state.left)
            work.progress(max(0.0, part), f"{counted(state.solutions, 'solution')} so far")
            _wave(state, look, work)
            if work.seconds() - kept > KEPT:
                _keep(work.shelf, name, state)
                kept = work.seconds()
    except Interrupted as end:
        _keep(work.shelf, name, state)
        end.so_far = f"{counted(state.solutions, 'solution')} counted, and there may be more; it goes on from there"
        raise
    work.shelf.remove(name)
    if most is not None and state.solutions >= most:
        return Count(most, state.guesses, state.left or [(grid, 1.0)])
    return state


def _wave(state: Count, look: _Look, work: Work) -> None:
    """Look at some of the pieces left. The last ones have the most squares filled: what waits stays short."""
    wave = state.left[-WAVE:]
    del state.left[-WAVE:]
    parts: list[_Piece] = []
    done = 0
    try:
        for found, guesses, more in work.map(look, wave):
            state.solutions += found
            state.guesses += guesses
            parts += more
            done += 1
    finally:
        state.left += wave[done:] + parts


def _look(most: int | None, budget: int) -> _Look:
    """Return what looks at a piece: its solutions, guesses, and the parts that it must be taken into instead."""

    def look(piece: _Piece) -> tuple[int, int, list[_Piece]]:
        search = kernel.Search()
        search.begin(piece[0].encode(), 0)
        found = search.count(2**62 if most is None else most, budget)
        if search.top < 0 or found == most:
            return found, search.guesses, []
        return 0, search.guesses, _parts(*piece)

    return look


def _parts(grid: str, weight: float) -> list[_Piece]:
    """Return GRID with the square filled that has the fewest digits to choose from, once for each of them."""
    peers = shape(9).peers
    free = {at: set("123456789") - {grid[peer] for peer in peers[at]} for at in range(81) if grid[at] == EMPTY}
    at = min(free, key=lambda at: (len(free[at]), at))
    return [(grid[:at] + digit + grid[at + 1 :], weight / len(free[at])) for digit in sorted(free[at])]


def _keep(shelf: Shelf, name: str, state: Count) -> None:
    rows = [MAGIC, str(state.solutions), str(state.guesses), *(f"{grid} {weight!r}" for grid, weight in state.left)]
    shelf.save(name, ["\n".join(rows).encode()])


def _kept(shelf: Shelf, name: str) -> Count | None:
    """Return how far the count came in an earlier night; None if there was none, or it cannot be read."""
    kept = shelf.load(name)
    if kept is None:
        return None
    match bytes(kept).decode("ascii", "replace").split("\n"):
        case [magic, solutions, guesses, *pieces] if magic == MAGIC and all(_PIECE.fullmatch(each) for each in pieces):
            if solutions.isdigit() and guesses.isdigit():
                left = [(grid, float(weight)) for grid, weight in (each.split(" ") for each in pieces)]
                return Count(int(solutions), int(guesses), left)
    return None
