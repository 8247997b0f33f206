"""Solve peg solitaire: find, enumerate or count solutions, or find the shortest.

The parity rule comes first, then a depth-first search with a limit, then a beam search. A move is a
pair (triple, pair) of bitboards: see the kernel.
"""

from array import array
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import nsmallest
from itertools import chain
from typing import NamedTuple

from pi_appliance.errors import Refused
from pi_appliance.puzzles import Answer, Proof, SolveMode, Table, kernel_mode, pluralize
from pi_appliance.puzzles.peg_solitaire import kernel
from pi_appliance.puzzles.peg_solitaire.bitboard import Bitboard, Move, find_parity_obstacle, to_bitboard
from pi_appliance.puzzles.peg_solitaire.board import Board, Solution
from pi_appliance.puzzles.peg_solitaire.count import CountResult, SolutionCounter
from pi_appliance.puzzles.peg_solitaire.frontier import MinMoveSearch
from pi_appliance.puzzles.runtime import SearchRuntime

BitMove = tuple[int, int]
BitSolution = tuple[BitMove, ...]
TickCallback = Callable[[int], None]
"""Called regularly with the number of moves tried; its exceptions end the search."""

MAX_REMEMBERED = 400_000  # dead positions per generation: about 80 MB in total
TICK_MASK = 0xFFF  # mask: positions between two ticks
BEAM_TICK_MASK = 0x7FF  # the same for beam search


class BeamResult(NamedTuple):
    """The solution that a beam search found, if any, and the number of moves tried."""

    line: BitSolution | None
    nodes: int


def beam_search(
    start: int, moves: Sequence[BitMove], goals: int, weights: Sequence[int], width: int, tick: TickCallback
) -> BeamResult:
    """Search for one solution with the `width` lightest positions (by `weights`) of each level."""
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


def _trace_back(position: int, levels: Sequence[Sequence[int]], moves: Sequence[BitMove]) -> BitSolution:
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

    Two generations of dead positions are remembered; a full newer one replaces the older one.
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
        """Yield each solution once, a known `hint` first. Return whether there is any."""
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


DEAD_END_LIMIT = 50_000  # dead positions: a fraction of a second
BEAM_WIDTHS = (100, 1_000, 10_000)  # 100 solves nearly every board within some 10 ms
COMPILED = kernel_mode(kernel) == "compiled"
BUDGET = 20_000_000 if COMPILED else 200_000  # positions, if solutions are listed and the count is optional


def solve(board: Board, mode: SolveMode, runtime: SearchRuntime) -> Answer[Solution]:
    """Solve the board. Raises Interrupted, and Refused if memory is too small."""
    facts = {"kernel": kernel_mode(kernel)}
    if reason := find_parity_obstacle(board):
        return Answer(count=0, proof=Proof.PARITY, reason=reason, details=facts)
    search = _SolutionSearch(board, runtime)
    if mode is SolveMode.COUNT:
        return _count_solutions(search.field, runtime, float("inf"))
    if mode is SolveMode.FEWEST:
        first = search.first()
        return first if first.proof else _solve_fewest_moves(search.field, runtime)
    return search.first() if mode is SolveMode.FIRST else _solve_all(search, runtime)


def hint(board: Board, runtime: SearchRuntime) -> str:
    """Return the next jump of a solution in words, or why there is none. Raises Interrupted."""
    answer = solve(board, SolveMode.FIRST, runtime)
    line = next(answer.solutions, None)
    if line is None:
        return answer.reason
    return f"the peg at {line[0].start} jumps to {line[0].end}" if line else "only one peg is left: it is solved"


def _solve_all(search: "_SolutionSearch", runtime: SearchRuntime) -> Answer[Solution]:
    try:
        numbers = _count_solutions(search.field, runtime, BUDGET)
    except Refused as error:
        result = search.first()
        reason = f"not counted along with the solutions: {error}; count them separately"
        facts = dict(result.details) | ({} if result.proof else {"count": reason})
        return replace(result, details=facts)
    if numbers.proof:
        return numbers
    search.spent += numbers.nodes_searched()
    result = search.first()
    return replace(result, count=numbers.count, details=numbers.details, tables=numbers.tables)


def _solve_fewest_moves(field: Bitboard, runtime: SearchRuntime) -> Answer[Solution]:
    fewest = MinMoveSearch(field, runtime)
    moves = fewest.run()
    return Answer(
        solutions=fewest.solutions(),
        nodes_searched=lambda: fewest.tried,
        count=fewest.count(),
        details={"kernel": kernel_mode(kernel), "moves": moves, "positions": fewest.classes_seen},
    )


def _count_solutions(field: Bitboard, runtime: SearchRuntime, most: float) -> Answer[Solution]:
    counted = SolutionCounter(field, runtime, most=most).run()
    facts: dict[str, int | float | str] = {"kernel": kernel_mode(kernel), "positions": counted.classes}
    tables = list(_count_tables(counted))
    if counted.all_positions:
        facts |= {
            "positions": sum(row[1] for row in counted.rows),
            "positions_up_to_symmetry": counted.classes,
            "jumps_of_all_games": sum(row[2] for row in counted.rows[1:]),
            "games": counted.games,
            "fewest_pegs": counted.fewest,
        }
    if counted.count:
        return Answer(nodes_searched=lambda: counted.tried, count=counted.count, details=facts, tables=tables)
    searched = f"all positions were searched ({facts['positions']:,}): "
    if not counted.all_positions:
        reason = f"{searched}none leads to a single peg{f' at {field.board.goal}' if field.board.goal else ''}"
    elif counted.fewest > 1:
        reason = f"{searched}at best {counted.fewest} pegs are left"
    else:
        reason = f"{searched}the last peg never stands at {field.board.goal}"
    tried = lambda: counted.tried  # noqa: E731 - as above
    return Answer(nodes_searched=tried, count=0, proof=Proof.EXHAUSTION, reason=reason, details=facts, tables=tables)


def _count_tables(counted: CountResult) -> Iterator[Table]:
    if counted.all_positions:
        headers = ("jumps", "up to symmetry", "without symmetry", "ways")
        yield Table("Reachable positions", headers, [(level, *row) for level, row in enumerate(counted.rows)])
    for title, rows in (
        ("Positions visited", counted.rows),
        ("Positions visited backwards from the end", counted.back),
    ):
        if rows and not counted.all_positions:
            needed = [(level, row[0], row[2]) for level, row in enumerate(rows)]
            yield Table(title, ("jumps", "up to symmetry", "ways"), needed)
    if counted.ends:
        ends = [(" or ".join(map(str, holes)), number) for holes, number in counted.ends.items()]
        yield Table("Final hole", ("hole", "solutions"), ends)


class _SolutionSearch:
    def __init__(self, board: Board, runtime: SearchRuntime) -> None:
        self.board, self.runtime, self.field = board, runtime, to_bitboard(board)
        self.moves: dict[BitMove, Move] = {(move.triple, move.pair): move for move in self.field.moves}
        self.spent = 0  # jumps tried by finished searches

    def first(self) -> Answer[Solution]:
        search = self._depth_first(DEAD_END_LIMIT)
        lines = search.solutions(self.field.start)
        try:
            first = next(lines, None)
        except SearchLimitReached:
            self.spent += search.nodes
            return self._beam_then_depth_first()
        search.dead_end_limit = None
        return self._make_result(search, first, lines)

    def _beam_then_depth_first(self) -> Answer[Solution]:
        """Search for a first solution by wider and wider beams, then search depth-first."""
        hint: BitSolution = ()
        weights = _hole_weights(self.board)
        for width in BEAM_WIDTHS:
            result = beam_search(self.field.start, list(self.moves), self.field.goals, weights, width, self._tick)
            self.spent += result.nodes
            if result.line:
                hint = result.line
                break
        again = self._depth_first()
        lines = again.solutions(self.field.start, hint)
        return self._make_result(again, next(lines, None), lines)

    def _depth_first(self, dead_end_limit: int | None = None) -> DepthFirstSearch:
        return DepthFirstSearch(list(self.moves), self.field.goals, self._tick, dead_end_limit=dead_end_limit)

    def _make_result(
        self, done: DepthFirstSearch, first: BitSolution | None, others: Iterator[BitSolution]
    ) -> Answer[Solution]:
        spent = self.spent
        facts: Mapping[str, str] = {"kernel": kernel_mode(kernel)}

        def tried() -> int:
            return spent + done.nodes

        if first is None:
            where = f" at {self.board.goal}" if self.board.goal else ""
            reason = f"all positions were searched: none has a single peg{where}"
            return Answer(nodes_searched=tried, count=0, proof=Proof.EXHAUSTION, reason=reason, details=facts)
        jumps = {move: self.field.jump(it) for move, it in self.moves.items()}
        lines = (tuple(jumps[move] for move in line) for line in chain([first], others))
        return Answer(solutions=lines, nodes_searched=tried, details=facts)

    def _tick(self, tried: int) -> None:
        self.runtime.report_progress(None, f"{pluralize(self.spent + tried, 'jump')} tried")


def _hole_weights(board: Board) -> list[int]:
    """Return the weight of each hole: light near the goal, or near the centre without one."""
    count = len(board.holes)
    # Coordinates times the number of holes, so that the centre is an integer.
    x, y = [count * at for at in board.goal] if board.goal else [sum(at) for at in zip(*board.holes, strict=True)]
    return [(count * hole.x - x) ** 2 + (count * hole.y - y) ** 2 for hole in board.holes]
