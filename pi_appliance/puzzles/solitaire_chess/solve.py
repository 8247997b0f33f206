"""Solves solitaire chess: depth first, one line after the other, or breadth first; and how many lines there are.

Depth first remembers the positions that lead nowhere, and so has the first line soon, also where there are far too many
positions to look at. Breadth first keeps all positions. Both give the same lines in the same order. Lines are counted
over positions, not one by one: there are soon hundreds of millions of lines, but few positions.
"""

from collections.abc import Iterator
from itertools import chain

from pi_appliance.puzzles import Proof, SolveMode, SolveResult, Table, kernel_mode, pluralize
from pi_appliance.puzzles.runtime.interface import Interrupted, SearchRuntime
from pi_appliance.puzzles.solitaire_chess import kernel
from pi_appliance.puzzles.solitaire_chess.board import NAMES, PIECES, Board, King, Search, Solution
from pi_appliance.puzzles.solitaire_chess.levels import Levels, Ways
from pi_appliance.puzzles.solitaire_chess.seats import Position, position_of

A_RUN = 5_000  # captures in one call of the kernel: 0.1 s of a slow Pi in plain Python
CENSUS = 400_000  # positions that are counted where lines are listed depth first: 100 MB at the most


def solve(board: Board, mode: SolveMode, runtime: SearchRuntime) -> SolveResult:
    """Return the answer for BOARD: by then it is known whether there is one. Raises Interrupted; Refused (memory)."""
    kings = list(board.men.values()).count("K")
    if board.king is King.LAST and kings > 1:
        why = f"there are {kings} kings, and none of them may be captured"
        return SolveResult(count=0, proof=Proof.CONTRADICTION, reason=why, details=_facts(board))
    position = position_of(board)
    levels = Levels(board, position, runtime)
    if mode is SolveMode.COUNT:
        return _counted(board, levels)
    if board.search is Search.BREADTH:
        return _broad(board, levels, mode)
    lines = Depth(position, runtime)
    first = next(lines.found, None)
    if first is None:
        return _none(board, f"{pluralize(lines.walk.dead, 'position')}, depth first", lines.walk.tried)
    answer = SolveResult(
        solutions=chain([first], lines.found), nodes_searched=lambda: lines.walk.tried, details=_facts(board)
    )
    if mode is SolveMode.FIRST:
        return SolveResult(solutions=iter([first]), nodes_searched=answer.nodes_searched, details=answer.details)
    last = levels.last(CENSUS)
    return answer if last is None else _with_count(answer, sum(last.values()), _tables(levels, last))


def hint(board: Board, runtime: SearchRuntime) -> str:
    """Return the next capture of a line of BOARD in words."""
    if len(board.men) == 1:
        return "it is solved"
    answer = solve(board, SolveMode.FIRST, runtime)
    line: Solution | None = next(answer.solutions, None)
    if line is None:
        return f"it cannot be solved: {answer.reason}"
    start, end = line[0]
    piece, captured = NAMES[board.men[start]], NAMES[board.men[end]]
    left = pluralize(len(line) - 1, "capture")
    return f"capture the {captured} on {end} with the {piece} from {start}; then {left} more"


class Depth:
    """The lines of one board, depth first, each found as it is asked for."""

    def __init__(self, position: Position, runtime: SearchRuntime) -> None:
        self.position, self.runtime = position, runtime
        self.goal = len(position.start) - 1
        self.walk = kernel.Walk(position.seats, position.start, self.goal)
        self.found = self._lines() if self.goal else iter([()])

    def _lines(self) -> Iterator[Solution]:
        while said := self.walk.run(A_RUN):
            if said == kernel.FOUND:
                yield tuple(self.position.capture(*seats) for seats in self.walk.line())
            else:
                self._tell()

    def _tell(self) -> None:
        try:
            self.runtime.report_progress(None, f"{pluralize(self.walk.tried, 'capture')} tried")
        except Interrupted as stop:
            stop.partial_result = f"{pluralize(self.walk.dead, 'position')} without a solution"
            raise


def _counted(board: Board, levels: Levels) -> SolveResult:
    last = levels.last()
    assert last is not None, "there is no limit"
    if len(levels.sizes) <= levels.captures:
        return _none(board, pluralize(levels.positions, "position"), levels.tried, levels)
    answer = SolveResult(nodes_searched=lambda: levels.tried, details=_facts(board))
    return _with_count(answer, sum(last.values()), _tables(levels, last))


def _broad(board: Board, levels: Levels, mode: SolveMode) -> SolveResult:
    alive = levels.alive()
    if not alive[0]:
        return _none(board, pluralize(levels.positions, "position"), levels.tried, levels)
    lines = _along(levels, alive)
    answer = SolveResult(solutions=lines, nodes_searched=lambda: levels.tried, details=_facts(board))
    if mode is SolveMode.FIRST:
        return SolveResult(solutions=iter([next(lines)]), nodes_searched=answer.nodes_searched, details=answer.details)
    return _with_count(answer, alive[0][levels.position.start], [_sizes(levels)])


def _along(levels: Levels, alive: list[Ways]) -> Iterator[Solution]:
    """Yield every line through the positions ALIVE."""
    position = levels.position

    def onwards(key: bytes, number: int) -> Iterator[Solution]:
        if number == levels.captures:
            yield ()
            return
        for start, end, child in position.seats.children(key):
            if child in alive[number + 1]:
                for rest in onwards(child, number + 1):
                    yield (position.capture(start, end), *rest)

    return onwards(position.start, 0)


def _none(board: Board, looked: str, tried: int, levels: Levels | None = None) -> SolveResult:
    why = f"every position was looked at, {looked}: none has a single piece"
    tables = [_sizes(levels)] if levels else []
    if levels:
        fewest = len(board.men) - len([size for size in levels.sizes[1:] if size])
        why = f"every position was looked at, {looked}: at best {fewest} pieces are left"
    proof = Proof.EXHAUSTION
    return SolveResult(
        count=0, proof=proof, reason=why, nodes_searched=lambda: tried, details=_facts(board), tables=tables
    )


def _with_count(answer: SolveResult, count: int, tables: list[Table]) -> SolveResult:
    return SolveResult(
        solutions=answer.solutions,
        nodes_searched=answer.nodes_searched,
        count=count,
        details=answer.details,
        tables=tables,
    )


def _tables(levels: Levels, last: Ways) -> list[Table]:
    """Return the sizes of the levels, and which piece is left where."""
    left: dict[tuple[str, str], int] = {}
    for key, ways in last.items():
        seat = next(number for number, piece in enumerate(key) if piece)
        end = NAMES[PIECES[(key[seat] & 7) - 1]], str(levels.position.squares[seat])
        left[end] = left.get(end, 0) + ways
    rows = [(piece, square, ways) for (piece, square), ways in sorted(left.items(), key=lambda item: -item[1])]
    return [_sizes(levels), Table("Solutions by the piece that is left", ("piece", "square", "solutions"), rows)]


def _sizes(levels: Levels) -> Table:
    return Table("Positions after so many captures", ("captures", "positions"), list(enumerate(levels.sizes)))


def _facts(board: Board) -> dict[str, int | float | str]:
    return {"pieces": len(board.men), "kernel": kernel_mode(kernel)}
