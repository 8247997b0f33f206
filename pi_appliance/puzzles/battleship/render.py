"""Draw a battleship board and its solutions as text and SVG, and the probability map."""

from collections.abc import Iterable, Iterator
from math import sqrt
from string import ascii_lowercase, ascii_uppercase

from pi_appliance.puzzles import Step, Table, pluralize
from pi_appliance.puzzles.battleship.board import HIT, MISS, RULES, SUNK, UNKNOWN, Board
from pi_appliance.puzzles.battleship.count import Marginals
from pi_appliance.puzzles.battleship.fleet import Ship, Solution, Square, draw_rows, format_fleet, parse_ships
from pi_appliance.puzzles.rendering import svg_document

SQUARE_SIZE = 36  # SVG units
LABEL_SIZE = 28  # SVG units for letters and numbers
# Day and night colours. Hits differ in shape as well as in colour.
STYLE = """\
.bs-sea{fill:#cfe6f5}.bs-fog{fill:#9fb8c9}.bs-grid{stroke:#fff;stroke-width:1.5}.bs-name{fill:#33475b}
.bs-miss{fill:#fff;stroke:#5b7f99;stroke-width:2}.bs-ship{fill:#4a5560;stroke:#20272e;stroke-width:2}
.bs-hit{stroke:#d55e00;stroke-width:5;stroke-linecap:round}.bs-sunk{fill:#20272e}
.bs-name,.bs-chance{font-family:system-ui,sans-serif;text-anchor:middle}
@media (prefers-color-scheme:dark){.bs-sea{fill:#16364d}.bs-fog{fill:#33495a}.bs-grid{stroke:#0b1c29}
.bs-name{fill:#c3d3e0}.bs-miss{fill:#16364d;stroke:#9cc3de}.bs-ship{fill:#5d6a76;stroke:#e8edf2}
.bs-hit{stroke:#ffab66}.bs-sunk{fill:#5d6a76}}"""

# The heatmap has a single-hue scale, which colour-blind people can read, with numbers on it.
SHADES = 8
INVERTED_TEXT_SHADE = 5  # from this shade on, the number has the other colour
_DAY_SHADES = ("#f1f6fb", "#d6e6f4", "#b3d3ea", "#86bbdd", "#5a9fcc", "#347fb6", "#175e98", "#08407a")
_NIGHT_SHADES = ("#0d1b27", "#12304a", "#15466d", "#1a5f92", "#2b7bb4", "#5299cd", "#86bbe2", "#bfdcf3")
_HEATMAP_STYLE = (
    STYLE
    + "".join(f".bs-h{n}{{fill:{shade}}}" for n, shade in enumerate(_DAY_SHADES))
    + ".bs-chance{fill:#0b1c29}.bs-on{fill:#fff}.bs-best{fill:none;stroke:#d55e00;stroke-width:4}"
    + "@media (prefers-color-scheme:dark){"
    + "".join(f".bs-h{n}{{fill:{shade}}}" for n, shade in enumerate(_NIGHT_SHADES))
    + ".bs-chance{fill:#fff}.bs-on{fill:#0b1c29}.bs-best{stroke:#ff9a4d}}"
)


def render(board: Board) -> str:
    """Draw `board` in the format that `parse` reads: non-default rules, then one line per row."""
    values = format_fleet(board.fleet), board.touching, board.ships, board.sinking
    rules = zip(RULES.items(), values, strict=True)
    headers = [f"{name}: {value}\n" for (name, rule), value in rules if value != rule.default]
    headers += [f"whole: {', '.join(map(str, board.sunk_ships))}\n"] if board.sunk_ships else []
    return "".join(headers) + "".join(f"{row}\n" for row in board.rows)


def render_solution(board: Board, line: Solution) -> str:
    """Draw `line`: its notation, then the sea with a letter per ship and water as dots."""
    letters = {
        square: (ascii_uppercase + ascii_lowercase)[number]
        for number, ship in enumerate(line)
        for square in ship.squares
    }
    rows = draw_rows(letters, board.width, board.height, MISS)
    return notate(board, line) + "\n\n" + "".join(f"{row}\n" for row in rows)


def notate(board: Board, line: Solution) -> str:  # noqa: ARG001 - ships have the same names on every board
    """Write `line` in one row: each ship by its first and last square, shortest first."""
    return " ".join(map(str, reversed(line)))


def parse_solution(board: Board, text: str, file: str = "solution") -> Solution:
    """Read a fleet such as "J10 C3-E3 A1-A4". Raises ConfigError."""
    return tuple(reversed(parse_ships(text, board.width, board.height, file)))


def render_svg(board: Board) -> str:
    """Draw `board` as a self-contained SVG picture."""
    marks = {"hit": HIT, "missed": MISS, "sunk": SUNK, "unknown": UNKNOWN}
    numbers = {name: len(board.find_marks(mark)) for name, mark in marks.items()}
    title = ", ".join(f"{number} {name}" for name, number in numbers.items() if number)
    return _draw_board(board, (), f"Battleship: {title}")


def steps(board: Board, line: Solution) -> Iterator[Step]:
    """Yield `board`, then the fleet of `line` with one more ship in each picture."""
    yield Step("The marks", render_svg(board))
    for number, ship in enumerate(line, 1):
        caption = f"{ship}, {pluralize(len(ship.squares), 'square')}"
        yield Step(caption, _draw_board(board, line[:number], f"Battleship: {pluralize(number, 'ship')} placed"))


def _draw_board(board: Board, fleet: Iterable[Ship], title: str) -> str:
    parts = [*_draw_sea(board), *map(_draw_ship, dict.fromkeys([*fleet, *board.sunk_ships]))]
    for y, row in enumerate(board.rows):
        for x, mark in enumerate(row):
            parts += _draw_mark(mark, *_square_center(x, y))
    return svg_document(*_picture_size(board), title, STYLE, parts)


def _picture_size(board: Board) -> tuple[int, int]:
    return LABEL_SIZE + SQUARE_SIZE * board.width + 4, LABEL_SIZE + SQUARE_SIZE * board.height + 4


def _square_center(x: int, y: int) -> tuple[int, int]:
    return LABEL_SIZE + SQUARE_SIZE * x + SQUARE_SIZE // 2, LABEL_SIZE + SQUARE_SIZE * y + SQUARE_SIZE // 2


def _draw_sea(board: Board) -> Iterator[str]:
    for y, row in enumerate(board.rows):
        for x, mark in enumerate(row):
            name = "fog" if mark == UNKNOWN else "sea"
            yield _draw_square(f"bs-{name} bs-grid", x, y)
    yield from _draw_labels(board)


def _draw_square(style: str, x: int, y: int) -> str:
    left, top = LABEL_SIZE + SQUARE_SIZE * x, LABEL_SIZE + SQUARE_SIZE * y
    return f'<rect class="{style}" x="{left}" y="{top}" width="{SQUARE_SIZE}" height="{SQUARE_SIZE}"/>'


def _draw_labels(board: Board) -> Iterator[str]:
    for x in range(board.width):
        center, _ = _square_center(x, 0)
        letter = str(Square(x, 0))[0]
        yield f'<text class="bs-name" font-size="15" x="{center}" y="{LABEL_SIZE - 8}">{letter}</text>'
    for y in range(board.height):
        _, center = _square_center(0, y)
        yield f'<text class="bs-name" font-size="15" x="{LABEL_SIZE // 2}" y="{center + 5}">{y + 1}</text>'


def _draw_ship(ship: Ship) -> str:
    (left, top), (right, bottom) = _square_center(*ship.start), _square_center(*ship.end)
    radius = SQUARE_SIZE // 2 - 5
    width, height = right - left + 2 * radius, bottom - top + 2 * radius
    x, y = left - radius, top - radius
    return f'<rect class="bs-ship" x="{x}" y="{y}" width="{width}" height="{height}" rx="{radius}"/>'


def _draw_mark(mark: str, x: int, y: int) -> Iterator[str]:
    if mark == MISS:
        yield f'<circle class="bs-miss" cx="{x}" cy="{y}" r="4"/>'
    if mark == SUNK:
        yield f'<rect class="bs-sunk" x="{x - 11}" y="{y - 11}" width="22" height="22" rx="4"/>'
    if mark in (HIT, SUNK):
        yield f'<path class="bs-hit" d="M{x - 7} {y - 7}l14 14m0-14l-14 14"/>'


def find_best_shot(board: Board, marginals: Marginals) -> Square | None:
    """Return the unknown square with the highest ship probability; None if all are known."""
    return min(board.find_marks(UNKNOWN), key=lambda square: marginals.water[square.y][square.x], default=None)


def ship_percent(marginals: Marginals, square: Square) -> float:
    """Return the probability of a ship on `square`, in per cent."""
    return 100 * (marginals.total - marginals.water[square.y][square.x]) / marginals.total


def probability_tables(board: Board, marginals: Marginals) -> list[Table]:
    """Return the ship probabilities of all squares, and the exact counts behind them."""
    headers = ("row", *(str(Square(x, 0))[0] for x in range(board.width)))
    rows = [(y, [Square(x, y) for x in range(board.width)]) for y in range(board.height)]
    chances = [(y + 1, *(round(ship_percent(marginals, square), 2) for square in row)) for y, row in rows]
    counts = [(y + 1, *(marginals.total - water for water in marginals.water[y])) for y, _ in rows]
    return [
        Table("Probability of a ship on each square, in per cent", headers, chances),
        Table("Placements with a ship on each square", headers, counts),
    ]


def render_heatmap(board: Board, marginals: Marginals) -> str:
    """Draw the ship probability of every square, and the best shot."""
    parts = [
        part
        for y in range(board.height)
        for x in range(board.width)
        for part in _draw_chance(board.rows[y][x], ship_percent(marginals, Square(x, y)), x, y)
    ]
    parts += _draw_labels(board)
    best = find_best_shot(board, marginals)
    title = "Battleship: the probability of a ship on each square, in per cent"
    if best:
        left, top = LABEL_SIZE + SQUARE_SIZE * best.x + 2, LABEL_SIZE + SQUARE_SIZE * best.y + 2
        side = SQUARE_SIZE - 4
        parts.append(f'<rect class="bs-best" x="{left}" y="{top}" width="{side}" height="{side}"/>')
        title += f"; the best shot is {best}, {ship_percent(marginals, best):.1f}"
    return svg_document(*_picture_size(board), title, _HEATMAP_STYLE, parts)


def _draw_chance(mark: str, percent: float, x: int, y: int) -> Iterator[str]:
    # The square root spreads small chances over more shades: on an empty sea all are small.
    shade = min(SHADES - 1, int(SHADES * sqrt(percent / 100))) if mark == UNKNOWN else 0
    yield _draw_square(f"bs-h{shade} bs-grid", x, y)
    across, down = _square_center(x, y)
    if mark == MISS:
        yield from _draw_mark(MISS, across, down)
    elif mark in (HIT, SUNK):
        yield from _draw_mark(HIT, across, down)
    else:
        bright = " bs-on" if shade >= INVERTED_TEXT_SHADE else ""
        number = _format_percent(percent)
        size = 17 if len(number) < 3 else 14
        yield f'<text class="bs-chance{bright}" font-size="{size}" x="{across}" y="{down + 6}">{number}</text>'


def _format_percent(percent: float) -> str:
    """Round to whole per cent; 0 and 100 stand for exact values only."""
    if 0 < percent < 1:
        return "&lt;1"
    return "&gt;99" if 99 < percent < 100 else f"{percent:.0f}"
