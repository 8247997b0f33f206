"""Generate solitaire chess boards with exactly one solution, the same for the same seed.

Captures are undone from one piece on; positions with more solutions are dropped at once.
"""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from pi_appliance.errors import Refused
from pi_appliance.puzzles import GeneratedBoard, pluralize
from pi_appliance.puzzles.runtime import SearchRuntime
from pi_appliance.puzzles.solitaire_chess import kernel
from pi_appliance.puzzles.solitaire_chess.board import EMPTY, PIECES, Board, KingRule
from pi_appliance.puzzles.solitaire_chess.search import pack_position

PIECE_SET = "KQRRBBNNPP"  # the pieces of the boxed game, one set for every ten pieces
MAX_UNDONE_CAPTURES = 40  # tried per position
MAX_STARTS, MAX_BOARDS_PER_START = 3_000, 250
MAX_CAPTURES = 2_000  # tried per board; harder boards are dropped


def generate(seed: int, board: Board, runtime: SearchRuntime) -> GeneratedBoard[Board]:
    """Generate a board like `board` with exactly one solution. Raises Refused."""
    files, ranks = board.generated_size or (len(board.rows[0]), len(board.rows))
    pieces = board.generated_pieces or len(board.pieces)
    if pieces > files * ranks:
        raise Refused(f"{pieces} pieces do not fit on {files}x{ranks} squares; use fewer pieces or more squares")
    template = replace(board, rows=("K" * files,) * ranks, generated_pieces=0, generated_size=None)
    generated = _BoardGenerator(seed, template, pieces, runtime).find_board()
    if generated is None:
        size = f"{pluralize(pieces, 'piece')} on {files}x{ranks} squares"
        raise Refused(
            f"no board with {size} and one solution was found; use fewer pieces, more squares, or another seed"
        )
    return GeneratedBoard(generated, {"pieces": pieces, "solutions": 1})


class _BoardGenerator:
    """Searches a board with the rules and the size of `template`. Its tables cover all squares."""

    def __init__(self, seed: int, template: Board, pieces: int, runtime: SearchRuntime) -> None:
        self.random = Random(seed)  # noqa: S311 - a game that must be the same for the same seed
        self.template, self.pieces, self.runtime = template, pieces, runtime
        packed = pack_position(template, all_squares=True)
        self.tables, self.size = packed.tables, len(packed.squares)
        self.starts, self.ends, self.between = packed.table_arguments[:3]
        self.boards_left = 0

    def find_board(self) -> Board | None:
        for _ in range(MAX_STARTS):
            self.boards_left = MAX_BOARDS_PER_START
            available = list(PIECE_SET * (1 + self.pieces // len(PIECE_SET)))
            last = "K" if self.template.king is KingRule.LAST else self.random.choice(PIECE_SET)
            available.remove(last)
            start = bytearray(self.size)
            start[self.random.randrange(self.size)] = PIECES.index(last) + 1
            if position := self._add_pieces(bytes(start), 1, available):
                marks = "".join(PIECES[piece - 1] if piece else EMPTY for piece in position)
                width = len(self.template.rows[0])
                return replace(self.template, rows=tuple(marks[at : at + width] for at in range(0, self.size, width)))
        return None

    def _add_pieces(self, position: bytes, pieces: int, available: list[str]) -> bytes | None:
        """Undo captures until the board is complete; None if that fails."""
        if pieces == self.pieces:
            return position
        for before, captured in self._undo_captures(position, available):
            if self.boards_left <= 0:
                return None
            self.boards_left -= 1
            if self._has_one_solution(before, pieces):
                rest = available.copy()
                rest.remove(captured)
                if complete := self._add_pieces(before, pieces + 1, rest):
                    return complete
        return None

    def _has_one_solution(self, position: bytes, captures: int) -> bool:
        search = kernel.DepthFirstSearch(self.tables, position, captures)
        unique = search.run(MAX_CAPTURES) == kernel.FOUND and search.run(MAX_CAPTURES) == kernel.EXHAUSTED
        self.runtime.report_progress(None, "searching a board with one solution")
        return unique

    def _undo_captures(self, position: bytes, available: list[str]) -> Iterator[tuple[bytes, str]]:
        captured = sorted({piece for piece in available if piece != "K" or self.template.king is KingRule.FREE})
        options = [(start, end, piece) for start, end in self._list_origins(position) for piece in captured]
        for start, end, piece in self.random.sample(options, min(MAX_UNDONE_CAPTURES, len(options))):
            before = bytearray(position)
            before[start], before[end] = position[end], PIECES.index(piece) + 1
            yield bytes(before), piece

    def _list_origins(self, position: bytes) -> Iterator[tuple[int, int]]:
        empty = [square for square, piece in enumerate(position) if not piece]
        occupied = sum(1 << square for square, piece in enumerate(position) if piece)
        for kind in sorted(set(position) - {0}):
            for start in empty:
                row = kind * self.size + start
                for at in range(self.starts[row], self.starts[row + 1]):
                    if position[self.ends[at]] == kind and not occupied & self.between[at]:
                        yield start, self.ends[at]
