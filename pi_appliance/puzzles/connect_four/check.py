"""Validate a solution by replaying it with the rules. Shares no code with the solver."""

from collections.abc import Sequence

from pi_appliance.puzzles import Validation, pluralize
from pi_appliance.puzzles.connect_four.board import Board, End

_Grid = list[list[str]]  # columns from the left, each with its discs from the bottom
_COLUMNS = 7
_ROWS = 6


def check(board: Board, line: Sequence[int | End]) -> Validation:
    """Return whether the moves can be played to the end of the game and the claimed result is right.

    The quality of the moves is not checked.
    """
    grid = [[row[column] for row in reversed(board.rows) if row[column] != "."] for column in range(_COLUMNS)]
    turns = ["Red", "Yellow"] if board.turn.value == "Red" else ["Yellow", "Red"]
    moves, claim = line[:-1], line[-1] if line else None
    for number, column in enumerate(moves):
        where = f"move {number + 1}"
        if winner := _find_winner(grid):
            return Validation(f"{where}: {winner} has won already")
        if type(column) is not int or not 1 <= column <= _COLUMNS:
            return Validation(f"{where}: there is no column {column}")
        if len(grid[column - 1]) == _ROWS:
            return Validation(f"{where}: column {column} is full")
        grid[column - 1].append(turns[number % 2][0])
    if not isinstance(claim, End):
        return Validation("the line does not say how the game ends")
    winner = _find_winner(grid)
    if not winner and any(len(discs) < _ROWS for discs in grid):
        return Validation(f"after {pluralize(len(moves), 'move')} the game is not over")
    actual = f"{winner} wins" if winner else "draw"
    return Validation("" if claim.value == actual else f"the line claims {claim.value!r}, but it ends with {actual!r}")


def _find_winner(grid: _Grid) -> str:
    """Return the colour that has four in a row, or ''."""
    for x, column in enumerate(grid):
        for y, colour in enumerate(column):
            for right, up in (1, -1), (1, 0), (1, 1), (0, 1):
                if all(_disc_at(grid, x + right * far, y + up * far) == colour for far in (1, 2, 3)):
                    return "Red" if colour == "R" else "Yellow"
    return ""


def _disc_at(grid: _Grid, x: int, y: int) -> str:
    return grid[x][y] if x < _COLUMNS and 0 <= y < len(grid[x]) else ""
