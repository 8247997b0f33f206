"""Solitaire chess: every move captures, and one piece is left at the end."""

from collections.abc import Sequence
from typing import Any

from pi_appliance.puzzles import Progress, Rule, SolveMode, rendering
from pi_appliance.puzzles.solitaire_chess.board import (
    Board,
    Capture,
    King,
    Pawns,
    Search,
    Solution,
    Square,
    describe,
    with_rules,
)
from pi_appliance.puzzles.solitaire_chess.boards import BOARDS
from pi_appliance.puzzles.solitaire_chess.check import check
from pi_appliance.puzzles.solitaire_chess.generate import generate
from pi_appliance.puzzles.solitaire_chess.parse import parse, parse_solution
from pi_appliance.puzzles.solitaire_chess.picture import render_svg, steps
from pi_appliance.puzzles.solitaire_chess.render import notate, render, render_solution
from pi_appliance.puzzles.solitaire_chess.seats import captures
from pi_appliance.puzzles.solitaire_chess.solve import hint, solve

TITLE = "Solitaire chess"
NODE_UNIT = "captures"
RULES = {
    "pawns": Rule("which way pawns capture", Pawns.DOWN.value, tuple(each.value for each in Pawns)),
    "king": Rule("whether a king may be captured, or is the last piece", King.FREE.value, tuple(k.value for k in King)),
    "captures-each": Rule("how often one piece may capture, such as 2; 0 is as often as it can", "0"),
    "search": Rule(
        "how solutions are looked for; they are the same", Search.DEPTH.value, tuple(s.value for s in Search)
    ),
    "pieces": Rule("how many pieces a board has that is made; 0 is as many as this one", "0"),
    "size": Rule("how many files x ranks a board has that is made, such as 5x4; as this one if nothing is said"),
}
MODES = (SolveMode.ALL, SolveMode.FIRST, SolveMode.COUNT)


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
    "Capture",
    "King",
    "Pawns",
    "Search",
    "Solution",
    "Square",
    "captures",
    "check",
    "describe",
    "generate",
    "hint",
    "notate",
    "parse",
    "parse_listing",
    "parse_solution",
    "render",
    "render_solution",
    "render_svg",
    "solve",
    "steps",
    "with_rules",
]
