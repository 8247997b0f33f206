"""Write and draw sudokus: text, pictures, and the steps of a solution as pictures."""

from collections.abc import Iterator
from itertools import zip_longest

from pi_appliance.puzzles import Grid, Step, load_board, pluralize, text_format
from pi_appliance.puzzles.deductions import CONTRADICTION, describe_deduction
from pi_appliance.puzzles.sudoku.board import BOXES, EMPTY, SYMBOLS, Board, Solution, count_clues, draw_grid
from pi_appliance.puzzles.sudoku.techniques import CandidateGrid, Deduction, iter_deductions

MARGIN = 6
MAX_SHOWN = 9  # grids that are drawn of a board with many
# All names of classes begin with su-, because a page may contain pictures of other puzzles.
STYLE = """\
.su-t{font-family:system-ui,sans-serif;text-anchor:middle;fill:#1c1c1c}.su-clue{font-weight:700}
.su-found{fill:#2f6fb5}.su-new{fill:#0b7a3b;font-weight:700}.su-small{fill:#6d6a63}.su-out{fill:#c01f1f;font-weight:700}
.su-paper{fill:#fffdf7}.su-unit{fill:#f3ecd2}.su-why{fill:#f6d98b}.su-got{fill:#bfe6c8}.su-lose{fill:#f7cfc9}
.su-try{fill:#dccbf2}.su-line{fill:none;stroke:#1c1c1c}
@media (prefers-color-scheme:dark){.su-t{fill:#f2f2f2}.su-found{fill:#8fc1f5}
.su-new{fill:#7fe3a0}.su-small{fill:#a9adb5}
.su-out{fill:#ff8a80}.su-paper{fill:#1e2126}.su-unit{fill:#2b3038}.su-why{fill:#5c4d1c}.su-got{fill:#1d4a2b}
.su-lose{fill:#552523}.su-try{fill:#4a3768}.su-line{stroke:#d5d8dd}}"""


def render(board: Board | str) -> str:
    """Draw the board as text that `parse` can read: one ruled grid, or one grid per line."""
    board = load_board(board, Board)
    if not board.has_many_grids:
        return draw_grid(board.grids[0], board.size)
    pairs = zip_longest(board.grids, board.known_solutions)
    return "".join(f"{grid},{solution}\n" if solution else f"{grid}\n" for grid, solution in pairs)


def render_solution(board: Board | str, solution: Solution) -> str:
    """Return the notation of a solution; for a single grid, also its drawing."""
    board = load_board(board, Board)
    if board.has_many_grids:
        return f"{notate(board, solution)}\n"
    return f"{notate(board, solution)}\n{draw_grid(solution.digits, board.size)}"


def notate(board: Board | str, solution: Solution) -> str:
    """Return the symbols of a solution row by row; with many grids, also # and the grid number."""
    board = load_board(board, Board)
    return f"{solution.digits} # {solution.grid}" if board.has_many_grids else solution.digits


def render_svg(board: Board | str) -> str:
    """Draw the board as SVG; of several grids, the first nine."""
    board = load_board(board, Board)
    if not board.has_many_grids:
        grid = board.grids[0]
        return _draw_picture(grid, board.size, f"Sudoku: {pluralize(count_clues(grid), 'clue')}")
    side = _cell_side(board.size) * board.size + 2 * MARGIN
    shown = board.grids[:MAX_SHOWN]
    columns = min(3, len(shown))
    parts: list[str] = []
    for number, grid in enumerate(shown):
        x, y = number % columns * side, number // columns * side
        parts += [f'<g transform="translate({x} {y})">', *_grid_parts(grid, board.size), "</g>"]
    title = f"{len(board.grids):,} sudokus" + (f", the first {MAX_SHOWN}" if len(board.grids) > MAX_SHOWN else "")
    return text_format.svg_document(columns * side, -(-len(shown) // columns) * side, title, STYLE, parts)


def steps(board: Board | str, solution: Solution) -> Iterator[Step]:
    """Yield pictures of the steps from the clues to `solution`; a step may be a guess."""
    board = load_board(board, Board)
    grid, size = board.grids[solution.grid - 1], board.size
    yield Step("The clues", _draw_picture(grid, size, "The clues"))
    candidates = CandidateGrid(grid, size)
    # A deduction is applied when the next one is requested, so `candidates` are those before it.
    for deduction in iter_deductions(candidates, solution.digits):
        if deduction.technique == CONTRADICTION:
            return
        caption = describe_deduction(deduction)
        cell, symbol = deduction.solved_cell, SYMBOLS[deduction.digits.bit_length() - 1]
        placed = None if cell is None else (cell, symbol)
        yield Step(caption, _draw_picture(grid, size, caption, candidates, deduction), placed)


def as_grid(board: Board, solution: Solution) -> Grid | None:
    """Return a single grid for a page on which a person solves it; None for several grids."""
    if board.has_many_grids:
        return None
    return Grid(
        width=board.size,
        height=board.size,
        block_width=BOXES[board.size][0],
        block_height=BOXES[board.size][1],
        symbols=SYMBOLS[: board.size],
        clues=board.grids[0],
        solution=solution.digits,
    )


def draw_contradiction(grid: str, candidates: CandidateGrid, deduction: Deduction) -> str:
    """Draw a contradiction, with the candidates at that time."""
    return _draw_picture(grid, candidates.layout.size, deduction.text, candidates, deduction)


def _draw_picture(
    grid: str, size: int, title: str, candidates: CandidateGrid | None = None, deduction: Deduction | None = None
) -> str:
    side = _cell_side(size) * size + 2 * MARGIN
    return text_format.svg_document(side, side, title, STYLE, _grid_parts(grid, size, candidates, deduction))


def _cell_side(size: int) -> int:
    return 40 if size <= 9 else 56 if size <= 16 else 72


def _grid_parts(
    grid: str, size: int, candidates: CandidateGrid | None = None, deduction: Deduction | None = None
) -> Iterator[str]:
    """Yield the parts of a drawing.

    The clues, the `candidates` before a `deduction`, and its result.
    """
    side = _cell_side(size)
    length = side * size
    yield f'<g transform="translate({MARGIN} {MARGIN})">'
    yield f'<rect class="su-paper" width="{length}" height="{length}"/>'
    if candidates and deduction:
        yield from _shade_parts(candidates, deduction, side)
    yield from _text_parts(grid, size, candidates, deduction)
    yield from _line_parts(size)
    yield "</g>"


def _shade_parts(candidates: CandidateGrid, deduction: Deduction, side: int) -> Iterator[str]:
    size, reason = candidates.layout.size, set(deduction.cells)
    new = set() if deduction.solved_cell is None else {deduction.solved_cell}
    shades = {
        "su-unit": {cell for unit in deduction.units for cell in candidates.layout.units[unit].cells} - reason - new,
        "su-why": reason - new,
        "su-lose": set(deduction.reduced_cells) - reason,
        "su-try" if deduction.technique == "guess" else "su-got": new,
    }
    for name, cells in shades.items():
        if cells:
            path = "".join(f"M{at % size * side} {at // size * side}h{side}v{side}h-{side}z" for at in sorted(cells))
            yield f'<path class="{name}" d="{path}"/>'


def _text_parts(grid: str, size: int, candidates: CandidateGrid | None, deduction: Deduction | None) -> Iterator[str]:
    """Yield one text element per style, which is a tenth of the size of one element per symbol."""
    side, (width, height) = _cell_side(size), BOXES[size]
    digit_height, candidate_height = side * 0.55, side * 0.8 / max(width, height)
    heights = dict.fromkeys(("su-clue", "su-found", "su-new"), digit_height)
    heights |= {"su-small": candidate_height, "su-out": candidate_height}
    symbols: dict[str, list[tuple[float, float, str]]] = {name: [] for name in heights}
    for cell, clue in enumerate(grid):
        left, top = cell % size * side, cell // size * side
        bits = candidates.candidates[cell] if candidates else 0
        is_new = deduction is not None and cell == deduction.solved_cell
        if clue != EMPTY:
            symbols["su-clue"].append((left + side / 2, top + side * 0.69, clue))
        elif deduction and is_new:
            symbols["su-new"].append((left + side / 2, top + side * 0.69, SYMBOLS[deduction.digits.bit_length() - 1]))
        elif candidates and bits and cell not in candidates.unsolved:
            symbols["su-found"].append((left + side / 2, top + side * 0.69, SYMBOLS[bits.bit_length() - 1]))
        elif candidates and deduction:
            removed = candidates.removed_candidates(deduction, cell) if cell in deduction.reduced_cells else 0
            for number in (number for number in range(size) if bits >> number & 1):
                x = left + (number % width + 0.5) * side / width
                y = top + (number // width + 0.78) * side / height
                symbols["su-out" if removed >> number & 1 else "su-small"].append((x, y, SYMBOLS[number]))
    for name, points in symbols.items():
        if points:
            x_list, y_list = (" ".join(f"{point[axis]:.4g}" for point in points) for axis in (0, 1))
            text = "".join(symbol for *_, symbol in points)
            yield f'<text class="su-t {name}" font-size="{heights[name]:.3g}" x="{x_list}" y="{y_list}">{text}</text>'


def _line_parts(size: int) -> Iterator[str]:
    side, (width, height) = _cell_side(size), BOXES[size]
    length = side * size
    for is_thick, stroke in ((False, ".7"), (True, "2.6")):
        path = [f"M0 {at * side}h{length}" for at in range(1, size) if (at % height == 0) == is_thick]
        path += [f"M{at * side} 0v{length}" for at in range(1, size) if (at % width == 0) == is_thick]
        yield f'<path class="su-line" stroke-width="{stroke}" d="{"".join(path)}"/>'
    yield f'<rect class="su-line" width="{length}" height="{length}" stroke-width="3" rx="2"/>'
