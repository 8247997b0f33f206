"""Peg solitaire: jump peg over peg into an empty hole, and take the one jumped over, until one is left."""

from pi_appliance.puzzles import SolveMode
from pi_appliance.puzzles.peg_solitaire.board import RULES, Board, Hole, Jump, describe, with_rules
from pi_appliance.puzzles.peg_solitaire.boards import BOARDS
from pi_appliance.puzzles.peg_solitaire.check import check
from pi_appliance.puzzles.peg_solitaire.drawing import parse
from pi_appliance.puzzles.peg_solitaire.listing import parse_listing, render_line
from pi_appliance.puzzles.peg_solitaire.notation import notate, parse_line
from pi_appliance.puzzles.peg_solitaire.render import render, render_svg, steps
from pi_appliance.puzzles.peg_solitaire.solve import hint, solve

TITLE = "Peg solitaire"
MOVES = "jumps"
WISHES = (SolveMode.FIRST, SolveMode.ALL, SolveMode.COUNT, SolveMode.FEWEST)

__all__ = [
    "BOARDS",
    "MOVES",
    "RULES",
    "TITLE",
    "WISHES",
    "Board",
    "Hole",
    "Jump",
    "check",
    "describe",
    "hint",
    "notate",
    "parse",
    "parse_line",
    "parse_listing",
    "render",
    "render_line",
    "render_svg",
    "solve",
    "steps",
    "with_rules",
]
