"""What can be said of a grid besides its solutions: clues that clash, clues that are not needed, how hard it is."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from pi_appliance.puzzles.runtime.interface import SearchRuntime
from pi_appliance.puzzles.sudoku import kernel
from pi_appliance.puzzles.sudoku.board import EMPTY, LEVELS, place, shape
from pi_appliance.puzzles.sudoku.human import CONTRADICTION, TECHNIQUES, CandidateGrid, Move, walk
from pi_appliance.puzzles.sudoku.sat import Sat

BUDGET = 50_000 if kernel.COMPILED else 500  # guesses between two signs of life: at most 0.3 s on a small Pi
EFFORT = 10_000_000  # steps of the SAT solver for all clues of a grid: seconds; 16x16 takes a million, 20x20 about six


@dataclass(frozen=True, slots=True)
class Difficulty:
    """How hard a grid is for a person: its level, the hardest technique, and how often each one is used."""

    level: str
    technique: str
    steps: dict[str, int]


def clash(grid: str, size: int) -> Move | None:
    """Return which two clues of GRID contradict each other; None if none do."""
    for number, unit in enumerate(shape(size).units):
        seen: dict[str, int] = {}
        for at in unit.squares:
            mark = grid[at]
            if mark != EMPTY and mark in seen:
                both = seen[mark], at
                words = f"{place(both[0], size)} and {place(at, size)} are both {mark}, in {unit.name}"
                return Move(technique=CONTRADICTION, words=words, squares=both, units=(number,))
            seen[mark] = at
    return None


def impasse(paper: CandidateGrid, runtime: SearchRuntime) -> Move | None:
    """Return what cannot be on PAPER, if the simple techniques come to it; else None. Raises Interrupted."""
    last = None
    for move in walk(paper):
        runtime.report_progress(None, "looking for a contradiction")
        last = move
    return last if last is not None and last.technique == CONTRADICTION else None


def difficulty(grid: str, size: int, runtime: SearchRuntime, solution: str = "") -> Difficulty:
    """Return how hard GRID is. Raises Interrupted.

    Guesses are counted to the end only with the SOLUTION; else the first one ends it.
    """
    steps: Counter[str] = Counter()
    for move in walk(CandidateGrid(grid, size), solution):
        steps[move.technique] += 1
        runtime.report_progress(None, "how hard it is")
    used = [technique for technique in TECHNIQUES if technique in steps]
    if not used:
        return Difficulty(LEVELS[0], "none", {})
    return Difficulty(TECHNIQUES[used[-1]], used[-1], {technique: steps[technique] for technique in used})


def redundant_clues(grid: str, size: int, solution: str, runtime: SearchRuntime) -> Iterator[int]:
    """Yield the squares of the clues without which SOLUTION would still be the only one of GRID.

    Raises Interrupted, and TooHard: that of a large grid could take days.
    """
    clues = [at for at, mark in enumerate(grid) if mark != EMPTY]
    if size != 9:
        yield from _needless_by_sat(clues, size, solution, runtime)
        return
    for done, at in enumerate(clues):
        runtime.report_progress(None, f"is clue {done + 1} of {len(clues)} needed?")
        if unique(grid[:at] + EMPTY + grid[at + 1 :], runtime):
            yield at


def unique(grid: str, runtime: SearchRuntime) -> bool:
    """Whether the 9x9 GRID has exactly one solution. Raises Interrupted."""
    search = kernel.Search()
    search.begin(grid.encode(), 0)
    found = 0
    while search.top >= 0 and found < 2:
        found += search.count(2 - found, BUDGET)
        if search.top >= 0 and found < 2:
            runtime.report_progress(None, f"{search.guesses:,} guesses")
    return found == 1


def _needless_by_sat(clues: list[int], size: int, solution: str, runtime: SearchRuntime) -> Iterator[int]:
    """Yield those of CLUES that are not needed, with one solver: only what differs from SOLUTION counts."""
    sat = Sat(EMPTY * size * size, size, runtime)
    sat.forbid(solution)
    for at in clues:
        if sat.solve(((other, solution[other]) for other in clues if other != at), EFFORT) is None:
            yield at
