"""The Bimaru board: marks, totals, fleet, rules, and the built-in boards."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain

from pi_appliance.errors import InvalidOption
from pi_appliance.puzzles import Rule, Rules, Validation, check_rules, load_board, parse_number, pluralize
from pi_appliance.puzzles.battleship import fleet as fleets
from pi_appliance.puzzles.battleship.fleet import MAX_SIDE, MarkedGrid, Ship, Solution, Square, format_fleet
from pi_appliance.puzzles.deductions import LEVELS


class Mark(StrEnum):
    """The mark of a square: unknown, water, a ship, or a certain piece of a ship."""

    UNKNOWN = "?"
    WATER = "."
    SHIP = "X"  # a square of a ship; it is not known which piece
    LEFT = "<"  # the ends of ships
    RIGHT = ">"
    TOP = "^"
    BOTTOM = "v"
    MIDDLE = "#"
    SINGLE = "O"


PIECES = "<>^v#O"
ENDS = {Mark.LEFT: (1, 0), Mark.RIGHT: (-1, 0), Mark.TOP: (0, 1), Mark.BOTTOM: (0, -1)}
"""For each end of a ship: the step, to the right and down, to its next square."""
SHIP_MARKS = Mark.SHIP + PIECES
FLEETS = {
    "small": (3, 2, 2, 1, 1, 1),
    "standard": (4, 3, 3, 2, 2, 2, 1, 1, 1, 1),
    "large": (5, 4, 4, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 1),
}
RULES: Mapping[str, Rule] = {
    "count-to": Rule("stop counting at this many solutions; all: count to the end", "all"),
    "size": Rule(f"columns x rows of a new puzzle, up to {MAX_SIDE}x{MAX_SIDE}, such as 8x8; default: as the board"),
    "fleet": Rule("ships of a new puzzle, such as 5,4,3,3,2 or 1x4,2x3; default: as the board, or usual for `size`"),
    "unknown-totals": Rule("number of totals that a new puzzle does not show", "0"),
    "difficulty": Rule("level of a new puzzle; default: any level", choices=LEVELS),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Board(MarkedGrid):
    """A grid with the number of ship squares in each line, and some given squares."""

    row_totals: tuple[int | None, ...]  # None: unknown
    column_totals: tuple[int | None, ...]
    fleet: tuple[int, ...]  # the lengths of the ships, longest first
    count_to: int | None = None  # stop counting at this many solutions; None: count all
    difficulty: str = ""  # level of a new puzzle, one of `LEVELS`; empty: any
    new_size: tuple[int, int] | None = None  # columns and rows of a new puzzle; None: the same as here
    new_fleet: tuple[int, ...] = ()  # ships of a new puzzle; empty: the same as here, or the usual ones for its size
    new_unknown_totals: int = 0  # totals that a new puzzle does not show

    @property
    def givens(self) -> tuple[Square, ...]:
        """The squares that are given."""
        return self.find_marks(Mark.WATER + SHIP_MARKS)


def column_name(x: int) -> str:
    """Return the name of a column counted from 0, such as "column B"."""
    return f"column {chr(ord('A') + x)}"


def default_fleet(width: int, height: int) -> tuple[int, ...]:
    """Return the usual fleet of a grid of this size."""
    squares = width * height
    return FLEETS["small" if squares < 64 else "standard" if squares < 196 else "large"]


def set_mark(board: Board, square: Square, mark: str) -> Board:
    """Return the board with another mark on a square."""
    x, y = square
    row = board.rows[y]
    return replace(board, rows=(*board.rows[:y], row[:x] + mark + row[x + 1 :], *board.rows[y + 1 :]))


def with_rules(board: Board | str, rules: Rules) -> Board:
    """Return the board with these rules. Raises UnknownName, InvalidOption."""
    board = load_board(board, Board)
    values = check_rules("bimaru", RULES, rules)
    if limit := values.get("count-to"):
        board = replace(board, count_to=None if limit == "all" else parse_number("count-to", limit, 1))
    if "size" in values:
        board = replace(board, new_size=fleets.parse_size(values["size"]) if values["size"] else None)
    if "fleet" in values:
        board = replace(board, new_fleet=fleets.parse_fleet(values["fleet"], FLEETS) if values["fleet"] else ())
    if "unknown-totals" in values:
        board = replace(board, new_unknown_totals=parse_number("unknown-totals", values["unknown-totals"]))
    board = replace(board, difficulty=values.get("difficulty", board.difficulty))
    (width, height), fleet = new_shape(board)
    if error := find_fleet_error(fleet, width, height):
        raise InvalidOption(error)
    if board.new_unknown_totals > width + height:
        raise InvalidOption(f"unknown-totals: a puzzle of {width}x{height} has {width + height}; write as many or less")
    return board


def new_shape(board: Board) -> tuple[tuple[int, int], tuple[int, ...]]:
    """Return the size and the fleet of a new puzzle like `board`."""
    size = board.new_size or (board.width, board.height)
    return size, board.new_fleet or (board.fleet if board.new_size is None else default_fleet(*size))


def find_fleet_error(fleet: tuple[int, ...], width: int, height: int) -> str:
    """Return why a fleet does not fit in a grid, and what would fit; else "".

    A fleet without this problem may still not fit.
    """
    if fleet[0] > max(width, height):
        return f"a ship of {fleet[0]} does not fit in {width}x{height}; its longest can have {max(width, height)}"
    # Each ship takes its squares, and those to the right and below, which no other ship can share.
    needed, room = sum(2 * (length + 1) for length in fleet), (width + 1) * (height + 1)
    if needed > room:
        return f"the fleet {format_fleet(fleet)} does not fit in {width}x{height} without touching; leave out ships"
    return ""


def describe(board: Board | str) -> str:
    """Return the size of the board, its fleet, and the rules that differ from the default."""
    board = load_board(board, Board)
    parts = [f"{board.width}x{board.height} squares, {len(board.givens)} of them given"]
    unknown = (*board.row_totals, *board.column_totals).count(None)
    if unknown:
        parts.append(f"{pluralize(unknown, 'total')} unknown")
    if board.fleet != FLEETS["standard"]:
        parts.append(f"fleet {format_fleet(board.fleet)}")
    if board.count_to is not None:
        parts.append(f"counted to {board.count_to:,}")
    if board.new_size or board.new_fleet:
        (width, height), fleet = new_shape(board)
        parts.append(f"new puzzles of {width}x{height} with {format_fleet(fleet)}")
    if board.new_unknown_totals:
        parts.append(f"new puzzles with {pluralize(board.new_unknown_totals, 'unknown total')}")
    if board.difficulty:
        parts.append(f"new puzzles {board.difficulty}")
    return ", ".join(parts)


def notate(board: Board | str, solution: Solution) -> str:  # noqa: ARG001 - ships have the same names on every board
    """Write a solution in one row: each ship by its first and last square, longest first."""
    return " ".join(map(str, solution))


def parse_solution(board: Board | str, text: str, file: str = "solution") -> Solution:
    """Read a fleet such as "A1-A4 C3-E3 J10". Raises ConfigError."""
    board = load_board(board, Board)
    return order_fleet(fleets.parse_ships(text, board.width, board.height, file))


def order_fleet(ships: Iterable[Ship]) -> Solution:
    """Return ships in the order of a solution."""
    return tuple(sorted(ships, key=lambda ship: (-len(ship.squares), ship.start.y, ship.start.x)))


def draw_pieces(ship: Ship) -> Iterator[tuple[Square, str]]:
    """Yield each square of a ship with its piece, from start to end."""
    squares = ship.squares
    first, last = (Mark.LEFT, Mark.RIGHT) if ship.start.y == ship.end.y else (Mark.TOP, Mark.BOTTOM)
    for number, square in enumerate(squares):
        piece = first if number == 0 else last if number == len(squares) - 1 else Mark.MIDDLE
        yield square, Mark.SINGLE if len(squares) == 1 else piece


def check(board: Board | str, solution: Solution) -> Validation:
    """Check a fleet by the rules alone: its ships, contact, totals and given squares.

    >>> from pi_appliance.puzzles import bimaru
    >>> bool(bimaru.check("small", next(bimaru.solve("small").solutions)))
    True
    >>> bimaru.check("small", ()).error
    'the fleet has another ship of 1'
    """
    board = load_board(board, Board)
    occupied = {square for ship in solution for square in ship.squares}
    by_itself = fleets.check_fleet(board, solution, board.fleet, "never")
    errors = chain(by_itself, _find_wrong_totals(board, occupied), _find_wrong_givens(board, occupied))
    return Validation(next(errors, ""))


def _find_wrong_totals(board: Board, occupied: set[Square]) -> Iterator[str]:
    rows, columns = Counter(square.y for square in occupied), Counter(square.x for square in occupied)
    lines = [(f"row {y + 1}", total, rows[y]) for y, total in enumerate(board.row_totals)]
    lines += [(column_name(x), total, columns[x]) for x, total in enumerate(board.column_totals)]
    for name, total, found in lines:
        if total is not None and total != found:
            yield f"{name} has {pluralize(found, 'ship square')}, and its total is {total}"


def _find_wrong_givens(board: Board, occupied: set[Square]) -> Iterator[str]:
    for square in board.givens:
        given, (x, y) = Mark(board.rows[square.y][square.x]), square
        right, left, below, above = (Square(x + across, y + down) in occupied for across, down in fleets.SIDES)
        is_right = {
            Mark.WATER: square not in occupied,
            Mark.SHIP: square in occupied,
            Mark.LEFT: right and not left,
            Mark.RIGHT: left and not right,
            Mark.TOP: below and not above,
            Mark.BOTTOM: above and not below,
            Mark.MIDDLE: (left and right) or (above and below),
            Mark.SINGLE: not (left or right or above or below),
        }[given]
        if not is_right or (square in occupied) == (given == Mark.WATER):
            yield f"{square} does not match the given {given}"


_DRAWINGS = {  # fleet, totals of the columns, and rows that begin with their total
    # Four given squares, as in magazines.
    "magazine": (
        "standard", "0 2 1 0 7 0 3 3 1 3",
        "3?????????./1??????????/2?^????????/5??????????/0??????????/"
        "2????.?????/0??????????/3??????O???/3??????????/1??????????",
    ),
    # An easy one.
    "small": ("small", "4 0 3 0 1 2", "1??????/4??????/2??????/0??????/1??O???/2??????"),
    # A hard one.
    "eight": (
        "standard", "2 4 1 1 5 2 4 1",
        "4???????>/1O???????/2????????/2????????/1????????/4????????/0????????/6????????",
    ),
    # One given square: a person has to guess.
    "stubborn": (
        "standard", "3 2 0 2 2 4 1 1 3 2",
        "2??????????/0??????????/1??????????/1??????????/6?^????????/"
        "1??????????/2??????????/0??????????/6??????????/1??????????",
    ),
    # Seven totals are unknown.
    "hidden-totals": (
        "standard", "- 3 2 0 - 1 1 - 7 -",
        "3????????<?/-??????????/3??????????/1??????????/-??????????/"
        "-^?????O???/1??????????/2??????????/3??.???????/2??????????",
    ),
    # With the fleet for boards of at least 196 squares.
    "large": (
        "large", "5 0 2 2 2 2 4 0 1 2 2 4 4 5 0",
        "1.??????????????/2???????????????/5?????????????v?/1O??????????????/3????>??????????/2???????????????/"
        "7???????????v?#?/1???????????????/3???????????????/1?????..?????.??/0???????????????/2?????.?????????/"
        "1???????????????/3???????????????/3???????????????",
    ),
    # Without given squares it has twelve solutions.
    "several": ("small", "4 0 2 1 1 2", "3??????/1??????/2??????/1??????/3??????/0??????"),
    # The totals agree with the fleet, but there is no solution.
    "impossible": (
        "standard", "2 2 3 2 1 4 0 6",
        "3????????/2????????/1????????/3????????/5????????/1????????/3????????/2????????",
    ),
}  # fmt: skip
BOARDS: Mapping[str, str] = {
    name: f"fleet: {format_fleet(FLEETS[fleet])}\n  {columns}\n"
    + "".join(f"{' '.join(row)}\n" for row in rows.split("/"))
    for name, (fleet, columns, rows) in _DRAWINGS.items()
}
