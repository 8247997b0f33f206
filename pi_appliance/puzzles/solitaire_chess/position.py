"""Tables for the solitaire chess kernel: positions as bytes, and the captures from each square."""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass

from pi_appliance.puzzles.solitaire_chess import kernel
from pi_appliance.puzzles.solitaire_chess.board import PIECES, Board, Capture, KingRule, PawnDirection, Square

_STRAIGHT = ((0, 1), (1, 0), (0, -1), (-1, 0))
_DIAGONAL = ((1, 1), (1, -1), (-1, -1), (-1, 1))
_KNIGHT = tuple((file, rank) for file in (-2, -1, 1, 2) for rank in (-2, -1, 1, 2) if abs(file) != abs(rank))
_SLIDING = {"Q": _STRAIGHT + _DIAGONAL, "R": _STRAIGHT, "B": _DIAGONAL}
_PAWN_RANKS = {PawnDirection.DOWN: (-1,), PawnDirection.UP: (1,), PawnDirection.BOTH: (-1, 1)}


@dataclass(frozen=True, slots=True)
class PackedPosition:
    """A board for the kernel."""

    tables: kernel.CaptureTables
    table_arguments: tuple["array[int]", "array[int]", "array[int]", int, int, bool]
    """The arguments of `kernel.CaptureTables`."""
    start: bytes
    squares: tuple[Square, ...]
    """The squares by their index in `start`."""

    def make_capture(self, start: int, end: int) -> Capture:
        """Return the capture between two square indices."""
        return Capture(self.squares[start], self.squares[end])


def pack_position(board: Board, *, all_squares: bool = False) -> PackedPosition:
    """Convert `board` for the kernel.

    Args:
        board: The board.
        all_squares: Include the squares that are empty at the start.

    """
    pieces = board.pieces
    height, width = len(board.rows), len(board.rows[0])
    every = tuple(Square(file, rank) for rank in reversed(range(height)) for file in range(width))
    squares = every if all_squares else tuple(pieces)
    index = {square: number for number, square in enumerate(squares)}
    starts, ends, between = array("I", [0] * len(squares)), array("B"), array("Q")
    for piece in PIECES:
        for square in squares:
            starts.append(len(ends))
            for end, path in sorted(_list_targets(piece, square, index, board.pawns)):
                ends.append(end)
                between.append(path)
    starts.append(len(ends))
    capture_limit, protect_king = min(board.capture_limit, len(pieces)), board.king is KingRule.LAST
    arguments = starts, ends, between, len(squares), capture_limit, protect_king
    return PackedPosition(
        kernel.CaptureTables(*arguments),
        arguments,
        bytes(PIECES.index(pieces[square]) + 1 if square in pieces else 0 for square in squares),
        squares,
    )


def legal_captures(board: Board) -> tuple[Capture, ...]:
    """List every legal capture in the first position."""
    position = pack_position(board)
    return tuple(position.make_capture(start, end) for start, end, _ in position.tables.children(position.start))


def _list_targets(
    piece: str, start: Square, index: dict[Square, int], pawns: PawnDirection
) -> Iterator[tuple[int, int]]:
    """Yield each square that `piece` on `start` may capture on, and the mask between."""
    if piece in _SLIDING:
        for file, rank in _SLIDING[piece]:
            yield from _slide(start, file, rank, index)
        return
    steps = {
        "K": _STRAIGHT + _DIAGONAL,
        "N": _KNIGHT,
        "P": [(file, rank) for file in (-1, 1) for rank in _PAWN_RANKS[pawns]],
    }
    for file, rank in steps[piece]:
        end = Square(start.file + file, start.rank + rank)
        if end in index:
            yield index[end], 0


def _slide(start: Square, file: int, rank: int, index: dict[Square, int]) -> Iterator[tuple[int, int]]:
    path = 0
    for distance in range(1, 8):
        end = Square(start.file + distance * file, start.rank + distance * rank)
        if end in index:
            yield index[end], path
            path |= 1 << index[end]
