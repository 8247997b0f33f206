"""Solve the many grids of a file on all cores; an interrupted run is resumed."""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from heapq import nlargest
from itertools import islice

from pi_appliance.puzzles import Answer, Proof, SolveMode, Table, kernel_mode
from pi_appliance.puzzles.runtime import Buffer, Checkpoint, SearchRuntime
from pi_appliance.puzzles.sudoku import kernel
from pi_appliance.puzzles.sudoku.board import EMPTY, LEVELS, Board, Solution
from pi_appliance.puzzles.sudoku.count import BandSearch, count_solutions
from pi_appliance.puzzles.sudoku.sat import SatSearch
from pi_appliance.puzzles.sudoku.techniques import find_conflict, rate_difficulty

CHUNK_SIZE = 1000 if kernel.COMPILED else 50  # grids per task: hundredths of a second
GRID_BUDGET = 5_000 if kernel.COMPILED else 500  # guesses; harder grids are searched later
MAX_RATED = 1_000  # larger files are not rated: rating takes longer than solving
MAX_LISTED = 100  # grids that are not unique
SLOWEST_COUNT = 10
VERDICTS = {0: "none", 1: "one", 2: "several"}
_MAX_UINT32 = 2**32 - 1
_GUESS_RANGES = {
    "none": range(1), "1 to 9": range(1, 10), "10 to 99": range(10, 100), "100 to 999": range(100, 1_000),
    "1,000 to 9,999": range(1_000, 10_000), "10,000 or more": range(10_000, 2**32),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class BatchState:
    """Results of the first grids, in order."""

    solutions: bytearray = field(default_factory=bytearray)  # the first solution of each grid, one after the other
    counts: bytearray = field(default_factory=bytearray)  # 0, 1, or 2 for several
    guesses: "array[int]" = field(default_factory=lambda: array("I"))

    def extend(self, solutions: Iterable[int], counts: Iterable[int], guesses: Iterable[int]) -> None:
        """Add the results of further grids."""
        self.solutions.extend(solutions)
        self.counts.extend(counts)
        self.guesses.extend(guesses)

    def dump(self) -> tuple[dict[str, object], list[Buffer]]:
        """Return the values and buffers of a checkpoint."""
        return {}, [self.solutions, self.counts, self.guesses]


def solve_batch(
    board: Board, mode: SolveMode, runtime: SearchRuntime, chunk_size: int = CHUNK_SIZE
) -> Answer[Solution]:
    """Solve every grid; yield one solution for each that has any. Raises Interrupted."""
    total, cells = len(board.grids), board.size**2
    runtime.require_memory(total * cells * 4, f"{total:,} grids")
    state, checkpoint = BatchState(), Checkpoint(runtime, "sudoku/grids", (board.size, board.grids))
    if saved := checkpoint.load():
        state.extend(*saved.buffers)

    def describe() -> str:
        tally, done = Counter(state.counts), f"{len(state.counts):,} of {total:,} grids were searched"
        return f"{done}: {tally[1]:,} unique, {tally[2]:,} with several solutions, {tally[0]:,} with none"

    with checkpoint.guard(state.dump, describe):
        speed = _search_all(board, state, runtime, chunk_size)
        count, tables = _count_all(board, mode, state, runtime), list(_build_tables(board, state, runtime))
    tally = Counter(state.counts)
    counts = {"grids": total, "unique": tally[1], "several": tally[2], "none": tally[0]}
    compared = {"solutions_in_file": _compare_known(board, state)} if board.known_solutions else {}
    unsolvable = tally[0] == total
    return Answer(
        solutions=iter(()) if mode is SolveMode.COUNT else iter_solutions(cells, state),
        nodes_searched=lambda: sum(state.guesses),
        count=count,
        proof=Proof.EXHAUSTION if unsolvable else None,
        reason="of every grid, everything was tried" if unsolvable else "",
        details={**counts, "kernel": kernel_mode(kernel) if board.size == 9 else "sat", **speed, **compared},
        tables=tables,
    )


def _search_all(board: Board, state: BatchState, runtime: SearchRuntime, chunk_size: int) -> dict[str, int]:
    first, total = len(state.counts), len(board.grids)
    search_chunk, step = (_search_by_kernel, chunk_size) if board.size == 9 else (_search_by_sat, 1)
    chunks = (range(start, min(start + step, total)) for start in range(first, total, step))
    started_at = runtime.monotonic()
    for part in runtime.executor.map(partial(search_chunk, board, runtime), chunks):
        state.extend(part.solutions, part.counts, part.guesses)
        runtime.report_progress(len(state.counts) / total, f"{len(state.counts):,} of {total:,} grids")
    search_hard_grids(board, state, runtime)
    seconds = runtime.monotonic() - started_at
    return {"grids_per_second": round((total - first) / seconds)} if seconds > 0 else {}


def _search_by_kernel(board: Board, runtime: SearchRuntime, chunk: range) -> BatchState:
    state, search = BatchState(), kernel.GridSearch()
    step = max(1, len(chunk) // 10)
    for start in range(chunk.start, chunk.stop, step):
        runtime.report_progress(None, f"grid {start + 1:,}")
        clues = "".join(board.grids[start : min(start + step, chunk.stop)]).encode()
        grids = len(clues) // 81
        solutions, counts, guesses = bytearray(len(clues)), bytearray(grids), array("I", bytes(4 * grids))
        search.solve_batch(clues, solutions, counts, guesses, GRID_BUDGET)
        state.extend(solutions, counts, guesses)
    return state


def _search_by_sat(board: Board, runtime: SearchRuntime, chunk: range) -> BatchState:
    search = SatSearch(board.grids[chunk.start], board.size, runtime)
    first_two = list(islice(search.solutions(), 2))
    solution = (first_two or [EMPTY * board.size**2])[0]
    return BatchState(bytearray(solution.encode()), bytearray([len(first_two)]), array("I", [search.guesses()]))


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
    for number, count in enumerate(state.counts):
        if count:
            yield Solution(number + 1, state.solutions[cells * number : cells * (number + 1)].decode())


def _count_all(board: Board, mode: SolveMode, state: BatchState, runtime: SearchRuntime) -> int | None:
    """Return the number of solutions of all grids; None if not all are counted."""
    several = [grid for grid, count in zip(board.grids, state.counts, strict=True) if count == 2]
    unique = state.counts.count(1)
    if not several:
        return unique
    if mode is not SolveMode.COUNT:
        return None
    counts = [count_solutions(grid, board.size, board.count_to, runtime) for grid in several]
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
    rows = [(name, sum(guesses in numbers for guesses in state.guesses)) for name, numbers in _GUESS_RANGES.items()]
    yield Table("Guesses until all is known", ("guesses", "grids"), rows)
    if board.size == 9 and len(board.grids) <= MAX_RATED:
        yield _difficulty_table(board, state, runtime)
    slowest = nlargest(SLOWEST_COUNT, range(len(board.grids)), key=lambda number: (state.guesses[number], -number))
    slowest_rows = [(number + 1, state.guesses[number], board.grids[number]) for number in slowest]
    yield Table("Those that took the most guesses", ("grid", "guesses", "clues"), slowest_rows)
    not_unique = [number for number, count in enumerate(state.counts) if count != 1][:MAX_LISTED]
    if not_unique:
        conflicts = {number: find_conflict(board.grids[number], board.size) for number in not_unique}
        listed = [
            (number + 1, VERDICTS[state.counts[number]], conflict.text if conflict else "")
            for number, conflict in conflicts.items()
        ]
        title = "Not unique" + (f", the first {MAX_LISTED}" if len(not_unique) == MAX_LISTED else "")
        yield Table(title, ("grid", "solutions", "clues that contradict each other"), listed)


def _difficulty_table(board: Board, state: BatchState, runtime: SearchRuntime) -> Table:
    unique = [grid for grid, count in zip(board.grids, state.counts, strict=True) if count == 1]
    groups = [unique[start : start + 10] for start in range(0, len(unique), 10)]

    def rate_group(group: list[str]) -> list[str]:
        return [rate_difficulty(grid, 9, runtime).level for grid in group]

    tally: Counter[str] = Counter()
    for done, levels in enumerate(runtime.executor.map(rate_group, groups), 1):
        tally.update(levels)
        runtime.report_progress(done / len(groups), "rating the difficulty")
    return Table("How hard for a person", ("level", "grids"), [(level, tally[level]) for level in LEVELS])
