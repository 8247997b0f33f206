"""An independent reference implementation of peg solitaire with sets of holes."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from pi_appliance.puzzles.peg_solitaire import Board, Hole, Jump, with_rules
from pi_appliance.puzzles.peg_solitaire.board import BOARDS
from pi_appliance.puzzles.peg_solitaire.notation import parse
from pi_appliance.puzzles.runtime import Interrupted, SearchRuntime

EXAMPLES = Path(__file__).parents[3] / "config" / "boards"


def known_board(name: str, goal: str = "", **rules: str) -> Board:
    """Return a board that is known by name, or drawn with its rows between slashes."""
    drawing = BOARDS[name] if name in BOARDS else name.replace("/", "\n")
    return with_rules(parse(drawing, name), {"goal": goal, **rules})


def triangle(empty: Hole, side: int = 5) -> Board:
    """Return the triangle of `side` rows with one empty hole."""
    holes = tuple(Hole(x, y) for y in range(side) for x in range(y + 1))
    return Board(holes, frozenset(holes) - {empty}, triangular=True)


def jumps(board: Board, pegs: frozenset[Hole]) -> Iterator[tuple[Jump, frozenset[Hole]]]:
    """Yield each jump that is open, with the pegs after it, in reading order: to the right, left, down, up."""
    ways = [(1, 0), (-1, 0), (0, 1), (0, -1), *([(1, 1), (-1, -1)] if board.triangular else [])]
    for start in board.holes:
        for dx, dy in ways:
            over, end = Hole(start.x + dx, start.y + dy), Hole(start.x + 2 * dx, start.y + 2 * dy)
            if start in pegs and over in pegs and end in board.holes and end not in pegs:
                yield Jump(start, end), pegs - {start, over} | {end}


def plain(board: Board, pegs: frozenset[Hole], path: tuple[Jump, ...] = ()) -> Iterator[tuple[Jump, ...]]:
    """Yield every line, by trying everything."""
    if len(pegs) == 1:
        if board.goal is None or board.goal in pegs:
            yield path
        return
    for jump, after in jumps(board, pegs):
        yield from plain(board, after, (*path, jump))


def levels(board: Board) -> list[Counter[frozenset[Hole]]]:
    """Return the positions after each number of jumps, with the number of ways to each."""
    result = [Counter({board.pegs: 1})]
    while result[-1]:
        after: Counter[frozenset[Hole]] = Counter()
        for pegs, ways in result[-1].items():
            for _, each in jumps(board, pegs):
                after[each] += ways
        result.append(after)
    return result[:-1]


def moves(line: tuple[Jump, ...]) -> int:
    """Return the number of moves of `line`: consecutive jumps of one peg are one."""
    return sum(number == 0 or line[number - 1].end != jump.start for number, jump in enumerate(line))


class InterruptedRuntime(SearchRuntime):
    """A runtime that is interrupted after some progress reports; its cache is that of `before`."""

    def __init__(self, before: SearchRuntime, words: int, clock: Callable[[], float] = lambda: 0.0) -> None:
        super().__init__(clock)
        self.cache, self.words = before.cache, words

    def report_progress(self, part: float | None, note: str) -> None:  # noqa: ARG002 - as in the base class
        self.words -= 1
        if self.words < 0:
            raise Interrupted("the test has no time")
