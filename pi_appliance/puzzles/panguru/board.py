"""A Panguru board: plates in a triangle, pebbles on them, one hole, and between which places a pebble may move."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pi_appliance.errors import UnknownName, WrongArgument
from pi_appliance.puzzles import pluralize

HOME, HOLE = "W", "-"
"""The plate where the hole must end, and the hole."""
SIZES = (3, 6, 10, 15)
"""How many places a triangle of 2, 3, 4 or 5 rows has."""
RANDOM = 100_000  # boards for one table: some minutes of a small Pi
RULES = ("moves", "random")

Lines = tuple[tuple[int, ...], ...]
"""Straight lines of places: a pebble may move between any two places of one line, over all that lies between."""
Solution = tuple[int, ...]
"""A solution: the places of the pebbles that move, one after the other, each into the hole as it is then."""


@dataclass(frozen=True, slots=True)
class Board:
    """The colours of the plates and of the pebbles, from the top to the bottom and from the left to the right.

    Places count from 0 in that order. Raises ValueError if there is no triangle of so many, if there is not one plate
    W and one hole -, or if the colours do not match.
    """

    plates: str
    pebbles: str
    own: Lines = ()
    """The lines of an own table of moves; empty: those of the original."""
    random: int = 0
    """So many random boards are to be solved, too, for a table of how hard they are."""

    def __post_init__(self) -> None:
        if len(self.plates) not in SIZES or len(self.pebbles) != len(self.plates):
            raise ValueError("a triangle has 3, 6, 10 or 15 plates, and as many pebbles and holes")
        if self.plates.count(HOME) != 1 or sorted(self.pebbles.replace(HOLE, HOME)) != sorted(self.plates):
            raise ValueError("there is one plate W, one hole, and a pebble of its colour for each other plate")

    @property
    def lines(self) -> Lines:
        """The straight lines that pebbles move along."""
        return self.own or original(len(self.plates))

    @property
    def hole(self) -> int:
        """The place without a pebble."""
        return self.pebbles.index(HOLE)

    @property
    def home(self) -> int:
        """The place where the hole must end."""
        return self.plates.index(HOME)


def triangle(places: int) -> Lines:
    """Return the lines of a triangle of so many places, in all three directions."""
    rows: list[list[int]] = []
    while sum(map(len, rows)) < places:
        begin = sum(map(len, rows))
        rows.append(list(range(begin, begin + len(rows) + 1)))
    size = range(len(rows))
    left = [[row[at] for row in rows[at:]] for at in size]
    right = [[row[len(row) - 1 - at] for row in rows[at:]] for at in size]
    return tuple(tuple(line) for line in (*rows, *left, *right) if len(line) > 1)


def original(places: int) -> Lines:
    """Return the lines of the original: the triangle's, and the one from the top down the middle."""
    lines = triangle(places)
    rows = SIZES.index(places) + 2
    # The place in the middle of each odd row: 0, 4, 12.
    middle = tuple(row * (row - 1) // 2 + row // 2 for row in range(1, rows + 1, 2))
    return (*lines, middle) if len(middle) > 1 else lines


def reach(board: Board) -> tuple[tuple[int, ...], ...]:
    """Return for each place the places that a pebble can move to from there, and so those that can move to it."""
    lines = board.lines
    return tuple(
        tuple(sorted({end for line in lines if start in line for end in line} - {start}))
        for start in range(len(board.plates))
    )


def read_lines(text: str, places: int) -> Lines:
    """Return the lines named in TEXT: `original`, `no-centre`, or own ones. Raises ValueError, saying what is wrong.

    Own lines are written as 0-1-3-6-10, 0-2-5; or as the original writes its table, a list of lists.
    """
    word = text.strip()
    if word in {"", "original"}:
        return ()
    if word == "no-centre":
        lines = triangle(places)
    elif word.startswith("["):
        lines = _table(word, places)
    else:
        lines = tuple(_line(part, places) for part in re.split(r"[,;\s]+", word) if part)
    return () if _pairs(lines) == _pairs(original(places)) else lines


def _line(text: str, places: int) -> tuple[int, ...]:
    if not re.fullmatch(r"[0-9]{1,3}(-[0-9]{1,3})+", text):
        raise ValueError(
            f"{text!r} is no line of moves; write places joined by -, such as 0-1-3, or original, no-centre"
        )
    line = tuple(int(number) for number in text.split("-"))
    _within(line, places)
    if len(set(line)) != len(line):
        raise ValueError(f"the line {text} names a place twice")
    return line


def _table(text: str, places: int) -> Lines:
    """Read the original's list of lists: for each place those that can be reached from there."""
    if not re.fullmatch(r"\[\s*(\[[0-9,\s]*\]\s*(,\s*)?)*\]", text):
        raise ValueError("a table of moves is a list of lists of numbers, such as [[1, 2], [0, 2], [0, 1]]")
    rows = [[int(number) for number in re.findall("[0-9]+", row)] for row in re.findall(r"\[([0-9,\s]*)\]", text)]
    if len(rows) != places:
        raise ValueError(f"the table of moves has {pluralize(len(rows), 'row')}, and the board {places} places")
    for start, row in enumerate(rows):
        _within(row, places)
        for end in row:
            if start not in rows[end] or start == end:
                raise ValueError(f"the table of moves leads from {start} to {end} and not back")
    return tuple((start, end) for start, row in enumerate(rows) for end in sorted(set(row)) if start < end)


def _within(numbers: tuple[int, ...] | list[int], places: int) -> None:
    for number in numbers:
        if number >= places:
            raise ValueError(f"there is no place {number}; they count from 0 to {places - 1}")


def _pairs(lines: Lines) -> set[frozenset[int]]:
    return {frozenset((start, end)) for line in lines for start in line for end in line if start != end}


def write_lines(lines: Lines) -> str:
    """Return LINES as `read_lines` reads them."""
    return ", ".join("-".join(map(str, line)) for line in lines)


def with_rules(board: Board, rules: Mapping[str, str]) -> Board:
    """Return BOARD with RULES in place of its own. Raises UnknownName (no such rule), WrongArgument (what it says)."""
    for name, value in rules.items():
        if name == "moves":
            try:
                board = replace(board, own=read_lines(value, len(board.plates)))
            except ValueError as error:
                raise WrongArgument(f"moves: {error}") from None
        elif name == "random":
            if not re.fullmatch("[0-9]{1,6}", value.strip()) or int(value) > RANDOM:
                raise WrongArgument(f"random: {value!r} is no number of boards; write one from 0 to {RANDOM}")
            board = replace(board, random=int(value))
        else:
            raise UnknownName("rule of Panguru", name, RULES)
    return board


def describe(board: Board) -> str:
    """Return the size of BOARD, and rules other than the default ones, in words."""
    size = f"{pluralize(len(board.plates) - 1, 'pebble')} in {pluralize(len(set(board.plates)) - 1, 'colour')}"
    if board.own:
        centre = _pairs(board.own) == _pairs(triangle(len(board.plates)))
        size += ", no move down the middle" if centre else ", own table of moves"
    return size + (f", and {pluralize(board.random, 'random board')}" if board.random else "")
