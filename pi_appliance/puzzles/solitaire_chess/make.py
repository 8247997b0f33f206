"""Makes solitaire chess boards that have exactly one solution, the same for the same seed.

A board is built from its end: one piece, then captures taken back. A piece goes back to where it could have captured
from, and where it stood a captured piece appears. If a board has one solution, so has what its first capture leaves; so
whatever has more is given up at once.
"""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from pi_appliance.errors import Refused
from pi_appliance.puzzles import Made, Work, counted
from pi_appliance.puzzles.solitaire_chess import kernel
from pi_appliance.puzzles.solitaire_chess.board import EMPTY, Board, King, Square
from pi_appliance.puzzles.solitaire_chess.seats import aims, position_of

BAG = "KQRRBBNNPP"  # what a box of the game has, once for every ten pieces
WIDTH = 40  # ways to take a capture back that are tried on one board
BEGINNINGS, BOARDS = 40, 250  # how often it begins anew, and how many boards it looks at each time: seconds of a Pi
CAPTURES = 4_000  # tried on one board: one that takes more is not worth the wait

_Men = dict[Square, str]


def make(seed: int, board: Board, work: Work) -> Made:
    """Return a board with the rules of BOARD and exactly one solution; `pieces` and `size` say how large.

    Raises Refused if none is found, as there may be none.
    """
    files, ranks = board.size or (len(board.rows[0]), len(board.rows))
    pieces = board.pieces or len(board.men)
    if pieces > files * ranks:
        raise Refused(f"{pieces} pieces have no room on {files}x{ranks} squares; ask for fewer, or for more squares")
    made = _Maker(seed, replace(board, rows=(EMPTY * files,) * (ranks - 1) + ("P" * files,)), pieces, work).made()
    if made is None:
        what = f"no board with {counted(pieces, 'piece')} on {files}x{ranks} squares and one solution was found"
        raise Refused(f"{what}; ask for fewer pieces, more squares, or another seed")
    return Made(made, {"pieces": pieces, "solutions": 1})


def solutions_up_to_two(board: Board, work: Work) -> int:
    """Return how many solutions BOARD has: 0, 1, or 2 for more, or if that is not soon known."""
    position = position_of(board)
    goal = len(position.start) - 1
    if not goal:
        return 1
    walk = kernel.Walk(position.seats, position.start, goal)
    said = walk.run(CAPTURES)
    found = int(said == kernel.FOUND)
    if found:
        said = walk.run(CAPTURES)
    work.progress(None, "looking for a board with one solution")
    return found if said == kernel.OVER else 2


class _Maker:
    """One attempt at a board with the rules of LIKE."""

    def __init__(self, seed: int, like: Board, pieces: int, work: Work) -> None:
        self.dice = Random(seed)  # noqa: S311 - a game, and the same again for the same seed
        self.like, self.pieces, self.work = like, pieces, work
        self.left = 0

    def made(self) -> Board | None:
        """Return a board, or None."""
        squares = [Square(file, rank) for rank in range(len(self.like.rows)) for file in range(len(self.like.rows[0]))]
        for _ in range(BEGINNINGS):
            self.left = BOARDS
            bag = list(BAG * (1 + self.pieces // len(BAG)))
            last = "K" if self.like.king is King.LAST else self.dice.choice(BAG)
            bag.remove(last)
            if men := self._grown({self.dice.choice(squares): last}, bag):
                return self._board(men)
        return None

    def _grown(self, men: _Men, bag: list[str]) -> _Men | None:
        if len(men) == self.pieces:
            return men
        for before, piece in self._before(men, bag)[:WIDTH]:
            if self.left <= 0:
                return None
            self.left -= 1
            if solutions_up_to_two(self._board(before), self.work) == 1:
                rest = bag.copy()
                rest.remove(piece)
                if found := self._grown(before, rest):
                    return found
        return None

    def _before(self, men: _Men, bag: list[str]) -> list[tuple[_Men, str]]:
        """Return what may have been there before one capture, in any order, and the piece that was captured."""
        captured = sorted({piece for piece in bag if piece != "K" or self.like.king is King.FREE})
        ways = [(start, end, piece) for end, start in self._back(men) for piece in captured]
        self.dice.shuffle(ways)
        return [
            ({**{at: man for at, man in men.items() if at != end}, start: men[end], end: piece}, piece)
            for start, end, piece in ways
        ]

    def _back(self, men: _Men) -> Iterator[tuple[Square, Square]]:
        """Yield where each piece stands, and each empty square that it may have captured from."""
        for end in sorted(men):
            for rank in range(len(self.like.rows)):
                for file in range(len(self.like.rows[0])):
                    start = Square(file, rank)
                    if start not in men and end in aims(men[end], start, men, self.like.pawns):
                        yield end, start

    def _board(self, men: _Men) -> Board:
        ranks, files = range(len(self.like.rows)), range(len(self.like.rows[0]))
        rows = ("".join(men.get(Square(file, rank), EMPTY) for file in files) for rank in reversed(ranks))
        return replace(self.like, rows=tuple(rows), pieces=0, size=None)
