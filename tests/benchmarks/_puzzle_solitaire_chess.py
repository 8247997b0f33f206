"""Solitaire chess: ours against the original's way, a queue of every board met, written anew from what it does.

No solver of solitaire chess was found in a package index; the nearest is python-chess (`pip install chess`), whose
attack tables a count with a memory is made of here. Without it those rows are left out. Times are those of the
processor: what else it does, does not count.
"""

import importlib
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import cache
from types import ModuleType
from typing import Any

from pi_appliance.puzzles import SolveMode
from pi_appliance.puzzles import solitaire_chess as ours
from pi_appliance.puzzles.runtime.interface import SerialRuntime
from pi_appliance.puzzles.solitaire_chess import Board, Square

SMALL = "RBK./.N.B/.NQR/...."  # eight pieces: with one more the original takes a minute, and then all the memory
BOARDS = (SMALL, "RBK./PN.B/.NQR/....", "QRNB/RBNP/NK../B...")


def rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield each measure: what, ours, the other's, and the ratio."""
    board = ours.parse(SMALL, "board")
    yield _row(board, "original", lambda: queued(board))
    try:
        chess = importlib.import_module("chess")
    except ImportError:
        yield "python-chess is not installed", "-", "-", "-"
        return
    for board in (ours.parse(drawing, "board") for drawing in BOARDS):
        yield _row(board, "python-chess", lambda board=board: remembered(chess, board))


def _row(board: Board, name: str, other: Callable[[], int]) -> tuple[str, str, str, str]:
    took, count = _timed(lambda: ours.solve(board, SolveMode.COUNT, SerialRuntime()).count)
    theirs, same = _timed(other)
    assert count == same, f"{count} and {same}"
    what = f"{ours.describe(board)}, {count:,} solutions, counted"
    return what, f"{took * 1000:.1f} ms", f"{name} {theirs:.2f} s", f"{theirs / took:,.0f}x"


def _timed(runtime: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.process_time()
    came = runtime()
    return time.process_time() - begin, came


class State:
    """A board of the original, with the one it came from."""

    def __init__(self, rows: list[list[str]], parent: "State | None") -> None:
        self.rows, self.parent = rows, parent

    def size(self) -> int:
        """Return how many pieces are left."""
        return sum(mark != "." for row in self.rows for mark in row)

    def captures(self) -> Iterator["State"]:
        """Yield the board after each capture."""
        for y, row in enumerate(self.rows):
            for x, mark in enumerate(row):
                for u, v in self.reached(mark, x, y) if mark != "." else ():
                    after = [each.copy() for each in self.rows]
                    after[v][u], after[y][x] = mark, "."
                    yield State(after, self)

    def reached(self, mark: str, x: int, y: int) -> Iterator[tuple[int, int]]:
        """Yield the pieces that MARK at (x, y) may capture."""
        straight, aslant = ((0, 1), (1, 0), (0, -1), (-1, 0)), ((1, 1), (1, -1), (-1, -1), (-1, 1))
        leaps = ((1, 2), (2, 1), (-1, 2), (-2, 1), (1, -2), (2, -1), (-1, -2), (-2, -1))
        ways = {"K": straight + aslant, "Q": straight + aslant, "R": straight, "B": aslant, "N": leaps}
        for dx, dy in ways.get(mark, ((-1, 1), (1, 1))):
            u, v = x + dx, y + dy
            while 0 <= v < len(self.rows) and 0 <= u < len(self.rows[0]):
                if self.rows[v][u] != ".":
                    yield u, v
                    break
                if mark in "KNP":
                    break
                u, v = u + dx, v + dy


def queued(board: Board) -> int:
    """Count as the original does: every board that is met goes into a queue, as often as it is met."""
    queue, met, won = deque([State([list(row) for row in board.rows], None)]), [], 0
    while queue:
        state = queue.popleft()
        met.append(state)
        if state.size() > 1:
            queue.extend(state.captures())
        else:
            won += 1
    return won


def remembered(chess: ModuleType, board: Board) -> int:
    """Count with python-chess' attacks and a memory of positions."""

    @cache
    def count(men: frozenset[tuple[Square, str]]) -> int:
        if len(men) == 1:
            return 1
        there, total = dict(men), 0
        table = chess.Board(None)
        for square, man in men:  # black pawns go down
            table.set_piece_at(chess.square(*square), chess.Piece.from_symbol(man.lower()))
        for start, piece in there.items():
            for end in chess.SquareSet(table.attacks(chess.square(*start)) & table.occupied):
                to = Square(chess.square_file(end), chess.square_rank(end))
                after = {square: man for square, man in men if square != start} | {to: piece}
                total += count(frozenset(after.items()))
        return total

    return count(frozenset(board.men.items()))
