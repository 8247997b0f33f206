"""Sudokus with known answers, a brute-force solver, and permutations of grids."""

import random
from collections.abc import Iterator
from contextlib import nullcontext

from pi_appliance.puzzles.runtime import Interrupted, SearchRuntime, SerialExecutor

# Grid and solution, confirmed by two solvers. The first two are the original project's samples.
UNIQUE = {
    "004001700080020000200070000000503078005000400960104000000050009000010060001700200": (
        "594831726783426915216975834142593678835267491967184352378652149429318567651749283"
    ),
    "900080001000406000005070300060000040401060508090000020007030200000705000100040007": (
        "926583471713426985845971362362857149471269538598314726657138294284795613139642857"
    ),
    "1....7.9..3..2...8..96..5....53..9...1..8...26....4...3......1..4......7..7...3..": (
        "162857493534129678789643521475312986913586742628794135356478219241935867897261354"
    ),
    "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4..": (
        "812753649943682175675491283154237896369845721287169534521974368438526917796318452"
    ),
    "..............3.85..1.2.......5.7.....4...1...9.......5......73..2.1........4...9": (
        "987654321246173985351928746128537694634892157795461832519286473472319568863745219"
    ),
    "62..3....7.48....3.9.....6.5.2...7.........19.175....82....5.....1..3....3.4.....": (
        "628931457754862193193754862582319746346278519917546238269185374471623985835497621"
    ),
    "8.25.1..........37...9....5..9275.....7.8.....54.......4..2..1...8....79...6.83..": (
        "872531946596842137413967825189275463237486591654319782945723618368154279721698354"
    ),
    "...16...........8..4....5...92..37...1.5..3....3.8.....312....5..6.1..2.5....7...": (
        "285164937167359284349728516892643751614572398753981642431296875976815423528437169"
    ),
    "..96.....1........27.4..18..4....76..9.36.5.2..32...1..........3..7.8.....8..1.5.": (
        "489612375136875924275493186542189763891367542763254819917546238354728691628931457"
    ),
    "......8..9.87.6.5..7..............431.9...6...4...82...96.3...44....9...8....2.76": (
        "264153897938726451571984362685291743129347685347568219796835124412679538853412976"
    ),
    "...8.4........769..38.......91..6.2....5.9...5.4.....3......2.....48.51...261....": (
        "967854132415237698238961457791346825683529741524178963156793284379482516842615379"
    ),
}
SEVERAL = {
    "..24....8..........16..7.9..29..4....8..5..6.6...7..........74.2.1..6.8..98...61.": 662,
    "872.39...6....5....9.....7...89..21....578.....4...................4.6..9..3.6...": 1069,
    "3..5...4..2..8.5....9..62.1.5.....74..6.....2...2.4.......238.7...8.........4..9.": 242,
    "..13........6.8...6.....45..5.17..9.8.....5....3.6.....7.5...3...8..7...........9": 868,
}
NONE = [
    "...89...3....71.6.......9...5.4.....98...65..1.65.2....1.....25...7..1.8..36.....",
    ".7....8...68....4...4.2.9.68..751....9....12...73......5......19...645.....9...8.",
    ".....5.8....6.1.43..........1.5........1.6...3.......553.....61........4.........",
]


class InterruptingRuntime(SearchRuntime):
    """A runtime that is interrupted after a number of progress reports."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.after = after
        self.executor = SerialExecutor(self._before_call)

    def report_progress(self, part: float | None, note: str) -> None:
        assert part is None or 0 <= part <= 1
        assert note
        self.after -= 1
        if self.after < 0:
            raise Interrupted("a deadline")

    def _before_call(self) -> nullcontext[None]:
        self.report_progress(None, "before a call")
        return nullcontext()


def iter_brute_force_solutions(grid: str) -> Iterator[str]:
    """Yield the solutions of `grid` by brute force."""
    at = grid.find(".")
    if at < 0:
        yield grid
        return
    row, column = divmod(at, 9)
    top, left = row - row % 3, column - column % 3
    seen = {grid[9 * row + n] for n in range(9)} | {grid[9 * n + column] for n in range(9)}
    seen |= {grid[9 * (top + n // 3) + left + n % 3] for n in range(9)}
    for digit in "123456789":
        if digit not in seen:
            yield from iter_brute_force_solutions(grid[:at] + digit + grid[at + 1 :])


def permute_grid(grid: str, rng: random.Random) -> str:
    """Return `grid` with digits, rows and columns permuted at random."""
    rows, columns = (
        [3 * group + n for group in rng.sample(range(3), 3) for n in rng.sample(range(3), 3)] for _ in "ab"
    )
    digits = str.maketrans("123456789", "".join(rng.sample("123456789", 9)))
    squares = [[grid[9 * row + column] for column in columns] for row in rows]
    if rng.random() < 0.5:
        squares = [list(column) for column in zip(*squares, strict=True)]
    return "".join(map("".join, squares)).translate(digits)
