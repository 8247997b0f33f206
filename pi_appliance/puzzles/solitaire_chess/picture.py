"""Draws a solitaire chess board as SVG pictures. The pieces are shapes of our own: no font is needed to see them."""

from collections.abc import Iterator, Mapping

from pi_appliance.puzzles import Step
from pi_appliance.puzzles.rendering import svg_document
from pi_appliance.puzzles.solitaire_chess.board import NAMES, Board, Capture, Solution, Square
from pi_appliance.puzzles.solitaire_chess.render import before_each, named

UNIT, EDGE = 44, 22  # the side of a square, and the room for letters and numbers around them
# Drawn on a square of 44 by 44. All stand on the same foot.
_FOOT = '<path d="M11 38h22v-3l-3-3h-16l-3 3z"/>'
PARTS = {
    "P": '<path d="M15 32c4-3 5-6 5-9h4c0 3 1 6 5 9z"/>'
    '<path d="M15.5 23.5h13v-3h-13z"/><circle cx="22" cy="15.5" r="5.5"/>',
    "R": '<path d="M14.5 32l1.5-13h12l1.5 13z"/><path d="M12.5 19v-10h4v3.5h3.5v-3.5h4v3.5h3.5v-3.5h4v10z"/>',
    "N": '<path d="M14 32c0-7 7-8 7-13l-6 4.5c-2 1-4-1-3-3l4-8.5 1.5-5 3.5 3c8 0 11.5 9 9.5 22z"/>'
    '<circle class="sol-eye" cx="18.5" cy="14.5" r="1.5"/>',
    "B": '<path d="M16 32c3-2 4-4 4-6h4c0 2 1 4 4 6z"/>'
    '<path d="M22 8c6 5 8.5 10 5 15.5h-10c-3.5-5.5-1-10.5 5-15.5z"/>'
    '<path d="M16 27h12v-3.5h-12z"/><circle cx="22" cy="6.5" r="2.5"/>'
    '<path class="sol-cut" d="M22 12.5v8M18.5 16.5h7"/>',
    "Q": '<path d="M14 32l-5-18 6.5 7 2.5-11 4 10.5 4-10.5 2.5 11 6.5-7-5 18z"/>'
    '<circle cx="9" cy="12" r="2.3"/>'
    '<circle cx="18" cy="8.5" r="2.3"/><circle cx="26" cy="8.5" r="2.3"/><circle cx="35" cy="12" r="2.3"/>',
    "K": '<path d="M14 32c-8-8-6-15 0-15 4 0 7 3 8 6 1-3 4-6 8-6 6 0 8 7 0 15z"/>'
    '<path d="M20.5 17.5v-4.5h-4v-3h4v-4h3v4h4v3h-4v4.5l-1.5 3z"/>',
}
STYLE = """\
.sol-light{fill:#f3e3c8}.sol-dark{fill:#c09a6b}.sol-man{fill:#fdfdfb;stroke:#1d1d1b;stroke-width:1.6;stroke-linejoin:round}
.sol-eye{fill:#1d1d1b;stroke:none}.sol-cut{fill:none}.sol-from{fill:#2f6fd0;fill-opacity:.45}
.sol-to{fill:#d33a2c;fill-opacity:.55}
.sol-name{fill:#5b4a33;font:600 13px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;text-anchor:middle}
@media (prefers-color-scheme:dark){.sol-light{fill:#8d7a5f}.sol-dark{fill:#5a4a36}.sol-name{fill:#d7c6a4}
.sol-from{fill:#79b8ff}.sol-to{fill:#ff7b72}}"""


def render_svg(board: Board) -> str:
    """Draw BOARD as one self-contained SVG picture."""
    return _draw(board, board.men)


def steps(board: Board, line: Solution) -> Iterator[Step]:
    """Yield the pictures that play LINE from the beginning."""
    yield Step("The board", _draw(board, board.men))
    for number, (men, capture) in enumerate(before_each(board, line), 1):
        after = {square: man for square, man in men.items() if square != capture.start}
        after[capture.end] = men[capture.start]
        captured = NAMES[men[capture.end]]
        caption = f"{number}. {named(men[capture.start], capture)} captures the {captured}"
        yield Step(caption, _draw(board, after, capture))


def _draw(board: Board, men: Mapping[Square, str], last: Capture | None = None) -> str:
    files, ranks = len(board.rows[0]), len(board.rows)
    parts: list[str] = []
    for rank in range(ranks):
        for file in range(files):
            x, y = EDGE + file * UNIT, (ranks - 1 - rank) * UNIT + 4
            shade = "light" if (file + rank) % 2 else "dark"
            parts.append(f'<rect class="sol-{shade}" x="{x}" y="{y}" width="{UNIT}" height="{UNIT}"/>')
            square = Square(file, rank)
            if last and square in last:
                name = "from" if square == last.start else "to"
                parts.append(f'<rect class="sol-{name}" x="{x}" y="{y}" width="{UNIT}" height="{UNIT}"/>')
            if square in men:
                parts.append(f'<g class="sol-man" transform="translate({x} {y})">{PARTS[men[square]]}{_FOOT}</g>')
    parts += (
        f'<text class="sol-name" x="{EDGE + file * UNIT + UNIT // 2}" y="{ranks * UNIT + 19}">{"abcdefgh"[file]}</text>'
        for file in range(files)
    )
    parts += (
        f'<text class="sol-name" x="10" y="{(ranks - 1 - rank) * UNIT + UNIT // 2 + 9}">{rank + 1}</text>'
        for rank in range(ranks)
    )
    told = ", ".join(f"{NAMES[man]} {square}" for square, man in men.items())
    return svg_document(EDGE + files * UNIT + 6, ranks * UNIT + EDGE + 6, f"Solitaire chess: {told}", STYLE, parts)
