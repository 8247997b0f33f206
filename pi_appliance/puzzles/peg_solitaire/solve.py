"""Solves peg solitaire: whether there is a line to a single peg, which ones, and how many.

Four steps, each for what the one before could not settle: the rule of three (proves "none" at once), a census of all
positions (small boards: counts the solutions), a walk in reading order that gives up early, and a wide search that
keeps the most promising positions. Only what was looked at as a whole proves that there is no solution.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from pi_appliance.puzzles import Answer, Progress, Proof, Wish, Work, counted
from pi_appliance.puzzles.peg_solitaire import walk as kernel
from pi_appliance.puzzles.peg_solitaire.board import Board, Hole, Jump

COUNTED = 20  # pegs; with more, there are soon more positions than a small Pi has memory for
CENSUS = 250_000  # positions: a second or so; the largest known board that is counted has 84,191
PATIENCE = 50_000  # dead positions: a fraction of a second
WIDTHS = (100, 1_000, 10_000)  # 100 solves nearly every board, within hundredths of a second
DIRECTIONS = ((1, 0), (-1, 0), (0, 1), (0, -1))


def solve(board: Board, wish: Wish, work: Work) -> Answer:  # noqa: ARG001
    """Return the answer for BOARD: by then it is known whether there is one. Raises Interrupted."""
    ends = (board.goal,) if board.goal else board.holes
    if _parity(board.pegs) not in {_parity([end]) for end in ends}:
        where = f"at {board.goal}" if board.goal else "anywhere on this board"
        return _none(Proof.PARITY, f"the rule of three: these pegs cannot become one {where}", 0)
    return _Search(board, work.progress).answer()


def _parity(holes: Iterable[Hole]) -> tuple[bool, ...]:
    """Return what no jump can change: of the diagonals in three colours, which colours agree in odd and even.

    A jump touches one hole of each colour, so that all three counts turn from odd to even or back together.
    """
    odd = [False] * 6
    for x, y in holes:
        odd[(x + y) % 3] ^= True
        odd[3 + (x - y) % 3] ^= True
    return (odd[0] == odd[1], odd[1] == odd[2], odd[3] == odd[4], odd[4] == odd[5])


def _none(proof: Proof, why: str, tried: int) -> Answer:
    return Answer(lines=iter(()), tried=lambda: tried, count=0, proof=proof, why=why)


@dataclass(slots=True)
class _Bits:
    """A board in the kernel's words: bit N is its hole N."""

    start: int
    goals: int
    jumps: dict[kernel.Move, Jump]  # of each hole in reading order to the right, left, down and up
    weights: list[int]  # light near the goal, or near the middle where any end will do


def _bits(board: Board) -> _Bits:
    bit = {hole: 1 << number for number, hole in enumerate(board.holes)}
    jumps: dict[kernel.Move, Jump] = {}
    for start in board.holes:
        for right, down in DIRECTIONS:
            over, end = (Hole(start.x + right * step, start.y + down * step) for step in (1, 2))
            if over in bit and end in bit:
                pair = bit[start] | bit[over]
                jumps[pair | bit[end], pair] = Jump(start, end)
    count = len(board.holes)
    # In units of a hole divided by their number, so that the middle is a whole number too.
    middle = [count * at for at in board.goal] if board.goal else [sum(at) for at in zip(*board.holes, strict=True)]
    return _Bits(
        start=sum(bit[peg] for peg in board.pegs),
        goals=bit[board.goal] if board.goal else sum(bit.values()),
        jumps=jumps,
        weights=[(count * x - middle[0]) ** 2 + (count * y - middle[1]) ** 2 for x, y in board.holes],
    )


class _Search:
    """One search for the lines of one board, step after step."""

    def __init__(self, board: Board, progress: Progress) -> None:
        self.board, self.progress = board, progress
        self.bits = _bits(board)
        self.moves = list(self.bits.jumps)
        self.spent = 0  # jumps tried by the steps that are over

    def answer(self) -> Answer:
        if len(self.board.pegs) <= COUNTED:
            census = kernel.count(self.bits.start, self.moves, CENSUS, self._tick)
            if census:
                return self._counted(census)
        walk = self._walk(PATIENCE)
        lines = walk.lines(self.bits.start)
        try:
            first = next(lines, None)
        except kernel.GaveUp:
            self.spent += walk.tried
            return self._wide()
        walk.patience = None
        return self._walked(walk, first, lines)

    def _counted(self, census: kernel.Census) -> Answer:
        goals = self.bits.goals
        count = sum(ways for end, ways in census.ends.items() if end & goals and not end & (end - 1))
        self.spent += census.tried
        if count:
            walk = self._walk()
            return self._solved(walk, walk.lines(self.bits.start), count)
        fewest = min(end.bit_count() for end in census.ends)
        best = f"at best {fewest} pegs are left" if fewest > 1 else f"the last peg never stands at {self.board.goal}"
        return _none(Proof.EXHAUSTION, f"every position was looked at ({census.positions:,}): {best}", self.spent)

    def _wide(self) -> Answer:
        """Look for one line as widely as memory allows, then walk on from there, or without one through everything."""
        bits = self.bits
        hint: kernel.Line = ()
        for width in WIDTHS:
            found = kernel.find(bits.start, self.moves, bits.goals, bits.weights, width, self._tick)
            self.spent += found.tried
            if found.line:
                hint = found.line
                break
        walk = self._walk()
        lines = walk.lines(bits.start, hint)
        return self._walked(walk, next(lines, None), lines)

    def _walk(self, patience: int | None = None) -> kernel.Walk:
        return kernel.Walk(self.moves, self.bits.goals, self._tick, patience=patience)

    def _walked(self, walk: kernel.Walk, first: kernel.Line | None, others: Iterator[kernel.Line]) -> Answer:
        if first is None:
            where = f" at {self.board.goal}" if self.board.goal else ""
            why = f"every position was looked at: none has a single peg{where}"
            return _none(Proof.EXHAUSTION, why, self.spent + walk.tried)
        return self._solved(walk, chain([first], others))

    def _solved(self, walk: kernel.Walk, lines: Iterator[kernel.Line], count: int | None = None) -> Answer:
        spent, jumps = self.spent, self.bits.jumps
        found = (tuple(jumps[move] for move in line) for line in lines)
        return Answer(lines=found, tried=lambda: spent + walk.tried, count=count)

    def _tick(self, tried: int) -> None:
        self.progress(None, f"{counted(self.spent + tried, 'jump')} tried")
