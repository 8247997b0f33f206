"""Benchmark of sudoku against the original method, Norvig's propagation, and published packages.

Ours also searches for a second solution. The original method and Norvig's stop at the first, and exact-cover searches
for two. `exact-cover` is measured if it is installed: pip install exact-cover. tdoku, the fastest known solver, is a
C++ program for x86: build its example program `solve` from its sources, and name it in `TDOKU`. Like our complete
command, it reads, solves and prints a file.

Times are processor times, so that other load on the machine has little effect. Each list consists of a few known
grids, which are permuted (digits, rows, columns) into as many as are needed.
"""

import importlib
import os
import random
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from types import ModuleType

from pi_appliance.puzzles import kernel_mode
from pi_appliance.puzzles.runtime import SearchRuntime
from pi_appliance.puzzles.sudoku import kernel
from pi_appliance.puzzles.sudoku.sat import SatSearch
from tests.puzzles.sudoku.grids import HARDEST, NONE, permute_grid

Solver = Callable[[str], object]

# Seventeen clues, of Gordon Royle's list and others.
FEW_CLUES = [
    ".......1.4.........2...........5.4.7..8...3....1.9....3..4..2...5.1........8.6...",
    ".......1.4.........2...........5.6.4..8...3....1.9....3..4..2...5.1........8.7...",
    ".......12....35......6...7.7.....3.....4..8..1...........12.....8.....4..5....6..",
    ".......12..36..........7...41..2.......5..3..7.....6..28.....4....3..5...........",
    ".......12..8.3...........4.12.5..........47...6.......5.7...3.....62.......1.....",
    ".......12.4..5.........9....7.6..4.....1............5.....875..6.1...3..2........",
    ".......12.5.4............3.7..6..4....1..........8....92....8.....51.7.......3...",
    ".......123......6.....4....9.....5.......1.7..2..........35.4....14..8...6.......",
    ".......124...9...........5..7.2.....6.....4.....1.8....18..........3.7..5.2......",
    ".......125....8......7.....6..12....7.....45.....3.....3....8.....5..7...2.......",
    ".......127...6...........5..8.2.....6.....4.....1.9....19..........3.8..5.2......",
    ".......128...4...........6..9.2.....7.....4.....5.1....15..........3.9..6.2......",
    ".......13....3..8..7..........2.6....3....9......1....6..5..2.4...4..7..1........",
    ".......1298..........6.....1..7...8.4.2.........3..6...7....3...5..4........1....",
    ".......13...2............8....76.2....8...4...1.......2.....75.6..34.........8...",
    "...8.1..........435............7.8........1...2..3....6......75..34........2..6..",
    "4.....8.5.3..........7......2.....6.....8.4......1.......6.3.7.5..2.....1.4......",
]
SAMPLE = "..4..17...8..2....2...7.......5.3.78..5...4..96.1.4.......5...9....1..6...17..2.."
LISTS = {
    "17 clues": FEW_CLUES,
    "the hardest": HARDEST,
}
MEASUREMENT_SECONDS = 1.0  # seconds


def rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield the measure, our result, the result of the peer, and the ratio."""
    mode = kernel_mode(kernel)
    peers: dict[str, Solver] = {"Norvig's way": solve_by_norvig, "python-sat": solve_by_sat, **find_exact_cover()}
    for name, grids in LISTS.items():
        ours = measure_kernel(grids)
        yield (f"{name}, against a fixed loop", f"{ours:,.0f}/s {mode}", *compare_with_loop(ours))
        for peer, solver in peers.items():
            speed = measure_solver(solver, permute_grids(grids, 400))
            yield f"{name}", f"{ours:,.0f}/s {mode}", f"{peer} {speed:,.1f}/s", f"{_format_ratio(ours / speed)}"
    yield from compare_with_tdoku()
    ours, speed = measure_kernel([SAMPLE]), measure_solver(solve_by_original, [SAMPLE])
    peer = f"its own way {speed:,.2f}/s"
    yield "the original's sample", f"{ours:,.0f}/s {mode}", peer, f"{_format_ratio(ours / speed)}"
    ours, speed = measure_kernel(NONE[-1:], vary=False), measure_solver(solve_by_sat, NONE[-1:])
    peer = f"python-sat {1000 / speed:,.2f} ms"
    yield "a known one without a solution", f"{1000 / ours:,.3f} ms {mode}", peer, f"{_format_ratio(ours / speed)}"


def compare_with_tdoku() -> Iterator[tuple[str, str, str, str]]:
    """Compare complete commands with tdoku's program, the best of three each, where `TDOKU` names it."""
    program = os.environ.get("TDOKU")
    for name, number in {"17 clues": 49_151, "the hardest": 4_000}.items() if program else ():
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "grids.txt")
            file.write_text("\n".join(permute_grids(LISTS[name], number)) + "\n", "utf-8")
            words = [sys.executable, "-m", "pi_appliance", "puzzle", "solve", "sudoku", "--cores", "1"]
            words += ["--max-solutions", str(number), "--board", str(file), "--output", str(Path(folder, "result.txt"))]
            ours = min(_seconds_of(words, file, folder) for _ in range(3))
            peer = min(_seconds_of([str(program), "2"], file, folder) for _ in range(3))
        yield (
            f"{name}, {number:,} grids, whole command",
            f"{ours:.2f} s",
            f"tdoku {peer:.2f} s",
            _format_ratio(peer / ours),
        )


def _seconds_of(words: list[str], file: Path, folder: str) -> float:
    """Return the processor time of a command that reads `file`."""
    before = os.times()
    with file.open("rb") as grids:
        subprocess.run(words, stdin=grids, stdout=subprocess.DEVNULL, cwd=folder, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def _format_ratio(ratio: float) -> str:
    return f"{ratio:,.0f}x" if ratio >= 10 else f"{ratio:.1f}x"


def permute_grids(grids: Sequence[str], number: int) -> list[str]:
    """Return `number` reproducible transformations of `grids`."""
    rng = random.Random(1)
    return [permute_grid(grids[n % len(grids)], rng) for n in range(number)]


def measure_kernel(grids: Sequence[str], *, vary: bool = True) -> float:
    """Return the grids per second of the kernel on one core, in batches."""
    size = 200
    batch = permute_grids(grids, size) if vary else [grids[0]] * size
    search, clues = kernel.GridSearch(), "".join(batch).encode()
    solutions, counts, guesses = bytearray(len(clues)), bytearray(size), array("I", bytes(4 * size))
    count, start = 0, time.process_time()
    while (seconds := time.process_time() - start) < MEASUREMENT_SECONDS:
        search.solve_batch(clues, solutions, counts, guesses, 10**6)
        count += size
    assert set(counts) == ({1} if vary else {0})
    return count / seconds


def measure_solver(solver: Solver, grids: Sequence[str]) -> float:
    """Return the `grids` per second of `solver`; it solves at least one."""
    count, start = 0, time.process_time()
    while not count or time.process_time() - start < MEASUREMENT_SECONDS:
        solver(grids[count % len(grids)])
        count += 1
    return count / (time.process_time() - start)


def compare_with_loop(ours: float) -> tuple[str, str]:
    """Return the time of a fixed loop, and the grids solved in that time, which is independent of the load."""
    start = time.process_time()
    total = 0
    for number in range(1_000_000):
        total += number & 7
    seconds = time.process_time() - start
    return f"a million additions {1000 * seconds:,.0f} ms", f"{ours * seconds:,.1f} grids"


def solve_by_original(grid: str) -> list[list[int]]:
    """Fill the empty squares in reading order, each with the next digit that fits, and step back if none fits."""
    puzzle = [[int(mark) if mark != "." else 0 for mark in grid[start : start + 9]] for start in range(0, 81, 9)]
    empty = [(x, y) for x in range(9) for y in range(9) if puzzle[x][y] == 0]
    i = 0
    while i < len(empty):
        x, y = empty[i]
        for digit in range(puzzle[x][y] + 1, 10):
            column = [puzzle[other][y] for other in range(9)]
            rows, columns = range(x // 3 * 3, x // 3 * 3 + 3), range(y // 3 * 3, y // 3 * 3 + 3)
            box = [puzzle[row][other] for row in rows for other in columns]
            if digit not in puzzle[x] and digit not in column and digit not in box:
                puzzle[x][y] = digit
                i += 1
                break
        else:
            puzzle[x][y] = 0
            i -= 1
    return puzzle


@cache
def _layout() -> tuple[list[list[list[int]]], list[set[int]]]:
    """Return the units of each square, and the squares that it sees."""
    lines = [[9 * n + m for m in range(9)] for n in range(9)] + [[9 * m + n for m in range(9)] for n in range(9)]
    boxes = [[27 * n + 3 * m + 9 * (k // 3) + k % 3 for k in range(9)] for n in range(3) for m in range(3)]
    units = [[unit for unit in lines + boxes if at in unit] for at in range(81)]
    return units, [{other for unit in units[at] for other in unit} - {at} for at in range(81)]


def solve_by_norvig(grid: str) -> dict[int, str] | None:
    """Eliminate digits by constraint propagation, and guess in the square with the fewest candidates."""
    values: dict[int, str] | None = dict.fromkeys(range(81), "123456789")
    for at, mark in enumerate(grid):
        if values is not None and mark != ".":
            values = _assign(values, at, mark)
    return _search(values)


def _search(values: dict[int, str] | None) -> dict[int, str] | None:
    if values is None or all(len(digits) == 1 for digits in values.values()):
        return values
    _, at = min((len(digits), at) for at, digits in values.items() if len(digits) > 1)
    tried = (_search(_assign(values.copy(), at, digit)) for digit in values[at])
    return next((result for result in tried if result is not None), None)


def _assign(values: dict[int, str], at: int, digit: str) -> dict[int, str] | None:
    return values if all(_eliminate(values, at, other) for other in values[at].replace(digit, "")) else None


def _eliminate(values: dict[int, str], at: int, digit: str) -> bool:
    if digit not in values[at]:
        return True
    values[at] = values[at].replace(digit, "")
    units, peers = _layout()
    if not values[at]:
        return False
    if len(values[at]) == 1 and not all(_eliminate(values, other, values[at]) for other in peers[at]):
        return False
    for unit in units[at]:
        places = [other for other in unit if digit in values[other]]
        if not places or (len(places) == 1 and _assign(values, places[0], digit) is None):
            return False
    return True


def solve_by_sat(grid: str) -> list[str]:
    """Ask python-sat for two solutions."""
    return list(islice(SatSearch(grid, 9, SearchRuntime()).solutions(), 2))


def find_exact_cover() -> dict[str, Solver]:
    """Return the solver of the package exact-cover, if it is installed."""
    try:
        library, numpy = importlib.import_module("exact_cover"), importlib.import_module("numpy")
    except ImportError:
        return {}
    return {"exact-cover": lambda grid: _cover(grid, library, numpy)}


def _cover(grid: str, library: ModuleType, numpy: ModuleType) -> object:
    rows = []
    for at in range(81):
        for digit in range(9) if grid[at] == "." else [int(grid[at]) - 1]:
            row, column = divmod(at, 9)
            box = row // 3 * 3 + column // 3
            ones = numpy.zeros(324, dtype="int32")
            ones[[at, 81 + 9 * row + digit, 162 + 9 * column + digit, 243 + 9 * box + digit]] = 1
            rows.append(ones)
    return library.get_all_solutions(numpy.array(rows), max_count=2)
