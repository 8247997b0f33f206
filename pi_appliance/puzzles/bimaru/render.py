"""Write and draw Bimaru puzzles: text, pictures, and the steps of a solution as pictures."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from pi_appliance.puzzles import Grid, Step, load_board
from pi_appliance.puzzles.battleship.fleet import Solution, Square, draw_rows, format_fleet
from pi_appliance.puzzles.bimaru.board import PIECES, SHIP_MARKS, Board, Mark, draw_pieces, notate
from pi_appliance.puzzles.bimaru.search import iterate_bits
from pi_appliance.puzzles.bimaru.techniques import Deduction, SolvingGrid, iter_deductions
from pi_appliance.puzzles.deductions import CONTRADICTION, describe_deduction
from pi_appliance.puzzles.text_format import svg_document

SQUARE_SIZE = 36  # SVG units
PAGE_WATER = "~"  # on the page, because a dot is an empty cell there
LABEL_SIZE = 28  # SVG units for letters, numbers and totals
# All names of classes begin with bi-, because a page may contain pictures of other puzzles.
STYLE = """\
.bi-open{fill:#fffdf7}.bi-sea{fill:#cfe6f5}.bi-why{fill:#f6d98b}.bi-got{fill:#bfe6c8}.bi-try{fill:#dccbf2}
.bi-line{stroke:#33475b;stroke-width:1}.bi-t{font-family:system-ui,sans-serif;text-anchor:middle}
.bi-name{fill:#5b6b7a}.bi-total{fill:#1c1c1c;font-weight:700}.bi-wave{fill:none;stroke:#2f6fa8;stroke-width:2.5}
.bi-ship{fill:#4a5560}.bi-given{fill:#14181c}
@media (prefers-color-scheme:dark){.bi-open{fill:#1e2126}.bi-sea{fill:#16364d}.bi-why{fill:#5c4d1c}
.bi-got{fill:#1d4a2b}.bi-try{fill:#4a3768}.bi-line{stroke:#9fb0bf}.bi-name{fill:#a9b6c2}.bi-total{fill:#f2f2f2}
.bi-wave{stroke:#8fc1f5}.bi-ship{fill:#aab4be}.bi-given{fill:#f2f5f8}}"""


def render(board: Board | str) -> str:
    """Draw the board as text that `parse` can read: fleet, totals of the columns, rows."""
    board = load_board(board, Board)
    row_totals, column_totals = _write_totals(board, "-")
    wide, total_wide = max(map(len, column_totals)), max(map(len, row_totals))
    rows: list[tuple[str, Iterable[str]]] = [("", column_totals), *zip(row_totals, board.rows, strict=True)]
    lines = (f"{total:>{total_wide}} " + " ".join(f"{cell:>{wide}}" for cell in row) for total, row in rows)
    return f"fleet: {format_fleet(board.fleet)}\n" + "".join(f"{line}\n" for line in lines)


def _write_totals(board: Board, unknown: str) -> tuple[list[str], list[str]]:
    """Return the totals of the rows and of the columns."""
    rows, columns = (
        [unknown if total is None else str(total) for total in totals]
        for totals in (board.row_totals, board.column_totals)
    )
    return rows, columns


def render_solution(board: Board | str, solution: Solution) -> str:
    """Draw a solution: its notation, then the grid with its totals."""
    board = load_board(board, Board)
    pieces = {square: piece for ship in solution for square, piece in draw_pieces(ship)}
    rows = draw_rows(pieces, board.width, board.height, Mark.WATER)
    return f"{notate(board, solution)}\n\n{render(replace(board, rows=rows))}"


def as_grid(board: Board, solution: Solution) -> Grid:
    """Return the board for a page on which a person solves it. Water need not be filled in."""
    ships = {square: Mark.SHIP for ship in solution for square in ship.squares}
    shown = str.maketrans(f"{Mark.UNKNOWN}{Mark.WATER}{PIECES}", f".{PAGE_WATER}◀▶▲▼■●")
    row_totals, column_totals = _write_totals(board, "?")
    return Grid(
        width=board.width,
        height=board.height,
        block_width=board.width,
        block_height=board.height,
        symbols=PAGE_WATER + Mark.SHIP,
        clues="".join(board.rows).translate(shown),
        solution="".join(draw_rows(ships, board.width, board.height, PAGE_WATER)),
        optional=PAGE_WATER,
        row_totals=row_totals,
        column_totals=column_totals,
        note=f"Ships: {_group_fleet(board)}",
    )


def render_svg(board: Board | str) -> str:
    """Draw the board as one self-contained SVG picture."""
    board = load_board(board, Board)
    return _draw_picture(SolvingGrid(board), f"Bimaru: ships {_group_fleet(board)}")


def _group_fleet(board: Board) -> str:
    """Return a fleet in groups, longest ships first, such as "1x4, 2x3"."""
    return ", ".join(f"{board.fleet.count(length)}x{length}" for length in sorted({*board.fleet}, reverse=True))


def steps(board: Board | str, solution: Solution) -> Iterator[Step]:
    """Yield pictures of the steps from the given squares to `solution`; a step may be a guess."""
    board = load_board(board, Board)
    yield Step("The given squares", render_svg(board))
    grid = SolvingGrid(board)
    for deduction in iter_deductions(grid, solution):
        if deduction.technique == CONTRADICTION:
            return
        # A person only has to write ships. A step without a ship shows its water.
        squares, symbol = (deduction.ships, Mark.SHIP.value) if deduction.ships else (deduction.water, PAGE_WATER)
        first, *also = iterate_bits(squares)
        after, caption = SolvingGrid(board), describe_deduction(deduction)
        after.ships, after.water = grid.ships | deduction.ships, grid.water | deduction.water
        yield Step(caption, _draw_picture(after, caption, deduction), (first, symbol), also)


def draw_contradiction(grid: SolvingGrid, deduction: Deduction) -> str:
    """Draw a contradiction, with the squares known at that time."""
    return _draw_picture(grid, deduction.text, deduction)


def _draw_picture(grid: SolvingGrid, title: str, deduction: Deduction | None = None) -> str:
    board = grid.layout.board
    # Two rows of labels, and one for the fleet.
    width, height = 2 * LABEL_SIZE + SQUARE_SIZE * board.width, 3 * LABEL_SIZE + SQUARE_SIZE * board.height
    squares = [Square(x, y) for y in range(board.height) for x in range(board.width)]
    parts = [part for square in squares for part in _draw_square(grid, square, deduction)]
    return svg_document(width, height, title, STYLE, [*parts, *_draw_labels(board)])


def _draw_square(grid: SolvingGrid, square: Square, deduction: Deduction | None) -> Iterator[str]:
    (x, y), bit = square, 1 << grid.layout.number(square)
    mark = Mark.WATER if grid.water & bit else _find_shape(grid, x, y) if grid.ships & bit else Mark.UNKNOWN
    left, top = LABEL_SIZE + SQUARE_SIZE * x, LABEL_SIZE + SQUARE_SIZE * y
    style = "sea" if mark == Mark.WATER else "open"
    if deduction and bit & (deduction.ships | deduction.water):
        style = "try" if deduction.technique == "guess" else "got"
    elif deduction and bit & deduction.reason:
        style = "why"
    yield f'<rect class="bi-{style} bi-line" x="{left}" y="{top}" width="{SQUARE_SIZE}" height="{SQUARE_SIZE}"/>'
    if mark == Mark.WATER:
        yield f'<path class="bi-wave" d="M{left + 9} {top + 18}q4.5 -6 9 0t9 0"/>'
    elif mark in SHIP_MARKS:
        name = "given" if grid.layout.given_ships & bit else "ship"
        yield f'<path class="bi-{name}" d="{_draw_piece(mark, left + SQUARE_SIZE // 2, top + SQUARE_SIZE // 2)}"/>'


def _find_shape(grid: SolvingGrid, x: int, y: int) -> str:
    """Return the piece on a ship square, as far as its known neighbours determine it."""
    given = grid.layout.board.rows[y][x]
    if given not in (Mark.UNKNOWN, Mark.SHIP):
        return given

    def read_side(right: int, down: int) -> str:
        if not (0 <= x + right < grid.layout.width and 0 <= y + down < grid.layout.height):
            return Mark.WATER
        bit = 1 << grid.layout.number(Square(x + right, y + down))
        return Mark.WATER if grid.water & bit else Mark.SHIP if grid.ships & bit else Mark.UNKNOWN

    sides = "".join(read_side(right, down) for right, down in ((-1, 0), (1, 0), (0, -1), (0, 1)))
    ends = {".X": Mark.LEFT, "X.": Mark.RIGHT, "XX": Mark.MIDDLE}
    if Mark.SHIP in sides[2:]:
        ends = {".X": Mark.TOP, "X.": Mark.BOTTOM, "XX": Mark.MIDDLE}
        return ends.get(sides[2:], Mark.SHIP)
    return Mark.SINGLE if sides == "...." else ends.get(sides[:2], Mark.SHIP)


def _draw_piece(mark: str, x: int, y: int) -> str:
    """Return the outline of a piece around its centre. The side at an end of the ship is round."""
    half = 13
    round_end, full = f"a{half} {half} 0 0", 2 * half
    return {
        Mark.SINGLE: f"M{x - half} {y}a{half} {half} 0 1 1 {full} 0a{half} {half} 0 1 1 {-full} 0z",
        Mark.SHIP: f"M{x} {y - 9}l9 9l-9 9l-9 -9z",
        Mark.MIDDLE: f"M{x - half} {y - half}h{full}v{full}h{-full}z",
        Mark.LEFT: f"M{x + half} {y - half}v{full}h{-half}{round_end} 1 0 {-full}z",
        Mark.RIGHT: f"M{x - half} {y - half}v{full}h{half}{round_end} 0 0 {-full}z",
        Mark.TOP: f"M{x - half} {y + half}h{full}v{-half}{round_end} 0 {-full} 0z",
        Mark.BOTTOM: f"M{x - half} {y - half}h{full}v{half}{round_end} 1 {-full} 0z",
    }[Mark(mark)]


def _draw_labels(board: Board) -> Iterator[str]:
    """Yield the names of columns and rows, their totals at the right and below, and the fleet."""
    right, bottom = LABEL_SIZE + SQUARE_SIZE * board.width, LABEL_SIZE + SQUARE_SIZE * board.height
    row_totals, column_totals = _write_totals(board, "?")
    for x, total in enumerate(column_totals):
        center = LABEL_SIZE + SQUARE_SIZE * x + SQUARE_SIZE // 2
        yield _draw_text("name", center, LABEL_SIZE - 8, str(Square(x, 0))[0])
        yield _draw_text("total", center, bottom + 20, total)
    for y, total in enumerate(row_totals):
        center = LABEL_SIZE + SQUARE_SIZE * y + SQUARE_SIZE // 2 + 5
        yield _draw_text("name", LABEL_SIZE // 2, center, str(y + 1))
        yield _draw_text("total", right + LABEL_SIZE // 2, center, total)
    yield _draw_text("name", (right + LABEL_SIZE) // 2, bottom + 46, f"ships: {_group_fleet(board)}")


def _draw_text(style: str, x: int, y: int, text: str) -> str:
    return f'<text class="bi-t bi-{style}" font-size="{16 if style == "total" else 13}" x="{x}" y="{y}">{text}</text>'
