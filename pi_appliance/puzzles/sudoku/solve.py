"""Solve one sudoku or the many of a file, and generate sudokus.

To generate one, clues are removed from a random full grid as long as the solution is unique. The
grids of a file are solved on all cores, and an interrupted run is resumed.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import nlargest
from itertools import chain, islice
from random import Random

from pi_appliance.errors import Refused
from pi_appliance.puzzles import (
    Answer,
    Details,
    Footprint,
    GeneratedBoard,
    Proof,
    SolveMode,
    Table,
    check_mode,
    deductions,
    kernel_mode,
    load_board,
    pluralize,
    solutions_of,
)
from pi_appliance.puzzles.runtime import SERIAL, Buffer, Checkpoint, SearchRuntime
from pi_appliance.puzzles.sudoku import kernel, techniques
from pi_appliance.puzzles.sudoku.board import BOXES, EMPTY, SYMBOLS, Board, Solution, count_clues
from pi_appliance.puzzles.sudoku.count import BandSearch, count_grid
from pi_appliance.puzzles.sudoku.render import draw_contradiction
from pi_appliance.puzzles.sudoku.sat import SatSearch

MAX_TRIES = 300  # full grids that are tried; one 9x9 in twenty can be reduced to 22 clues
LARGE_SIZE, MAX_TRIES_LARGE = 20, 10  # from this size on, creating a full grid takes seconds


def generate(seed: int | str, board: Board | str = "sample", runtime: SearchRuntime = SERIAL) -> GeneratedBoard[Board]:
    """Generate a grid with one solution, like `board`. Raises Interrupted, Refused.

    By default no redundant clue is left, except in the largest sizes, where that takes too long.

    >>> from pi_appliance.puzzles import sudoku
    >>> sudoku.generate(7).details["clues"]
    25
    """
    board = load_board(board, Board)
    rng = Random(seed)  # noqa: S311 - a game
    max_tries = MAX_TRIES if board.size < LARGE_SIZE else MAX_TRIES_LARGE
    for attempt in range(1, max_tries + 1):
        solution = _full_grid(board.size, rng)
        grid = _remove_clues(board, solution, rng, runtime, attempt)
        clues = count_clues(grid)
        if board.clues is not None and clues != board.clues:
            continue
        rating = techniques.rate_difficulty(grid, board.size, runtime, solution)
        if board.difficulty in ("", rating.level):
            details: Details = {
                "clues": clues,
                "difficulty": rating.level,
                "hardest_step": rating.technique,
                "minimal": _describe_minimality(grid, board.size, solution, runtime),
                "tries": attempt,
                "solution": solution,
            }
            return GeneratedBoard(replace(board, grids=(grid,), known_solutions=(), difficulty="", clues=None), details)
    wanted = f"a {board.difficulty} grid".replace("  ", " ")
    wanted += f" of {pluralize(board.clues, 'clue')}" if board.clues is not None else ""
    raise Refused(f"{wanted} was not found in {max_tries} tries; ask for another level, more clues or another seed")


def _describe_minimality(grid: str, size: int, solution: str, runtime: SearchRuntime) -> str:
    try:
        return "no" if any(techniques.redundant_clues(grid, size, solution, runtime)) else "yes"
    except deductions.SearchLimitReached:
        return "not known"


def _full_grid(size: int, rng: Random) -> str:
    """Return a full grid.

    A 9x9 is solved from three random boxes; other sizes are a shuffled pattern.
    """
    if size != 9:
        return _shuffled_pattern(size, rng)
    symbols = [EMPTY] * 81
    for corner in (0, 30, 60):
        digits = rng.sample(SYMBOLS[:9], 9)
        for number, digit in enumerate(digits):
            symbols[corner + number // 3 * 9 + number % 3] = digit
    # One more random digit, so that the search does not always begin the next cell alike.
    choices = {*symbols[9:12], *symbols[18:21]} - {symbols[30], symbols[39], symbols[48]} or {symbols[9]}
    symbols[3] = rng.choice(sorted(choices))
    return next(BandSearch("".join(symbols), SERIAL).solutions(), "") or _full_grid(size, rng)


def _shuffled_pattern(size: int, rng: Random) -> str:
    width, height = BOXES[size]
    rows, columns = _shuffle_groups(size, height, rng), _shuffle_groups(size, width, rng)
    symbols = rng.sample(SYMBOLS[:size], size)
    return "".join(
        symbols[(row % height * width + row // height + column) % size] for row in rows for column in columns
    )


def _shuffle_groups(size: int, step: int, rng: Random) -> list[int]:
    """Return the numbers below `size`, shuffled so that each group of `step` stays together."""
    groups = rng.sample(range(size // step), size // step)
    return [group * step + at for group in groups for at in rng.sample(range(step), step)]


def _remove_clues(board: Board, solution: str, rng: Random, runtime: SearchRuntime, attempt: int) -> str:
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


def _acceptance_test(board: Board, solution: str, runtime: SearchRuntime) -> Callable[[str], bool]:
    """Return a function that tells whether a grid is unique and not harder than requested."""
    if board.difficulty in deductions.LEVELS[:-1]:
        # A grid that needs no guess has only one solution.
        allowed = deductions.LEVELS[: deductions.LEVELS.index(board.difficulty) + 1]
        return lambda grid: techniques.rate_difficulty(grid, board.size, runtime).level in allowed
    is_only = techniques.uniqueness_test(solution, board.size, runtime)

    def accepts(grid: str) -> bool:
        try:
            return is_only(grid)
        except deductions.SearchLimitReached:  # the clue is kept
            return False

    return accepts


AUTO_COUNT_LIMIT = 10_000  # solutions counted if no count was requested: takes a moment
AUTO_COUNT_LIMIT_SAT = 300  # the same with SAT: all 288 of 4x4; one of 25x25 takes 0.1 s
MODES = (SolveMode.ALL, SolveMode.FIRST, SolveMode.COUNT)


def solve(board: Board | str, mode: SolveMode = SolveMode.ALL, runtime: SearchRuntime = SERIAL) -> Answer[Solution]:
    """Solve the board, and search for a second solution in any case. Raises Interrupted, Refused.

    A 9x9 is solved with bands of bits as in tdoku (see docs/puzzles/sudoku.md), other sizes by SAT.

    >>> from pi_appliance.puzzles import sudoku
    >>> answer = sudoku.solve(sudoku.BOARDS["seventeen"])
    >>> answer.count, next(answer.solutions).digits[:9]
    (1, '693784512')
    """
    mode = check_mode("sudoku", MODES, mode)
    board = load_board(board, Board)
    if board.has_many_grids:
        return solve_batch(board, mode, runtime)
    grid, size = board.grids[0], board.size
    details: Details = {"clues": count_clues(grid)}
    if conflict := techniques.find_conflict(grid, size):
        details["verdict"] = "none"
        pictures = {"contradiction": draw_contradiction(grid, techniques.CandidateGrid(grid, size), conflict)}
        reason = f"two clues contradict each other: {conflict.text}"
        return Answer(count=0, proof=Proof.CONTRADICTION, reason=reason, details=details, pictures=pictures)
    search = BandSearch(grid, runtime) if size == 9 else SatSearch(grid, size, runtime)
    details["kernel"] = kernel_mode(kernel) if size == 9 else "sat"
    answer: Answer[Solution] = Answer(nodes_searched=search.guesses, details=details)
    solutions = search.solutions()
    found = deductions.find_first_two(solutions)
    if found and board.known_solutions:
        details["solution_in_file"] = "right" if board.known_solutions[0] == found[0] else "wrong"
    details["verdict"] = deductions.VERDICTS[len(found)]
    if not found:
        candidates, guesses = techniques.CandidateGrid(grid, size), search.guesses()
        tried = f"{guesses:,} guess{'es' * (guesses != 1)}"
        draw = partial(draw_contradiction, grid, candidates)
        return deductions.prove_unsolvable(answer, techniques.iter_deductions(candidates), draw, tried, runtime)
    if len(found) == 1:
        redundant = techniques.redundant_clues(grid, size, found[0], runtime)
        rate = partial(techniques.rate_difficulty, grid, size, runtime, found[0])
        answer = deductions.rate_unique(answer, "clues", redundant, rate)
    else:
        details["guesses_needed"] = search.guesses()
        if mode is not SolveMode.FIRST:
            answer = _count_several(answer, board, mode, runtime)
    # If there is only one solution, the search is not continued: with SAT, that would take long.
    listed = (Solution(1, solution) for solution in chain(found, solutions if len(found) > 1 else ()))
    return replace(answer, solutions=solutions_of(mode, listed))


def count_solutions(board: Board | str, limit: int | None = None, runtime: SearchRuntime = SERIAL) -> int:
    """Count the solutions of one grid, up to `limit`. Raises Interrupted, Refused.

    >>> from pi_appliance.puzzles import sudoku
    >>> sudoku.count_solutions("sixteen"), sudoku.count_solutions("sixteen", limit=100)
    (7309, 100)
    """
    board = load_board(board, Board)
    grid, size = board.grids[0], board.size
    if board.has_many_grids:
        raise Refused(f"these are {len(board.grids):,} grids; count one, or use solve for many")
    if techniques.find_conflict(grid, size):
        return 0
    return count_grid(grid, size, limit, runtime).solutions


def is_unique(board: Board | str, runtime: SearchRuntime = SERIAL) -> bool:
    """Return whether a grid has exactly one solution. Raises Interrupted, Refused.

    >>> from pi_appliance.puzzles import sudoku
    >>> sudoku.is_unique("seventeen"), sudoku.is_unique("sixteen")
    (True, False)
    """
    return count_solutions(board, 2, runtime) == 1


def _count_several(answer: Answer[Solution], board: Board, mode: SolveMode, runtime: SearchRuntime) -> Answer[Solution]:
    auto_limit = AUTO_COUNT_LIMIT if board.size == 9 else AUTO_COUNT_LIMIT_SAT
    limit = deductions.count_limit(mode, board.count_to, auto_limit)
    count, is_complete, guesses = count_grid(board.grids[0], board.size, limit, runtime)
    total, guesses_so_far = answer.nodes_searched() + guesses, answer.nodes_searched
    answer = replace(answer, nodes_searched=lambda: max(total, guesses_so_far()))
    if is_complete:
        return replace(answer, count=count)
    return replace(answer, details={**answer.details, "solutions_at_least": count})


SEARCH_MEMORY = 10_000_000  # bytes of one search, also with SAT
GRID_COPIES = 4  # bytes in memory for each cell
CHUNK_SIZE = 1000 if kernel.COMPILED else 50  # grids per task at most: hundredths of a second
MIN_CHUNK_SIZE, CHUNKS_LEFT = (
    50,
    16,
)  # smallest task, and tasks for the rest: near the end, tasks are small, so that all cores end together
GRID_BUDGET = 5_000 if kernel.COMPILED else 500  # guesses per grid; harder grids are searched later
MAX_RATED = 1_000  # grids; rating more takes longer than solving
MAX_LISTED = 100  # listed grids that have not exactly one solution
SLOWEST_COUNT = 10
VERDICTS = ("none", "one", "several")  # indexed by the number of solutions found
_MAX_UINT32 = 2**32 - 1
_GUESS_RANGES = {
    "none": range(1), "1 to 9": range(1, 10), "10 to 99": range(10, 100), "100 to 999": range(100, 1_000),
    "1,000 to 9,999": range(1_000, 10_000), "10,000 or more": range(10_000, 2**32),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class BatchState:
    """Results of the first grids, in order."""

    solutions: bytearray = field(default_factory=bytearray)  # first solution of each grid, one after the other
    counts: bytearray = field(default_factory=bytearray)  # per grid: 0, 1, or 2 for several
    guesses: "array[int]" = field(default_factory=lambda: array("I"))

    def extend(self, solutions: Iterable[int], counts: Iterable[int], guesses: Iterable[int]) -> None:
        """Add the results of further grids."""
        self.solutions.extend(solutions)
        self.counts.extend(counts)
        self.guesses.extend(guesses)

    def dump(self) -> tuple[dict[str, object], list[Buffer]]:
        """Return the values and buffers of a checkpoint."""
        return {}, [self.solutions, self.counts, self.guesses]


def foretell(board: Board, _mode: SolveMode, _runtime: SearchRuntime = SERIAL) -> Footprint:
    """Foretell the memory of the grids with their solutions."""
    memory = SEARCH_MEMORY + GRID_COPIES * len(board.grids) * board.size**2
    return Footprint(memory=memory, is_parallel=board.has_many_grids)


def solve_batch(
    board: Board, mode: SolveMode, runtime: SearchRuntime, chunk_size: int = CHUNK_SIZE
) -> Answer[Solution]:
    """Solve every grid; yield one solution for each that has any. Raises Interrupted."""
    total, cells = len(board.grids), board.size**2
    runtime.require_memory(foretell(board, mode, runtime).memory, f"{total:,} grids")
    identity = f"{board.size} {''.join(board.grids)}".encode()
    state, checkpoint = BatchState(), Checkpoint(runtime, "sudoku/grids", identity)
    if saved := checkpoint.load():
        state.extend(*saved.buffers)

    def describe() -> str:
        tally, done = Counter(state.counts), f"{len(state.counts):,} of {total:,} grids were searched"
        return f"{done}: {tally[1]:,} unique, {tally[2]:,} with several solutions, {tally[0]:,} with none"

    with checkpoint.guard(state.dump, describe):
        speed = _search_all(board, state, runtime, chunk_size)
        count, tables = _count_all(board, mode, state, runtime), list(_build_tables(board, state, runtime))
    tally = Counter(state.counts)
    details: Details = {"grids": total, "unique": tally[1], "several": tally[2], "none": tally[0]}
    details |= {"kernel": kernel_mode(kernel) if board.size == 9 else "sat", **speed}
    if board.known_solutions:
        details["solutions_in_file"] = _compare_known(board, state)
    unsolvable = tally[0] == total
    return Answer(
        solutions=iter(()) if mode is SolveMode.COUNT else iter_solutions(cells, state),
        nodes_searched=lambda: sum(state.guesses),
        count=count,
        proof=Proof.EXHAUSTION if unsolvable else None,
        reason="of every grid, everything was tried" if unsolvable else "",
        details=details,
        tables=tables,
    )


def _search_all(board: Board, state: BatchState, runtime: SearchRuntime, chunk_size: int) -> dict[str, int]:
    first, total = len(state.counts), len(board.grids)
    prepare, most = (_search_by_kernel, chunk_size) if board.size == 9 else (_search_by_sat, 1)
    started_at = runtime.monotonic()
    for part in runtime.map(prepare, board.size, _iter_chunks(board.grids[first:], most)):
        state.extend(part.solutions, part.counts, part.guesses)
        runtime.report_progress(len(state.counts) / total, f"{len(state.counts):,} of {total:,} grids")
    search_hard_grids(board, state, runtime)
    seconds = runtime.monotonic() - started_at
    return {"grids_per_second": round((total - first) / seconds)} if seconds > 0 else {}


def _iter_chunks(grids: Sequence[str], most: int) -> Iterator[Sequence[str]]:
    start = 0
    while start < len(grids):
        size = min(most, max(MIN_CHUNK_SIZE, (len(grids) - start) // CHUNKS_LEFT))
        yield grids[start : start + size]
        start += size


def _search_by_kernel(_size: int, runtime: SearchRuntime) -> Callable[[Sequence[str]], BatchState]:
    search = kernel.GridSearch()

    def search_grids(grids: Sequence[str]) -> BatchState:
        state = BatchState()
        step = max(1, len(grids) // 10)
        for start in range(0, len(grids), step):
            runtime.report_progress(None, f"grid {start + 1:,} of {len(grids):,}")
            clues = "".join(grids[start : start + step]).encode()
            count = len(clues) // 81
            solutions, counts, guesses = bytearray(len(clues)), bytearray(count), array("I", bytes(4 * count))
            search.solve_batch(clues, solutions, counts, guesses, GRID_BUDGET)
            state.extend(solutions, counts, guesses)
        return state

    return search_grids


def _search_by_sat(size: int, runtime: SearchRuntime) -> Callable[[Sequence[str]], BatchState]:
    def search_grid(grids: Sequence[str]) -> BatchState:
        search = SatSearch(grids[0], size, runtime)
        first_two = list(islice(search.solutions(), 2))
        solution = (first_two or [EMPTY * size**2])[0]
        return BatchState(bytearray(solution.encode()), bytearray([len(first_two)]), array("I", [search.guesses()]))

    return search_grid


def search_hard_grids(board: Board, state: BatchState, runtime: SearchRuntime) -> None:
    """Search the grids that exceeded `GRID_BUDGET`, without a limit."""
    unknown = [number for number, count in enumerate(state.counts) if count == kernel.UNKNOWN]
    for done, number in enumerate(unknown):
        runtime.report_progress(done / len(unknown), f"{done:,} of {len(unknown):,} grids that take longer")
        search = BandSearch(board.grids[number], runtime)
        first_two = list(islice(search.solutions(), 2))
        if first_two:
            state.solutions[81 * number : 81 * number + 81] = first_two[0].encode()
        state.counts[number] = len(first_two)
        state.guesses[number] = min(search.guesses(), _MAX_UINT32)


def iter_solutions(cells: int, state: BatchState) -> Iterator[Solution]:
    """Yield the first solution of each grid that has any; `cells` is the length of a grid."""
    solutions, end = state.solutions.decode(), 0
    for number, count in enumerate(state.counts, 1):
        start, end = end, end + cells
        if count:
            yield Solution(number, solutions[start:end])


def _count_all(board: Board, mode: SolveMode, state: BatchState, runtime: SearchRuntime) -> int | None:
    """Return the number of solutions of all grids; None if not all are counted."""
    several = [grid for grid, count in zip(board.grids, state.counts, strict=True) if count == 2]
    unique = state.counts.count(1)
    if not several:
        return unique
    if mode is not SolveMode.COUNT:
        return None
    counts = [count_grid(grid, board.size, board.count_to, runtime) for grid in several]
    return unique + sum(each.solutions for each in counts) if all(each.is_complete for each in counts) else None


def _compare_known(board: Board, state: BatchState) -> str:
    cells = board.size**2
    wrong = [
        number + 1
        for number, solution in enumerate(board.known_solutions)
        if solution and solution.encode() != state.solutions[cells * number : cells * (number + 1)]
    ]
    total = sum(map(bool, board.known_solutions))
    if not wrong:
        return f"all {total:,} right"
    return f"{len(wrong):,} of {total:,} wrong, the first of grid {wrong[0]}"


def _build_tables(board: Board, state: BatchState, runtime: SearchRuntime) -> Iterator[Table]:
    tally = Counter(state.guesses)
    sums = {name: sum(tally[guesses] for guesses in tally if guesses in each) for name, each in _GUESS_RANGES.items()}
    yield Table("Guesses until all is known", ("guesses", "grids"), list(sums.items()))
    if board.size == 9 and len(board.grids) <= MAX_RATED:
        yield _difficulty_table(board, state, runtime)
    places = range(0, -len(board.grids), -1)  # negative, so that of equal grids the first counts
    slowest = nlargest(SLOWEST_COUNT, zip(state.guesses, places, strict=True))
    slowest_rows = [(1 - place, guesses, board.grids[-place]) for guesses, place in slowest]
    yield Table("Those that took the most guesses", ("grid", "guesses", "clues"), slowest_rows)
    not_unique = [number for number, count in enumerate(state.counts) if count != 1][:MAX_LISTED]
    listed = []
    for number in not_unique:
        conflict = techniques.find_conflict(board.grids[number], board.size)
        listed.append((number + 1, VERDICTS[state.counts[number]], conflict.text if conflict else ""))
    if listed:
        title = "Not unique" + (f", the first {MAX_LISTED}" if len(listed) == MAX_LISTED else "")
        yield Table(title, ("grid", "solutions", "clues that contradict each other"), listed)


def _difficulty_table(board: Board, state: BatchState, runtime: SearchRuntime) -> Table:
    unique = [grid for grid, count in zip(board.grids, state.counts, strict=True) if count == 1]
    groups = [unique[start : start + 10] for start in range(0, len(unique), 10)]
    tally: Counter[str] = Counter()
    for done, levels in enumerate(runtime.map(_rate_grids, 9, groups), 1):
        tally.update(levels)
        runtime.report_progress(done / len(groups), "rating the difficulty")
    return Table("How hard for a person", ("level", "grids"), [(level, tally[level]) for level in deductions.LEVELS])


def _rate_grids(size: int, runtime: SearchRuntime) -> Callable[[Sequence[str]], list[str]]:
    return lambda grids: [techniques.rate_difficulty(grid, size, runtime).level for grid in grids]
