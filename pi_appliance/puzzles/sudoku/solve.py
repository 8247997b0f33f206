"""Generate sudokus: a random full grid, from which clues are removed while it stays unique."""

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import chain, islice

from pi_appliance.errors import Refused
from pi_appliance.puzzles import Answer, Details, GeneratedBoard, Proof, SolveMode, Table, kernel_mode, pluralize
from pi_appliance.puzzles.runtime import SERIAL, Interrupted, SearchRuntime
from pi_appliance.puzzles.sudoku import kernel, techniques
from pi_appliance.puzzles.sudoku.batch import solve_batch
from pi_appliance.puzzles.sudoku.board import (
    BOXES,
    EMPTY,
    LEVELS,
    SYMBOLS,
    Board,
    Solution,
    cell_name,
    count_clues,
    parse,
)
from pi_appliance.puzzles.sudoku.count import BandSearch, count_solutions, is_unique
from pi_appliance.puzzles.sudoku.render import draw_contradiction
from pi_appliance.puzzles.sudoku.sat import SatLimitReached, SatSearch
from pi_appliance.puzzles.sudoku.techniques import SAT_EFFORT, CandidateGrid, rate_difficulty, redundant_clues

MAX_TRIES = 300  # full grids; one in twenty of 9x9 comes down to 22 clues
LARGE_SIZE, MAX_TRIES_LARGE = 20, 10  # from this size on, a full grid takes seconds
MIN_CLUES = 17  # no 9x9 grid with fewer has a unique solution (McGuire et al., 2012)

_Accepts = Callable[[str], bool]


def generate(seed: int | str, board: Board, runtime: SearchRuntime = SERIAL) -> GeneratedBoard[Board]:
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
            details: Details = {
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
    return next(BandSearch("".join(symbols), SERIAL).solutions(), "") or _full_grid(size, rng)


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


AUTO_COUNT_LIMIT = 10_000  # solutions counted without being asked: takes a moment
AUTO_COUNT_LIMIT_SAT = 300  # the same by SAT: all 288 of 4x4; one of 25x25 takes 0.1 s


def solve(board: Board | str, mode: SolveMode = SolveMode.ALL, runtime: SearchRuntime = SERIAL) -> Answer[Solution]:
    """Solve the board; always searches for a second solution. Raises Interrupted, Refused."""
    board = parse(board) if isinstance(board, str) else board
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
    answer: Answer[Solution] = Answer(nodes_searched=search.guesses, details=details)
    solutions, first_two = search.solutions(), list[str]()
    try:
        first_two.extend(islice(solutions, 2))
    except Interrupted as interrupted:
        found = "one solution is found, perhaps there are more" if first_two else "no solution is found yet"
        interrupted.partial_result = found
        raise
    if first_two and board.known_solutions:
        details["solution_in_file"] = "right" if board.known_solutions[0] == first_two[0] else "wrong"
    details["verdict"] = ("none", "unique", "several")[len(first_two)]
    if not first_two:
        return _prove_unsolvable(answer, grid, size, runtime)
    if len(first_two) == 1:
        answer = _rate_unique(answer, board, first_two[0], runtime)
        return answer if mode is SolveMode.COUNT else replace(answer, solutions=iter([Solution(1, first_two[0])]))
    details["guesses_needed"] = search.guesses()
    listed = (Solution(1, solution) for solution in chain(first_two, solutions))
    if mode is SolveMode.FIRST:
        return replace(answer, solutions=islice(listed, 1))
    answer = _count_several(answer, board, mode, runtime)
    return answer if mode is SolveMode.COUNT else replace(answer, solutions=listed)


def _prove_unsolvable(answer: Answer[Solution], grid: str, size: int, runtime: SearchRuntime) -> Answer[Solution]:
    candidates = CandidateGrid(grid, size)
    if contradiction := techniques.find_contradiction(candidates, runtime):
        reason = f"without any guess it follows that {contradiction.text}"
        pictures = {"contradiction": draw_contradiction(grid, contradiction, candidates)}
        return replace(answer, count=0, proof=Proof.CONTRADICTION, reason=reason, pictures=pictures)
    guesses = answer.nodes_searched()
    reason = f"everything was tried, with {guesses:,} guess{'es' * (guesses != 1)}"
    return replace(answer, count=0, proof=Proof.EXHAUSTION, reason=reason)


def _rate_unique(answer: Answer[Solution], board: Board, solution: str, runtime: SearchRuntime) -> Answer[Solution]:
    grid, size = board.grids[0], board.size
    redundant: list[str] = []
    minimal, more = "yes", ""
    try:
        try:
            redundant.extend(cell_name(cell, size) for cell in redundant_clues(grid, size, solution, runtime))
        except SatLimitReached:
            minimal, more = "not known", " and perhaps more"
        rating = rate_difficulty(grid, size, runtime, solution)
    except Interrupted as interrupted:
        interrupted.partial_result = "it has one solution, and no other"
        raise
    details: Details = {**answer.details, "minimal": "no" if redundant else minimal}
    if redundant:
        details["redundant_clues"] = " ".join(redundant) + more
    details |= {"difficulty": rating.level, "hardest_step": rating.technique}
    table = Table("Steps as a person goes", ("technique", "times"), tuple(rating.steps.items()))
    return replace(answer, count=1, details=details, tables=[table])


def _count_several(answer: Answer[Solution], board: Board, mode: SolveMode, runtime: SearchRuntime) -> Answer[Solution]:
    auto_limit = AUTO_COUNT_LIMIT if board.size == 9 else AUTO_COUNT_LIMIT_SAT
    limit = board.count_to if mode is SolveMode.COUNT else min(auto_limit, board.count_to or auto_limit)
    count, is_complete, guesses = count_solutions(board.grids[0], board.size, limit, runtime)
    total, guesses_so_far = answer.nodes_searched() + guesses, answer.nodes_searched
    answer = replace(answer, nodes_searched=lambda: max(total, guesses_so_far()))
    if is_complete:
        return replace(answer, count=count)
    return replace(answer, details={**answer.details, "solutions_at_least": count})
