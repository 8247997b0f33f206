"""Rubik's cube: 3x3x3 in at most 22 moves at once, fewer with time; 2x2x2 completely; impossible ones explained."""

from pi_appliance.puzzles import SolveMode
from pi_appliance.puzzles.rubiks_cube.board import RULES, Board, Line, describe, with_rules
from pi_appliance.puzzles.rubiks_cube.boards import BOARDS
from pi_appliance.puzzles.rubiks_cube.check import check
from pi_appliance.puzzles.rubiks_cube.listing import parse_listing
from pi_appliance.puzzles.rubiks_cube.made import hint, make, prepare
from pi_appliance.puzzles.rubiks_cube.notation import parse, parse_line
from pi_appliance.puzzles.rubiks_cube.render import notate, render, render_line, render_svg, steps
from pi_appliance.puzzles.rubiks_cube.solve import solve

TITLE = "Rubik's cube"
MOVES = "positions"
WISHES = (SolveMode.FIRST, SolveMode.FEWEST, SolveMode.COUNT)

__all__ = [
    "BOARDS",
    "MOVES",
    "RULES",
    "TITLE",
    "WISHES",
    "Board",
    "Line",
    "check",
    "describe",
    "hint",
    "make",
    "notate",
    "parse",
    "parse_line",
    "parse_listing",
    "prepare",
    "render",
    "render_line",
    "render_svg",
    "solve",
    "steps",
    "with_rules",
]
