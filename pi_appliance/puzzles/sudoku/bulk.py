"""Solves the many grids of a file, on all cores, and goes on another night where it was cut off."""

from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from heapq import nlargest

from pi_appliance.puzzles import Proof, SolveMode, SolveResult, Table, kernel_mode
from pi_appliance.puzzles.runtime.interface import Cache, Interrupted, SearchRuntime
from pi_appliance.puzzles.runtime.serial import save_checkpoint
from pi_appliance.puzzles.sudoku import judge, kernel
from pi_appliance.puzzles.sudoku.bands import Bands
from pi_appliance.puzzles.sudoku.board import EMPTY, LEVELS, Board, Solution
from pi_appliance.puzzles.sudoku.number import count
from pi_appliance.puzzles.sudoku.sat import Sat

CHUNK = 1000 if kernel.COMPILED else 50  # grids given out at a time: some hundredths of a second, more if all are hard
BUDGET = 5_000 if kernel.COMPILED else 500  # guesses for one of them; what takes more is looked at by itself
RATED = 1_000  # grids: of so many it is said how hard they are for a person, which takes longer than solving them
LISTED = 100  # grids that are not unique
SLOWEST = 10
WORDS = {0: "none", 1: "one", 2: "several"}
MAGIC = b"sudoku grids 1\n"


@dataclass(frozen=True, slots=True)
class _Found:
    """What came of the first grids: a solution of each, how many it has (0, 1, 2: several), and the guesses."""

    solutions: bytearray
    counts: bytearray
    guesses: "array[int]"


def solve(board: Board, mode: SolveMode, runtime: SearchRuntime, chunk: int = CHUNK) -> SolveResult:
    """Solve every grid of BOARD, CHUNK at a time; a line for each that has a solution. Raises Interrupted."""
    total, squares = len(board.grids), board.size**2
    runtime.require_memory(total * squares * 4, f"{total:,} grids")
    name = f"sudoku/grids-1-{sha256(repr((board.size, board.grids)).encode()).hexdigest()[:24]}"
    found = _kept(runtime.cache, name, total, squares) or _Found(bytearray(), bytearray(), array("I"))
    try:
        speed = _look_at_all(board, found, runtime, chunk)
        number, tables = _count(board, mode, found, runtime), list(_tables(board, found, runtime))
    except Interrupted as end:
        end.partial_result = _so_far(found, total) + save_checkpoint(_keep, runtime.cache, name, found)
        raise
    runtime.cache.remove(name)
    tally = Counter(found.counts)
    none = tally[0] == total
    return SolveResult(
        solutions=iter(()) if mode is SolveMode.COUNT else _lines(squares, found),
        nodes_searched=lambda: sum(found.guesses),
        count=number,
        proof=Proof.EXHAUSTION if none else None,
        reason="of every grid, everything was tried" if none else "",
        details={
            "grids": total,
            "unique": tally[1],
            "several": tally[2],
            "none": tally[0],
            "kernel": kernel_mode(kernel) if board.size == 9 else "sat",
            **speed,
            **({"solutions_in_file": _compared(board, found)} if board.known else {}),
        },
        tables=tables,
    )


def _look_at_all(board: Board, found: _Found, runtime: SearchRuntime, chunk: int) -> dict[str, int]:
    """Look at the grids that are not FOUND yet; return how many it were in a second, if there is a clock."""
    first, total = len(found.counts), len(board.grids)
    look, step = (_look(board, runtime), chunk) if board.size == 9 else (_look_by_sat(board, runtime), 1)
    chunks = (range(start, min(start + step, total)) for start in range(first, total, step))
    began = runtime.monotonic()
    for solutions, counts, guesses in runtime.map(look, chunks):
        found.solutions.extend(solutions)
        found.counts.extend(counts)
        found.guesses.extend(guesses)
        runtime.report_progress(len(found.counts) / total, f"{len(found.counts):,} of {total:,} grids")
    _settle(board, found, runtime)
    seconds = runtime.monotonic() - began
    return {"grids_a_second": round((total - first) / seconds)} if seconds > 0 else {}


def _so_far(found: _Found, total: int) -> str:
    tally = Counter(found.counts)
    done = f"{len(found.counts):,} of {total:,} grids were looked at"
    return f"{done}: {tally[1]:,} unique, {tally[2]:,} with several solutions, {tally[0]:,} with none"


def _keep(cache: Cache, name: str, found: _Found) -> None:
    done = len(found.counts).to_bytes(8, "little")
    cache.save(name, [MAGIC, done, found.counts, found.solutions, found.guesses.tobytes()])


def _kept(cache: Cache, name: str, total: int, squares: int) -> _Found | None:
    """Return what an earlier night found; None if there was none, or it cannot be read."""
    kept = cache.load(name)
    start = len(MAGIC) + 8
    if kept is None or len(kept) < start or bytes(kept[: len(MAGIC)]) != MAGIC:
        return None
    done = int.from_bytes(kept[len(MAGIC) : start], "little")
    if done > total or len(kept) != start + done * (1 + squares + array("I").itemsize):
        return None
    guesses = array("I")
    guesses.frombytes(kept[start + done * (1 + squares) :])
    counts, solutions = kept[start : start + done], kept[start + done : start + done * (1 + squares)]
    return _Found(bytearray(solutions), bytearray(counts), guesses)


_Chunk = tuple[bytes, bytes, "array[int]"]


def _look(board: Board, runtime: SearchRuntime) -> Callable[[range], _Chunk]:
    """Return what looks at some grids of 9x9: their solutions, how many each has, and the guesses."""

    def look(some: range) -> _Chunk:
        found = _Found(bytearray(), bytearray(), array("I"))
        search = kernel.Search()
        batch = max(1, len(some) // 10)
        for start in range(some.start, some.stop, batch):
            runtime.report_progress(None, f"grid {start + 1:,}")
            clues = "".join(board.grids[start : min(start + batch, some.stop)]).encode()
            many = len(clues) // 81
            solutions, counts, guesses = bytearray(len(clues)), bytearray(many), array("I", bytes(4 * many))
            search.batch(clues, solutions, counts, guesses, BUDGET)
            found.solutions.extend(solutions)
            found.counts.extend(counts)
            found.guesses.extend(guesses)
        return bytes(found.solutions), bytes(found.counts), found.guesses

    return look


def _look_by_sat(board: Board, runtime: SearchRuntime) -> Callable[[range], _Chunk]:
    """Return what looks at grids of another size."""

    def look(some: range) -> _Chunk:
        number = some.start
        sat = Sat(board.grids[number], board.size, runtime)
        two = [solution for solution, _ in zip(sat.solutions(), range(2), strict=False)]
        solution = (two or [EMPTY * board.size**2])[0]
        return solution.encode(), bytes([len(two)]), array("I", [sat.guesses()])

    return look


def _settle(board: Board, found: _Found, runtime: SearchRuntime) -> None:
    """Look at the grids by themselves that took too many guesses among the others."""
    unknown = [number for number, many in enumerate(found.counts) if many == kernel.UNKNOWN]
    for done, number in enumerate(unknown):
        runtime.report_progress(done / len(unknown), f"{done:,} of {len(unknown):,} grids that take longer")
        search = Bands(board.grids[number], runtime)
        two = [solution for solution, _ in zip(search.solutions(), range(2), strict=False)]
        if two:
            found.solutions[81 * number : 81 * number + 81] = two[0].encode()
        found.counts[number] = len(two)
        found.guesses[number] = min(search.guesses(), 2**32 - 1)


def _lines(squares: int, found: _Found) -> Iterator[Solution]:
    for number, many in enumerate(found.counts):
        if many:
            yield Solution(number + 1, found.solutions[squares * number : squares * (number + 1)].decode())


def _count(board: Board, mode: SolveMode, found: _Found, runtime: SearchRuntime) -> int | None:
    """Return how many solutions all grids have together; None if some have several and nobody wants to know."""
    several = [grid for grid, many in zip(board.grids, found.counts, strict=True) if many == 2]
    sole = found.counts.count(1)
    if not several:
        return sole
    if mode is not SolveMode.COUNT:
        return None
    counts = [count(grid, board.size, board.count_to, runtime) for grid in several]
    return sole + sum(each.solutions for each in counts) if all(each.whole for each in counts) else None


def _compared(board: Board, found: _Found) -> str:
    """Return how many of the solutions that the file brought are right."""
    squares = board.size**2
    wrong = [
        number + 1
        for number, known in enumerate(board.known)
        if known and known.encode() != found.solutions[squares * number : squares * (number + 1)]
    ]
    said = sum(map(bool, board.known))
    if not wrong:
        return f"all {said:,} right"
    return f"{len(wrong):,} of {said:,} wrong, the first of grid {wrong[0]}"


def _tables(board: Board, found: _Found, runtime: SearchRuntime) -> Iterator[Table]:
    steps = [(0, 0), (1, 9), (10, 99), (100, 999), (1000, 9999), (10000, 2**32)]
    names = ["none", "1 to 9", "10 to 99", "100 to 999", "1,000 to 9,999", "10,000 or more"]
    rows = [
        (name, sum(low <= each <= high for each in found.guesses))
        for name, (low, high) in zip(names, steps, strict=True)
    ]
    yield Table("Guesses until all is known", ("guesses", "grids"), rows)
    if board.size == 9 and len(board.grids) <= RATED:
        yield _levels(board, found, runtime)
    slowest = nlargest(SLOWEST, range(len(board.grids)), key=lambda number: (found.guesses[number], -number))
    rows_of_slowest = [(number + 1, found.guesses[number], board.grids[number]) for number in slowest]
    yield Table("Those that took the most guesses", ("grid", "guesses", "clues"), rows_of_slowest)
    odd = [number for number, many in enumerate(found.counts) if many != 1][:LISTED]
    if odd:
        clashes = {number: judge.clash(board.grids[number], board.size) for number in odd}
        listed = [
            (number + 1, WORDS[found.counts[number]], clash.words if clash else "") for number, clash in clashes.items()
        ]
        title = "Not unique" + (f", the first {LISTED}" if len(odd) == LISTED else "")
        yield Table(title, ("grid", "solutions", "clues that contradict each other"), listed)


def _levels(board: Board, found: _Found, runtime: SearchRuntime) -> Table:
    """Return how many of the unique grids are how hard for a person."""
    unique = [grid for grid, many in zip(board.grids, found.counts, strict=True) if many == 1]
    tens = [unique[start : start + 10] for start in range(0, len(unique), 10)]
    tally: Counter[str] = Counter()
    for done, levels in enumerate(
        runtime.map(lambda some: [judge.difficulty(grid, 9, runtime).level for grid in some], tens)
    ):
        tally.update(levels)
        runtime.report_progress((done + 1) / len(tens), "how hard they are")
    return Table("How hard for a person", ("level", "grids"), [(level, tally[level]) for level in LEVELS])
