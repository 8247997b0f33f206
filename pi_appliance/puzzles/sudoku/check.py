"""Check a filled grid by the rules of sudoku. Shares no code with the solvers."""

from collections.abc import Iterator

from pi_appliance.puzzles import Validation
from pi_appliance.puzzles.sudoku.board import BOXES, EMPTY, SYMBOLS, Board, Solution


def check(board: Board, solution: Solution) -> Validation:
    """Check whether `solution` solves its grid; the error names the wrong cell or unit."""
    number, digits = solution
    if not 1 <= number <= len(board.grids):
        return Validation(f"there is no grid {number}: there are {len(board.grids)}")
    size, grid = board.size, board.grids[number - 1]
    if len(digits) != size * size:
        return Validation(f"it has {len(digits)} cells, the grid has {size * size}")
    for cell, (clue, symbol) in enumerate(zip(grid, digits, strict=True)):
        where = f"row {cell // size + 1}, column {cell % size + 1}"
        if symbol not in SYMBOLS[:size]:
            return Validation(f"{where}: {symbol!r} is not from 1 to {SYMBOLS[size - 1]}")
        if clue not in (EMPTY, symbol):
            return Validation(f"{where}: it says {symbol}, but the clue there is {clue}")
    for name, symbols in _iter_units(digits, size):
        if len(set(symbols)) != size:
            repeated = next(symbol for symbol in symbols if symbols.count(symbol) > 1)
            return Validation(f"{name}: {repeated} stands there {symbols.count(repeated)} times")
    return Validation()


def _iter_units(digits: str, size: int) -> Iterator[tuple[str, str]]:
    """Yield the name and the symbols of each row, column and box."""
    rows = [digits[start : start + size] for start in range(0, size * size, size)]
    width, height = BOXES[size]
    for number in range(size):
        yield f"row {number + 1}", rows[number]
        yield f"column {number + 1}", "".join(row[number] for row in rows)
        top, left = number // height * height, number % height * width
        yield f"box {number + 1}", "".join(row[left : left + width] for row in rows[top : top + height])
