"""Draws a Panguru board and its lines: as text, and as SVG pictures in the shape of the triangle."""

import math
from collections.abc import Iterator
from itertools import pairwise

from pi_appliance.puzzles import Step
from pi_appliance.puzzles.panguru.board import HOLE, HOME, Board, Solution, write_lines
from pi_appliance.puzzles.rendering import svg_document

ACROSS, DOWN = 76, 70  # from place to place, in the picture's own units
PLATE, PEBBLE = 33, 20  # radii
# The colours of the original by their first letters, then others; all light enough for black letters.
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
    """Draw BOARD as `parse` reads it: plates and pebbles side by side, and an own table of moves below."""
    rows = list(_rows(board.plates, board.pebbles))
    wide = 2 * len(rows) - 1
    drawn = [f"{' '.join(left):^{wide}}    {' '.join(right):^{wide}}".rstrip() + "\n" for left, right in rows]
    return "".join(drawn) + (f"moves: {write_lines(board.own)}\n" if board.own else "")


def notate(board: Board, line: Solution) -> str:
    """Return LINE as the original writes it: the way of the hole, such as 0-3-5."""
    return "-".join(str(place) for place in (board.hole, *line))


def render_solution(board: Board, line: Solution) -> str:
    """Return LINE in one row."""
    return notate(board, line) + "\n"


def render_svg(board: Board) -> str:
    """Draw BOARD as one self-contained SVG picture."""
    return _draw(board, board.pebbles)


def steps(board: Board, line: Solution) -> Iterator[Step]:
    """Yield the pictures that play LINE from the beginning."""
    yield Step(f"The board; the hole is at {board.hole}", _draw(board, board.pebbles))
    lies, hole = list(board.pebbles), board.hole
    for number, start in enumerate(line, 1):
        lies[hole], lies[start] = lies[start], HOLE
        yield Step(f"{number}. {lies[hole]} from {start} to {hole}", _draw(board, "".join(lies), (start, hole)))
        hole = start


def _rows(plates: str, pebbles: str) -> Iterator[tuple[str, str]]:
    begin, row = 0, 1
    while begin < len(plates):
        yield plates[begin : begin + row], pebbles[begin : begin + row]
        begin, row = begin + row, row + 1


def _middles(places: int) -> tuple[list[tuple[int, int]], int, int]:
    """Return the middle of each place, and the width and height of the whole."""
    rows = list(_rows("." * places, "." * places))
    width, height = len(rows) * ACROSS + 20, len(rows) * DOWN + 24
    middles = [
        (width // 2 + (2 * at - len(row) + 1) * ACROSS // 2, 16 + DOWN // 2 + number * DOWN)
        for number, (row, _) in enumerate(rows)
        for at in range(len(row))
    ]
    return middles, width, height


def _draw(board: Board, pebbles: str, move: tuple[int, int] | None = None) -> str:
    middles, width, height = _middles(len(pebbles))
    right = sum(plate == pebble for plate, pebble in zip(board.plates, pebbles, strict=True))
    title = f"Panguru: {right} of {len(pebbles) - 1} pebbles on plates of their colour"
    corners = " ".join(f"{x},{y}" for x, y in ((width // 2, 42), (44, height - 40), (width - 44, height - 40)))
    # A thin triangle with a broad round edge: the wood that all places lie on.
    parts = [f'<polygon class="pan-wood" points="{corners}" stroke-width="82" stroke-linejoin="round"/>']
    parts += _ways(board, middles)
    for place, (x, y) in enumerate(middles):
        parts += _place(x, y, board.plates[place], pebbles[place], place)
    if move:
        parts += _arrow(middles[move[0]], middles[move[1]])
    return svg_document(width, height, title, STYLE, parts)


def _ways(board: Board, middles: list[tuple[int, int]]) -> Iterator[str]:
    """Yield the lines that pebbles move along; between places without a straight line, a line from each to each."""
    for line in board.lines:
        for one, other in pairwise(line):
            (x, y), (u, v) = middles[one], middles[other]
            yield f'<line class="pan-way" x1="{x}" y1="{y}" x2="{u}" y2="{v}" stroke-width="3"/>'


def _place(x: int, y: int, plate: str, pebble: str, number: int) -> Iterator[str]:
    yield f'<circle class="pan-edge" cx="{x}" cy="{y}" r="{PLATE}" fill="{_colour(plate)}" stroke-width="1.5"/>'
    if pebble == HOLE:
        yield f'<circle class="pan-hole" cx="{x}" cy="{y - 6}" r="8"/>'
    else:
        yield (
            f'<circle class="pan-edge" cx="{x}" cy="{y - 6}" r="{PEBBLE}" fill="{_colour(pebble)}" stroke-width="3"/>'
            f'<text class="pan-words pan-dark" x="{x}" y="{y + 1}" font-size="21">{pebble}</text>'
        )
    yield f'<text class="pan-words pan-dark" x="{x}" y="{y + 28}" font-size="13">{plate}</text>'
    yield f'<text class="pan-words pan-number" x="{x - 32}" y="{y - 22}" font-size="11">{number}</text>'


def _arrow(start: tuple[int, int], end: tuple[int, int]) -> Iterator[str]:
    """Yield a ring about the pebble that moved, and a dashed way that it came."""
    (x, y), (u, v) = start, end
    part = (PEBBLE + 6) / math.dist(start, end)  # the last bit, which the ring stands on
    dashes = 'stroke-width="4" stroke-dasharray="7 6" stroke-linecap="round"'
    right, down = u + (x - u) * part, v - 6 + (y - v) * part
    yield f'<line class="pan-move" x1="{x}" y1="{y - 6}" x2="{right:.0f}" y2="{down:.0f}" {dashes}/>'
    yield f'<circle class="pan-move" cx="{u}" cy="{v - 6}" r="{PEBBLE + 4}" stroke-width="4"/>'


def _colour(letter: str) -> str:
    return COLOURS.get(letter, COLOURS[HOME])
