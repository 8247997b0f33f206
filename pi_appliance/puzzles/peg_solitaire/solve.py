"""Solves peg solitaire: whether there is a line to a single peg, which ones, how many, and the shortest.

The rule of three proves many boards to have none at once. For lines, a walk in reading order gives up early, and a
wide search that keeps the most promising positions goes on; numbers come from a count that walks no line, and the
shortest from layers of moves. Only what was looked at as a whole proves that there is no solution.
"""

from collections.abc import Iterator, Mapping
from itertools import chain

from pi_appliance.errors import Refused
from pi_appliance.puzzles import Proof, SolveMode, SolveResult, Table, kernel_mode, pluralize
from pi_appliance.puzzles.peg_solitaire import kernel, walk
from pi_appliance.puzzles.peg_solitaire.board import Board
from pi_appliance.puzzles.peg_solitaire.count import Count
from pi_appliance.puzzles.peg_solitaire.counted import Counted
from pi_appliance.puzzles.peg_solitaire.field import Bitboard, Move, field_of
from pi_appliance.puzzles.peg_solitaire.moves import MinMoveSearch
from pi_appliance.puzzles.peg_solitaire.parity import forbids
from pi_appliance.puzzles.runtime.interface import SearchRuntime

PATIENCE = 50_000  # dead positions: a fraction of a second
WIDTHS = (100, 1_000, 10_000)  # 100 solves nearly every board, within hundredths of a second
COMPILED = kernel_mode(kernel) == "compiled"
BUDGET = 20_000_000 if COMPILED else 200_000  # positions, where lines are asked for and their number is an extra


def solve(board: Board, mode: SolveMode, runtime: SearchRuntime) -> SolveResult:
    """Return the answer for BOARD: by then it is known whether there is one. Raises Interrupted; Refused (memory)."""
    facts = {"kernel": kernel_mode(kernel)}
    if why := forbids(board):
        return SolveResult(count=0, proof=Proof.PARITY, reason=why, details=facts)
    search = _Search(board, runtime)
    if mode is SolveMode.COUNT:
        return _numbers(search.field, runtime, float("inf"))
    if mode is SolveMode.FEWEST:
        first = search.first()
        return first if first.proof else _fewest(search.field, runtime)
    return search.first() if mode is SolveMode.FIRST else _all(search, runtime)


def hint(board: Board, runtime: SearchRuntime) -> str:
    """Return the next jump of a solution in words, or why there is none. Raises Interrupted."""
    answer = solve(board, SolveMode.FIRST, runtime)
    line = next(answer.solutions, None)
    if line is None:
        return answer.reason
    return f"the peg at {line[0].start} jumps to {line[0].end}" if line else "only one peg is left: it is solved"


def _all(search: "_Search", runtime: SearchRuntime) -> SolveResult:
    try:
        numbers = _numbers(search.field, runtime, BUDGET)
    except Refused as error:
        found = search.first()
        why = f"not counted beside the lines: {error}; ask for the count alone"
        facts = dict(found.details) | ({} if found.proof else {"count": why})
        return SolveResult(
            solutions=found.solutions,
            nodes_searched=found.nodes_searched,
            proof=found.proof,
            reason=found.reason,
            details=facts,
        )
    if numbers.proof:
        return numbers
    search.spent += numbers.nodes_searched()
    found = search.first()
    return SolveResult(
        solutions=found.solutions,
        nodes_searched=found.nodes_searched,
        count=numbers.count,
        details=numbers.details,
        tables=numbers.tables,
    )


def _fewest(field: Bitboard, runtime: SearchRuntime) -> SolveResult:
    fewest = MinMoveSearch(field, runtime)
    moves = fewest.run()
    return SolveResult(
        solutions=fewest.lines(),
        nodes_searched=lambda: fewest.tried,
        count=fewest.count(),
        details={"kernel": kernel_mode(kernel), "moves": moves, "positions": fewest.looked},
    )


def _numbers(field: Bitboard, runtime: SearchRuntime, most: float) -> SolveResult:
    """Return how many solutions there are. Raises TooMany if it takes more than MOST positions."""
    came = Count(field, runtime, most=most).run()
    facts: dict[str, int | float | str] = {"kernel": kernel_mode(kernel), "positions": came.classes}
    tables = list(_tables(came))
    if came.whole:
        facts |= {
            "positions": sum(row[1] for row in came.rows),
            "positions_up_to_symmetry": came.classes,
            "jumps_of_all_games": sum(row[2] for row in came.rows[1:]),
            "games": came.games,
            "fewest_pegs": came.fewest,
        }
    if came.count:
        return SolveResult(nodes_searched=lambda: came.tried, count=came.count, details=facts, tables=tables)
    looked = f"every position was looked at ({facts['positions']:,}): "
    if not came.whole:
        why = f"{looked}none leads to a single peg{f' at {field.board.goal}' if field.board.goal else ''}"
    elif came.fewest > 1:
        why = f"{looked}at best {came.fewest} pegs are left"
    else:
        why = f"{looked}the last peg never stands at {field.board.goal}"
    tried = lambda: came.tried  # noqa: E731 - as above
    return SolveResult(nodes_searched=tried, count=0, proof=Proof.EXHAUSTION, reason=why, details=facts, tables=tables)


def _tables(came: Counted) -> Iterator[Table]:
    if came.whole:
        headers = ("jumps", "up to symmetry", "without symmetry", "ways")
        yield Table("Positions that can be reached", headers, [(level, *row) for level, row in enumerate(came.rows)])
    for title, rows in (("Positions that were needed", came.rows), ("The same, from the end", came.back)):
        if rows and not came.whole:
            needed = [(level, row[0], row[2]) for level, row in enumerate(rows)]
            yield Table(title, ("jumps", "up to symmetry", "ways"), needed)
    if came.ends:
        ends = [(" or ".join(map(str, holes)), number) for holes, number in came.ends.items()]
        yield Table("Where the last peg stands", ("hole", "solutions"), ends)


class _Search:
    """One search for the lines of one board, step after step."""

    def __init__(self, board: Board, runtime: SearchRuntime) -> None:
        self.board, self.runtime, self.field = board, runtime, field_of(board)
        self.moves: dict[walk.Move, Move] = {(move.triple, move.pair): move for move in self.field.moves}
        self.spent = 0  # jumps tried by the steps that are over

    def first(self) -> SolveResult:
        """Return the lines, of which the first is found by then."""
        begun = self._walk(PATIENCE)
        lines = begun.lines(self.field.start)
        try:
            first = next(lines, None)
        except walk.GaveUp:
            self.spent += begun.tried
            return self._wide()
        begun.patience = None
        return self._walked(begun, first, lines)

    def _wide(self) -> SolveResult:
        """Look for one line as widely as memory allows, then walk on from there, or without one through everything."""
        hint: walk.Solution = ()
        weights = _weights(self.board)
        for width in WIDTHS:
            found = walk.find(self.field.start, list(self.moves), self.field.goals, weights, width, self._tick)
            self.spent += found.tried
            if found.line:
                hint = found.line
                break
        again = self._walk()
        lines = again.lines(self.field.start, hint)
        return self._walked(again, next(lines, None), lines)

    def _walk(self, patience: int | None = None) -> walk.Walk:
        return walk.Walk(list(self.moves), self.field.goals, self._tick, patience=patience)

    def _walked(self, done: walk.Walk, first: walk.Solution | None, others: Iterator[walk.Solution]) -> SolveResult:
        spent = self.spent
        facts: Mapping[str, str] = {"kernel": kernel_mode(kernel)}

        def tried() -> int:
            return spent + done.tried

        if first is None:
            where = f" at {self.board.goal}" if self.board.goal else ""
            why = f"every position was looked at: none has a single peg{where}"
            return SolveResult(nodes_searched=tried, count=0, proof=Proof.EXHAUSTION, reason=why, details=facts)
        jumps = {move: self.field.jump(it) for move, it in self.moves.items()}
        lines = (tuple(jumps[move] for move in line) for line in chain([first], others))
        return SolveResult(solutions=lines, nodes_searched=tried, details=facts)

    def _tick(self, tried: int) -> None:
        self.runtime.report_progress(None, f"{pluralize(self.spent + tried, 'jump')} tried")


def _weights(board: Board) -> list[int]:
    """Return how heavy each hole is: light near the goal, or near the middle where any end will do."""
    count = len(board.holes)
    # In units of a hole divided by their number, so that the middle is a whole number too.
    x, y = [count * at for at in board.goal] if board.goal else [sum(at) for at in zip(*board.holes, strict=True)]
    return [(count * hole.x - x) ** 2 + (count * hole.y - y) ** 2 for hole in board.holes]
