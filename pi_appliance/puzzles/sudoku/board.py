"""Sudoku grids: one, or the many of a file; and a solution of one of them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from pi_appliance.errors import UnknownName, WrongArgument
from pi_appliance.puzzles import Rule, pluralize

SYMBOLS = "123456789ABCDEFGHIJKLMNOP"
EMPTY = "."
BOXES = {
    4: (2, 2),
    6: (3, 2),
    8: (4, 2),
    9: (3, 3),
    10: (5, 2),
    12: (4, 3),
    15: (5, 3),
    16: (4, 4),
    20: (5, 4),
    25: (5, 5),
}
"""The boxes of a grid by its size: how many squares they are wide, and how many high."""
LEVELS = ("easy", "medium", "hard", "extreme")
"""How hard a grid is for a person: singles do; locked candidates, pairs and triples; an X-wing; nothing but a guess."""
RULES: Mapping[str, Rule] = {
    "count-to": Rule("counting stops at so many solutions of a grid; all: never, however long it takes", "all"),
    "difficulty": Rule("how hard a new grid is; without it, as it comes", choices=LEVELS),
    "clues": Rule("how many clues a new grid has, such as 30; without it, none that is not needed"),
}


class Solution(NamedTuple):
    """A solution: of which grid, counted from 1, and its symbols row by row."""

    grid: int
    digits: str


@dataclass(frozen=True, slots=True)
class Board:
    """Grids of one size, each a string of symbols row by row with `.` for an empty square."""

    grids: tuple[str, ...]
    size: int = 9
    known: tuple[str, ...] = ()
    """The solutions that the file brought along, one a grid, `` where it brought none; or nothing at all."""
    count_to: int | None = None
    """Counting stops at so many solutions; None: never."""
    difficulty: str = ""
    """One of LEVELS that a new grid is to have; empty: any."""
    clues: int | None = None
    """How many clues a new grid is to have; None: as few as it comes to."""

    @property
    def many(self) -> bool:
        """Whether there is more than one grid."""
        return len(self.grids) > 1


@dataclass(frozen=True, slots=True)
class Unit:
    """A row, a column or a box, and its squares."""

    name: str
    squares: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """Which squares see each other in a grid; a square is its number in reading order, from 0."""

    size: int
    units: tuple[Unit, ...]
    """Rows, then columns, then boxes."""
    of: tuple[tuple[int, int, int], ...]
    """The numbers of the row, column and box of each square among the units."""
    peers: tuple[frozenset[int], ...]
    """The squares that share a unit with each square."""


@lru_cache(maxsize=16)
def shape(size: int) -> Shape:
    """Return the shape of a grid of SIZE, one of BOXES."""
    wide, high = BOXES[size]
    whole = range(size)
    squares = range(size * size)
    of = tuple(
        (at // size, size + at % size, 2 * size + at // size // high * (size // wide) + at % size // wide)
        for at in squares
    )
    names = [f"{kind} {number + 1}" for kind in ("row", "column", "box") for number in whole]
    units = tuple(Unit(name, tuple(at for at in squares if n in of[at])) for n, name in enumerate(names))
    peers = tuple(frozenset(other for n in of[at] for other in units[n].squares) - {at} for at in squares)
    return Shape(size, units, of, peers)


def place(at: int, size: int) -> str:
    """Return the name of square AT, such as r1c9: its row and column, counted from 1."""
    return f"r{at // size + 1}c{at % size + 1}"


def describe(board: Board) -> str:
    """Return the size of BOARD, and rules other than the default ones, in words."""
    size = f"{board.size}x{board.size}"
    if board.many:
        said = [f"{pluralize(len(board.grids), 'grid')} of {size}"]
    else:
        clues = sum(mark != EMPTY for mark in board.grids[0])
        said = [f"{pluralize(clues, 'clue')} in {size} squares"]
    if board.count_to is not None:
        said.append(f"counted to {board.count_to:,}")
    if board.difficulty:
        said.append(f"new ones {board.difficulty}")
    if board.clues is not None:
        said.append(f"new ones with {pluralize(board.clues, 'clue')}")
    return ", ".join(said)


def with_rules(board: Board, rules: Mapping[str, str]) -> Board:
    """Return BOARD with RULES. Raises UnknownName (no such rule or level), WrongArgument (no such number)."""
    for name, value in rules.items():
        if name not in RULES:
            raise UnknownName("rule of sudoku", name, tuple(RULES))
        if name == "difficulty":
            if value and value not in LEVELS:
                raise UnknownName("difficulty", value, LEVELS)
            board = replace(board, difficulty=value)
        elif name == "clues":
            most = board.size * board.size
            board = replace(board, clues=_number(value, name, most) if value else None)
        else:
            board = replace(board, count_to=None if value in {"", "all"} else _number(value, name, None))
    return board


def _number(text: str, rule: str, most: int | None) -> int:
    plain = text.replace(",", "").replace("_", "")
    # Twenty figures are more than any computer counts to.
    if plain.isascii() and plain.isdigit() and len(plain) <= 20 and 1 <= int(plain) <= (most or int(plain)):
        return int(plain)
    upto = f" to {most}" if most else ""
    raise WrongArgument(f"{rule}: {text!r} is not a number from 1{upto or ' on'}; write one, such as 30")
