"""Draw a Panguru board and its solutions as text and as SVG pictures."""

import math
from collections.abc import Iterator
from itertools import pairwise

from pi_appliance.puzzles import Step
from pi_appliance.puzzles.panguru.board import HOLE, HOME, Board, Solution, draw_triangles, triangle_rows
from pi_appliance.puzzles.rendering import svg_document

COLUMN_DISTANCE, ROW_DISTANCE = 76, 70  # SVG units
PLATE_RADIUS, PEBBLE_RADIUS = 33, 20
# Colours by their first letters, then others. All are light enough for black letters.
COLOURS = {
    "W": "#ffffff", "R": "#f4837d", "G": "#7fd08a", "B": "#86b6f6", "Y": "#f7dd5c", "O": "#f9ab55", "P": "#c99cf2",
    "C": "#66d9d9", "A": "#b8c4ce", "D": "#d8b48a", "E": "#ff9ecb", "F": "#c3e36b", "H": "#9ff0c8", "I": "#aeb0ff",
    "J": "#e0d0a0", "K": "#a9a9a9", "L": "#d6f5a3", "M": "#f08fe0", "N": "#8fd3f4", "Q": "#ffd0b0", "S": "#c8c8ff",
    "T": "#a0dcb4", "U": "#f0b0b0", "V": "#dfb0ff", "X": "#d9d9d9", "Z": "#fff0a0",
}  # fmt: skip
STYLE = """\
.pan-wood{fill:#e9dcc6;stroke:#e9dcc6}.pan-way{stroke:#c9b48f}.pan-edge{stroke:#5b4a33}.pan-dark{fill:#1b1b1b}
.pan-number{fill:#6b5a41}.pan-move{stroke:#c62828;fill:none}.pan-hole{fill:#4a3b28}
.pan-words{font-family:system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;text-anchor:middle;font-weight:700}
@media (prefers-color-scheme:dark){.pan-wood{fill:#3a3026;stroke:#3a3026}.pan-way{stroke:#5d4d39}
.pan-edge{stroke:#0d0a06}.pan-number{fill:#cbb691}.pan-move{stroke:#ff7b72}.pan-hole{fill:#15110b}}"""


def render(board: Board) -> str:
    """Draw `board` in the format that `parse` reads, with custom moves below."""
    moves = ", ".join("-".join(map(str, line)) for line in board.custom_lines)
    return draw_triangles(board.plates, board.pebbles) + (f"moves: {moves}\n" if moves else "")


def notate(board: Board, line: Solution) -> str:
    """Write `line` as the path of the hole, such as 0-3-5."""
    return "-".join(str(place) for place in (board.hole, *line))


def render_solution(board: Board, line: Solution) -> str:
    """Draw `line` in one row."""
    return notate(board, line) + "\n"


def render_svg(board: Board) -> str:
    """Draw `board` as a self-contained SVG picture."""
    return _draw_board(board, board.pebbles)


def steps(board: Board, line: Solution) -> Iterator[Step]:
    """Yield a picture of the board before and after each move of `line`."""
    yield Step(f"The board; the hole is at {board.hole}", _draw_board(board, board.pebbles))
    pebbles, hole = list(board.pebbles), board.hole
    for number, start in enumerate(line, 1):
        pebbles[hole], pebbles[start] = pebbles[start], HOLE
        caption = f"{number}. {pebbles[hole]} from {start} to {hole}"
        yield Step(caption, _draw_board(board, "".join(pebbles), (start, hole)))
        hole = start


def _draw_board(board: Board, pebbles: str, move: tuple[int, int] | None = None) -> str:
    rows = triangle_rows(len(pebbles))
    width, height = len(rows) * COLUMN_DISTANCE + 20, len(rows) * ROW_DISTANCE + 24
    centers = [
        (width // 2 + (2 * at - len(row) + 1) * COLUMN_DISTANCE // 2, 16 + ROW_DISTANCE // 2 + number * ROW_DISTANCE)
        for number, row in enumerate(rows)
        for at in range(len(row))
    ]
    matching = sum(plate == pebble for plate, pebble in zip(board.plates, pebbles, strict=True))
    title = f"Panguru: {matching} of {len(pebbles) - 1} pebbles on plates of their colour"
    corners = " ".join(f"{x},{y}" for x, y in ((width // 2, 42), (44, height - 40), (width - 44, height - 40)))
    # The wooden board: a small triangle with a wide round stroke.
    parts = [f'<polygon class="pan-wood" points="{corners}" stroke-width="82" stroke-linejoin="round"/>']
    for one, other in (pair for line in board.move_lines for pair in pairwise(line)):
        (x, y), (u, v) = centers[one], centers[other]
        parts.append(f'<line class="pan-way" x1="{x}" y1="{y}" x2="{u}" y2="{v}" stroke-width="3"/>')
    for place, (x, y) in enumerate(centers):
        parts += _draw_place(x, y, board.plates[place], pebbles[place], place)
    if move:
        parts += _draw_arrow(centers[move[0]], centers[move[1]])
    return svg_document(width, height, title, STYLE, parts)


def _draw_place(x: int, y: int, plate: str, pebble: str, number: int) -> Iterator[str]:
    colour = COLOURS.get(plate, COLOURS[HOME])
    yield f'<circle class="pan-edge" cx="{x}" cy="{y}" r="{PLATE_RADIUS}" fill="{colour}" stroke-width="1.5"/>'
    if pebble == HOLE:
        yield f'<circle class="pan-hole" cx="{x}" cy="{y - 6}" r="8"/>'
    else:
        colour = COLOURS.get(pebble, COLOURS[HOME])
        yield (
            f'<circle class="pan-edge" cx="{x}" cy="{y - 6}" r="{PEBBLE_RADIUS}" fill="{colour}" stroke-width="3"/>'
            f'<text class="pan-words pan-dark" x="{x}" y="{y + 1}" font-size="21">{pebble}</text>'
        )
    yield f'<text class="pan-words pan-dark" x="{x}" y="{y + 28}" font-size="13">{plate}</text>'
    yield f'<text class="pan-words pan-number" x="{x - 32}" y="{y - 22}" font-size="11">{number}</text>'


def _draw_arrow(start: tuple[int, int], end: tuple[int, int]) -> Iterator[str]:
    """Yield a ring around the pebble that moved, and a dashed line from its old place."""
    (x, y), (u, v) = start, end
    part = (PEBBLE_RADIUS + 6) / math.dist(start, end)  # the end of the line, which the ring covers
    dashes = 'stroke-width="4" stroke-dasharray="7 6" stroke-linecap="round"'
    right, down = u + (x - u) * part, v - 6 + (y - v) * part
    yield f'<line class="pan-move" x1="{x}" y1="{y - 6}" x2="{right:.0f}" y2="{down:.0f}" {dashes}/>'
    yield f'<circle class="pan-move" cx="{u}" cy="{v - 6}" r="{PEBBLE_RADIUS + 4}" stroke-width="4"/>'
