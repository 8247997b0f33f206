"""Grids of other sizes than 9x9, by a SAT solver: the library python-sat, the extra `sudoku`.

A variable says that a digit stands in a square. Digits that a clue forbids have none. What is known stays true
whatever is asked next, so one solver answers many questions about a grid: clues may be assumed or not.
"""

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from pi_appliance.errors import Refused
from pi_appliance.puzzles.runtime.interface import SearchRuntime
from pi_appliance.puzzles.sudoku.board import EMPTY, SYMBOLS, shape

OFTEN = 20_000  # rules between two signs of life: the largest grid has a million
CONFLICTS, STEPS = 100, 50_000  # a budget between two signs of life: at most a tenth of a second
MISSING = f"a sudoku that is not 9x9 needs a SAT solver: {sys.executable} -m pip install python-sat"


class TooHard(Exception):
    """A question took more steps than it may."""


class Sat:
    """What a SAT solver knows of one grid."""

    def __init__(self, grid: str, size: int, runtime: SearchRuntime, note: str = "") -> None:
        """Take the clues of GRID as given for good. Raises Refused if the library is not there."""
        try:
            from pysat.solvers import Minisat22  # noqa: PLC0415 - an extra, and loaded only where it is used
        except ImportError:
            raise Refused(MISSING) from None
        self.size, self.runtime, self.note = size, runtime, note
        self._solver: Any = Minisat22(bootstrap_with=self._told(_clauses(grid, size)))

    def _told(self, clauses: Iterable[list[int]]) -> Iterator[list[int]]:
        for number, clause in enumerate(clauses):
            if number % OFTEN == 0:
                self.runtime.report_progress(None, self.note or f"{number:,} rules")
            yield clause

    def solve(self, clues: Iterable[tuple[int, str]] = (), effort: int | None = None) -> str | None:
        """Return a solution in which also CLUES, squares with their symbols, are as they say; None: there is none.

        Raises TooHard where that is not known after EFFORT steps since the beginning, all questions together.
        """
        assumed = [self._variable(at, mark) for at, mark in clues]
        while effort is None or self._stats("propagations") < effort:
            self.runtime.report_progress(None, self.note or f"{self.guesses():,} guesses")
            self._solver.conf_budget(CONFLICTS)
            self._solver.prop_budget(STEPS)
            found = self._solver.solve_limited(assumptions=assumed)
            if found is not None:
                return self._read() if found else None
        raise TooHard

    def forbid(self, solution: str) -> None:
        """From now on SOLUTION does not count."""
        self._solver.add_clause([-self._variable(at, mark) for at, mark in enumerate(solution)])

    def solutions(self) -> Iterator[str]:
        """Yield each solution that there is; what was yielded is forbidden."""
        while (solution := self.solve()) is not None:
            self.forbid(solution)
            yield solution

    def guesses(self) -> int:
        """Return how many guesses were made until now."""
        return self._stats("decisions")

    def _stats(self, name: str) -> int:
        return int(self._solver.accum_stats()[name])

    def _variable(self, at: int, mark: str) -> int:
        return 1 + at * self.size + SYMBOLS.index(mark)

    def _read(self) -> str:
        """Return the solution that the solver has found."""
        size = self.size
        marks = [""] * (size * size)
        for variable in self._solver.get_model():
            if variable > 0:
                marks[(variable - 1) // size] = SYMBOLS[(variable - 1) % size]
        return "".join(marks)


def _clauses(grid: str, size: int) -> Iterator[list[int]]:
    """Yield the rules for GRID: a digit in each square, and each digit once in each unit."""
    layout = shape(size)
    for at, mark in enumerate(grid):
        variables = range(1 + at * size, 1 + (at + 1) * size)
        yield list(variables)
        seen = {grid[peer] for peer in layout.peers[at]}
        for symbol, variable in zip(SYMBOLS, variables, strict=False):
            if symbol == mark:
                yield [variable]
            if symbol in seen or mark not in (symbol, EMPTY):
                yield [-variable]
        if mark == EMPTY:
            yield from _pairs([v for symbol, v in zip(SYMBOLS, variables, strict=False) if symbol not in seen])
    for unit in layout.units:
        clues = {grid[at] for at in unit.squares}
        for number, symbol in enumerate(SYMBOLS[:size]):
            if symbol not in clues:
                places = [1 + at * size + number for at in unit.squares if grid[at] == EMPTY]
                yield places
                yield from _pairs(places)


def _pairs(variables: list[int]) -> Iterator[list[int]]:
    """Yield that no two of VARIABLES are true."""
    for number, one in enumerate(variables):
        for other in variables[:number]:
            yield [-one, -other]
