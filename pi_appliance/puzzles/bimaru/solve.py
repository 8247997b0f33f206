"""Solve a Bimaru puzzle: its solutions, whether there is only one, and its difficulty."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice

from pi_appliance.puzzles import Answer, Details, Footprint, Proof, SolveMode, Table, pluralize
from pi_appliance.puzzles.bimaru import techniques
from pi_appliance.puzzles.bimaru.board import Board, Solution
from pi_appliance.puzzles.bimaru.parse import parse
from pi_appliance.puzzles.bimaru.render import draw_contradiction
from pi_appliance.puzzles.bimaru.search import FleetSearch, SearchLimitReached
from pi_appliance.puzzles.deductions import find_contradiction
from pi_appliance.puzzles.runtime import SERIAL, Interrupted, SearchRuntime

SEARCH_MEMORY = 10_000_000  # bytes at most, measured on 15x15 squares
AUTO_COUNT_LIMIT = 1_000  # solutions counted without being asked: half a second


def solve(board: Board | str, mode: SolveMode = SolveMode.ALL, runtime: SearchRuntime = SERIAL) -> Answer[Solution]:
    r"""Solve the board; always searches for a second solution. Raises Interrupted.

    >>> from pi_appliance.puzzles import bimaru
    >>> board = bimaru.parse("fleet: 2,1\n  2 0 1\n1 ? ? ?\n1 v ? ?\n1 ? ? ?")
    >>> answer = bimaru.solve(board)
    >>> answer.count, bimaru.notate(board, next(answer.solutions))
    (1, 'A1-A2 C3')
    """
    board = parse(board) if isinstance(board, str) else board
    solver = _BoardSolver(board, runtime)
    try:
        return solver.solve(mode)
    except Interrupted as interrupted:
        interrupted.partial_result = solver.known
        raise


def foretell(_board: Board, _mode: SolveMode, _runtime: SearchRuntime = SERIAL) -> Footprint:
    """Foretell the memory, which is that of one path of the search."""
    return Footprint(memory=SEARCH_MEMORY, saves=False)


class _BoardSolver:
    """The search of one board. An interruption reports the solutions found until then."""

    def __init__(self, board: Board, runtime: SearchRuntime) -> None:
        self.board, self.runtime = board, runtime
        self.known = "no solution is found yet"
        self.search = FleetSearch(board, self._tick)

    def solve(self, mode: SolveMode) -> Answer[Solution]:
        solutions = self.search.find_solutions()
        found = list(islice(self._watch(solutions), 2))
        details: Details = {"givens": len(self.board.givens), "verdict": ("none", "unique", "several")[len(found)]}
        first_search = self.search
        answer: Answer[Solution] = Answer(
            nodes_searched=lambda: max(first_search.nodes_searched, self.search.nodes_searched), details=details
        )
        if not found:
            return self._prove_unsolvable(answer)
        if len(found) == 1:
            self.known = "it has one solution, and no other"
            answer = self._rate(answer, found[0])
        elif mode is not SolveMode.FIRST:
            answer = self._count(answer, mode)
        if mode is SolveMode.COUNT:
            return answer
        listed = chain(found, solutions)
        return replace(answer, solutions=islice(listed, 1) if mode is SolveMode.FIRST else listed)

    def _watch(self, solutions: Iterator[Solution]) -> Iterator[Solution]:
        for solution in solutions:
            self.known = "one solution is found, perhaps there are more"
            yield solution

    def _tick(self) -> None:
        self.runtime.report_progress(None, f"{pluralize(self.search.nodes_searched, 'ship')} tried, {self.known}")

    def _prove_unsolvable(self, answer: Answer[Solution]) -> Answer[Solution]:
        self.known = "it has no solution"
        grid = techniques.SolvingGrid(self.board)
        if contradiction := find_contradiction(techniques.iter_deductions(grid), self.runtime):
            pictures = {"contradiction": draw_contradiction(grid, contradiction)}
            reason = f"without any guess it follows that {contradiction.text}"
            return replace(answer, count=0, proof=Proof.CONTRADICTION, reason=reason, pictures=pictures)
        reason = f"everything was tried, with {pluralize(self.search.nodes_searched, 'ship')}"
        return replace(answer, count=0, proof=Proof.EXHAUSTION, reason=reason)

    def _rate(self, answer: Answer[Solution], solution: Solution) -> Answer[Solution]:
        redundant: list[str] = []
        minimal, more = "yes", ""
        try:
            redundant.extend(map(str, techniques.redundant_givens(self.board, self.runtime)))
        except SearchLimitReached:
            minimal, more = "not known", " and perhaps more"
        rating = techniques.rate_difficulty(self.board, self.runtime, solution)
        details: Details = {**answer.details, "minimal": "no" if redundant else minimal}
        if redundant:
            details["redundant_givens"] = " ".join(redundant) + more
        details |= {"difficulty": rating.level, "hardest_step": rating.technique}
        table = Table("Steps as a person goes", ("technique", "times"), tuple(rating.steps.items()))
        return replace(answer, count=1, details=details, tables=[table])

    def _count(self, answer: Answer[Solution], mode: SolveMode) -> Answer[Solution]:
        limit = self.board.count_to
        if mode is not SolveMode.COUNT:
            limit = min(AUTO_COUNT_LIMIT, limit or AUTO_COUNT_LIMIT)
        # The solutions are listed later, by the search that found the first two.
        self.search, count = FleetSearch(self.board, self._tick), 0
        for _ in islice(self.search.find_solutions(), None if limit is None else limit + 1):
            count += 1
            self.known = f"{pluralize(count, 'solution')} counted, and there may be more"
        if limit is None or count <= limit:
            return replace(answer, count=count)
        return replace(answer, details={**answer.details, "solutions_at_least": limit})
