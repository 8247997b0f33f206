"""Solve peg solitaire: find, enumerate or count solutions, or find the shortest.

The parity rule is checked first. Then follow a depth-first search with a limit, and a beam search.
A move is a pair (triple, pair) of bitboards: see the kernel.
"""

from array import array
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from heapq import nsmallest
from itertools import chain

from pi_appliance.errors import Refused
from pi_appliance.puzzles import (
    Answer,
    Details,
    Footprint,
    Proof,
    SolveMode,
    Table,
    check_mode,
    kernel_mode,
    load_board,
    pluralize,
)
from pi_appliance.puzzles.deductions import SearchLimitReached
from pi_appliance.puzzles.peg_solitaire import kernel
from pi_appliance.puzzles.peg_solitaire.bitboard import Bitboard, find_parity_obstacle, to_bitboard, total_weight
from pi_appliance.puzzles.peg_solitaire.board import Board, Jump, Solution
from pi_appliance.puzzles.peg_solitaire.count import (
    CLASS_MEMORY,
    CountResult,
    SolutionCounter,
    count_placements,
    foretell_memory,
)
from pi_appliance.puzzles.peg_solitaire.fewest import POSITION_SHARE, MinMoveSearch
from pi_appliance.puzzles.runtime import SERIAL, SearchRuntime

BitMove = tuple[int, int]
BitSolution = tuple[BitMove, ...]
TickCallback = Callable[[int], None]
"""Called regularly with the number of moves tried; its exceptions end the search."""

MAX_REMEMBERED = 400_000  # dead positions in each of two generations
DEAD_POSITION_BYTES = 100
TICK_MASK = 0xFFF  # one tick for this many positions (a bit mask)
BEAM_TICK_MASK = 0x7FF  # the same for the beam search


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


DEAD_END_LIMIT = 50_000  # dead positions after which the first search is given up: a fraction of a second
BEAM_WIDTHS = (100, 1_000, 10_000)  # 100 solves nearly every board within some 10 ms
BUDGET = 20_000_000 if kernel_mode(kernel) == "compiled" else 200_000
"""Positions to count at most where solutions are listed, and the count is optional."""
_DETAILS = {"kernel": kernel_mode(kernel)}
MODES = (SolveMode.FIRST, SolveMode.ALL, SolveMode.COUNT, SolveMode.FEWEST)


def solve(board: Board | str, mode: SolveMode = SolveMode.FIRST, runtime: SearchRuntime = SERIAL) -> Answer[Solution]:
    """Solve the board. Raises Interrupted, and Refused if memory is too small.

    Parity, depth-first search and counts by level (see docs/puzzles/peg-solitaire.md).

    >>> from pi_appliance.puzzles import SolveMode, peg_solitaire
    >>> next(peg_solitaire.solve("XXO").solutions)
    (Jump(start=Hole(x=0, y=0), end=Hole(x=2, y=0)),)
    >>> peg_solitaire.solve(peg_solitaire.BOARDS["plus"], SolveMode.COUNT).count
    32
    """
    mode = check_mode("peg solitaire", MODES, mode)
    board = load_board(board, Board)
    if reason := find_parity_obstacle(board):
        return Answer(count=0, proof=Proof.PARITY, reason=reason, details=_DETAILS)
    search = _SolutionSearch(board, runtime)
    match mode:
        case SolveMode.COUNT:
            return _count_solutions(search.field, runtime, float("inf"))
        case SolveMode.ALL:
            return _solve_all(search, runtime)
    first = search.first()
    if len(board.pegs) == 1 and not first.proof:
        first = replace(first, count=1)  # it is solved already: no jump is possible
    return first if mode is SolveMode.FIRST or first.proof else _solve_fewest_moves(search.field, runtime)


def foretell(board: Board, mode: SolveMode, runtime: SearchRuntime = SERIAL) -> Footprint:
    """Predict the memory. A count of its first levels takes seconds. Raises Interrupted."""
    field = to_bitboard(board)
    dead = DEAD_POSITION_BYTES * min(2 * MAX_REMEMBERED, count_placements(field))
    if mode is SolveMode.FIRST or find_parity_obstacle(board):
        return Footprint(memory=dead, saves=False)
    if mode is SolveMode.FEWEST:
        return Footprint(memory=round(POSITION_SHARE * count_placements(field)), is_open=True, is_parallel=True)
    memory = foretell_memory(field, runtime)
    if mode is SolveMode.ALL:
        try:
            runtime.require_memory(memory, "this count")
        except Refused:  # the solutions are listed without their number
            memory = 0
        # A count stops after `BUDGET` positions, and its last level has less than half of them.
        memory = max(min(memory, CLASS_MEMORY * BUDGET // 2), dead)
    return Footprint(memory=memory, is_open=board.all_positions, is_parallel=True)


def hint(board: Board | str, runtime: SearchRuntime = SERIAL) -> str:
    """Return the next jump of a solution in words, or why there is none. Raises Interrupted.

    >>> from pi_appliance.puzzles import peg_solitaire
    >>> peg_solitaire.hint("cross")
    'the peg at 3,2 jumps to 5,2'
    """
    answer = solve(board, SolveMode.FIRST, runtime)
    line = next(answer.solutions, None)
    if line is None:
        return answer.reason
    return f"the peg at {line[0].start} jumps to {line[0].end}" if line else "only one peg is left: it is solved"


def _solve_all(search: "_SolutionSearch", runtime: SearchRuntime) -> Answer[Solution]:
    try:
        counted = _count_solutions(search.field, runtime, BUDGET)
    except Refused as error:
        answer = search.first()
        reason = f"not counted along with the solutions: {error}; count them separately"
        return answer if answer.proof else replace(answer, details={**answer.details, "count": reason})
    if counted.proof:
        return counted
    search.spent += counted.nodes_searched()
    return replace(search.first(), count=counted.count, details=counted.details, tables=counted.tables)


def _solve_fewest_moves(field: Bitboard, runtime: SearchRuntime) -> Answer[Solution]:
    search = MinMoveSearch(field, runtime)
    moves = search.run()
    return Answer(
        solutions=search.solutions(),
        nodes_searched=lambda: search.tried,
        count=search.count(),
        details={**_DETAILS, "moves": moves, "positions": search.classes_seen},
    )


def _count_solutions(field: Bitboard, runtime: SearchRuntime, most: float) -> Answer[Solution]:
    counted = SolutionCounter(field, runtime, most=most).run()
    details: Details = {**_DETAILS, "positions": counted.classes}
    if counted.all_positions:
        details |= {
            "positions": sum(row[1] for row in counted.rows),
            "positions_up_to_symmetry": counted.classes,
            "jumps_of_all_games": sum(row[2] for row in counted.rows[1:]),
            "games": counted.games,
            "fewest_pegs": counted.fewest,
        }
    reason = f"all positions were searched ({details['positions']:,}): "
    if not counted.all_positions:
        reason += f"none leads to a single peg{f' at {field.board.goal}' if field.board.goal else ''}"
    elif counted.fewest > 1:
        reason += f"at best {counted.fewest} pegs are left"
    else:
        reason += f"the last peg never stands at {field.board.goal}"
    return Answer(
        nodes_searched=lambda: counted.tried,
        count=counted.count,
        proof=None if counted.count else Proof.EXHAUSTION,
        reason="" if counted.count else reason,
        details=details,
        tables=list(_count_tables(counted)),
    )


def _count_tables(counted: CountResult) -> Iterator[Table]:
    if counted.all_positions:
        headers = ("jumps", "up to symmetry", "without symmetry", "ways")
        yield Table("Reachable positions", headers, [(level, *row) for level, row in enumerate(counted.rows)])
    visited = {"Positions visited": counted.rows, "Positions visited backwards from the end": counted.back}
    for title, rows in visited.items():
        if rows and not counted.all_positions:
            needed = [(level, row[0], row[2]) for level, row in enumerate(rows)]
            yield Table(title, ("jumps", "up to symmetry", "ways"), needed)
    if counted.ends:
        ends = [(" or ".join(map(str, holes)), number) for holes, number in counted.ends.items()]
        yield Table("Final hole", ("hole", "solutions"), ends)


class _SolutionSearch:
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
            details=_DETAILS,
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
