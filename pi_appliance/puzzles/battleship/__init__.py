"""Battleship: find the fleets that fit the hits, misses and sunk ships, and the best next shot."""

from collections.abc import Sequence

from pi_appliance.puzzles import Progress, SolveMode
from pi_appliance.puzzles.battleship.board import (
    BOARDS,
    RULES,
    Board,
    Ship,
    Solution,
    Square,
    check,
    describe,
    with_rules,
)
from pi_appliance.puzzles.battleship.parse import parse
from pi_appliance.puzzles.battleship.placements import generate
from pi_appliance.puzzles.battleship.render import notate, parse_solution, render, render_solution, render_svg, steps
from pi_appliance.puzzles.battleship.solve import hint, solve
from pi_appliance.puzzles.rendering import parse_listing as _parse_listing

TITLE = "Battleship"
NODE_UNIT = "ships"
MODES = (SolveMode.FIRST, SolveMode.COUNT, SolveMode.ALL)

__all__ = [
    "BOARDS", "MODES", "NODE_UNIT", "RULES", "TITLE", "Board", "Ship", "Solution", "Square", "check", "describe",
    "generate", "hint", "notate", "parse", "parse_listing", "parse_solution", "render", "render_solution",
    "render_svg", "solve", "steps", "with_rules",
]  # fmt: skip


def parse_listing(text: str, file: str, progress: Progress) -> Sequence[tuple[Board, Sequence[Solution]]]:
    """Read each board in `text` with the solutions listed below it. Raises ConfigError."""
    return _parse_listing(text, file, progress, board_of=parse, line_of=parse_solution)
