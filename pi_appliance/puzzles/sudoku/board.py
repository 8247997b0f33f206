"""Sudoku boards: one grid or the many of a file, their rules, and the known boards."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from pi_appliance.errors import InvalidOption
from pi_appliance.puzzles import Rule, Validation, check_rules, pluralize

SYMBOLS = "123456789ABCDEFGHIJKLMNOP"
EMPTY = "."
_BOX_SIZES = ((2, 2), (3, 2), (4, 2), (3, 3), (5, 2), (4, 3), (5, 3), (4, 4), (5, 4), (5, 5))
BOXES = {width * height: (width, height) for width, height in _BOX_SIZES}
"""Width and height of a box, in cells, by the size of the grid."""
LEVELS = ("easy", "medium", "hard", "extreme")
"""Levels of difficulty for a person; `techniques.TECHNIQUES` maps each technique to its level."""
RULES: Mapping[str, Rule] = {
    "count-to": Rule("stop counting at this many solutions of a grid; all: count to the end", "all"),
    "difficulty": Rule("level of a new grid; default: any level", choices=LEVELS),
    "clues": Rule("number of clues of a new grid, such as 30; default: no redundant clue is left"),
}
_MAX_NUMBER_DIGITS = 20


class Solution(NamedTuple):
    """A solution: the number of its grid, counted from 1, and its symbols row by row."""

    grid: int
    digits: str


@dataclass(frozen=True, slots=True)
class Board:
    """Grids of one size, each a string of symbols row by row with `.` for an empty cell."""

    grids: tuple[str, ...]
    size: int = 9
    known_solutions: tuple[str, ...] = ()
    """Solutions from the file, one per grid ("" if missing); empty if there are none."""
    count_to: int | None = None  # stop counting at this many solutions; None: count all
    difficulty: str = ""  # level of a new grid, one of `LEVELS`; empty: any
    clues: int | None = None  # number of clues of a new grid; None: as few as possible

    @property
    def has_many_grids(self) -> bool:
        """Whether there is more than one grid."""
        return len(self.grids) > 1


@dataclass(frozen=True, slots=True)
class Unit:
    """A row, a column or a box, and its cells."""

    name: str
    cells: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GridLayout:
    """Units and peers of each cell. Cells are numbered in reading order from 0."""

    size: int
    units: tuple[Unit, ...]  # rows, then columns, then boxes
    units_of: tuple[tuple[int, int, int], ...]  # indexes of the row, column and box of each cell in `units`
    peers: tuple[frozenset[int], ...]  # the other cells that share a unit with each cell


@lru_cache(maxsize=16)
def grid_layout(size: int) -> GridLayout:
    """Return the layout of grids of `size`, one of `BOXES`."""
    width, height = BOXES[size]
    cells = range(size * size)
    units_of = tuple(
        (cell // size, size + cell % size, 2 * size + cell // size // height * (size // width) + cell % size // width)
        for cell in cells
    )
    names = [f"{kind} {number + 1}" for kind in ("row", "column", "box") for number in range(size)]
    units = tuple(
        Unit(name, tuple(cell for cell in cells if number in units_of[cell])) for number, name in enumerate(names)
    )
    peers = tuple(
        frozenset(other for number in units_of[cell] for other in units[number].cells) - {cell} for cell in cells
    )
    return GridLayout(size, units, units_of, peers)


def cell_name(cell: int, size: int) -> str:
    """Return the name of a cell, such as r1c9: row and column, counted from 1."""
    return f"r{cell // size + 1}c{cell % size + 1}"


def count_clues(grid: str) -> int:
    """Return the number of filled cells."""
    return len(grid) - grid.count(EMPTY)


def describe(board: Board) -> str:
    """Return the size of the board, and the rules that differ from the default."""
    size = f"{board.size}x{board.size}"
    if board.has_many_grids:
        parts = [f"{pluralize(len(board.grids), 'grid')} of {size}"]
    else:
        parts = [f"{pluralize(count_clues(board.grids[0]), 'clue')} in {size} cells"]
    if board.count_to is not None:
        parts.append(f"counted to {board.count_to:,}")
    if board.difficulty:
        parts.append(f"new grids {board.difficulty}")
    if board.clues is not None:
        parts.append(f"new grids with {pluralize(board.clues, 'clue')}")
    return ", ".join(parts)


def with_rules(board: Board, rules: Mapping[str, str]) -> Board:
    """Return the board with these rules. Raises UnknownName, InvalidOption."""
    rules = check_rules("sudoku", RULES, rules)
    if clues := rules.get("clues"):
        board = replace(board, clues=_parse_number(clues, "clues", board.size**2))
    elif clues == "":
        board = replace(board, clues=None)
    if limit := rules.get("count-to"):
        board = replace(board, count_to=None if limit == "all" else _parse_number(limit, "count-to", None))
    return replace(board, difficulty=rules.get("difficulty", board.difficulty))


def _parse_number(text: str, rule: str, maximum: int | None) -> int:
    digits = text.replace(",", "").replace("_", "")
    if digits.isascii() and digits.isdigit() and len(digits) <= _MAX_NUMBER_DIGITS:
        number = int(digits)
        if 1 <= number <= (maximum or number):
            return number
    limits = f"from 1 to {maximum}" if maximum else "from 1 on"
    raise InvalidOption(f"{rule}: {text!r} is not a number {limits}; write one, such as 30")


def draw_grid(grid: str, size: int) -> str:
    """Draw a grid with lines between its boxes."""
    width, height = BOXES[size]
    ruler = "+".join(["-" * (2 * width + 1)] * (size // width))[1:-1] + "\n"
    lines = []
    for number in range(size):
        row = grid[number * size : (number + 1) * size]
        if number and number % height == 0:
            lines.append(ruler)
        lines.append(" | ".join(" ".join(row[left : left + width]) for left in range(0, size, width)) + "\n")
    return "".join(lines)


_KNOWN_GRIDS = {
    # The sample of the original project: half a minute by trying digit after digit.
    "sample": "..4..17...8..2....2...7.......5.3.78..5...4..96.1.4.......5...9....1..6...17..2..",
    # No grid with fewer than 17 clues has a unique solution.
    "seventeen": ".......1.4.........2...........5.4.7..8...3....1.9....3..4..2...5.1........8.6...",
    # Its first row is 987654321: the worst case for trying from 1 upwards, row by row.
    "uphill": "..............3.85..1.2.......5.7.....4...1...9.......5......73..2.1........4...9",
    # Four that were called the hardest of their year.
    "escargot": "1....7.9..3..2...8..96..5....53..9...1..8...26....4...3......1..4......7..7...3..",
    "everest": "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4..",
    "nugget": ".......39.....1..5..3.5.8....8.9...6.7...2...1..4.......9.8..5..2....6..4..7.....",
    "monster": "1.......2.9.4...5...6...7...5.9.3.......7.......85..4.7.....6...3...9.8...2.....1",
    # It has no solution; some programs need millions of guesses to prove that.
    "impossible": ".....5.8....6.1.43..........1.5........1.6...3.......553.....61........4.........",
    # "seventeen" with one clue removed.
    "sixteen": ".......1.4.........2...........5.4.7..8...3....1.9....3..4..2...5.1........8.....",
}
BOARDS: Mapping[str, str] = MappingProxyType({name: draw_grid(grid, 9) for name, grid in _KNOWN_GRIDS.items()})


def check(board: Board, solution: Solution) -> Validation:
    """Check whether `solution` solves its grid; the error names the wrong cell or unit."""
    number, digits = solution
    if not 1 <= number <= len(board.grids):
        return Validation(f"there is no grid {number}: there are {len(board.grids)}")
    size, grid = board.size, board.grids[number - 1]
    if len(digits) != size * size:
        return Validation(f"it has {len(digits)} cells, the grid has {size * size}")
    for cell, (clue, symbol) in enumerate(zip(grid, digits, strict=True)):
        where = f"row {cell // size + 1}, column {cell % size + 1}"
        if symbol not in SYMBOLS[:size]:
            return Validation(f"{where}: {symbol!r} is not from 1 to {SYMBOLS[size - 1]}")
        if clue not in (EMPTY, symbol):
            return Validation(f"{where}: it says {symbol}, but the clue there is {clue}")
    for number in range(size):
        for unit in grid_layout(size).units[number::size]:  # a row, a column and a box
            symbols = [digits[cell] for cell in unit.cells]
            if len(set(symbols)) != size:
                repeated = next(symbol for symbol in symbols if symbols.count(symbol) > 1)
                return Validation(f"{unit.name}: {repeated} stands there {symbols.count(repeated)} times")
    return Validation()
