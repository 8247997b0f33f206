"""Makes solitaire chess boards that have exactly one solution, the same for the same seed.

A board is built from its end: one piece, then captures taken back. A piece goes back to where it could have captured
from, and where it stood a captured piece appears. If a board has one solution, so has what its first capture leaves; so
whatever has more is given up at once.
"""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from pi_appliance.errors import Refused
from pi_appliance.puzzles import GeneratedBoard, pluralize
from pi_appliance.puzzles.runtime.interface import SearchRuntime
from pi_appliance.puzzles.solitaire_chess import kernel
from pi_appliance.puzzles.solitaire_chess.board import EMPTY, PIECES, Board, King
from pi_appliance.puzzles.solitaire_chess.seats import position_of

BAG = "KQRRBBNNPP"  # what a box of the game has, once for every ten pieces
WIDTH = 40  # ways to take a capture back that are tried on one board
BEGINNINGS, BOARDS = 3_000, 250  # how often it begins anew, and how many boards it looks at each time
CAPTURES = 2_000  # tried on one board: one that takes more is not worth the wait


def generate(seed: int, board: Board, runtime: SearchRuntime) -> GeneratedBoard:
    """Return a board with the rules of BOARD and exactly one solution; `pieces` and `size` say how large.

    Raises Refused if none is found, as there may be none.
    """
    files, ranks = board.size or (len(board.rows[0]), len(board.rows))
    pieces = board.pieces or len(board.men)
    if pieces > files * ranks:
        raise Refused(f"{pieces} pieces have no room on {files}x{ranks} squares; ask for fewer, or for more squares")
    made = _Maker(seed, replace(board, rows=("K" * files,) * ranks, pieces=0, size=None), pieces, runtime).made()
    if made is None:
        what = f"no board with {pluralize(pieces, 'piece')} on {files}x{ranks} squares and one solution was found"
        raise Refused(f"{what}; ask for fewer pieces, more squares, or another seed")
    return GeneratedBoard(made, {"pieces": pieces, "solutions": 1})


class _Maker:
    """Looks for a board with the rules and the size of LIKE. Every square is a seat, so that tables are made once."""

    def __init__(self, seed: int, like: Board, pieces: int, runtime: SearchRuntime) -> None:
        self.dice = Random(seed)  # noqa: S311 - a game, and the same again for the same seed
        self.like, self.pieces, self.runtime = like, pieces, runtime
        whole = position_of(like, everywhere=True)
        self.seats, self.size = whole.seats, len(whole.squares)
        self.starts, self.ends, self.between = whole.tables[:3]
        self.left = 0

    def made(self) -> Board | None:
        """Return a board, or None."""
        for _ in range(BEGINNINGS):
            self.left = BOARDS
            bag = list(BAG * (1 + self.pieces // len(BAG)))
            last = "K" if self.like.king is King.LAST else self.dice.choice(BAG)
            bag.remove(last)
            begin = bytearray(self.size)
            begin[self.dice.randrange(self.size)] = PIECES.index(last) + 1
            if found := self._grown(bytes(begin), 1, bag):
                return self._board(found)
        return None

    def _grown(self, position: bytes, pieces: int, bag: list[str]) -> bytes | None:
        """Return a board that POSITION, with so many PIECES, is what is left of, or None."""
        if pieces == self.pieces:
            return position
        for before, captured in self._before(position, bag):
            if self.left <= 0:
                return None
            self.left -= 1
            if self._has_one(before, pieces):
                rest = bag.copy()
                rest.remove(captured)
                if found := self._grown(before, pieces + 1, rest):
                    return found
        return None

    def _has_one(self, position: bytes, captures: int) -> bool:
        """Say whether POSITION is known soon to have one solution, of so many CAPTURES."""
        walk = kernel.Walk(self.seats, position, captures)
        said = walk.run(CAPTURES) == kernel.FOUND and walk.run(CAPTURES) == kernel.OVER
        self.runtime.report_progress(None, "looking for a board with one solution")
        return said

    def _before(self, position: bytes, bag: list[str]) -> Iterator[tuple[bytes, str]]:
        """Yield what may have been there before one capture, in any order, and the piece that was captured."""
        captured = sorted({piece for piece in bag if piece != "K" or self.like.king is King.FREE})
        ways = [(start, end, piece) for start, end in self._back(position) for piece in captured]
        for start, end, piece in self.dice.sample(ways, min(WIDTH, len(ways))):
            before = bytearray(position)
            before[start], before[end] = position[end], PIECES.index(piece) + 1
            yield bytes(before), piece

    def _back(self, position: bytes) -> Iterator[tuple[int, int]]:
        """Yield each empty seat, and where a piece stands that may have captured from there."""
        empty = [seat for seat, piece in enumerate(position) if not piece]
        taken = sum(1 << seat for seat, piece in enumerate(position) if piece)
        for kind in sorted(set(position) - {0}):
            for start in empty:
                row = kind * self.size + start
                for at in range(self.starts[row], self.starts[row + 1]):
                    if position[self.ends[at]] == kind and not taken & self.between[at]:
                        yield start, self.ends[at]

    def _board(self, position: bytes) -> Board:
        marks = "".join(PIECES[piece - 1] if piece else EMPTY for piece in position)
        wide = len(self.like.rows[0])
        return replace(self.like, rows=tuple(marks[at : at + wide] for at in range(0, len(marks), wide)))
