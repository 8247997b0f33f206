"""Panguru: move pebbles along straight lines into the one hole, until each lies on a plate of its colour."""

from collections.abc import Sequence
from typing import Any

from pi_appliance.puzzles import Progress, Rule, SolveMode, rendering
from pi_appliance.puzzles.panguru.board import Board, Lines, Solution, describe, original, reach, triangle, with_rules
from pi_appliance.puzzles.panguru.boards import BOARDS
from pi_appliance.puzzles.panguru.check import check
from pi_appliance.puzzles.panguru.generate import generate
from pi_appliance.puzzles.panguru.parse import parse, parse_solution
from pi_appliance.puzzles.panguru.render import notate, render, render_solution, render_svg, steps
from pi_appliance.puzzles.panguru.solvable import why_not
from pi_appliance.puzzles.panguru.solve import difficulty, hint, solve

TITLE = "Panguru"
NODE_UNIT = "moves"
RULES = {
    "moves": Rule(
        "where pebbles may move: original, no-centre (not down the middle), or own lines of places such as 0-1-3, 2-4",
        "original",
    ),
    "random": Rule("so many random boards are solved, too, for a table of how hard they are", "0"),
}
MODES = (SolveMode.FEWEST, SolveMode.FIRST, SolveMode.COUNT)


def parse_listing(text: str, file: str, progress: Progress) -> Sequence[tuple[Any, Sequence[Any]]]:
    """Return each board of a listing with its lines. Raises ConfigError."""
    return rendering.parse_listing(text, file, progress, board_of=parse, line_of=parse_solution)


__all__ = [
    "BOARDS",
    "MODES",
    "NODE_UNIT",
    "RULES",
    "TITLE",
    "Board",
    "Lines",
    "Solution",
    "check",
    "describe",
    "difficulty",
    "generate",
    "hint",
    "notate",
    "original",
    "parse",
    "parse_listing",
    "parse_solution",
    "reach",
    "render",
    "render_solution",
    "render_svg",
    "solve",
    "steps",
    "triangle",
    "why_not",
    "with_rules",
]
