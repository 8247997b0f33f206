"""Enumerate solutions by depth-first search, and find one by beam search. Positions are bitboards.

A move is a pair (triple, pair): the bits of its three holes, and of the two that must hold pegs. It is legal if
position & triple == pair, and leads to position ^ triple.
"""

from array import array
from collections.abc import Callable, Generator, Sequence
from heapq import nsmallest
from typing import NamedTuple

BitMove = tuple[int, int]
Solution = tuple[BitMove, ...]
TickCallback = Callable[[int], None]
"""Called regularly with the number of moves tried; its exceptions end the search."""

MAX_REMEMBERED = 400_000  # dead positions per generation: about 80 MB in total
TICK_MASK = 0xFFF  # mask: positions between two ticks
BEAM_TICK_MASK = 0x7FF  # the same for beam search


class BeamResult(NamedTuple):
    """The solution that a beam search found, if any, and the number of moves tried."""

    line: Solution | None
    nodes: int


def beam_search(
    start: int, moves: Sequence[BitMove], goals: int, weights: Sequence[int], width: int, tick: TickCallback
) -> BeamResult:
    """Look for one solution, keeping the `width` lightest positions of each level. Bit n weighs `weights[n]`."""
    steps = [
        (triple, pair, _total_weight(triple ^ pair, weights) - _total_weight(pair, weights)) for triple, pair in moves
    ]
    level, tried = {start: 0}, 0
    levels: list[array[int]] = []
    while level:
        end = next((position for position in level if position & goals and not position & (position - 1)), None)
        if end is not None:
            return BeamResult(_trace_back(end, levels, moves), tried)
        levels.append(array("Q", level))
        after: dict[int, int] = {}
        for number, (position, weight) in enumerate(level.items(), 1):
            if not number & BEAM_TICK_MASK:
                tick(tried)
            for triple, pair, change in steps:
                if position & triple == pair:
                    after[position ^ triple] = weight + change
                    tried += 1
        tick(tried)
        level = after if len(after) <= width else dict(nsmallest(width, after.items(), key=lambda item: item[1]))
    return BeamResult(None, tried)


def _total_weight(bits: int, weights: Sequence[int]) -> int:
    return sum(weight for number, weight in enumerate(weights) if bits >> number & 1)


def _trace_back(position: int, levels: Sequence[Sequence[int]], moves: Sequence[BitMove]) -> Solution:
    line: list[BitMove] = []
    for level in reversed(levels):
        before = set(level)
        # Undoing a move needs a peg at its end and none in its pair.
        move = next(
            (triple, pair)
            for triple, pair in moves
            if position & triple == triple ^ pair and position ^ triple in before
        )
        position ^= move[0]
        line.append(move)
    return tuple(reversed(line))


class SearchLimitReached(Exception):
    """A search found more dead ends than allowed."""


class DepthFirstSearch:
    """Every solution from a position to a single peg in `goals`, in the order of `moves`.

    Two generations of dead positions are remembered, so memory is bounded. When the newer one is full, the older one is
    forgotten; forgotten positions are searched again.

    Args:
        moves: all moves of the board.
        goals: the bits of the allowed final holes.
        tick: called regularly.
        remember: dead positions per generation.
        dead_end_limit: raise SearchLimitReached after this many dead positions.

    """

    def __init__(
        self,
        moves: Sequence[BitMove],
        goals: int,
        tick: TickCallback,
        *,
        remember: int = MAX_REMEMBERED,
        dead_end_limit: int | None = None,
    ) -> None:
        self.moves, self.goals, self.tick = moves, goals, tick
        self.remember, self.dead_end_limit = remember, dead_end_limit
        self.nodes = self.dead_ends = 0
        self._path: list[BitMove] = []
        self._newer: set[int] = set()
        self._older: set[int] = set()

    def solutions(self, position: int, hint: Sequence[BitMove] = ()) -> Generator[Solution, None, bool]:
        """Yield each solution once; `hint`, a known one, comes first. Return whether there is any."""
        solvable = False
        if not position & (position - 1):
            solvable = bool(position & self.goals)
            if solvable:
                yield tuple(self._path)
            return solvable
        moves = [move for move in self.moves if position & move[0] == move[1]]
        if hint:
            moves.sort(key=lambda move: move != hint[0])
        self.nodes += len(moves)
        for move in moves:
            child = position ^ move[0]
            if child in self._newer or child in self._older:
                continue
            self._path.append(move)
            if (yield from self.solutions(child, hint[1:])):
                solvable = True
            self._path.pop()
        if not solvable:
            self._mark_dead(position)
        return solvable

    def _mark_dead(self, position: int) -> None:
        self._newer.add(position)
        self.dead_ends += 1
        if len(self._newer) >= self.remember:
            self._older, self._newer = self._newer, set()
        if not self.dead_ends & TICK_MASK:
            self.tick(self.nodes)
        if self.dead_ends == self.dead_end_limit:
            raise SearchLimitReached
