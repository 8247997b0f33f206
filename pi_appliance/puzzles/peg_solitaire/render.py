"""Draws a peg solitaire board: as text, and as an SVG picture."""

from collections.abc import Set as AbstractSet

from pi_appliance.puzzles import counted
from pi_appliance.puzzles.peg_solitaire.board import Board, Hole

UNIT = 40  # the side of a hole's place, in the picture's own units
# Wood by day, dark wood by night; the pegs stay bright. Class names of its own, as a page may hold many pictures.
STYLE = """\
.peg-wood{fill:#c8a06a;stroke:#c8a06a}.peg-hole{fill:#8b6538}.peg-goal{stroke:#1f6feb}
.peg-body{fill:#b3261e}.peg-shine{fill:#fff;fill-opacity:.35}
@media (prefers-color-scheme:dark){.peg-wood{fill:#5b4630;stroke:#5b4630}.peg-hole{fill:#2e2216}
.peg-goal{stroke:#79b8ff}.peg-body{fill:#e5675e}}"""


def render(board: Board, pegs: AbstractSet[Hole] | None = None) -> str:
    """Draw BOARD, a line a row, with the pegs it begins with or with PEGS."""
    pegs = board.pegs if pegs is None else pegs
    holes = set(board.holes)
    width, height = _size(board)
    rows = ([Hole(x, y) for x in range(width)] for y in range(height))
    return "".join("".join("X" if at in pegs else "O" if at in holes else " " for at in row) + "\n" for row in rows)


def render_svg(board: Board, pegs: AbstractSet[Hole] | None = None) -> str:
    """Draw BOARD as a picture that needs nothing else, with the pegs it begins with or with PEGS."""
    pegs = board.pegs if pegs is None else pegs
    width, height = (side * UNIT + UNIT for side in _size(board))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        ' role="img" style="max-width:100%;height:auto">',
        f"<title>Peg solitaire: {counted(len(pegs), 'peg')} in {counted(len(board.holes), 'hole')}</title>",
        f"<style>{STYLE}</style>",
        # Squares with a broad round edge: neighbours grow together into one board.
        '<g class="peg-wood" stroke-width="24" stroke-linejoin="round">',
        *(
            f'<rect x="{x - UNIT // 2}" y="{y - UNIT // 2}" width="{UNIT}" height="{UNIT}"/>'
            for x, y in _middles(board)
        ),
        "</g>",
    ]
    for hole, (x, y) in zip(board.holes, _middles(board), strict=True):
        parts.append(f'<circle class="peg-hole" cx="{x}" cy="{y}" r="8"/>')
        if hole == board.goal:
            parts.append(f'<circle class="peg-goal" cx="{x}" cy="{y}" r="18" fill="none" stroke-width="3"/>')
        if hole in pegs:
            parts.append(f'<circle class="peg-body" cx="{x}" cy="{y}" r="15"/>')
            parts.append(f'<circle class="peg-shine" cx="{x - 5}" cy="{y - 5}" r="4"/>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _size(board: Board) -> tuple[int, int]:
    return max(hole.x for hole in board.holes) + 1, max(hole.y for hole in board.holes) + 1


def _middles(board: Board) -> list[tuple[int, int]]:
    return [(hole.x * UNIT + UNIT, hole.y * UNIT + UNIT) for hole in board.holes]
