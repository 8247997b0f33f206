"""Solves a cube: the 3x3x3 in two phases, shorter while there is time, or in the fewest moves; the 2x2x2 by table."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pi_appliance.puzzles import SolveMode, SolveResult, Table, kernel_mode, pluralize
from pi_appliance.puzzles.rubiks_cube import kernel, pocket
from pi_appliance.puzzles.rubiks_cube.board import TURNS, Board, Solution, is_solved
from pi_appliance.puzzles.rubiks_cube.cubies import cube_state
from pi_appliance.puzzles.rubiks_cube.kernel import SearchTables
from pi_appliance.puzzles.rubiks_cube.optimal import OptimalSearch, find_near_solutions
from pi_appliance.puzzles.rubiks_cube.pruning_tables import load_tables
from pi_appliance.puzzles.rubiks_cube.two_phase import ParallelTwoPhaseSearch, PhaseSolution, TwoPhaseSearch
from pi_appliance.puzzles.runtime.interface import Interrupted, SearchRuntime

PROVABLE_LENGTH = 14  # moves: it is proven within a second that there is no shorter solution, or that there is
DEADLINE_MARGIN = 0.5  # seconds before the deadline in which the answer is written down
DEFAULT_SECONDS = 600  # seconds: "all the time" where there is no deadline
NODES_PER_SECOND = 200_000  # positions that count as a second where the clock stands still


def solve(board: Board, mode: SolveMode, runtime: SearchRuntime) -> SolveResult:
    """Return the answer for BOARD. Raises Interrupted.

    FIRST is one solution, the shortest that is found in the time that the rules give; FEWEST are all the shortest
    ones, COUNT their number.
    """
    if is_solved(board):
        lines: list[Solution] = [] if mode is SolveMode.COUNT else [()]
        return SolveResult(solutions=iter(lines), count=1, details={"moves": 0, "optimal": "proven"})
    runtime.report_progress(None, "looking nearby")
    if ways := find_near_solutions(cube_state(board.facelets, board.side), board.side):
        return _near_result([turn_names(turns) for turns in ways], mode)
    if board.side == 2:
        return pocket.solve_pocket(board, mode, runtime)
    with_tables = load_tables(runtime)
    if mode is SolveMode.FIRST:
        return _solve_first(board, with_tables, runtime)
    return _solve_optimal(board, mode, with_tables, runtime)


def _near_result(lines: list[Solution], mode: SolveMode) -> SolveResult:
    """Return the answer where LINES are all the shortest solutions, found without tables."""
    wanted = {SolveMode.FIRST: lines[:1], SolveMode.COUNT: []}.get(mode, lines)
    facts: Mapping[str, int | float | str] = {
        "moves": len(lines[0]),
        "optimal": "proven",
        "kernel": kernel_mode(kernel),
    }
    return SolveResult(solutions=iter(wanted), count=len(lines), details=facts)


def turn_names(turns: Iterable[int]) -> Solution:
    """Return TURNS by their names."""
    return tuple(TURNS[turn] for turn in turns)


class _TimeBudget:
    """What is spent of the time for one board."""

    def __init__(self, board: Board, runtime: SearchRuntime) -> None:
        self._runtime, self._start = runtime, runtime.monotonic()
        left = runtime.seconds_left()
        seconds = board.seconds
        if seconds is None:
            seconds = DEFAULT_SECONDS if left is None else left
        self.seconds = seconds if left is None else min(seconds, max(left * 0.9 - DEADLINE_MARGIN, 0))

    def spent(self, nodes: int) -> float:
        """Return the seconds; by NODES where the clock stands still, so that a library's answers are the same again."""
        return self._runtime.monotonic() - self._start or nodes / NODES_PER_SECOND

    def over(self, nodes: int) -> bool:
        """Say whether it is all spent."""
        return self.spent(nodes) >= self.seconds


@dataclass(slots=True)
class _BestSolution:
    """The shortest solution so far, and how it came to that."""

    found: PhaseSolution | None = None
    least: int = 0  # nothing is shorter
    nodes: int = 0

    @property
    def moves(self) -> int:
        return len(self.found.turns) if self.found else 99


def _solve_first(board: Board, with_tables: SearchTables, runtime: SearchRuntime) -> SolveResult:
    time, best = _TimeBudget(board, runtime), _BestSolution()
    history: list[tuple[int | float | str, ...]] = []
    state = cube_state(board.facelets, 3)
    hunt = (
        ParallelTwoPhaseSearch(state, with_tables, runtime)
        if runtime.cores > 1 and time.seconds
        else TwoPhaseSearch(state, with_tables)
    )
    best.least = hunt.least

    def over(moves: int, nodes: int) -> bool:
        return moves <= max(board.target, PROVABLE_LENGTH) or time.over(nodes)

    try:
        for found in hunt.run(over):
            best.nodes = hunt.nodes
            if found and len(found.turns) < best.moves:
                best.found = found
                split = f"{found.split[0]} + {found.split[1]}"
                history.append((best.moves, split, hunt.nodes, round(time.spent(hunt.nodes), 3)))
            _report_progress(best, time, runtime)
        if best.moves <= PROVABLE_LENGTH:
            _prove_optimal(best, OptimalSearch(state, with_tables, runtime), time, runtime)
    except Interrupted as end:
        if best.found:
            end.partial_result = (
                f"a solution of {pluralize(best.moves, 'move')}: {' '.join(turn_names(best.found.turns))}"
            )
        raise
    assert best.found is not None
    headers = ("moves", "phases", "positions", "seconds")
    return SolveResult(
        solutions=iter([turn_names(best.found.turns)]),
        nodes_searched=lambda: best.nodes,
        details=_solution_facts(best) | {"tables": "wide" if with_tables.is_wide else "small"},
        tables=[Table("Shorter and shorter", headers, history)],
    )


def _report_progress(best: _BestSolution, time: _TimeBudget, runtime: SearchRuntime) -> None:
    part = min(time.spent(best.nodes) / time.seconds, 1) if best.found and time.seconds else None
    note = pluralize(best.moves, "move") if best.found else "looking for a first solution"
    runtime.report_progress(part, note)


def _solution_facts(best: _BestSolution) -> dict[str, int | float | str]:
    assert best.found is not None
    proven = best.least >= best.moves
    return {
        "moves": best.moves,
        "first_phase": best.found.split[0],
        "second_phase": best.found.split[1],
        "moves_at_least": best.least,
        "optimal": "proven" if proven else "not proven",
        "kernel": kernel_mode(kernel),
    }


def _prove_optimal(best: _BestSolution, shortest: OptimalSearch, time: _TimeBudget, runtime: SearchRuntime) -> None:
    """Look through everything shorter than BEST, as far as the time goes."""
    before = best.nodes
    best.least = max(best.least, shortest.proven.length)
    while best.least < best.moves:
        nodes = 0
        for nodes in shortest.steps(best.least):
            runtime.report_progress(None, f"is there one of {pluralize(best.least, 'move')}?")
            if time.over(before + nodes):
                return
        before += nodes
        best.nodes = before
        if shortest.proven.lines:
            turns = shortest.proven.lines[0]
            best.found = PhaseSolution(turns, (len(turns), 0))
        else:
            best.least += 1


def _solve_optimal(board: Board, mode: SolveMode, with_tables: SearchTables, runtime: SearchRuntime) -> SolveResult:
    search = OptimalSearch(cube_state(board.facelets, 3), with_tables, runtime)
    search.run()
    lines = [turn_names(turns) for turns in search.proven.lines]
    nodes = search.proven.nodes
    facts: Mapping[str, int | float | str] = {
        "moves": search.proven.length,
        "optimal": "proven",
        "kernel": kernel_mode(kernel),
    }
    wanted: Iterator[Solution] = iter(() if mode is SolveMode.COUNT else lines)
    return SolveResult(solutions=wanted, nodes_searched=lambda: nodes, count=len(lines), details=facts)
