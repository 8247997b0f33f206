"""Solve a sudoku: decide whether it has one solution, several or none, and rate it."""

from collections.abc import Iterator
from itertools import chain, islice

from pi_appliance.puzzles import Proof, SolveMode, SolveResult, Table, kernel_mode
from pi_appliance.puzzles.runtime.interface import Interrupted, SearchRuntime
from pi_appliance.puzzles.sudoku import kernel, techniques
from pi_appliance.puzzles.sudoku.batch import solve_batch
from pi_appliance.puzzles.sudoku.board import Board, Solution, cell_name, count_clues
from pi_appliance.puzzles.sudoku.count import BandSearch, count_solutions
from pi_appliance.puzzles.sudoku.render import draw_contradiction
from pi_appliance.puzzles.sudoku.sat import SatLimitReached, SatSearch
from pi_appliance.puzzles.sudoku.techniques import CandidateGrid

Details = dict[str, int | float | str]

AUTO_COUNT_LIMIT = 10_000  # solutions counted without being asked: takes a moment
AUTO_COUNT_LIMIT_SAT = 300  # the same by SAT: all 288 of 4x4; one of 25x25 takes 0.1 s


def solve(board: Board, mode: SolveMode, runtime: SearchRuntime) -> SolveResult:
    """Solve the board; always searches for a second solution.

    Raises:
        Interrupted: with the partial result.
        Refused: the grid is not 9x9 and the library for it is not installed.

    """
    if board.has_many_grids:
        return solve_batch(board, mode, runtime)
    grid, size = board.grids[0], board.size
    details: Details = {"clues": count_clues(grid)}
    if conflict := techniques.find_conflict(grid, size):
        details["verdict"] = "none"
        pictures = {"contradiction": draw_contradiction(grid, conflict, CandidateGrid(grid, size))}
        reason = f"two clues contradict each other: {conflict.text}"
        return SolveResult(count=0, proof=Proof.CONTRADICTION, reason=reason, details=details, pictures=pictures)
    search = BandSearch(grid, runtime) if size == 9 else SatSearch(grid, size, runtime)
    details["kernel"] = kernel_mode(kernel) if size == 9 else "sat"
    solutions = search.solutions()
    first_two = _first_two(solutions)
    if not first_two:
        details["verdict"] = "none"
        return _no_solution(grid, size, search, details, runtime)
    if board.known_solutions:
        details["solution_in_file"] = "right" if board.known_solutions[0] == first_two[0] else "wrong"
    if len(first_two) == 1:
        return _unique_solution(board, mode, runtime, first_two[0], search, details)
    return _several_solutions(board, mode, runtime, chain(first_two, solutions), search, details)


def _first_two(solutions: Iterator[str]) -> list[str]:
    found: list[str] = []
    try:
        found.extend(islice(solutions, 2))
    except Interrupted as interrupted:
        interrupted.partial_result = (
            "one solution is found, perhaps there are more" if found else "no solution is found yet"
        )
        raise
    return found


def _no_solution(
    grid: str, size: int, search: BandSearch | SatSearch, details: Details, runtime: SearchRuntime
) -> SolveResult:
    candidates = CandidateGrid(grid, size)
    contradiction = techniques.find_contradiction(candidates, runtime)
    guesses = search.guesses()
    exhausted = f"everything was tried, with {guesses:,} guess{'es' * (guesses != 1)}"
    return SolveResult(
        nodes_searched=search.guesses,
        count=0,
        proof=Proof.CONTRADICTION if contradiction else Proof.EXHAUSTION,
        reason=f"without any guess it follows that {contradiction.text}" if contradiction else exhausted,
        details=details,
        pictures={"contradiction": draw_contradiction(grid, contradiction, candidates)} if contradiction else {},
    )


def _unique_solution(
    board: Board,
    mode: SolveMode,
    runtime: SearchRuntime,
    solution: str,
    search: BandSearch | SatSearch,
    details: Details,
) -> SolveResult:
    grid, size = board.grids[0], board.size
    details["verdict"] = "unique"
    try:
        details |= _minimality_details(grid, size, solution, runtime)
        rating = techniques.rate_difficulty(grid, size, runtime, solution)
    except Interrupted as interrupted:
        interrupted.partial_result = "it has one solution, and no other"
        raise
    details["difficulty"], details["hardest_step"] = rating.level, rating.technique
    return SolveResult(
        solutions=iter(() if mode is SolveMode.COUNT else [Solution(1, solution)]),
        nodes_searched=search.guesses,
        count=1,
        details=details,
        tables=[Table("Steps as a person goes", ("technique", "times"), tuple(rating.steps.items()))],
    )


def _minimality_details(grid: str, size: int, solution: str, runtime: SearchRuntime) -> Details:
    """Return whether the grid is minimal, and its redundant clues."""
    redundant: list[str] = []
    minimal, more = "yes", ""
    try:
        redundant.extend(cell_name(cell, size) for cell in techniques.redundant_clues(grid, size, solution, runtime))
    except SatLimitReached:
        minimal, more = "not known", " and perhaps more"
    return {"minimal": "no", "redundant_clues": " ".join(redundant) + more} if redundant else {"minimal": minimal}


def _several_solutions(
    board: Board,
    mode: SolveMode,
    runtime: SearchRuntime,
    solutions: Iterator[str],
    search: BandSearch | SatSearch,
    details: Details,
) -> SolveResult:
    details["verdict"], details["guesses_needed"] = "several", search.guesses()
    listed = (Solution(1, solution) for solution in solutions)
    if mode is SolveMode.FIRST:
        return SolveResult(solutions=islice(listed, 1), nodes_searched=search.guesses, details=details)
    auto_limit = AUTO_COUNT_LIMIT if board.size == 9 else AUTO_COUNT_LIMIT_SAT
    limit = board.count_to if mode is SolveMode.COUNT else min(auto_limit, board.count_to or auto_limit)
    count, is_complete, guesses = count_solutions(board.grids[0], board.size, limit, runtime)
    if not is_complete:
        details["solutions_at_least"] = count
    total_guesses = search.guesses() + guesses
    return SolveResult(
        solutions=iter(()) if mode is SolveMode.COUNT else listed,
        nodes_searched=lambda: max(total_guesses, search.guesses()),
        count=count if is_complete else None,
        details=details,
    )
