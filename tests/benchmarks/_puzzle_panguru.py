"""Panguru: ours against the original's way, memoised recursion over matching pebbles, written anew from what it does.

No solver of Panguru was found in a package index. Times are those of the processor: what else it does, does not count.
"""

import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

from pi_appliance.puzzles import SolveMode, panguru
from pi_appliance.puzzles.panguru import Board
from pi_appliance.puzzles.runtime.interface import SerialRuntime

EXAMPLE = Board("WCBRBOGYGPCORPY", "-PCBRYOGYGBCORP")
MANY_BOARDS = 1_000  # random boards: seconds compiled, half a minute plain
SEEDS = (2, 3)  # boards of 14 and 15 moves: the original takes seconds for each, and minutes for harder ones


def rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield each measure: what, ours, the original's, and the ratio."""
    for what, boards in {
        "the original's example, all 12 shortest lines": [EXAMPLE],
        "two random boards of 14 and 15 moves, all lines": [_random(seed) for seed in SEEDS],
    }.items():
        ours, found = _timed(lambda boards=boards: [_lines(board) for board in boards])
        theirs, same = _timed(lambda boards=boards: [set(Original(board).shortest()) for board in boards])
        assert found == same, "both find the same lines"
        yield what, f"{ours * 1000:.1f} ms", f"original {theirs:.2f} s", f"{theirs / ours:,.0f}x"
    took = [_timed(lambda board=board: _lines(board))[0] for board in map(_random, range(MANY_BOARDS))]
    what = f"{MANY_BOARDS:,} random boards, all lines: median, worst (aim: 3 ms, 2 s)"
    middle, worst = median(took) * 1000, max(took)
    yield what, f"{middle:.2f} ms, {worst:.3f} s", "-", f"{3 / middle:.1f}x, {2 / worst:.0f}x"


def _random(seed: int) -> Board:
    board: Board = panguru.generate(seed, EXAMPLE, SerialRuntime()).board
    return board


def _lines(board: Board) -> set[tuple[int, ...]]:
    return set(panguru.solve(board, SolveMode.FEWEST, SerialRuntime()).solutions)


def _timed(runtime: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.process_time()
    came = runtime()
    return time.process_time() - begin, came


class Node:
    """A move of the original: which place moved, after which node."""

    def __init__(self, parent: "Node | None", move: int) -> None:
        self.parent, self.move = parent, move

    def origin(self, place: int) -> int:
        """Return where the pebble at PLACE stood at the beginning."""
        if self.parent is None:
            return place
        if place == self.move:
            place = self.parent.move
        elif place == self.parent.move:
            place = self.move
        return self.parent.origin(place)

    def line(self) -> tuple[int, ...]:
        """Return the moves up to here."""
        return () if self.parent is None else (*self.parent.line(), self.move)


class Original:
    """The original's search: all ways to have so many pebbles right after so many moves, from those of one less."""

    def __init__(self, board: Board) -> None:
        self.board, self.far = board, panguru.reach(board)
        self.root = Node(None, board.hole)
        self.right = sum(map(str.__eq__, board.plates, board.pebbles))
        self.known: dict[tuple[int, int], list[Node]] = {}

    def shortest(self) -> list[tuple[int, ...]]:
        """Return every shortest line; here it does not give up after twenty moves."""
        moves = 0
        while not (found := self.after(moves, len(self.board.plates) - 1)):
            moves += 1
        return [node.line() for node in found]

    def after(self, moves: int, right: int) -> list[Node]:
        """Return every way to have RIGHT pebbles on their plates after MOVES moves."""
        if moves == 0:
            return [self.root] if right == self.right else []
        if (moves, right) not in self.known:
            self.known[moves, right] = list(self.moved(moves, right))
        return self.known[moves, right]

    def moved(self, moves: int, right: int) -> Iterator[Node]:
        """Yield those ways, each from a way that is one move shorter."""
        plates = self.board.plates
        for change in (-1, 0, 1):
            for node in self.after(moves - 1, right + change):
                for start in self.far[node.move]:
                    colour = self.board.pebbles[node.origin(start)]
                    if (plates[start] == colour) - (plates[node.move] == colour) == change:
                        yield Node(node, start)
