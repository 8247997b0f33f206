"""Draw positions and solutions as text and as SVG."""

from collections.abc import Iterable, Iterator, Mapping

from pi_appliance.puzzles import Step
from pi_appliance.puzzles.connect_four.board import (
    EMPTY,
    EMPTY_BOARD,
    HEIGHT,
    LETTERS,
    WIDTH,
    Board,
    Colour,
    End,
    Solution,
    Square,
    describe,
    find_fours,
    game_end,
    implied_turn,
)
from pi_appliance.puzzles.connect_four.notation import notate
from pi_appliance.puzzles.rendering import svg_document

SQUARE_SIZE = 48  # SVG units
MARGIN = 10
HEADER_HEIGHT = 30  # for column labels above the grid
# Rings have two colours to be visible on both kinds of discs.
STYLE = """\
.four-name{font:bold 15px system-ui,sans-serif;text-anchor:middle;fill:#4a5568}.four-grid{fill:#1f5fbf}
.four-hole{fill:#fff}.four-red{fill:#d62839}.four-yellow{fill:#f5c518}.four-last{fill:none;stroke:#fff;stroke-width:3}
.four-ring{fill:none;stroke:#fff;stroke-width:5}.four-core{fill:none;stroke:#111;stroke-width:2}.four-best{fill:#0a7d38}
@media (prefers-color-scheme:dark){.four-name{fill:#a0aec0}.four-grid{fill:#1d3f78}.four-hole{fill:#0d1117}
.four-red{fill:#e5484d}.four-yellow{fill:#e8bd23}.four-best{fill:#56d364}}"""


def render(board: Board) -> str:
    """Draw the grid from the top, then the side to move if not implied, and known moves."""
    rows = list(board.rows)
    if board.turn is not (implied_turn(board.rows) or Colour.RED):
        rows.append(f"{board.turn} to move")
    if board.moves:
        rows.append(f"Moves {''.join(map(str, board.moves))}")
    return "".join(f"{row}\n" for row in rows)


def render_solution(board: Board, line: Solution) -> str:
    """Return the notation, the moves with colours, and the final grid."""
    *columns, _ = line
    colours = (board.turn, board.turn.other)
    moves = [f"{LETTERS[int(column) - 1]}_{colours[number % 2]}" for number, column in enumerate(columns)]
    *_, last = _boards(board, columns)
    return f"{notate(board, line)}\n" + (f"{', '.join(moves)}\n" if moves else "") + "\n" + "\n".join(last.rows) + "\n"


def render_svg(board: Board, last: Square | None = None, names: Mapping[int, str] | None = None) -> str:
    """Draw the position with rings around fours and a mark on `last`, below `names`."""
    kinds = {EMPTY: "hole", "R": "red", "Y": "yellow"}
    width, height = WIDTH * SQUARE_SIZE + 2 * MARGIN, HEIGHT * SQUARE_SIZE + 2 * MARGIN
    parts = [
        *_draw_labels(names),
        f'<rect class="four-grid" x="0" y="{HEADER_HEIGHT}" width="{width}" height="{height}" rx="16"/>',
        *(
            _draw_circle(kinds[board.rows[HEIGHT - 1 - row][column]], Square(column + 1, row + 1), 20)
            for column in range(WIDTH)
            for row in range(HEIGHT)
        ),
    ]
    ringed = {square for _, four in find_fours(board.rows) for square in four}
    if last and last not in ringed:
        parts.append(_draw_circle("last", last, 8))
    for square in sorted(ringed):
        parts += [_draw_circle("ring", square, 15), _draw_circle("core", square, 15)]
    return svg_document(width, height + HEADER_HEIGHT, f"Connect Four: {describe(board)}", STYLE, parts)


def render_scores(board: Board, scores: Mapping[int, int]) -> str:
    """Draw the position with the score above each column; the best ones stand out."""
    best = max(scores.values())
    return render_svg(
        board, names={column: f"{score:+d}*" if score == best else f"{score:+d}" for column, score in scores.items()}
    )


def steps(board: Board, line: Solution) -> Iterator[Step]:
    """Yield a picture per move; for a finished game, the moves that led there."""
    *columns, end = line
    if not columns:
        board, columns = Board(EMPTY_BOARD.rows, board.first), list(board.moves)
    yield Step(describe(board), render_svg(board))
    before = board
    for number, (column, after) in enumerate(zip(columns, list(_boards(board, columns))[1:], strict=True), 1):
        square = Square(int(column), after.height(int(column)))
        over = f": {end}" if number == len(columns) and game_end(after) else ""
        yield Step(f"{number}. {before.turn} {square}{over}", render_svg(after, square))
        before = after


def _boards(board: Board, columns: Iterable[int | End]) -> Iterator[Board]:
    yield board
    for column in columns:
        board = board.play(int(column))
        yield board


def _draw_labels(names: Mapping[int, str] | None) -> Iterator[str]:
    for column in range(1, WIDTH + 1):
        text = LETTERS[column - 1] if names is None else names.get(column, "")
        best = " four-best" if text.endswith("*") else ""
        x, y = MARGIN + (column - 0.5) * SQUARE_SIZE, HEADER_HEIGHT - 8
        yield f'<text class="four-name{best}" x="{x:g}" y="{y}">{text.removesuffix("*")}</text>'


def _draw_circle(kind: str, square: Square, radius: int) -> str:
    x, y = (
        MARGIN + (square.column - 0.5) * SQUARE_SIZE,
        HEADER_HEIGHT + MARGIN + (HEIGHT - square.row + 0.5) * SQUARE_SIZE,
    )
    return f'<circle class="four-{kind}" cx="{x:g}" cy="{y:g}" r="{radius}"/>'
