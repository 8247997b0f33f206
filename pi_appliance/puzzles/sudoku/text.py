"""Writes sudokus: a grid as a drawing, many as lines, and solutions of them; reads a listing of those."""

from collections.abc import Sequence

from pi_appliance.puzzles import Progress, _listing
from pi_appliance.puzzles.sudoku.board import BOXES, Board, Solution
from pi_appliance.puzzles.sudoku.parse import parse, parse_solution


def render(board: Board) -> str:
    """Draw BOARD as `parse` reads it: one grid with lines between its boxes, or many, a grid a line."""
    if not board.many:
        return drawing(board.grids[0], board.size)
    if not board.known:
        return "".join(grid + "\n" for grid in board.grids)
    pairs = zip(board.grids, board.known, strict=True)
    return "".join(f"{grid},{solution}\n" if solution else f"{grid}\n" for grid, solution in pairs)


def render_solution(board: Board, line: Solution) -> str:
    """Draw the solution LINE: in its notation, and below as a grid where the board is one grid."""
    below = "" if board.many else drawing(line.digits, board.size)
    return f"{notate(board, line)}\n{below}"


def notate(board: Board, line: Solution) -> str:
    """Return LINE as its symbols row by row; where there are many grids, the number of its own behind a #."""
    return f"{line.digits} # {line.grid}" if board.many else line.digits


def drawing(grid: str, size: int) -> str:
    """Draw GRID with lines between its boxes."""
    wide, high = BOXES[size]
    ruler = "+".join(["-" * (2 * wide + 1)] * (size // wide))[1:-1] + "\n"
    rows = []
    for number in range(size):
        row = grid[number * size : (number + 1) * size]
        if number and number % high == 0:
            rows.append(ruler)
        rows.append(" | ".join(" ".join(row[left : left + wide]) for left in range(0, size, wide)) + "\n")
    return "".join(rows)


def parse_listing(text: str, file: str, progress: Progress) -> Sequence[tuple[Board, Sequence[Solution]]]:
    """Return each board of a listing with its solutions. Raises ConfigError."""
    return _listing.parse_listing(text, file, progress, board_of=parse, line_of=parse_solution)
