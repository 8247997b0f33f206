"""Sudoku: fill the squares so that each row, column and box has each digit once. One grid, or a file of many."""

from pi_appliance.puzzles import SolveMode
from pi_appliance.puzzles.sudoku.board import RULES, Board, Line, describe, with_rules
from pi_appliance.puzzles.sudoku.boards import BOARDS
from pi_appliance.puzzles.sudoku.check import check
from pi_appliance.puzzles.sudoku.make import make
from pi_appliance.puzzles.sudoku.parse import parse, parse_line
from pi_appliance.puzzles.sudoku.solve import solve
from pi_appliance.puzzles.sudoku.steps import hint, steps
from pi_appliance.puzzles.sudoku.svg import render_svg
from pi_appliance.puzzles.sudoku.text import notate, parse_listing, render, render_line

TITLE = "Sudoku"
MOVES = "guesses"
MANY = True
WISHES = (SolveMode.ALL, SolveMode.FIRST, SolveMode.COUNT)

__all__ = [
    "BOARDS",
    "MANY",
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
    "render",
    "render_line",
    "render_svg",
    "solve",
    "steps",
    "with_rules",
]
