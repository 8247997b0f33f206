"""Lines of peg solitaire as drawings, one board a jump: written, and read back from a listing.

A listing is "Starting Board" and the board, then for each solution "Start Solution", every board on the way, and
"End Solution"; a blank line after each board. Other text around that does not count.
"""

import re
from collections.abc import Iterator, Sequence

from pi_appliance.errors import ConfigError, Problem, Refused
from pi_appliance.puzzles import Progress
from pi_appliance.puzzles.peg_solitaire.board import Board, Hole, Jump, Solution
from pi_appliance.puzzles.peg_solitaire.drawing import parse
from pi_appliance.puzzles.peg_solitaire.render import render

_Row = tuple[int, str]  # the number of the line in the file, from 1, and the line
OFTEN = 50  # solutions between two signs of progress: a few a second even on a small Pi
BOARD, START, END = "Starting Board", "Start Solution", "End Solution"
_ROW = re.compile(r"([^\r\n]*)(?:\r\n?|\n)?")  # one after the other, for all at once take ten times the text's memory
_SHAPE = "look for a line that is missing or too many"
_JUMP = "one peg jumps over one other into an empty hole"


def render_solution(board: Board, line: Solution) -> str:
    """Draw BOARD after each jump of LINE, a blank line after each."""
    drawn: list[str] = []
    pegs = board.pegs
    for start, end in line:
        pegs = pegs - {start, _between(start, end)} | {end}
        drawn.append(render(board, pegs) + "\n")
    return "".join(drawn)


def parse_listing(text: str, file: str, progress: Progress) -> Sequence[tuple[Board, Sequence[Solution]]]:
    """Return each starting board in TEXT with the lines listed below it.

    Raises ConfigError if it cannot be read as a listing, and Refused where a board follows by no jump.
    """
    found: list[tuple[Board, list[Solution]]] = []
    rows = enumerate((match[1] for match in _ROW.finditer(text)), 1)
    total = text.count("\n") + 1
    known: dict[Jump, Jump] = {}  # each jump once: a long listing repeats a few of them endlessly
    for number, row in rows:
        if row == BOARD:
            found.append((_board(_drawing(rows), file), []))
        elif row == START:
            if not found:
                raise ConfigError([Problem(file, number, 1, "a solution without a board", f"begin with {BOARD!r}")])
            board, lines = found[-1]
            if not len(lines) % OFTEN:
                progress(min(1.0, number / total), f"{len(lines):,} solutions read")
            lines.append(tuple(known.setdefault(jump, jump) for jump in _jumps(board, rows, number, file)))
        elif row == END:
            right = f"write {START!r} above its first board"
            raise ConfigError([Problem(file, number, 1, "this solution does not begin", right)])
    if not found:
        raise ConfigError([Problem(file, 1, 1, "this is no listing", f"begin with {BOARD!r} and the board")])
    return found


def _drawing(rows: Iterator[_Row]) -> list[_Row]:
    """Take the rows up to the next empty line."""
    taken: list[_Row] = []
    for number, row in rows:
        if not row:
            break
        taken.append((number, row))
    return taken


def _board(rows: list[_Row], file: str) -> Board:
    """Parse ROWS where they stand, so that a problem tells their own line."""
    return parse("\n".join(row for _, row in rows), file, rows[0][0] if rows else 1)


def _jumps(board: Board, rows: Iterator[_Row], start: int, file: str) -> Iterator[Jump]:
    """Yield the jumps between the boards drawn in ROWS up to the end of the solution that begins in row START."""
    pegs = board.pegs
    for number, row in rows:
        if row == END:
            return
        if row:
            drawn = _board([(number, row), *_drawing(rows)], file)
            if drawn.holes != board.holes:
                raise ConfigError([Problem(file, number, 1, "this board has another shape than the first", _SHAPE)])
            jump = _jump_between(pegs, drawn.pegs)
            if jump is None:
                raise Refused(str(Problem(file, number, 1, "this board does not follow from the one before", _JUMP)))
            yield jump
            pegs = drawn.pegs
    raise ConfigError([Problem(file, start, 1, "this solution does not end", f"write {END!r} below its last board")])


def _jump_between(before: frozenset[Hole], after: frozenset[Hole]) -> Jump | None:
    gone, came = before - after, after - before
    if len(gone) == 2 and len(came) == 1:
        for start in gone:
            jump = Jump(start, *came)
            straight = (jump.end.x - start.x) % 2 == (jump.end.y - start.y) % 2 == 0
            if straight and gone == {start, _between(*jump)}:
                return jump
    return None


def _between(start: Hole, end: Hole) -> Hole:
    return Hole((start.x + end.x) // 2, (start.y + end.y) // 2)
