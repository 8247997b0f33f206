"""Draws sudokus as SVG pictures: clues bold, found digits lighter, candidates small, boxes with thick lines."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pi_appliance.puzzles import _svg, pluralize
from pi_appliance.puzzles.sudoku.board import BOXES, EMPTY, SYMBOLS, Board

MARGIN = 6
SHOWN = 9  # grids of many
# Paper by day, slate by night. Class names of its own, as a page may hold many pictures.
STYLE = """\
.su-t{font-family:system-ui,sans-serif;text-anchor:middle;fill:#1c1c1c}.su-clue{font-weight:700}
.su-found{fill:#2f6fb5}.su-new{fill:#0b7a3b;font-weight:700}.su-small{fill:#6d6a63}.su-out{fill:#c01f1f;font-weight:700}
.su-paper{fill:#fffdf7}.su-unit{fill:#f3ecd2}.su-why{fill:#f6d98b}.su-got{fill:#bfe6c8}.su-lose{fill:#f7cfc9}
.su-try{fill:#dccbf2}.su-line{fill:none;stroke:#1c1c1c}
@media (prefers-color-scheme:dark){.su-t{fill:#f2f2f2}.su-found{fill:#8fc1f5}
.su-new{fill:#7fe3a0}.su-small{fill:#a9adb5}
.su-out{fill:#ff8a80}.su-paper{fill:#1e2126}.su-unit{fill:#2b3038}.su-why{fill:#5c4d1c}.su-got{fill:#1d4a2b}
.su-lose{fill:#552523}.su-try{fill:#4a3768}.su-line{stroke:#d5d8dd}}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellStyle:
    """What is to be seen of a grid besides its clues; squares are numbers in reading order."""

    found: str = ""
    """The grid with what is found until now; the clues may be in it."""
    candidates: Sequence[int] = ()
    """The candidates of each square, as bits."""
    new: int | None = None
    """The square whose digit was found just now."""
    guess: bool = False
    """Whether it was guessed."""
    units: frozenset[int] = frozenset()
    """The squares of the units that are the reason."""
    why: frozenset[int] = frozenset()
    """The squares that are the reason."""
    crossed: dict[int, int] | None = None
    """The candidates that are crossed out just now, as bits, by their squares."""


def render_svg(board: Board) -> str:
    """Draw BOARD as a picture that needs nothing else; of many grids, the first nine."""
    if not board.many:
        clues = sum(mark != EMPTY for mark in board.grids[0])
        return picture(board.grids[0], board.size, f"Sudoku: {pluralize(clues, 'clue')}")
    side = _side(board.size) * board.size + 2 * MARGIN
    shown = board.grids[:SHOWN]
    across = min(3, len(shown))
    parts: list[str] = []
    for number, grid in enumerate(shown):
        x, y = number % across * side, number // across * side
        parts += [f'<g transform="translate({x} {y})">', *_grid(grid, board.size, CellStyle()), "</g>"]
    title = f"{len(board.grids):,} sudokus" + (f", the first {SHOWN}" if len(board.grids) > SHOWN else "")
    return _svg.picture(across * side, -(-len(shown) // across) * side, title, STYLE, parts)


def picture(grid: str, size: int, title: str, look: CellStyle | None = None) -> str:
    """Draw GRID, its clues, as LOOK says."""
    side = _side(size) * size + 2 * MARGIN
    return _svg.picture(side, side, title, STYLE, _grid(grid, size, look or CellStyle()))


def _side(size: int) -> int:
    """Return the side of a square: the more digits may be candidates in it, the larger."""
    return 40 if size <= 9 else 56 if size <= 16 else 72


def _grid(grid: str, size: int, look: CellStyle) -> Iterator[str]:
    side = _side(size)
    whole = side * size
    yield f'<g transform="translate({MARGIN} {MARGIN})">'
    yield f'<rect class="su-paper" width="{whole}" height="{whole}"/>'
    crossed = look.crossed or {}
    shades = {"su-unit": look.units - look.why, "su-why": look.why, "su-lose": frozenset(crossed) - look.why}
    if look.new is not None:
        shades = {name: squares - {look.new} for name, squares in shades.items()} | {
            "su-try" if look.guess else "su-got": frozenset({look.new})
        }
    for name, squares in shades.items():
        if squares:
            drawn = "".join(f"M{at % size * side} {at // size * side}h{side}v{side}h-{side}z" for at in sorted(squares))
            yield f'<path class="{name}" d="{drawn}"/>'
    yield from _digits(grid, size, look)
    if look.candidates:
        yield from _candidates(size, look, crossed)
    yield from _lines(size)
    yield "</g>"


def _digits(grid: str, size: int, look: CellStyle) -> Iterator[str]:
    side = _side(size)
    clues = [(at, mark) for at, mark in enumerate(grid) if mark != EMPTY]
    others = [(at, mark) for at, mark in enumerate(look.found) if mark != EMPTY and grid[at] == EMPTY]
    groups = {
        "su-clue": clues,
        "su-found": [(at, mark) for at, mark in others if at != look.new],
        "su-new": [(at, mark) for at, mark in others if at == look.new],
    }
    for name, marks in groups.items():
        if marks:
            centres = [(at % size * side + side / 2, at // size * side + side * 0.69) for at, _ in marks]
            yield _text(name, side * 0.55, centres, (mark for _, mark in marks))


def _candidates(size: int, look: CellStyle, crossed: dict[int, int]) -> Iterator[str]:
    side = _side(size)
    wide, high = BOXES[size]
    small: list[tuple[float, float, str]] = []
    out: list[tuple[float, float, str]] = []
    for at, bits in enumerate(look.candidates):
        if look.found[at] != EMPTY:
            continue
        for number in range(size):
            if bits >> number & 1:
                x = at % size * side + (number % wide + 0.5) * side / wide
                y = at // size * side + (number // wide + 0.78) * side / high
                (out if crossed.get(at, 0) >> number & 1 else small).append((x, y, SYMBOLS[number]))
    for name, marks in (("su-small", small), ("su-out", out)):
        if marks:
            yield _text(name, side * 0.8 / max(wide, high), [(x, y) for x, y, _ in marks], (mark for *_, mark in marks))


def _text(name: str, height: float, centres: Iterable[tuple[float, float]], marks: Iterable[str]) -> str:
    """Return all MARKS as one text, each with its own place: a tenth of the size of one text for each."""
    places = list(centres)
    across, down = (" ".join(f"{place[axis]:.4g}" for place in places) for axis in (0, 1))
    return f'<text class="su-t {name}" font-size="{height:.3g}" x="{across}" y="{down}">{"".join(marks)}</text>'


def _lines(size: int) -> Iterator[str]:
    side, (wide, high) = _side(size), BOXES[size]
    whole = side * size
    thin = [f"M0 {at * side}h{whole}" for at in range(size) if at % high]
    thin += [f"M{at * side} 0v{whole}" for at in range(size) if at % wide]
    thick = [f"M0 {at * side}h{whole}" for at in range(high, size, high)]
    thick += [f"M{at * side} 0v{whole}" for at in range(wide, size, wide)]
    yield f'<path class="su-line" stroke-width=".7" d="{"".join(thin)}"/>'
    yield f'<path class="su-line" stroke-width="2.6" d="{"".join(thick)}"/>'
    yield f'<rect class="su-line" width="{whole}" height="{whole}" stroke-width="3" rx="2"/>'
