"""Connect Four: drop discs into seven columns of six; four in a row wins. Who won, and the perfect player."""

from pi_appliance.puzzles import Rule, SolveMode
from pi_appliance.puzzles.connect_four.board import Board, Colour, End, Line, Square, describe, with_rules
from pi_appliance.puzzles.connect_four.boards import BOARDS
from pi_appliance.puzzles.connect_four.book import prepare
from pi_appliance.puzzles.connect_four.check import check
from pi_appliance.puzzles.connect_four.listing import parse_listing
from pi_appliance.puzzles.connect_four.making import make
from pi_appliance.puzzles.connect_four.notation import notate, parse, parse_line
from pi_appliance.puzzles.connect_four.render import render, render_line, render_svg, steps
from pi_appliance.puzzles.connect_four.solve import hint, solve

TITLE = "Connect Four"
MOVES = "positions"
RULES = {"first": Rule("who moved first, where the notation leaves it open", "Red", ("Red", "Yellow"))}
WISHES = (SolveMode.FIRST, SolveMode.ALL)

__all__ = [
    "BOARDS",
    "MOVES",
    "RULES",
    "TITLE",
    "WISHES",
    "Board",
    "Colour",
    "End",
    "Line",
    "Square",
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
