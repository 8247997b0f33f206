"""Parse, write and draw boards, solutions and listings of peg solitaire."""

import math
import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from itertools import accumulate, islice, pairwise
from operator import not_

from pi_appliance.errors import Problem, Refused
from pi_appliance.puzzles import Progress, Step, load_board, pluralize, text_format
from pi_appliance.puzzles.peg_solitaire.board import Board, Hole, Jump, Solution, looks_spaced
from pi_appliance.puzzles.text_format import SOLUTION_END, Problems, find_tokens, parse_error, svg_document

HOLE_SIZE = 40  # SVG units
# The colour of wood, and of dark wood in dark mode.
STYLE = """\
.peg-wood{fill:#c8a06a;stroke:#c8a06a}.peg-hole{fill:#8b6538}.peg-goal{stroke:#1f6feb}
.peg-body{fill:#b3261e}.peg-shine{fill:#fff;fill-opacity:.35}
.peg-path{stroke:#1f5fbf}.peg-head{fill:#1f5fbf}.peg-gone{stroke:#b3261e}
@media (prefers-color-scheme:dark){.peg-wood{fill:#5b4630;stroke:#5b4630}.peg-hole{fill:#2e2216}
.peg-goal{stroke:#79b8ff}.peg-body{fill:#e5675e}
.peg-path{stroke:#8cc4ff}.peg-head{fill:#8cc4ff}.peg-gone{stroke:#e5675e}}"""


def render(board: Board | str) -> str:
    """Draw the board as text that `parse` can read."""
    board = load_board(board, Board)
    return _draw_rows(board, board.pegs)


def _draw_rows(board: Board, pegs: AbstractSet[Hole]) -> str:
    marks = {(x, hole.y): PEG if hole in pegs else EMPTY_MARKS[0] for hole, x in _columns(board).items()}
    # A space would look like a separator.
    blank = "#" if not board.triangular and looks_spaced(board.holes) else " "
    width, height = (max(at) + 1 for at in zip(*marks, strict=True))
    rows = ["".join(marks.get((x, y), blank) for x in range(width)) for y in range(height)]
    return "\n".join([TRIANGLE_HEADER, *rows] if board.triangular else rows) + "\n"


def _columns(board: Board) -> dict[Hole, int]:
    """Return the column of each hole in a drawing; on triangles, a hole has two columns."""
    if not board.triangular:
        return {hole: hole.x for hole in board.holes}
    left = min(2 * x - y for x, y in board.holes)
    return {hole: 2 * hole.x - hole.y - left for hole in board.holes}


def render_svg(board: Board | str) -> str:
    """Draw the board as one self-contained SVG picture."""
    board = load_board(board, Board)
    return _draw_picture(board, board.pegs)


def _draw_picture(board: Board, pegs: AbstractSet[Hole], jump: Jump | None = None) -> str:
    # In a triangular grid, rows are sqrt(3/4) apart.
    across, down = (HOLE_SIZE / 2, HOLE_SIZE * 0.866) if board.triangular else (HOLE_SIZE, HOLE_SIZE)
    middles = {hole: (x * across + HOLE_SIZE, hole.y * down + HOLE_SIZE) for hole, x in _columns(board).items()}
    width, height = (max(at) + HOLE_SIZE for at in zip(*middles.values(), strict=True))
    # Squares or discs with a broad round stroke join to one board.
    parts = ['<g class="peg-wood" stroke-width="24" stroke-linejoin="round">']
    half = HOLE_SIZE / 2
    for x, y in middles.values():
        if board.triangular:
            parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="{half:g}"/>')
        else:
            parts.append(f'<rect x="{x - half:g}" y="{y - half:g}" width="{HOLE_SIZE}" height="{HOLE_SIZE}"/>')
    parts.append("</g>")
    for hole, (x, y) in middles.items():
        parts.append(f'<circle class="peg-hole" cx="{x:g}" cy="{y:g}" r="8"/>')
        if hole == board.goal:
            parts.append(f'<circle class="peg-goal" cx="{x:g}" cy="{y:g}" r="18" fill="none" stroke-width="3"/>')
        if hole in pegs:
            parts.append(f'<circle class="peg-body" cx="{x:g}" cy="{y:g}" r="15"/>')
            parts.append(f'<circle class="peg-shine" cx="{x - 5:g}" cy="{y - 5:g}" r="4"/>')
    parts += _draw_jump(middles[jump.start], middles[jump.end]) if jump else []
    title = f"Peg solitaire: {pluralize(len(pegs), 'peg')} in {pluralize(len(board.holes), 'hole')}"
    return svg_document(width, height, title, STYLE, parts)


def _draw_jump(start: tuple[float, float], end: tuple[float, float]) -> list[str]:
    (x, y), (u, v) = start, end
    right, down = (u - x) / math.dist(start, end), (v - y) / math.dist(start, end)
    tip, back = (u - 15 * right, v - 15 * down), (u - 28 * right, v - 28 * down)
    corners = (tip, (back[0] - 8 * down, back[1] + 8 * right), (back[0] + 8 * down, back[1] - 8 * right))
    return [
        f'<circle class="peg-gone" cx="{(x + u) / 2:g}" cy="{(y + v) / 2:g}" r="13" fill="none" stroke-width="3"'
        ' stroke-dasharray="5 4"/>',
        f'<line class="peg-path" x1="{x:g}" y1="{y:g}" x2="{back[0]:g}" y2="{back[1]:g}" stroke-width="4"/>',
        '<polygon class="peg-head" points="' + " ".join(f"{a:.4g},{b:.4g}" for a, b in corners) + '"/>',
    ]


def steps(board: Board | str, solution: Solution) -> Iterator[Step]:
    """Yield the starting board and the board after each jump."""
    board = load_board(board, Board)
    yield Step(f"Start: {pluralize(len(board.pegs), 'peg')}", render_svg(board))
    pegs = board.pegs
    for number, jump in enumerate(solution, 1):
        pegs = _apply_jump(pegs, jump)
        yield Step(f"Jump {number} of {len(solution)}: {jump}", _draw_picture(board, pegs, jump))


PEG = "X"
EMPTY_MARKS = "O."
NO_HOLE_MARKS = " #"
TRIANGLE_HEADER = "triangle"
MAX_SIDE = 15
MAX_HOLES = 64  # because a position is one 64-bit word
_BAD_MARK = re.compile(f"[^{PEG}{EMPTY_MARKS}{NO_HOLE_MARKS}]")
_SYNONYMS = str.maketrans("xo●○", "XOXO")  # other common notations
_SUGGESTIONS = {"0": "O", "*": "X", "_": ".", "-": "."}
_DRAWING_HELP = "a board is drawn with X for a peg, O or . for an empty hole, a space or # where there is none"
_STAGGER_HELP = "shift each row by half a place, with a space between two marks"


def parse(text: str, file: str = "board") -> Board:
    """Parse a drawn board. Raises ConfigError with every problem.

    >>> from pi_appliance.puzzles import peg_solitaire
    >>> peg_solitaire.parse("XX.").holes
    (Hole(x=0, y=0), Hole(x=1, y=0), Hole(x=2, y=0))
    """
    rows = [row.rstrip() for row in text.splitlines()]
    head = next((number for number, row in enumerate(rows) if row), 0)
    triangular = bool(rows) and rows[head].strip().lower() == TRIANGLE_HEADER
    if triangular:
        rows[head] = ""
    rows = [row.translate(_SYNONYMS) for row in rows]
    problems = Problems(file)
    for number, row in enumerate(rows, 1):
        if bad := _BAD_MARK.search(row):
            what = "a tab" if bad[0] == "\t" else repr(bad[0])
            right = f"did you mean {_SUGGESTIONS[bad[0]]!r}?" if bad[0] in _SUGGESTIONS else _DRAWING_HELP
            problems.add(number, bad.start() + 1, f"{what} is not part of a board", right)
    problems.raise_any()
    drawn = [Hole(x, y) for y, row in enumerate(rows) for x, mark in enumerate(row) if mark not in NO_HOLE_MARKS]
    if not drawn:
        raise parse_error(file, 1, 1, "no board is drawn here", _DRAWING_HELP)
    staggered = triangular and not any(Hole(x + 1, y) in set(drawn) for x, y in drawn)
    places = drawn
    if staggered:
        _check_stagger(drawn, problems)
        problems.raise_any()
        places = [Hole((at.x + at.y) // 2, at.y) for at in drawn]
    elif not triangular and looks_spaced(drawn) and not any("#" in row for row in rows):
        places = [Hole(at.x // 2, at.y) for at in drawn]
    left, top = min(x for x, _ in places), min(y for _, y in places)
    holes = [Hole(x - left, y - top) for x, y in places]
    _check_size(drawn, holes, problems)
    pegs = frozenset(hole for hole, (x, y) in zip(holes, drawn, strict=True) if rows[y][x] == PEG)
    if not pegs:
        problems.add(drawn[0].y + 1, min(x for x, _ in drawn) + 1, "the board has no peg", "draw pegs as X")
    problems.raise_any()
    return Board(tuple(holes), pegs, triangular=triangular)


def _check_stagger(drawn: list[Hole], problems: Problems) -> None:
    """Report the first mark of each row that is directly below a mark of another row."""
    side = sum(drawn[0]) % 2
    wrong = {hole.y: hole for hole in reversed(drawn) if sum(hole) % 2 != side}
    for y, hole in sorted(wrong.items()):
        problems.add(y + 1, hole.x + 1, "this mark is directly below a mark of another row", _STAGGER_HELP)


def _check_size(drawn: list[Hole], holes: list[Hole], problems: Problems) -> None:
    """Add the first hole beyond each limit. Both lists are in reading order."""
    right = f"a board has at most {MAX_HOLES} holes, {MAX_SIDE} a row and {MAX_SIDE} rows"
    both = list(zip(drawn, holes, strict=True))
    beyond = {
        f"the board is more than {MAX_SIDE} holes wide": [at for at, hole in both if hole.x >= MAX_SIDE],
        f"the board is more than {MAX_SIDE} rows high": [at for at, hole in both if hole.y >= MAX_SIDE],
        f"the board has {len(drawn)} holes": drawn[MAX_HOLES:],
    }
    for wrong, places in beyond.items():
        if places:
            problems.add(places[0].y + 1, places[0].x + 1, wrong, right)


_SHAPE_HELP = "look for a missing or extra line"
_FOLLOW_HELP = "one peg jumps over one other into an empty hole"


def render_solution(board: Board | str, solution: Solution) -> str:
    """Draw the board after each jump, each followed by a blank line."""
    board = load_board(board, Board)
    boards = accumulate(solution, _apply_jump, initial=board.pegs)
    return "".join(_draw_rows(board, pegs) + "\n" for pegs in islice(boards, 1, None))


def parse_listing(text: str, file: str, progress: Progress) -> Sequence[tuple[Board, Sequence[Solution]]]:
    """Return each board of a listing with its solutions. Raises ConfigError, Refused."""
    known: dict[Jump, Jump] = {}  # long listings repeat few jumps, so equal ones are shared

    def read_solution(board: Board, rows: text_format.Rows, start: int) -> Solution:
        return tuple(known.setdefault(jump, jump) for jump in _read_jumps(board, rows, start, file))

    return text_format.parse_listing(text, file, progress, board_of=parse, read_solution=read_solution, is_blank=not_)


def _read_jumps(board: Board, rows: text_format.Rows, start: int, file: str) -> Iterator[Jump]:
    pegs = board.pegs
    for number, row in rows:
        if row == SOLUTION_END:
            return
        if row:
            drawing = "\n".join([row, *(below for _, below in text_format.take_drawing(rows, not_))])
            drawn = text_format.move_problems(partial(parse, drawing, file), number - 1)
            if drawn.holes != board.holes:
                raise parse_error(file, number, 1, "this board has a different shape", _SHAPE_HELP)
            jump = _find_jump(pegs, drawn.pegs)
            if jump is None:
                problem = Problem(file, number, 1, "this board does not follow from the one before", _FOLLOW_HELP)
                raise Refused(str(problem))
            yield jump
            pegs = drawn.pegs
    raise text_format.unended_solution(file, start)


def _find_jump(before: frozenset[Hole], after: frozenset[Hole]) -> Jump | None:
    gone, came = before - after, after - before
    if len(gone) == 2 and len(came) == 1:
        for start in gone:
            jump = Jump(start, *came)
            straight = (jump.end.x - start.x) % 2 == (jump.end.y - start.y) % 2 == 0
            if straight and _apply_jump(before, jump) == after:
                return jump
    return None


def _apply_jump(pegs: frozenset[Hole], jump: Jump) -> frozenset[Hole]:
    start, end = jump
    return pegs - {start, Hole((start.x + end.x) // 2, (start.y + end.y) // 2)} | {end}


_MOVE = re.compile(r"\d{1,2},\d{1,2}(-\d{1,2},\d{1,2})+", re.ASCII)
_HOLE = re.compile(r"\d+,\d+", re.ASCII)
_JUMP_HELP = (
    "a jump is written from-to, holes as x,y, such as 3,1-3,3, with one more hole for each jump of the same peg"
)


def notate(board: Board | str, solution: Solution) -> str:  # noqa: ARG001 - as every puzzle has it
    """Return the solution in one row; consecutive jumps of one peg are joined.

    >>> from pi_appliance.puzzles import peg_solitaire
    >>> peg_solitaire.notate("XX.", next(peg_solitaire.solve("XX.").solutions))
    '0,0-2,0'
    """
    moves: list[list[Hole]] = []  # for each move, the holes through which its peg passes
    for start, end in solution:
        if moves and moves[-1][-1] == start:
            moves[-1].append(end)
        else:
            moves.append([start, end])
    return " ".join("-".join(map(str, move)) for move in moves)


def parse_solution(board: Board | str, text: str, file: str = "solution") -> Solution:
    """Parse a solution in notation, legal or not. Raises ConfigError with every problem."""
    board = load_board(board, Board)
    jumps, problems = list[Jump](), Problems(file)
    example = board.holes[len(board.holes) // 2]
    hole_help = f"write a hole as x,y, both counted from 0 at the top left, such as {example}"
    for word, (line, column) in find_tokens(text):
        if not _MOVE.fullmatch(word):
            problems.add(line, column, f"{word!r} is not a jump", _JUMP_HELP)
            continue
        holes = {each.start(): Hole(*map(int, each[0].split(","))) for each in _HOLE.finditer(word)}
        jumps += [Jump(start, end) for start, end in pairwise(holes.values())]
        for at, hole in holes.items():
            if hole not in board.holes:
                problems.add(line, column + at, f"there is no hole at {hole}", hole_help)
    if not jumps and not problems and len(board.pegs) != 1:
        problems.add(1, 1, "no jump is written here", _JUMP_HELP)
    problems.raise_any()
    return tuple(jumps)
