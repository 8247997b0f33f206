"""Draw boards as text and SVG, and solutions as a series of pictures."""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from pi_appliance.puzzles import Step, pluralize
from pi_appliance.puzzles.peg_solitaire.board import Board, Hole, Jump, Solution, looks_spaced
from pi_appliance.puzzles.rendering import svg_document

HOLE_SIZE = 40  # SVG units
# Wood, and dark wood in dark mode.
STYLE = """\
.peg-wood{fill:#c8a06a;stroke:#c8a06a}.peg-hole{fill:#8b6538}.peg-goal{stroke:#1f6feb}
.peg-body{fill:#b3261e}.peg-shine{fill:#fff;fill-opacity:.35}
.peg-path{stroke:#1f5fbf}.peg-head{fill:#1f5fbf}.peg-gone{stroke:#b3261e}
@media (prefers-color-scheme:dark){.peg-wood{fill:#5b4630;stroke:#5b4630}.peg-hole{fill:#2e2216}
.peg-goal{stroke:#79b8ff}.peg-body{fill:#e5675e}
.peg-path{stroke:#8cc4ff}.peg-head{fill:#8cc4ff}.peg-gone{stroke:#e5675e}}"""


def render(board: Board, pegs: AbstractSet[Hole] | None = None) -> str:
    """Draw the board with its own pegs or with `pegs`."""
    pegs = board.pegs if pegs is None else pegs
    holes = set(board.holes)
    height = max(hole.y for hole in board.holes) + 1
    if not board.triangular:
        width = max(hole.x for hole in board.holes) + 1
        blank = "#" if looks_spaced(holes) else " "  # a space would read as a separator
        rows = ([Hole(x, y) for x in range(width)] for y in range(height))
        return "".join("".join(_mark_at(at, holes, pegs, blank) for at in row) + "\n" for row in rows)
    # Rows are shifted by half a hole: two columns per hole.
    left, right = (bound(2 * x - y for x, y in board.holes) for bound in (min, max))
    drawn = ["triangle\n"]
    for y in range(height):
        marks = (
            _mark_at(Hole((column + y) // 2, y), holes, pegs) if (column + y) % 2 == 0 else " "
            for column in range(left, right + 1)
        )
        drawn.append("".join(marks) + "\n")
    return "".join(drawn)


def _mark_at(at: Hole, holes: AbstractSet[Hole], pegs: AbstractSet[Hole], blank: str = " ") -> str:
    return "X" if at in pegs else "O" if at in holes else blank


def render_svg(board: Board, pegs: AbstractSet[Hole] | None = None, jump: Jump | None = None) -> str:
    """Draw the board with its own pegs or with `pegs`, just after `jump`."""
    pegs = board.pegs if pegs is None else pegs
    middles = _hole_centres(board)
    width, height = (max(at) + HOLE_SIZE for at in zip(*middles.values(), strict=True))
    # Squares or discs with a broad round stroke merge into one board.
    parts = ['<g class="peg-wood" stroke-width="24" stroke-linejoin="round">']
    for x, y in middles.values():
        if board.triangular:
            parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="{HOLE_SIZE / 2:g}"/>')
        else:
            parts.append(
                f'<rect x="{x - HOLE_SIZE / 2:g}" y="{y - HOLE_SIZE / 2:g}" width="{HOLE_SIZE}" height="{HOLE_SIZE}"/>'
            )
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
    """Draw a ring around the removed peg and an arrow to the peg that jumped."""
    (x, y), (u, v) = start, end
    right, down = (u - x) / 2, (v - y) / 2
    length = (right * right + down * down) ** 0.5
    right, down = right / length, down / length
    tip, back = (u - 15 * right, v - 15 * down), (u - 28 * right, v - 28 * down)
    corners = (tip, (back[0] - 8 * down, back[1] + 8 * right), (back[0] + 8 * down, back[1] - 8 * right))
    return [
        f'<circle class="peg-gone" cx="{(x + u) / 2:g}" cy="{(y + v) / 2:g}" r="13" fill="none" stroke-width="3"'
        ' stroke-dasharray="5 4"/>',
        f'<line class="peg-path" x1="{x:g}" y1="{y:g}" x2="{back[0]:g}" y2="{back[1]:g}" stroke-width="4"/>',
        '<polygon class="peg-head" points="' + " ".join(f"{a:.4g},{b:.4g}" for a, b in corners) + '"/>',
    ]


def steps(board: Board, line: Solution) -> Iterator[Step]:
    """Yield the starting board and the board after each jump."""
    yield Step(f"Start: {pluralize(len(board.pegs), 'peg')}", render_svg(board))
    pegs = board.pegs
    for number, jump in enumerate(line, 1):
        start, end = jump
        pegs = pegs - {start, Hole((start.x + end.x) // 2, (start.y + end.y) // 2)} | {end}
        yield Step(f"Jump {number} of {len(line)}: {jump}", render_svg(board, pegs, jump))


def _hole_centres(board: Board) -> dict[Hole, tuple[float, float]]:
    """Return the SVG coordinates of each hole."""
    if not board.triangular:
        return {hole: (hole.x * HOLE_SIZE + HOLE_SIZE, hole.y * HOLE_SIZE + HOLE_SIZE) for hole in board.holes}
    left = min(2 * x - y for x, y in board.holes)
    # Rows of a triangular grid are sqrt(3/4) apart.
    return {
        hole: ((2 * hole.x - hole.y - left) * HOLE_SIZE / 2 + HOLE_SIZE, hole.y * HOLE_SIZE * 0.866 + HOLE_SIZE)
        for hole in board.holes
    }
