"""Battleship: find the fleets that fit the hits, misses and sunk ships, and the best next shot."""

from pi_appliance.puzzles.battleship.board import BOARDS, RULES, Board, check, describe, notate, with_rules
from pi_appliance.puzzles.battleship.fleet import Ship, Solution, Square
from pi_appliance.puzzles.battleship.notation import parse, parse_solution, render, render_solution, render_svg, steps
from pi_appliance.puzzles.battleship.solve import MODES, foretell, generate, hint, solve
from pi_appliance.puzzles.text_format import listing_parser

parse_listing = listing_parser(parse, parse_solution)
TITLE = "Battleship"
NODE_UNIT = "ships"
SOLVED_AT_ONCE = True

__all__ = [
    "BOARDS", "MODES", "NODE_UNIT", "RULES", "SOLVED_AT_ONCE", "TITLE", "Board", "Ship", "Solution", "Square", "check",
    "describe", "foretell", "generate", "hint", "notate", "parse", "parse_listing", "parse_solution", "render",
    "render_solution", "render_svg", "solve", "steps", "with_rules",
]  # fmt: skip
