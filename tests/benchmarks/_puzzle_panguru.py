"""Benchmark of Panguru against the original method: memoised recursion over matching pebbles.

No solver of Panguru was found in a package index. Times are CPU times.
"""

import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

from pi_appliance.puzzles import SolveMode, panguru
from pi_appliance.puzzles.panguru import Board
from pi_appliance.puzzles.runtime import SearchRuntime

EXAMPLE = Board("WCBRBOGYGPCORPY", "-PCBRYOGYGBCORP")
RANDOM_BOARDS = 1_000  # random boards: seconds compiled, half a minute plain
SEEDS = (2, 3)  # boards of 14 and 15 moves: the original takes seconds for each, and minutes for harder ones


def rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield the measure, our time, the time of the original, and the ratio."""
    for what, boards in {
        "the original's example, all 12 shortest solutions": [EXAMPLE],
        "two random boards of 14 and 15 moves, all solutions": [_make_random(seed) for seed in SEEDS],
    }.items():
        ours, results = _measure(lambda boards=boards: [_find_solutions(board) for board in boards])
        theirs, same = _measure(lambda boards=boards: [set(Original(board).shortest()) for board in boards])
        assert results == same, "both find the same solutions"
        yield what, f"{ours * 1000:.1f} ms", f"original {theirs:.2f} s", f"{theirs / ours:,.0f}x"
    took = [
        _measure(lambda board=board: _find_solutions(board))[0] for board in map(_make_random, range(RANDOM_BOARDS))
    ]
    what = f"{RANDOM_BOARDS:,} random boards, all solutions: median, worst (aim: 3 ms, 2 s)"
    middle, worst = median(took) * 1000, max(took)
    yield what, f"{middle:.2f} ms, {worst:.3f} s", "-", f"{3 / middle:.1f}x, {2 / worst:.0f}x"


def _make_random(seed: int) -> Board:
    board: Board = panguru.generate(seed, EXAMPLE, SearchRuntime()).board
    return board


def _find_solutions(board: Board) -> set[tuple[int, ...]]:
    return set(panguru.solve(board, SolveMode.FEWEST, SearchRuntime()).solutions)


def _measure(runtime: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.process_time()
    result = runtime()
    return time.process_time() - begin, result


class Node:
    """A move of the original: the place that moved, and the move before it."""

    def __init__(self, parent: "Node | None", move: int) -> None:
        self.parent, self.move = parent, move

    def origin(self, place: int) -> int:
        """Return the first place of the pebble that is at `place` now."""
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
    """The original search: all ways to have n matching pebbles after m moves, from the ways for m - 1 moves."""

    def __init__(self, board: Board) -> None:
        self.board, self.reachable = board, panguru.reachable_places(board)
        self.root = Node(None, board.hole)
        self.right = sum(map(str.__eq__, board.plates, board.pebbles))
        self.known: dict[tuple[int, int], list[Node]] = {}

    def shortest(self) -> list[tuple[int, ...]]:
        """Return every shortest solution; unlike the original, without a limit of twenty moves."""
        moves = 0
        while not (results := self.after(moves, len(self.board.plates) - 1)):
            moves += 1
        return [node.line() for node in results]

    def after(self, moves: int, right: int) -> list[Node]:
        """Return every way to have `right` matching pebbles after `moves` moves."""
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
                for start in self.reachable[node.move]:
                    colour = self.board.pebbles[node.origin(start)]
                    if (plates[start] == colour) - (plates[node.move] == colour) == change:
                        yield Node(node, start)
