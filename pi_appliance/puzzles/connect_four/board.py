"""A Connect Four position: its discs, who is to move, and what the rules say of it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from pi_appliance.errors import UnknownName, WrongArgument
from pi_appliance.puzzles import pluralize

WIDTH, HEIGHT = 7, 6
SQUARES = WIDTH * HEIGHT
LETTERS = "ABCDEFG"
EMPTY = "."
DIRECTIONS = ((1, 0), (0, 1), (1, 1), (1, -1))


class Colour(StrEnum):
    """Whose disc it is."""

    RED = "Red"
    YELLOW = "Yellow"

    @property
    def other(self) -> "Colour":
        """The one who moves after this one."""
        return Colour.YELLOW if self is Colour.RED else Colour.RED

    @property
    def mark(self) -> str:
        """How a disc is drawn."""
        return self.value[0]


class End(StrEnum):
    """How a game ends."""

    RED = "Red wins"
    YELLOW = "Yellow wins"
    DRAW = "draw"  # all squares are taken


class Square(NamedTuple):
    """A place for a disc: columns from the left and rows from the bottom, both from 1."""

    column: int
    row: int

    def __str__(self) -> str:
        return f"{LETTERS[self.column - 1]}{self.row}"


Four = tuple[Square, ...]
"""Four squares in a row."""
Solution = tuple[int | End, ...]
"""How a game goes on: the columns that are played, from 1, and at last how it ends."""
Rows = tuple[str, ...]
"""Six rows from the top, a mark a square: R, Y or a dot."""


@dataclass(frozen=True, slots=True)
class Board:
    """The discs, who is to move (after the end: who would be), and the columns of the game that led there, if known."""

    rows: Rows
    turn: Colour
    moves: tuple[int, ...] = ()
    settled: bool = field(default=True, compare=False)
    """Whether its notation says who moved first."""

    @property
    def discs(self) -> int:
        """How many discs there are."""
        return sum(mark != EMPTY for row in self.rows for mark in row)

    @property
    def first(self) -> Colour:
        """Who moved first."""
        return self.turn.other if self.discs % 2 else self.turn

    def height(self, column: int) -> int:
        """Return how many discs are in COLUMN."""
        return sum(row[column - 1] != EMPTY for row in self.rows)

    def played(self, column: int) -> "Board":
        """Return the board after a disc of who is to move in COLUMN, which has room; the way to it is forgotten."""
        at = HEIGHT - 1 - self.height(column)
        row = self.rows[at]
        row = row[: column - 1] + self.turn.mark + row[column:]
        return Board((*self.rows[:at], row, *self.rows[at + 1 :]), self.turn.other)


NOTHING = Board((EMPTY * WIDTH,) * HEIGHT, Colour.RED, settled=False)


def fours(rows: Rows) -> Iterator[tuple[Colour, Four]]:
    """Yield each four in a row of one colour."""
    marks = "".join(rows)
    for four, (one, two, three, last) in _WINDOWS:
        mark = marks[one]
        if mark == marks[two] == marks[three] == marks[last] != EMPTY:
            yield (Colour.RED if mark == Colour.RED.mark else Colour.YELLOW), four


def ended(board: Board) -> End | None:
    """Return how the game ended, or None while it goes on."""
    for colour, _ in fours(board.rows):
        return End.RED if colour is Colour.RED else End.YELLOW
    return End.DRAW if board.discs == SQUARES else None


def turn_told(rows: Rows) -> Colour | None:
    """Return who is to move by the discs alone: who has fewer, or who has lost; None if that is left open."""
    red, yellow = ("".join(rows).count(colour.mark) for colour in Colour)
    if red != yellow:
        return Colour.YELLOW if red > yellow else Colour.RED
    return next((colour.other for colour, _ in fours(rows)), None)


def with_rules(board: Board, rules: Mapping[str, str]) -> Board:
    """Return BOARD with RULES: who moved first, if its notation leaves that open. Raises UnknownName, WrongArgument."""
    for name in rules:
        if name != "first":
            raise UnknownName("rule of Connect Four", name, ["first"])
    known = {colour.value.casefold(): colour for colour in Colour}
    wanted = rules.get("first", board.first)
    if wanted.casefold() not in known:
        raise UnknownName("colour", wanted, [colour.value for colour in Colour])
    first = known[wanted.casefold()]
    if first is board.first:
        return board
    if board.settled:
        right = "leave the rule 'first' away, or change the board"
        raise WrongArgument(f"first: {first} cannot be, as the board says that {board.first} moved first; {right}")
    rows = tuple(row.translate(_SWAPPED) for row in board.rows) if board.moves else board.rows
    return replace(board, rows=rows, turn=board.turn.other)


def describe(board: Board) -> str:
    """Return how many discs BOARD has and who is to move, or who won and where."""
    discs = pluralize(board.discs, "disc")
    match ended(board):
        case None:
            return f"{discs}, {board.turn} to move"
        case End.DRAW:
            return f"{discs}, a draw"
        case _:
            return f"{discs}, {board.turn.other} won with {winning(board)}"


def winning(board: Board) -> str:
    """Return the fours in a row of BOARD in words."""
    return " and ".join("-".join(map(str, four)) for _, four in fours(board.rows))


def _windows() -> Iterator[Four]:
    for column in range(1, WIDTH + 1):
        for row in range(1, HEIGHT + 1):
            for right, up in DIRECTIONS:
                if column + 3 * right <= WIDTH and 1 <= row + 3 * up <= HEIGHT:
                    yield tuple(Square(column + right * step, row + up * step) for step in range(4))


# With each, where its squares stand in the rows written one behind the other.
_WINDOWS = tuple((four, tuple((HEIGHT - row) * WIDTH + column - 1 for column, row in four)) for four in _windows())
_SWAPPED = str.maketrans("RY", "YR")
