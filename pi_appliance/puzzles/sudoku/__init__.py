"""Sudoku: fill the cells so that each row, column and box has each digit once."""

from pi_appliance.puzzles.sudoku.board import (
    BOARDS,
    RULES,
    Board,
    Solution,
    check,
    describe,
    parse,
    parse_listing,
    parse_solution,
    with_rules,
)
from pi_appliance.puzzles.sudoku.render import as_grid, notate, render, render_solution, render_svg, steps
from pi_appliance.puzzles.sudoku.solve import MODES, count_solutions, foretell, generate, is_unique, solve
from pi_appliance.puzzles.sudoku.techniques import hint

TITLE = "Sudoku"
NODE_UNIT = "guesses"
MANY_BOARDS = True
SOLVED_AT_ONCE = True
NOTATION = "r4c3 is the cell in row 4, column 3. A unit is a row, a column or a box."

__all__ = [
    "BOARDS", "MANY_BOARDS", "MODES", "NODE_UNIT", "NOTATION", "RULES", "SOLVED_AT_ONCE", "TITLE", "Board", "Solution",
    "as_grid", "check", "count_solutions", "describe", "foretell", "generate", "hint", "is_unique", "notate", "parse",
    "parse_listing", "parse_solution", "render", "render_solution", "render_svg", "solve", "steps", "with_rules",
]  # fmt: skip
