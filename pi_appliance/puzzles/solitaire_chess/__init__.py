"""Solitaire chess: every move captures, and one piece is left at the end."""

from collections.abc import Sequence
from typing import Any

from pi_appliance.puzzles import Progress, SolveMode, rendering
from pi_appliance.puzzles.solitaire_chess.board import (
    BOARDS,
    RULES,
    Board,
    Capture,
    KingRule,
    PawnDirection,
    SearchOrder,
    Solution,
    Square,
    check,
    describe,
    with_rules,
)
from pi_appliance.puzzles.solitaire_chess.generate import generate
from pi_appliance.puzzles.solitaire_chess.notation import (
    notate,
    parse,
    parse_solution,
    render,
    render_solution,
    render_svg,
    steps,
)
from pi_appliance.puzzles.solitaire_chess.search import legal_captures
from pi_appliance.puzzles.solitaire_chess.solve import hint, solve

TITLE = "Solitaire chess"
NODE_UNIT = "captures"
MODES = (SolveMode.ALL, SolveMode.FIRST, SolveMode.COUNT)

__all__ = [
    "BOARDS", "MODES", "NODE_UNIT", "RULES", "TITLE", "Board", "Capture", "KingRule", "PawnDirection",
    "SearchOrder", "Solution", "Square", "check", "describe", "generate", "hint", "legal_captures", "notate",
    "parse", "parse_listing", "parse_solution", "render", "render_solution", "render_svg", "solve", "steps",
    "with_rules",
]  # fmt: skip


def parse_listing(text: str, file: str, progress: Progress) -> Sequence[tuple[Any, Sequence[Any]]]:
    """Read each board in `text` with the solutions listed below it. Raises ConfigError."""
    return rendering.parse_listing(text, file, progress, board_of=parse, line_of=parse_solution)
