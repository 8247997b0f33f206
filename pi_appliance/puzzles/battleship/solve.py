"""Solve a battleship board: is it possible, how many fleets fit, where are ships likely."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice

from pi_appliance.errors import Refused
from pi_appliance.puzzles import Proof, SolveMode, SolveResult, kernel_mode, pluralize
from pi_appliance.puzzles.battleship import kernel
from pi_appliance.puzzles.battleship.board import UNKNOWN, Board, Solution
from pi_appliance.puzzles.battleship.count import Marginals, ProfileCount, count_relabelings, label_factor
from pi_appliance.puzzles.battleship.placements import find_placements
from pi_appliance.puzzles.battleship.render import (
    find_best_shot,
    probability_tables,
    render_heatmap,
    ship_percent,
)
from pi_appliance.puzzles.battleship.search import (
    FleetSearch,
    SearchLimitReached,
    explain_contradiction,
    find_obvious_contradiction,
)
from pi_appliance.puzzles.runtime.interface import Interrupted, SearchRuntime

Details = dict[str, int | float | str]
FIRST_NODE_LIMIT = 20_000  # ships tried before the count decides: about 1 s; most boards need under 100


def solve(board: Board, mode: SolveMode, runtime: SearchRuntime) -> SolveResult:
    """Solve `board`. Whether it is possible is decided before this returns.

    Raises:
        Interrupted: The runtime stopped the search.
        Refused: Memory is too small.

    """
    return _BoardSolver(board, runtime).solve(mode)


def hint(board: Board, runtime: SearchRuntime) -> str:
    """Describe the best next shot. Raises Interrupted, or Refused if memory is too small."""
    result = solve(board, SolveMode.COUNT, runtime)
    details = result.details
    if result.proof:
        return f"there is no shot: this board is impossible, because {result.reason}"
    if "best_shot" in details:
        chance = f"{details['best_shot_per_cent']} % of the {result.count:,} placements"
        return f"shoot at {details['best_shot']}: a ship is there in {chance}"
    return str(details.get("map", "there is no shot: no square is unknown"))


@dataclass(slots=True)
class _BoardSolver:
    """One query about a board."""

    board: Board
    runtime: SearchRuntime
    earlier_nodes: int = 0
    """Ships tried by searches that have ended."""
    proven: str = "whether the board is possible is not known yet"
    """The partial result."""

    def solve(self, mode: SolveMode) -> SolveResult:
        if reason := find_obvious_contradiction(self.board):
            return self._impossible(Proof.CONTRADICTION, reason)
        search = FleetSearch(self.board, self._tick, node_limit=FIRST_NODE_LIMIT)
        solutions = search.find_solutions()
        try:
            first = next(solutions, None)
        except SearchLimitReached:
            return self._decide_by_count(mode)
        if first is None:
            self.earlier_nodes += search.nodes_searched
            tried = pluralize(self.earlier_nodes, "ship")
            return self._impossible(
                Proof.EXHAUSTION, f"every way to place the fleet was tried ({tried} placed) and none fits"
            )
        search.node_limit = None
        return self._possible(mode, search, chain([first], solutions))

    def _decide_by_count(self, mode: SolveMode) -> SolveResult:
        """Count the solutions, because the search takes too long to find the first one."""
        self.earlier_nodes += FIRST_NODE_LIMIT
        search = FleetSearch(self.board, self._tick)
        solutions = search.find_solutions()
        try:
            count = ProfileCount(self.board, find_placements(self.board), self.runtime).count_total()
        except Refused:
            first = next(solutions, None)  # without a limit
            count, solutions = int(first is not None), chain([first] if first else [], solutions)
        if not count:
            return self._impossible(Proof.EXHAUSTION, "all ways to place the fleet were counted: there is none")
        return self._possible(mode, search, solutions)

    def _possible(self, mode: SolveMode, search: FleetSearch, solutions: Iterator[Solution]) -> SolveResult:
        self.proven = "the board is possible"
        if mode is SolveMode.FIRST:
            return self._make_result(search, islice(solutions, 1))
        try:
            marginals, count, map_error = self._count()
        except Interrupted as error:
            error.partial_result = f"{self.proven}; {error.partial_result}"
            raise
        details: Details = {
            "placements_distinct_ships": count // label_factor(self.board) * count_relabelings(self.board)
        }
        if map_error:
            details["map"] = map_error
        listed = solutions if mode is SolveMode.ALL else iter(())
        shot = find_best_shot(self.board, marginals) if marginals else None
        if not marginals or not shot:
            return self._make_result(search, listed, count, details)
        details |= {"best_shot": str(shot), "best_shot_per_cent": round(ship_percent(marginals, shot), 2)}
        return replace(
            self._make_result(search, listed, count, details),
            tables=probability_tables(self.board, marginals),
            pictures={"probability": render_heatmap(self.board, marginals)},
        )

    def _count(self) -> tuple[Marginals | None, int, str]:
        """Return the marginals (None if not possible or not needed), the count, and the reason."""
        counter = ProfileCount(self.board, find_placements(self.board), self.runtime)
        if not self.board.find_marks(UNKNOWN):
            return None, counter.count_total(), ""
        try:
            marginals = counter.count_marginals()
        except Refused as error:
            return None, counter.count_total(), f"left out: {error}"
        return marginals, marginals.total, ""

    def _make_result(
        self,
        search: FleetSearch,
        solutions: Iterator[Solution],
        count: int | None = None,
        details: Details | None = None,
    ) -> SolveResult:
        earlier_nodes = self.earlier_nodes
        kernels = {"kernel": kernel_mode(kernel)} if count is not None else {}
        return SolveResult(
            solutions=solutions,
            nodes_searched=lambda: earlier_nodes + search.nodes_searched,
            count=count,
            details={"possible": "yes", **(details or {}), **kernels},
        )

    def _impossible(self, proof: Proof, reason: str) -> SolveResult:
        """Return the proof that the board is impossible, with the contradicting marks."""
        nodes, self.proven = self.earlier_nodes, f"the board is impossible: {reason}"
        contradiction = explain_contradiction(self.board, self._tick)
        details: Details = {"possible": "no"}
        if contradiction is None:
            reason += "; this fleet does not fit on a sea of this size at all"
        elif contradiction.core:
            core, wrong = contradiction.core, contradiction.wrong_candidates
            details["contradiction"] = ", ".join(core)
            reason += f"; {', '.join(core)} {'is impossible' if len(core) == 1 else 'contradict each other'}"
            reason += ", and none of them can be left out" if contradiction.is_minimal and len(core) > 1 else ""
            if wrong:
                details["one_wrong_mark"] = ", ".join(wrong)
                either = " or ".join(wrong)
                complete = contradiction.is_complete
                reason += f"; if one mark is wrong, it is {either}" if complete else f"; possible without {either}"
            elif contradiction.is_complete:
                reason += "; at least two marks are wrong"
        return SolveResult(nodes_searched=lambda: nodes, count=0, proof=proof, reason=reason, details=details)

    def _tick(self, nodes: int) -> None:
        try:
            self.runtime.report_progress(None, f"{pluralize(self.earlier_nodes + nodes, 'ship')} placed")
        except Interrupted as error:
            error.partial_result = self.proven
            raise
