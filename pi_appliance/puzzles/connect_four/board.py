"""A Connect Four position: discs, the side to move, rules, and the built-in positions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from pi_appliance.errors import InvalidOption
from pi_appliance.puzzles import Rule, Rules, Validation, check_rules, load_board, pluralize

WIDTH, HEIGHT = 7, 6
SQUARES = WIDTH * HEIGHT
LETTERS = "ABCDEFG"
EMPTY = "."
RULES = {"first": Rule("who moved first, where the notation leaves it open", "Red", ("Red", "Yellow"))}
DIRECTIONS = ((1, 0), (0, 1), (1, 1), (1, -1))


class Colour(StrEnum):
    """A player, by the colour of the discs."""

    RED = "Red"
    YELLOW = "Yellow"

    @property
    def other(self) -> "Colour":
        """The opponent."""
        return Colour.YELLOW if self is Colour.RED else Colour.RED

    @property
    def mark(self) -> str:
        """The character that draws a disc."""
        return self.value[0]


class End(StrEnum):
    """The result of a game."""

    RED = "Red wins"
    YELLOW = "Yellow wins"
    DRAW = "draw"


class Square(NamedTuple):
    """A square; columns count from the left and rows from the bottom, both from 1."""

    column: int
    row: int

    def __str__(self) -> str:
        return f"{LETTERS[self.column - 1]}{self.row}"


Four = tuple[Square, ...]  # four squares in a row
Solution = tuple[int | End, ...]  # the rest of a game: the columns played, from 1, and the result
Rows = tuple[str, ...]  # six rows from the top, one character per square: R, Y or a dot


@dataclass(frozen=True, slots=True)
class Board:
    """The discs, the side to move (also after the end), and the moves if they are known."""

    rows: Rows
    turn: Colour
    moves: tuple[int, ...] = ()
    first_known: bool = field(default=True, compare=False)  # whether the notation says which colour moved first

    @property
    def discs(self) -> int:
        """The number of discs."""
        return sum(mark != EMPTY for row in self.rows for mark in row)

    @property
    def first(self) -> Colour:
        """The colour that moved first."""
        return self.turn.other if self.discs % 2 else self.turn

    def height(self, column: int) -> int:
        """Return the number of discs in `column`."""
        return sum(row[column - 1] != EMPTY for row in self.rows)

    def play(self, column: int) -> "Board":
        """Return the board after a move in `column`, which is not full. It has no `moves`."""
        at = HEIGHT - 1 - self.height(column)
        row = self.rows[at]
        row = row[: column - 1] + self.turn.mark + row[column:]
        return Board((*self.rows[:at], row, *self.rows[at + 1 :]), self.turn.other)


@dataclass(frozen=True, slots=True)
class Positions:
    """The positions in a file, with the scores that the file has for some of them."""

    boards: Sequence[Board]
    known_scores: Sequence[int | None]


EMPTY_BOARD = Board((EMPTY * WIDTH,) * HEIGHT, Colour.RED, first_known=False)


def find_fours(rows: Rows) -> Iterator[tuple[Colour, Four]]:
    """Yield every four in a row, with its colour."""
    marks = "".join(rows)
    for four, (one, two, three, last) in _WINDOWS:
        mark = marks[one]
        if mark == marks[two] == marks[three] == marks[last] != EMPTY:
            yield (Colour.RED if mark == Colour.RED.mark else Colour.YELLOW), four


def game_end(board: Board) -> End | None:
    """Return the result of the game, or None if it is not over."""
    for colour, _ in find_fours(board.rows):
        return End.RED if colour is Colour.RED else End.YELLOW
    return End.DRAW if board.discs == SQUARES else None


def implied_turn(rows: Rows) -> Colour | None:
    """Return the side to move if the discs determine it: the one with fewer discs, or the loser."""
    red, yellow = ("".join(rows).count(colour.mark) for colour in Colour)
    if red != yellow:
        return Colour.YELLOW if red > yellow else Colour.RED
    return next((colour.other for colour, _ in find_fours(rows)), None)


def with_rules(board: Board | str, rules: Rules) -> Board:
    """Return the board with another first player. Raises UnknownName, InvalidOption."""
    board = load_board(board, Board)
    values = check_rules("Connect Four", RULES, {name: str(value).capitalize() for name, value in rules.items()})
    first = Colour(values.get("first", board.first))
    if first is board.first:
        return board
    if board.first_known:
        right = "remove the rule 'first', or change the board"
        raise InvalidOption(f"first: {first} is not possible, because {board.first} moved first on this board; {right}")
    rows = tuple(row.translate(_SWAP_COLOURS) for row in board.rows) if board.moves else board.rows
    return replace(board, rows=rows, turn=board.turn.other)


def describe(board: Board | Positions | str) -> str:
    """Return the number of discs and the side to move, or the winner and the four.

    For many positions, it is only their number.
    """
    if isinstance(board, Positions):
        return pluralize(len(board.boards), "position")
    board = load_board(board, Board)
    discs = pluralize(board.discs, "disc")
    match game_end(board):
        case None:
            return f"{discs}, {board.turn} to move"
        case End.DRAW:
            return f"{discs}, a draw"
        case _:
            return f"{discs}, {board.turn.other} won with {describe_fours(board)}"


def describe_fours(board: Board) -> str:
    """Return the squares of every four in a row, in words."""
    return " and ".join("-".join(map(str, four)) for _, four in find_fours(board.rows))


def _all_fours() -> Iterator[Four]:
    for column in range(1, WIDTH + 1):
        for row in range(1, HEIGHT + 1):
            for right, up in DIRECTIONS:
                if column + 3 * right <= WIDTH and 1 <= row + 3 * up <= HEIGHT:
                    yield tuple(Square(column + right * step, row + up * step) for step in range(4))


# All possible fours in a row, each with the indices of its squares in the joined rows.
_WINDOWS = tuple((four, tuple((HEIGHT - row) * WIDTH + column - 1 for column, row in four)) for four in _all_fours())
_SWAP_COLOURS = str.maketrans("RY", "YR")


def _drawing_with_moves(rows: str, moves: str) -> str:
    return "\n".join((*rows.split(), f"Moves {moves}")) + "\n"


BOARDS: Mapping[str, str] = {
    # Red wins with the second-last disc, after one column only
    "squeeze": _drawing_with_moves(".....Y. Y....R. R....R. YY...Y. YRRY.Y. RYRRYRR", "32662532166161164471"),
    # One column leads to a draw, all others lose
    "tightrope": _drawing_with_moves("...Y... ...R.Y. ...Y.RR ...RYYY ...YRRR YR.RYRY", "65214774556666477444"),
    # Red loses after 20 more moves
    "siege": _drawing_with_moves("R...Y.. Y...R.. R.Y.Y.. Y.R.Y.. Y.R.Y.. RRRYRRY", "57146535352131115513"),
    # Red wins soon
    "sprint": _drawing_with_moves("....... ....... .R..R.. .R..RYY YYYRYYR RRYRYRY", "67467525165243232157"),
    # The start of the game, which needs the opening book
    "empty": ".......\n" * 6,
    # Red has won with two fours at once; Yellow moved first
    "game": _drawing_with_moves("...Y... ...R.Y. ...R.R. ..RYRY. R.YRRRY YYRYYYR", "6743115446253464467365"),
}


def check(board: Board | str, solution: Sequence[int | End]) -> Validation:
    """Replay the moves of `solution` to the end of the game. They need not be good moves.

    >>> from pi_appliance.puzzles import connect_four
    >>> bool(connect_four.check("121212", (1, connect_four.End.RED)))
    True
    >>> connect_four.check("121212", (3, connect_four.End.RED)).error
    'after 1 move the game is not over'
    """
    board = load_board(board, Board)
    *moves, claim = solution or (None,)
    for number, column in enumerate(moves, 1):
        for winner, _ in find_fours(board.rows):
            return Validation(f"move {number}: {winner} has won already")
        if type(column) is not int or not 1 <= column <= WIDTH:
            return Validation(f"move {number}: there is no column {column}")
        if board.height(column) == HEIGHT:
            return Validation(f"move {number}: column {column} is full")
        board = board.play(column)
    if not isinstance(claim, End):
        return Validation("the line does not say how the game ends")
    end = game_end(board)
    if end is None:
        return Validation(f"after {pluralize(len(moves), 'move')} the game is not over")
    return Validation("" if claim is end else f"the line claims {claim.value!r}, but it ends with {end.value!r}")
