"""Generate sudokus: a random full grid, from which clues are removed while it stays unique."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain, islice

from pi_appliance.errors import Refused
from pi_appliance.puzzles import Answer, GeneratedBoard, Proof, SolveMode, Table, kernel_mode, pluralize
from pi_appliance.puzzles.runtime import Interrupted, SearchRuntime
from pi_appliance.puzzles.sudoku import kernel, techniques
from pi_appliance.puzzles.sudoku.batch import solve_batch
from pi_appliance.puzzles.sudoku.board import BOXES, EMPTY, LEVELS, SYMBOLS, Board, Solution, cell_name, count_clues
from pi_appliance.puzzles.sudoku.count import BandSearch, count_solutions, is_unique
from pi_appliance.puzzles.sudoku.render import draw_contradiction
from pi_appliance.puzzles.sudoku.sat import SatLimitReached, SatSearch
from pi_appliance.puzzles.sudoku.techniques import SAT_EFFORT, CandidateGrid, rate_difficulty, redundant_clues

MAX_TRIES = 300  # full grids; one in twenty of 9x9 comes down to 22 clues
LARGE_SIZE, MAX_TRIES_LARGE = 20, 10  # from this size on, a full grid takes seconds
MIN_CLUES = 17  # no 9x9 grid with fewer has a unique solution (McGuire et al., 2012)

_Accepts = Callable[[str], bool]


def generate(seed: int | str, board: Board, runtime: SearchRuntime) -> GeneratedBoard[Board]:
    """Generate a grid with one solution, like `board`. Raises Interrupted, Refused.

    By default no redundant clue is left, except in the largest sizes, where that takes too long.
    """
    if board.size == 9 and board.clues is not None and board.clues < MIN_CLUES:
        raise Refused(f"no sudoku of {board.clues} clues has only one solution; ask for {MIN_CLUES} or more")
    rng = random.Random(seed)  # noqa: S311 - a game
    max_tries = MAX_TRIES if board.size < LARGE_SIZE else MAX_TRIES_LARGE
    for attempt in range(1, max_tries + 1):
        solution = _full_grid(board.size, rng)
        grid = _remove_clues(board, solution, rng, runtime, attempt)
        clues = count_clues(grid)
        if board.clues is not None and clues != board.clues:
            continue
        rating = rate_difficulty(grid, board.size, runtime, solution)
        if board.difficulty in ("", rating.level):
            details: dict[str, int | float | str] = {
                "clues": clues,
                "difficulty": rating.level,
                "hardest_step": rating.technique,
                "minimal": _describe_minimality(grid, board.size, solution, runtime),
                "tries": attempt,
                "solution": solution,
            }
            return GeneratedBoard(replace(board, grids=(grid,), known_solutions=()), details)
    wanted = f"a {board.difficulty} grid".replace("  ", " ")
    wanted += f" of {pluralize(board.clues, 'clue')}" if board.clues is not None else ""
    raise Refused(f"{wanted} was not found in {max_tries} tries; ask for another level, more clues or another seed")


def _describe_minimality(grid: str, size: int, solution: str, runtime: SearchRuntime) -> str:
    try:
        return "no" if any(True for _ in redundant_clues(grid, size, solution, runtime)) else "yes"
    except SatLimitReached:
        return "not known"


def _full_grid(size: int, rng: random.Random) -> str:
    """Return a full grid: three random boxes of 9x9 solved further, else a shuffled pattern."""
    if size != 9:
        return _shuffled_pattern(size, rng)
    symbols = [EMPTY] * 81
    for corner in (0, 30, 60):
        digits = rng.sample(SYMBOLS[:9], 9)
        for number, digit in enumerate(digits):
            symbols[corner + number // 3 * 9 + number % 3] = digit
    # One more random digit, so that the next cell is not always the first choice of the search.
    choices = {*symbols[9:12], *symbols[18:21]} - {symbols[30], symbols[39], symbols[48]} or {symbols[9]}
    symbols[3] = rng.choice(sorted(choices))
    return next(BandSearch("".join(symbols), SearchRuntime()).solutions(), "") or _full_grid(size, rng)


def _shuffled_pattern(size: int, rng: random.Random) -> str:
    width, height = BOXES[size]
    rows, columns = _shuffle_groups(size, height, rng), _shuffle_groups(size, width, rng)
    symbols = rng.sample(SYMBOLS[:size], size)
    return "".join(
        symbols[(row % height * width + row // height + column) % size] for row in rows for column in columns
    )


def _shuffle_groups(size: int, step: int, rng: random.Random) -> list[int]:
    """Return the numbers below `size`, shuffled so that each group of `step` stays together."""
    groups = rng.sample(range(size // step), size // step)
    return [group * step + at for group in groups for at in rng.sample(range(step), step)]


def _remove_clues(board: Board, solution: str, rng: random.Random, runtime: SearchRuntime, attempt: int) -> str:
    accepts = _acceptance_test(board, solution, runtime)
    grid = solution
    order = list(range(len(solution)))
    rng.shuffle(order)
    for done, cell in enumerate(order):
        if board.clues is not None and count_clues(grid) <= board.clues:
            break
        runtime.report_progress(None, f"grid {attempt}: {done} of {len(order)} clues examined")
        reduced = grid[:cell] + EMPTY + grid[cell + 1 :]
        if accepts(reduced):
            grid = reduced
    return grid


def _acceptance_test(board: Board, solution: str, runtime: SearchRuntime) -> _Accepts:
    """Return a function that tells whether a grid is unique and not harder than requested."""
    if board.difficulty in LEVELS[:-1]:
        # A grid that needs no guess is unique.
        allowed = LEVELS[: LEVELS.index(board.difficulty) + 1]
        return lambda grid: rate_difficulty(grid, board.size, runtime).level in allowed
    if board.size == 9:
        return lambda grid: is_unique(grid, runtime)
    search = SatSearch(EMPTY * len(solution), board.size, runtime)
    search.forbid(solution)

    def is_unique_by_sat(grid: str) -> bool:
        clues = ((cell, symbol) for cell, symbol in enumerate(grid) if symbol != EMPTY)
        try:
            return search.solve(clues, SAT_EFFORT) is None
        except SatLimitReached:  # keep the clue
            return False

    return is_unique_by_sat


Details = dict[str, int | float | str]

AUTO_COUNT_LIMIT = 10_000  # solutions counted without being asked: takes a moment
AUTO_COUNT_LIMIT_SAT = 300  # the same by SAT: all 288 of 4x4; one of 25x25 takes 0.1 s


def solve(board: Board, mode: SolveMode, runtime: SearchRuntime) -> Answer[Solution]:
    """Solve the board; always searches for a second solution. Raises Interrupted, Refused."""
    if board.has_many_grids:
        return solve_batch(board, mode, runtime)
    grid, size = board.grids[0], board.size
    details: Details = {"clues": count_clues(grid)}
    if conflict := techniques.find_conflict(grid, size):
        details["verdict"] = "none"
        pictures = {"contradiction": draw_contradiction(grid, conflict, CandidateGrid(grid, size))}
        reason = f"two clues contradict each other: {conflict.text}"
        return Answer(count=0, proof=Proof.CONTRADICTION, reason=reason, details=details, pictures=pictures)
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
    first_two: list[str] = []
    try:
        first_two.extend(islice(solutions, 2))
    except Interrupted as interrupted:
        interrupted.partial_result = (
            "one solution is found, perhaps there are more" if first_two else "no solution is found yet"
        )
        raise
    return first_two


def _no_solution(
    grid: str, size: int, search: BandSearch | SatSearch, details: Details, runtime: SearchRuntime
) -> Answer[Solution]:
    candidates = CandidateGrid(grid, size)
    contradiction = techniques.find_contradiction(candidates, runtime)
    guesses = search.guesses()
    exhausted = f"everything was tried, with {guesses:,} guess{'es' * (guesses != 1)}"
    return Answer(
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
) -> Answer[Solution]:
    grid, size = board.grids[0], board.size
    details["verdict"] = "unique"
    try:
        details |= _minimality_details(grid, size, solution, runtime)
        rating = techniques.rate_difficulty(grid, size, runtime, solution)
    except Interrupted as interrupted:
        interrupted.partial_result = "it has one solution, and no other"
        raise
    details["difficulty"], details["hardest_step"] = rating.level, rating.technique
    return Answer(
        solutions=iter(() if mode is SolveMode.COUNT else [Solution(1, solution)]),
        nodes_searched=search.guesses,
        count=1,
        details=details,
        tables=[Table("Steps as a person goes", ("technique", "times"), tuple(rating.steps.items()))],
    )


def _minimality_details(grid: str, size: int, solution: str, runtime: SearchRuntime) -> Details:
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
) -> Answer[Solution]:
    details["verdict"], details["guesses_needed"] = "several", search.guesses()
    listed = (Solution(1, solution) for solution in solutions)
    if mode is SolveMode.FIRST:
        return Answer(solutions=islice(listed, 1), nodes_searched=search.guesses, details=details)
    auto_limit = AUTO_COUNT_LIMIT if board.size == 9 else AUTO_COUNT_LIMIT_SAT
    limit = board.count_to if mode is SolveMode.COUNT else min(auto_limit, board.count_to or auto_limit)
    count, is_complete, guesses = count_solutions(board.grids[0], board.size, limit, runtime)
    if not is_complete:
        details["solutions_at_least"] = count
    total_guesses = search.guesses() + guesses
    return Answer(
        solutions=iter(()) if mode is SolveMode.COUNT else listed,
        nodes_searched=lambda: max(total_guesses, search.guesses()),
        count=count if is_complete else None,
        details=details,
    )
