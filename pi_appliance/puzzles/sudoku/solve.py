"""Solves sudokus: always looks for a second solution, so that each is known to be unique, to have several or none."""

from collections.abc import Iterator
from itertools import chain, islice

from pi_appliance.puzzles import Proof, SolveMode, SolveResult, Table, kernel_mode
from pi_appliance.puzzles.runtime.interface import Interrupted, SearchRuntime
from pi_appliance.puzzles.sudoku import bulk, judge, kernel
from pi_appliance.puzzles.sudoku.bands import Bands
from pi_appliance.puzzles.sudoku.board import EMPTY, Board, Solution, place
from pi_appliance.puzzles.sudoku.human import CandidateGrid
from pi_appliance.puzzles.sudoku.number import count
from pi_appliance.puzzles.sudoku.sat import Sat, TooHard
from pi_appliance.puzzles.sudoku.steps import contradiction

Facts = dict[str, int | float | str]

SOON = 10_000  # solutions: so many are counted even if nobody asked, a matter of a moment
SOON_BY_SAT = 300  # all 288 of 4x4 are; one of 25x25 takes a tenth of a second


def solve(board: Board, mode: SolveMode, runtime: SearchRuntime) -> SolveResult:
    """Solve BOARD. Raises Interrupted, and Refused if it is not 9x9 and the library for it is not there."""
    if board.many:
        return bulk.solve(board, mode, runtime)
    grid, size = board.grids[0], board.size
    facts: Facts = {"clues": sum(mark != EMPTY for mark in grid)}
    if wrong := judge.clash(grid, size):
        facts["verdict"] = "none"
        pictures = {"contradiction": contradiction(grid, wrong, CandidateGrid(grid, size))}
        why = f"two clues contradict each other: {wrong.words}"
        return SolveResult(count=0, proof=Proof.CONTRADICTION, reason=why, details=facts, pictures=pictures)
    search = Bands(grid, runtime) if size == 9 else Sat(grid, size, runtime)
    facts["kernel"] = kernel_mode(kernel) if size == 9 else "sat"
    solutions = search.solutions()
    first = _two(solutions)
    if not first:
        facts["verdict"] = "none"
        return _none(grid, size, search, facts, runtime)
    if board.known:
        facts["solution_in_file"] = "right" if board.known[0] == first[0] else "wrong"
    if len(first) == 1:
        return _unique(board, mode, runtime, first[0], search, facts)
    return _several(board, mode, runtime, chain(first, solutions), search, facts)


def _two(solutions: Iterator[str]) -> list[str]:
    """Return the first two of SOLUTIONS. An end in between says what was certain by then."""
    found: list[str] = []
    try:
        found.extend(islice(solutions, 2))
    except Interrupted as end:
        end.partial_result = "one solution is found, perhaps there are more" if found else "no solution is found yet"
        raise
    return found


def _none(grid: str, size: int, search: Bands | Sat, facts: Facts, runtime: SearchRuntime) -> SolveResult:
    """Return the answer where the search has found out that there is no solution."""
    paper = CandidateGrid(grid, size)
    wrong = judge.impasse(paper, runtime)
    guesses = search.guesses()
    why = f"everything was tried, with {guesses:,} guess{'es' * (guesses != 1)}"
    return SolveResult(
        nodes_searched=search.guesses,
        count=0,
        proof=Proof.CONTRADICTION if wrong else Proof.EXHAUSTION,
        reason=f"without any guess it follows that {wrong.words}" if wrong else why,
        details=facts,
        pictures={"contradiction": contradiction(grid, wrong, paper)} if wrong else {},
    )


def _unique(
    board: Board, mode: SolveMode, runtime: SearchRuntime, solution: str, search: Bands | Sat, facts: Facts
) -> SolveResult:
    grid, size = board.grids[0], board.size
    facts["verdict"] = "unique"
    try:
        facts |= _needless(grid, size, solution, runtime)
        hard = judge.difficulty(grid, size, runtime, solution)
    except Interrupted as end:
        end.partial_result = "it has one solution, and no other"
        raise
    facts["difficulty"], facts["hardest_step"] = hard.level, hard.technique
    return SolveResult(
        solutions=iter(() if mode is SolveMode.COUNT else [Solution(1, solution)]),
        nodes_searched=search.guesses,
        count=1,
        details=facts,
        tables=[Table("Steps as a person goes", ("technique", "times"), tuple(hard.steps.items()))],
    )


def _needless(grid: str, size: int, solution: str, runtime: SearchRuntime) -> Facts:
    """Return whether GRID is minimal, and which clues it does not need."""
    found: list[str] = []
    minimal, more = "yes", ""
    try:
        found.extend(place(at, size) for at in judge.redundant_clues(grid, size, solution, runtime))
    except TooHard:
        minimal, more = "not known", " and perhaps more"
    return {"minimal": "no", "not_needed": " ".join(found) + more} if found else {"minimal": minimal}


def _several(
    board: Board, mode: SolveMode, runtime: SearchRuntime, solutions: Iterator[str], search: Bands | Sat, facts: Facts
) -> SolveResult:
    facts["verdict"], facts["guesses_needed"] = "several", search.guesses()
    lines = (Solution(1, solution) for solution in solutions)
    if mode is SolveMode.FIRST:
        return SolveResult(solutions=islice(lines, 1), nodes_searched=search.guesses, details=facts)
    soon = SOON if board.size == 9 else SOON_BY_SAT
    most = board.count_to if mode is SolveMode.COUNT else min(soon, board.count_to or soon)
    number, whole, guesses = count(board.grids[0], board.size, most, runtime)
    if not whole:
        facts["solutions_at_least"] = number
    spent = search.guesses() + guesses
    return SolveResult(
        solutions=iter(()) if mode is SolveMode.COUNT else lines,
        nodes_searched=lambda: max(spent, search.guesses()),
        count=number if whole else None,
        details=facts,
    )
