"""Counts the solutions of a grid of any size."""

from itertools import islice
from typing import NamedTuple

from pi_appliance.puzzles import pluralize
from pi_appliance.puzzles.runtime.interface import Interrupted, SearchRuntime
from pi_appliance.puzzles.sudoku import count as nine
from pi_appliance.puzzles.sudoku.sat import Sat


class SolutionCount(NamedTuple):
    """How many solutions there are, whether these are all, and how many guesses it took."""

    solutions: int
    whole: bool
    guesses: int


def count(grid: str, size: int, most: int | None, runtime: SearchRuntime) -> SolutionCount:
    """Count the solutions of GRID, up to MOST. Raises Interrupted, and Refused without the library for its size."""
    if size == 9:
        came = nine.count(grid, most, runtime)
        return SolutionCount(came.solutions, not came.left, came.guesses)
    sat = Sat(grid, size, runtime)
    number = 0
    try:
        for number, _ in enumerate(islice(sat.solutions(), most), 1):
            runtime.report_progress(None, f"{pluralize(number, 'solution')} so far")
    except Interrupted as end:
        end.partial_result = f"{pluralize(number, 'solution')} counted, and there may be more"
        raise
    return SolutionCount(number, most is None or number < most, sat.guesses())
