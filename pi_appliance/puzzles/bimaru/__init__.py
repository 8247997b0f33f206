"""Bimaru, battleship solitaire: find the fleet from the totals of the rows and columns."""

from pi_appliance.puzzles.battleship.fleet import Ship, Solution, Square
from pi_appliance.puzzles.bimaru.board import BOARDS, RULES, Board, check, describe, notate, parse_solution, with_rules
from pi_appliance.puzzles.bimaru.parse import parse
from pi_appliance.puzzles.bimaru.render import as_grid, render, render_solution, render_svg, steps
from pi_appliance.puzzles.bimaru.search import count_solutions, is_unique
from pi_appliance.puzzles.bimaru.solve import MODES, foretell, generate, solve
from pi_appliance.puzzles.bimaru.techniques import hint
from pi_appliance.puzzles.text_format import listing_parser

parse_listing = listing_parser(parse, parse_solution)
TITLE = "Bimaru"
NODE_UNIT = "ships"
SOLVED_AT_ONCE = True
NOTATION = (
    "X is a square of a ship, ~ is water, which need not be marked. Tap a square, or type. "
    "Ships do not touch, not even at a corner. The numbers count the squares of ships in a row or column."
)

__all__ = [
    "BOARDS", "MODES", "NODE_UNIT", "RULES", "SOLVED_AT_ONCE", "TITLE", "Board", "Ship", "Solution", "Square",
    "as_grid", "check", "count_solutions", "describe", "foretell", "generate", "hint", "is_unique", "notate", "parse",
    "parse_listing", "parse_solution", "render", "render_solution", "render_svg", "solve", "steps", "with_rules",
]  # fmt: skip
