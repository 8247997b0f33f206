"""A Connect Four position in the kernel's words, and what its score means."""

from collections.abc import Iterator
from typing import NamedTuple

from pi_appliance.puzzles.connect_four import kernel
from pi_appliance.puzzles.connect_four.board import EMPTY, HEIGHT, SQUARES, WIDTH, Board, Colour, Square

INWARDS = (4, 3, 5, 2, 6, 1, 7)  # the middle first, as it is in most fours
_DIRECTIONS = (1, 6, 7, 8)


class Position(NamedTuple):
    """The discs of whoever is to move, and all discs; the kernel says which bit is which square."""

    own: int
    mask: int

    @property
    def discs(self) -> int:
        """How many there are."""
        return self.mask.bit_count()

    @property
    def key(self) -> int:
        """What a position and its mirror image share, and no other."""
        key = self.own + self.mask
        return min(key, kernel.mirror(key))

    def square(self, column: int) -> int:
        """Return the lowest empty square of COLUMN, from 1; 0 if it is full."""
        lowest = 1 << 7 * (column - 1)
        return (self.mask + lowest) & ((lowest << HEIGHT) - lowest)

    def moves(self) -> Iterator[tuple[int, int]]:
        """Yield the columns with room, each with its lowest empty square; the middle first."""
        for column in INWARDS:
            if square := self.square(column):
                yield column, square

    def wins(self, square: int) -> bool:
        """Say whether a disc of whoever is to move makes four in a row at SQUARE."""
        discs = self.own | square
        for step in _DIRECTIONS:
            pairs = discs & (discs >> step)
            if pairs & (pairs >> 2 * step):
                return True
        return False

    def played(self, square: int) -> "Position":
        """Return the position after a disc at SQUARE, as it is for the other one."""
        return Position(self.own ^ self.mask, self.mask | square)


NOTHING = Position(0, 0)


def position_of(board: Board) -> Position:
    """Return BOARD in the kernel's words."""
    own = mask = 0
    for top, row in enumerate(board.rows):
        for column, mark in enumerate(row):
            bit = 1 << (7 * column + HEIGHT - 1 - top)
            mask |= bit if mark in "RY" else 0
            own |= bit if mark == board.turn.mark else 0
    return Position(own, mask)


def board_of(position: Position, turn: Colour) -> Board:
    """Return POSITION as a board where TURN is to move."""
    marks = (EMPTY, turn.other.mark, turn.mark)
    own, mask = position
    rows = (
        "".join(marks[(mask >> bit & 1) + (own >> bit & 1)] for bit in range(row, 7 * WIDTH, 7))
        for row in reversed(range(HEIGHT))
    )
    return Board(tuple(rows), turn)


def lowest(discs: int) -> int:
    """Return the least score there is with DISCS discs: the other one wins with the next move but one."""
    return -((SQUARES - discs) // 2)


def highest(discs: int) -> int:
    """Return the best score there is with DISCS discs: a win with the next move."""
    return (SQUARES + 1 - discs) // 2


def last_move(score: int, discs: int) -> int:
    """Return the number of the move that ends a game of this SCORE with DISCS discs, played perfectly."""
    if not score:
        return SQUARES
    begins = (discs if score > 0 else discs + 1) % 2 == 0  # whether the one who wins moved first
    return SQUARES + (1 if begins else 2) - 2 * abs(score)


def in_words(score: int, discs: int, turn: Colour) -> str:
    """Return what SCORE means with DISCS discs where it is the turn of TURN."""
    if not score:
        return "a draw"
    return f"{turn if score > 0 else turn.other} wins with move {last_move(score, discs)}"


def square_of(bit: int) -> Square:
    """Return the square of the single BIT."""
    column, row = divmod(bit.bit_length() - 1, 7)
    return Square(column + 1, row + 1)
