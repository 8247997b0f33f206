"""Solve grids of any size with a SAT solver: the library python-sat, extra `sudoku`; see ADR 0055.

A variable means that a certain digit is in a certain cell. Learnt clauses stay true for all later
queries.
"""

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from pi_appliance.errors import Refused
from pi_appliance.puzzles.deductions import SearchLimitReached
from pi_appliance.puzzles.runtime import SearchRuntime
from pi_appliance.puzzles.sudoku.board import EMPTY, SYMBOLS, grid_layout

PROGRESS_INTERVAL = 20_000  # clauses between two progress reports; the largest grid has a million
CONFLICT_BUDGET, PROPAGATION_BUDGET = 100, 50_000  # limits between two progress reports: at most 0.1 s
MISSING_LIBRARY = f"a sudoku that is not 9x9 needs a SAT solver: {sys.executable} -m pip install python-sat"


class SatSearch:
    """A SAT solver with the rules and clues of one grid."""

    def __init__(self, grid: str, size: int, runtime: SearchRuntime) -> None:
        """Create a solver for `grid`, whose clues hold in every query. Raises Refused."""
        try:
            from pysat.solvers import Minisat22  # noqa: PLC0415 - optional, and loaded only if used
        except ImportError:
            raise Refused(MISSING_LIBRARY) from None
        self.size, self.runtime = size, runtime
        self._solver: Any = Minisat22(bootstrap_with=self._report_clauses(_clauses(grid, size)))

    def _report_clauses(self, clauses: Iterable[list[int]]) -> Iterator[list[int]]:
        for number, clause in enumerate(clauses):
            if number % PROGRESS_INTERVAL == 0:
                self.runtime.report_progress(None, f"{number:,} clauses")
            yield clause

    def solve(self, clues: Iterable[tuple[int, str]] = (), effort: int | None = None) -> str | None:
        """Return a solution, or None; `clues` hold for this query only. Raises SearchLimitReached.

        `effort` limits the propagations since the creation of the solver, over all queries.
        """
        assumptions = [self._variable(cell, symbol) for cell, symbol in clues]
        while effort is None or self._stats("propagations") < effort:
            self.runtime.report_progress(None, f"{self.guesses():,} guesses")
            self._solver.conf_budget(CONFLICT_BUDGET)
            self._solver.prop_budget(PROPAGATION_BUDGET)
            satisfiable = self._solver.solve_limited(assumptions=assumptions)
            if satisfiable is not None:
                return self._read_model() if satisfiable else None
        raise SearchLimitReached

    def forbid(self, solution: str) -> None:
        """Exclude a solution from all later queries."""
        self._solver.add_clause([-self._variable(cell, symbol) for cell, symbol in enumerate(solution)])

    def solutions(self) -> Iterator[str]:
        """Yield each solution.

        Each one is forbidden after that, so that the next query finds another.
        """
        while (solution := self.solve()) is not None:
            self.forbid(solution)
            yield solution

    def guesses(self) -> int:
        """Return the number of guesses so far."""
        return self._stats("decisions")

    def _stats(self, name: str) -> int:
        return int(self._solver.accum_stats()[name])

    def _variable(self, cell: int, symbol: str) -> int:
        return 1 + cell * self.size + SYMBOLS.index(symbol)

    def _read_model(self) -> str:
        size = self.size
        symbols = [""] * (size * size)
        for variable in self._solver.get_model():
            if variable > 0:
                symbols[(variable - 1) // size] = SYMBOLS[(variable - 1) % size]
        return "".join(symbols)


def _clauses(grid: str, size: int) -> Iterator[list[int]]:
    layout = grid_layout(size)
    for cell, clue in enumerate(grid):
        variables = range(1 + cell * size, 1 + (cell + 1) * size)
        yield list(variables)
        excluded = {grid[peer] for peer in layout.peers[cell]}
        for symbol, variable in zip(SYMBOLS, variables, strict=False):
            if symbol == clue:
                yield [variable]
            if symbol in excluded or clue not in (symbol, EMPTY):
                yield [-variable]
        if clue == EMPTY:
            yield from _at_most_one(
                [v for symbol, v in zip(SYMBOLS, variables, strict=False) if symbol not in excluded]
            )
    for unit in layout.units:
        clues = {grid[cell] for cell in unit.cells}
        for number, symbol in enumerate(SYMBOLS[:size]):
            if symbol not in clues:
                places = [1 + cell * size + number for cell in unit.cells if grid[cell] == EMPTY]
                yield places
                yield from _at_most_one(places)


def _at_most_one(variables: list[int]) -> Iterator[list[int]]:
    for number, variable in enumerate(variables):
        for other in variables[:number]:
            yield [-variable, -other]
