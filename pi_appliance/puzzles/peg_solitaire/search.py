"""Search for solutions of peg solitaire: depth-first with a limit, then by beams.

A move is a pair (triple, pair) of bitboards: see the kernel.
"""

from array import array
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from heapq import nsmallest
from itertools import chain

from pi_appliance.puzzles import (
    Answer,
    Proof,
    kernel_mode,
    pluralize,
)
from pi_appliance.puzzles.deductions import SearchLimitReached
from pi_appliance.puzzles.peg_solitaire import kernel
from pi_appliance.puzzles.peg_solitaire.bitboard import to_bitboard, total_weight
from pi_appliance.puzzles.peg_solitaire.board import Board, Jump, Solution
from pi_appliance.puzzles.runtime import SearchRuntime

BitMove = tuple[int, int]
BitSolution = tuple[BitMove, ...]
TickCallback = Callable[[int], None]
"""Called regularly with the number of moves tried; its exceptions end the search."""

MAX_REMEMBERED = 400_000  # dead positions in each of two generations
DEAD_POSITION_BYTES = 100
TICK_MASK = 0xFFF  # one tick for this many positions (a bit mask)
BEAM_TICK_MASK = 0x7FF  # the same for the beam search
DEAD_END_LIMIT = 50_000  # dead positions after which the first search is given up: a fraction of a second
BEAM_WIDTHS = (100, 1_000, 10_000)  # 100 solves nearly every board within some 10 ms
DETAILS = {"kernel": kernel_mode(kernel)}


def beam_search(
    start: int, moves: Sequence[BitMove], goals: int, weights: Sequence[int], width: int, tick: TickCallback
) -> tuple[BitSolution | None, int]:
    """Search for one solution.

    Of each level, only the `width` positions with the least weight are kept.

    Return the solution, if any, and the number of moves tried.
    """
    changes = (total_weight(triple ^ pair, weights) - total_weight(pair, weights) for triple, pair in moves)
    steps = [(*move, change) for move, change in zip(moves, changes, strict=True)]
    level, tried = {start: 0}, 0
    levels: list[array[int]] = []
    while level:
        end = next((position for position in level if position & goals and not position & (position - 1)), None)
        if end is not None:
            return _trace_back(end, levels, moves), tried
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
    return None, tried


def _trace_back(position: int, levels: Sequence[Sequence[int]], moves: Sequence[BitMove]) -> BitSolution:
    line: list[BitMove] = []
    for level in reversed(levels):
        before = set(level)
        # Before a move, its pair has pegs and its end has none. So undoing it needs the opposite.
        undone = (move for move in moves if position & move[0] == move[0] ^ move[1] and position ^ move[0] in before)
        line.append(next(undone))
        position ^= line[-1][0]
    return tuple(reversed(line))


class DepthFirstSearch:
    """Finds every solution from a position to a single peg in `goals`, trying `moves` in order.

    Dead positions are remembered in two generations. When the newer one is full, it replaces the
    older one.
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

    def solutions(self, position: int, hint: Sequence[BitMove] = ()) -> Generator[BitSolution, None, bool]:
        """Yield each solution once, a known `hint` first. Return whether there is any solution."""
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


class SolutionSearch:
    """The search for one solution of `board`, and for the others behind it."""

    def __init__(self, board: Board, runtime: SearchRuntime) -> None:
        self.board, self.runtime, self.field = board, runtime, to_bitboard(board)
        self.moves: dict[BitMove, Jump] = {(move.triple, move.pair): self.field.jump(move) for move in self.field.moves}
        self.spent = 0  # jumps that finished searches have tried

    def first(self) -> Answer[Solution]:
        """Find one solution.

        The search is depth-first with a limit, then by wider and wider beams, then without a limit.
        """
        search = self._depth_first(DEAD_END_LIMIT)
        lines = search.solutions(self.field.start)
        try:
            first = next(lines, None)
            search.dead_end_limit = None
        except SearchLimitReached:
            self.spent += search.nodes
            search = self._depth_first(None)
            lines = search.solutions(self.field.start, self._beam_search())
            first = next(lines, None)
        spent = self.spent
        answer: Answer[Solution] = Answer(
            solutions=(tuple(self.moves[move] for move in line) for line in chain([first or ()], lines)),
            nodes_searched=lambda: spent + search.nodes,
            details=DETAILS,
        )
        if first is not None:
            return answer
        where = f" at {self.board.goal}" if self.board.goal else ""
        reason = f"all positions were searched: none has a single peg{where}"
        return replace(answer, solutions=iter(()), count=0, proof=Proof.EXHAUSTION, reason=reason)

    def _beam_search(self) -> BitSolution:
        moves, weights = list(self.moves), _hole_weights(self.board)
        for width in BEAM_WIDTHS:
            line, tried = beam_search(self.field.start, moves, self.field.goals, weights, width, self._tick)
            self.spent += tried
            if line:
                return line
        return ()

    def _depth_first(self, dead_end_limit: int | None) -> DepthFirstSearch:
        return DepthFirstSearch(list(self.moves), self.field.goals, self._tick, dead_end_limit=dead_end_limit)

    def _tick(self, tried: int) -> None:
        self.runtime.report_progress(None, f"{pluralize(self.spent + tried, 'jump')} tried")


def _hole_weights(board: Board) -> list[int]:
    """Return the weight of each hole: low near the goal, or near the centre if there is no goal."""
    count = len(board.holes)
    # Coordinates are multiplied by the number of holes, so that the centre is an integer.
    x, y = [count * at for at in board.goal] if board.goal else [sum(at) for at in zip(*board.holes, strict=True)]
    return [(count * hole.x - x) ** 2 + (count * hole.y - y) ** 2 for hole in board.holes]
