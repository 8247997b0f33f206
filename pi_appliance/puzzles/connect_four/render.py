"""Draws a Connect Four position and how it goes on: as text, and as SVG pictures."""

from collections.abc import Iterable, Iterator, Mapping

from pi_appliance.puzzles import Step
from pi_appliance.puzzles.connect_four.board import (
    EMPTY,
    HEIGHT,
    LETTERS,
    NOTHING,
    WIDTH,
    Board,
    Colour,
    End,
    Solution,
    Square,
    describe,
    ended,
    fours,
    turn_told,
)
from pi_appliance.puzzles.connect_four.notation import notate
from pi_appliance.puzzles.rendering import svg_document

UNIT = 48  # the side of a square, in the picture's own units
EDGE = 10
HEAD = 30  # above the grid, where a column's name or score stands
# A blue grid, darker by night. A ring has two colours, so that it is seen on either disc.
STYLE = """\
.four-name{font:bold 15px system-ui,sans-serif;text-anchor:middle;fill:#4a5568}.four-grid{fill:#1f5fbf}
.four-hole{fill:#fff}.four-red{fill:#d62839}.four-yellow{fill:#f5c518}.four-last{fill:none;stroke:#fff;stroke-width:3}
.four-ring{fill:none;stroke:#fff;stroke-width:5}.four-core{fill:none;stroke:#111;stroke-width:2}.four-best{fill:#0a7d38}
@media (prefers-color-scheme:dark){.four-name{fill:#a0aec0}.four-grid{fill:#1d3f78}.four-hole{fill:#0d1117}
.four-red{fill:#e5484d}.four-yellow{fill:#e8bd23}.four-best{fill:#56d364}}"""


def render(board: Board) -> str:
    """Draw BOARD from the top; below it, where the discs do not tell that, who is to move, and the game if known."""
    rows = list(board.rows)
    if board.turn is not (turn_told(board.rows) or Colour.RED):
        rows.append(f"{board.turn} to move")
    if board.moves:
        rows.append(f"Moves {''.join(map(str, board.moves))}")
    return "".join(f"{row}\n" for row in rows)


def render_solution(board: Board, line: Solution) -> str:
    """Draw LINE: its notation, its moves as a list with colours, and the grid at the end."""
    *columns, _ = line
    colours = (board.turn, board.turn.other)
    moves = [f"{LETTERS[int(column) - 1]}_{colours[number % 2]}" for number, column in enumerate(columns)]
    *_, last = _boards(board, columns)
    return f"{notate(board, line)}\n" + (f"{', '.join(moves)}\n" if moves else "") + "\n" + "\n".join(last.rows) + "\n"


def render_svg(board: Board, last: Square | None = None, names: Mapping[int, str] | None = None) -> str:
    """Draw BOARD as a picture that needs nothing else, its fours ringed.

    LAST is the disc played last. NAMES are written above the columns, in place of their letters.
    """
    parts = [
        *_names(names),
        _grid(),
        *(_square(board, column, row) for column in range(WIDTH) for row in range(HEIGHT)),
    ]
    ringed = {square for _, four in fours(board.rows) for square in four}
    if last and last not in ringed:
        parts.append(_circle("last", last, 8))
    for square in sorted(ringed):
        parts += [_circle("ring", square, 15), _circle("core", square, 15)]
    width, height = WIDTH * UNIT + 2 * EDGE, HEIGHT * UNIT + 2 * EDGE + HEAD
    return svg_document(width, height, f"Connect Four: {describe(board)}", STYLE, parts)


def render_scores(board: Board, scores: Mapping[int, int]) -> str:
    """Draw BOARD with the SCORES of the columns above them, the best ones standing out."""
    best = max(scores.values())
    return render_svg(
        board, names={column: f"{score:+d}*" if score == best else f"{score:+d}" for column, score in scores.items()}
    )


def steps(board: Board, line: Solution) -> Iterator[Step]:
    """Yield the pictures that play LINE from the beginning; where nothing is left to play, the game that led there."""
    *columns, end = line
    if not columns:
        board, columns = Board(NOTHING.rows, board.first), list(board.moves)
    yield Step(describe(board), render_svg(board))
    before = board
    for number, (column, after) in enumerate(zip(columns, list(_boards(board, columns))[1:], strict=True), 1):
        square = Square(int(column), after.height(int(column)))
        over = f": {end}" if number == len(columns) and ended(after) else ""
        yield Step(f"{number}. {before.turn} {square}{over}", render_svg(after, square))
        before = after


def _boards(board: Board, columns: Iterable[int | End]) -> Iterator[Board]:
    yield board
    for column in columns:
        board = board.played(int(column))
        yield board


def _names(names: Mapping[int, str] | None) -> Iterator[str]:
    for column in range(1, WIDTH + 1):
        text = LETTERS[column - 1] if names is None else names.get(column, "")
        best = " four-best" if text.endswith("*") else ""
        x, y = EDGE + (column - 0.5) * UNIT, HEAD - 8
        yield f'<text class="four-name{best}" x="{x:g}" y="{y}">{text.removesuffix("*")}</text>'


def _grid() -> str:
    width, height = WIDTH * UNIT + 2 * EDGE, HEIGHT * UNIT + 2 * EDGE
    return f'<rect class="four-grid" x="0" y="{HEAD}" width="{width}" height="{height}" rx="16"/>'


def _square(board: Board, column: int, row: int) -> str:
    mark = board.rows[HEIGHT - 1 - row][column]
    kind = {EMPTY: "hole", "R": "red", "Y": "yellow"}[mark]
    return _circle(kind, Square(column + 1, row + 1), 20)


def _circle(kind: str, square: Square, radius: int) -> str:
    x, y = EDGE + (square.column - 0.5) * UNIT, HEAD + EDGE + (HEIGHT - square.row + 0.5) * UNIT
    return f'<circle class="four-{kind}" cx="{x:g}" cy="{y:g}" r="{radius}"/>'
