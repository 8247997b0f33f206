"""Battleship: what hits, misses and sunk ships tell of a fleet, and whether a finished grid is one."""

from collections.abc import Sequence

from pi_appliance.puzzles import Progress, SolveMode
from pi_appliance.puzzles._listing import parse_listing as _parse_listing
from pi_appliance.puzzles.battleship.board import RULES, Board, Line, Ship, Square, describe, with_rules
from pi_appliance.puzzles.battleship.boards import BOARDS
from pi_appliance.puzzles.battleship.check import check
from pi_appliance.puzzles.battleship.make import make
from pi_appliance.puzzles.battleship.parse import parse
from pi_appliance.puzzles.battleship.render import notate, parse_line, render, render_line, render_svg, steps
from pi_appliance.puzzles.battleship.solve import hint, solve

TITLE = "Battleship"
MOVES = "ships"
WISHES = (SolveMode.FIRST, SolveMode.COUNT, SolveMode.ALL)

__all__ = [
    "BOARDS",
    "MOVES",
    "RULES",
    "TITLE",
    "WISHES",
    "Board",
    "Line",
    "Ship",
    "Square",
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


def parse_listing(text: str, file: str, progress: Progress) -> Sequence[tuple[Board, Sequence[Line]]]:
    """Return each board in TEXT with the lines listed below it. Raises ConfigError."""
    return _parse_listing(text, file, progress, board_of=parse, line_of=parse_line)
