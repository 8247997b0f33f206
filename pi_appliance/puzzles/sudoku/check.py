"""Checks a filled sudoku grid by the rules of the game and nothing else."""

from collections.abc import Iterator

from pi_appliance.puzzles import Validation
from pi_appliance.puzzles.sudoku.board import BOXES, EMPTY, SYMBOLS, Board, Solution


def check(board: Board, line: Solution) -> Validation:
    """Say whether LINE solves its grid of BOARD; if not, which square is wrong."""
    number, digits = line
    if not 1 <= number <= len(board.grids):
        return Validation(f"there is no grid {number}: there are {len(board.grids)}")
    size, grid = board.size, board.grids[number - 1]
    if len(digits) != size * size:
        return Validation(f"it has {len(digits)} squares, the grid has {size * size}")
    for at, (clue, mark) in enumerate(zip(grid, digits, strict=True)):
        where = f"row {at // size + 1}, column {at % size + 1}"
        if mark not in SYMBOLS[:size]:
            return Validation(f"{where}: {mark!r} is not from 1 to {SYMBOLS[size - 1]}")
        if clue not in (EMPTY, mark):
            return Validation(f"{where}: it says {mark}, but the clue there is {clue}")
    for name, marks in _groups(digits, size):
        if len(set(marks)) != size:
            twice = next(mark for mark in marks if marks.count(mark) > 1)
            return Validation(f"{name}: {twice} stands there {marks.count(twice)} times")
    return Validation()


def _groups(digits: str, size: int) -> Iterator[tuple[str, str]]:
    """Yield each row, column and box of DIGITS, named."""
    rows = [digits[start : start + size] for start in range(0, size * size, size)]
    wide, high = BOXES[size]
    for number in range(size):
        yield f"row {number + 1}", rows[number]
        yield f"column {number + 1}", "".join(row[number] for row in rows)
        top, left = number // high * high, number % high * wide
        yield f"box {number + 1}", "".join(row[left : left + wide] for row in rows[top : top + high])
