"""A solitaire chess board in the kernel's words: seats, and from which of them a piece captures on which."""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass

from pi_appliance.puzzles.solitaire_chess import kernel
from pi_appliance.puzzles.solitaire_chess.board import PIECES, Board, Capture, King, Pawns, Square

_STRAIGHT = ((0, 1), (1, 0), (0, -1), (-1, 0))
_ASLANT = ((1, 1), (1, -1), (-1, -1), (-1, 1))
_LEAPS = tuple((file, rank) for file in (-2, -1, 1, 2) for rank in (-2, -1, 1, 2) if abs(file) != abs(rank))
_SLIDES = {"Q": _STRAIGHT + _ASLANT, "R": _STRAIGHT, "B": _ASLANT}
_PAWNS = {Pawns.DOWN: (-1,), Pawns.UP: (1,), Pawns.BOTH: (-1, 1)}


@dataclass(frozen=True, slots=True)
class Position:
    """Where a search begins, as the kernel's bytes, and what its seats are."""

    seats: kernel.Seats
    tables: tuple["array[int]", "array[int]", "array[int]", int, int, bool]
    """What the seats are made of."""
    start: bytes
    squares: tuple[Square, ...]

    def capture(self, start: int, end: int) -> Capture:
        """Return a capture between two seats."""
        return Capture(self.squares[start], self.squares[end])


def position_of(board: Board, *, everywhere: bool = False) -> Position:
    """Return BOARD in the kernel's words; with a seat on each of its squares, if pieces may stand EVERYWHERE."""
    men = board.men
    high, wide = len(board.rows), len(board.rows[0])
    every = tuple(Square(file, rank) for rank in reversed(range(high)) for file in range(wide))
    squares = every if everywhere else tuple(men)
    seat = {square: number for number, square in enumerate(squares)}
    starts, ends, between = array("I", [0] * len(squares)), array("B"), array("Q")
    for piece in PIECES:
        for square in squares:
            starts.append(len(ends))
            for end, over in sorted(_entries(piece, square, seat, board.pawns)):
                ends.append(end)
                between.append(over)
    starts.append(len(ends))
    most, safe = min(board.captures_each, len(men)), board.king is King.LAST
    tables = starts, ends, between, len(squares), most, safe
    return Position(
        kernel.Seats(*tables),
        tables,
        bytes(PIECES.index(men[square]) + 1 if square in men else 0 for square in squares),
        squares,
    )


def captures(board: Board) -> tuple[Capture, ...]:
    """Return every capture that BOARD allows as it begins."""
    position = position_of(board)
    return tuple(position.capture(start, end) for start, end, _ in position.seats.children(position.start))


def _entries(piece: str, start: Square, seat: dict[Square, int], pawns: Pawns) -> Iterator[tuple[int, int]]:
    """Yield the seats that PIECE on START may capture on, with the bits of the seats between."""
    if piece in _SLIDES:
        for file, rank in _SLIDES[piece]:
            yield from _slide(start, file, rank, seat)
        return
    steps = {"K": _STRAIGHT + _ASLANT, "N": _LEAPS, "P": [(file, rank) for file in (-1, 1) for rank in _PAWNS[pawns]]}
    for file, rank in steps[piece]:
        end = Square(start.file + file, start.rank + rank)
        if end in seat:
            yield seat[end], 0


def _slide(start: Square, file: int, rank: int, seat: dict[Square, int]) -> Iterator[tuple[int, int]]:
    over = 0
    for far in range(1, 8):
        end = Square(start.file + far * file, start.rank + far * rank)
        if end in seat:
            yield seat[end], over
            over |= 1 << seat[end]
