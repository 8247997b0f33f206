"""Looks for lines of peg solitaire: positions are integers, one bit a hole.

A move is a pair (triple, pair): the bits of the three holes it touches, and of the two that must hold pegs for it.
It is open when position & triple == pair, and position ^ triple is the position after it.
"""

from array import array
from collections.abc import Callable, Generator, Sequence
from heapq import nsmallest
from typing import NamedTuple

Move = tuple[int, int]
Solution = tuple[Move, ...]
Tick = Callable[[int], None]
"""Told now and then how many moves were tried; what it raises ends the search."""

REMEMBERED = 400_000  # dead positions in each of two generations: about 80 MB at the most
OFTEN = 0xFFF  # positions between two ticks, as a mask: a few ticks a second even on a small Pi
WIDE = 0x7FF  # the same, of a wide search: it looks at every move of each


class Found(NamedTuple):
    """What a wide search came to: a line, if it saw one."""

    line: Solution | None
    tried: int


def find(start: int, moves: Sequence[Move], goals: int, weights: Sequence[int], width: int, tick: Tick) -> Found:
    """Look for one line, keeping the WIDTH lightest positions of each level; bit N of a position weighs WEIGHTS[N]."""
    steps = [(triple, pair, _weight(triple ^ pair, weights) - _weight(pair, weights)) for triple, pair in moves]
    level, tried = {start: 0}, 0
    levels: list[array[int]] = []
    while level:
        end = next((position for position in level if position & goals and not position & (position - 1)), None)
        if end is not None:
            return Found(_way_back(end, levels, moves), tried)
        levels.append(array("Q", level))
        after: dict[int, int] = {}
        for number, (position, weight) in enumerate(level.items(), 1):
            if not number & WIDE:
                tick(tried)
            for triple, pair, change in steps:
                if position & triple == pair:
                    after[position ^ triple] = weight + change
                    tried += 1
        tick(tried)
        level = after if len(after) <= width else dict(nsmallest(width, after.items(), key=lambda item: item[1]))
    return Found(None, tried)


def _weight(bits: int, weights: Sequence[int]) -> int:
    return sum(weight for number, weight in enumerate(weights) if bits >> number & 1)


def _way_back(position: int, levels: Sequence[Sequence[int]], moves: Sequence[Move]) -> Solution:
    line: list[Move] = []
    for level in reversed(levels):
        before = set(level)
        # Taken back, a move finds a peg at its end and none in its pair.
        move = next(
            (triple, pair)
            for triple, pair in moves
            if position & triple == triple ^ pair and position ^ triple in before
        )
        position ^= move[0]
        line.append(move)
    return tuple(reversed(line))


class GaveUp(Exception):
    """A walk came to the end of its patience."""


class Walk:
    """Every line from a position to a single peg in GOALS, depth first in the order of MOVES.

    Positions that lead nowhere are remembered, so that each is entered once. Memory is bounded: when the newer
    generation is full it becomes the older one, which is forgotten; what is forgotten would be walked again.
    With PATIENCE, the walk raises GaveUp after so many dead positions.
    """

    def __init__(
        self,
        moves: Sequence[Move],
        goals: int,
        tick: Tick,
        *,
        remember: int = REMEMBERED,
        patience: int | None = None,
    ) -> None:
        self.moves, self.goals, self.tick = moves, goals, tick
        self.remember, self.patience = remember, patience
        self.tried = self.dead = 0
        self._path: list[Move] = []
        self._newer: set[int] = set()
        self._older: set[int] = set()

    def lines(self, position: int, hint: Sequence[Move] = ()) -> Generator[Solution, None, bool]:
        """Yield each line from POSITION once; HINT, a line known already, comes first. Return whether there was any."""
        alive = False
        if not position & (position - 1):
            alive = bool(position & self.goals)
            if alive:
                yield tuple(self._path)
            return alive
        moves = [move for move in self.moves if position & move[0] == move[1]]
        if hint:
            moves.sort(key=lambda move: move != hint[0])
        self.tried += len(moves)
        for move in moves:
            child = position ^ move[0]
            if child in self._newer or child in self._older:
                continue
            self._path.append(move)
            if (yield from self.lines(child, hint[1:])):
                alive = True
            self._path.pop()
        if not alive:
            self._bury(position)
        return alive

    def _bury(self, position: int) -> None:
        self._newer.add(position)
        self.dead += 1
        if len(self._newer) >= self.remember:
            self._older, self._newer = self._newer, set()
        if not self.dead & OFTEN:
            self.tick(self.tried)
        if self.dead == self.patience:
            raise GaveUp
