"""Benchmark of solitaire chess against the original method, a queue of every board that is reached.

No solver of solitaire chess was found in a package index. The nearest is python-chess (`pip install chess`): a
memoised count with its attack tables is the second peer. Without it those rows are left out. Times are CPU times.
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
from pi_appliance.puzzles.runtime import SearchRuntime
from pi_appliance.puzzles.solitaire_chess import Board, Square

SMALL = "RBK./.N.B/.NQR/...."  # eight pieces: with one more the original takes a minute, and then all the memory
BOARDS = (SMALL, "RBK./PN.B/.NQR/....", "QRNB/RBNP/NK../B...")


def rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield the measure, our time, the peer's time, and the ratio."""
    board = ours.parse(SMALL, "board")
    yield _compare(board, "original", lambda: count_with_queue(board))
    try:
        chess = importlib.import_module("chess")
    except ImportError:
        yield "python-chess is not installed", "-", "-", "-"
        return
    for board in (ours.parse(drawing, "board") for drawing in BOARDS):
        yield _compare(board, "python-chess", lambda board=board: count_memoised(chess, board))


def _compare(board: Board, name: str, other: Callable[[], int]) -> tuple[str, str, str, str]:
    took, count = _measure(lambda: ours.solve(board, SolveMode.COUNT, SearchRuntime()).count)
    theirs, same = _measure(other)
    assert count == same, f"{count} and {same}"
    what = f"{ours.describe(board)}, {count:,} solutions, counted"
    return what, f"{took * 1000:.1f} ms", f"{name} {theirs:.2f} s", f"{theirs / took:,.0f}x"


def _measure(runtime: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.process_time()
    result = runtime()
    return time.process_time() - begin, result


class State:
    """A board of the original method, with the one before it."""

    def __init__(self, rows: list[list[str]], parent: "State | None") -> None:
        self.rows, self.parent = rows, parent

    def size(self) -> int:
        """Count the pieces."""
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
        """Yield the squares on which `mark` at (x, y) may capture."""
        straight, diagonal = ((0, 1), (1, 0), (0, -1), (-1, 0)), ((1, 1), (1, -1), (-1, -1), (-1, 1))
        leaps = ((1, 2), (2, 1), (-1, 2), (-2, 1), (1, -2), (2, -1), (-1, -2), (-2, -1))
        ways = {"K": straight + diagonal, "Q": straight + diagonal, "R": straight, "B": diagonal, "N": leaps}
        for dx, dy in ways.get(mark, ((-1, 1), (1, 1))):
            u, v = x + dx, y + dy
            while 0 <= v < len(self.rows) and 0 <= u < len(self.rows[0]):
                if self.rows[v][u] != ".":
                    yield u, v
                    break
                if mark in "KNP":
                    break
                u, v = u + dx, v + dy


def count_with_queue(board: Board) -> int:
    """Count like the original: every board goes into a queue as often as it is reached."""
    queue, met, won = deque([State([list(row) for row in board.rows], None)]), [], 0
    while queue:
        state = queue.popleft()
        met.append(state)
        if state.size() > 1:
            queue.extend(state.captures())
        else:
            won += 1
    return won


def count_memoised(chess: ModuleType, board: Board) -> int:
    """Count with the attack tables of python-chess and memoised positions."""

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

    return count(frozenset(board.pieces.items()))
