"""Solitaire chess: every move captures, and one piece is left at the end."""

from pi_appliance.puzzles.solitaire_chess.board import (
    BOARDS,
    RULES,
    Board,
    Capture,
    Solution,
    Square,
    check,
    describe,
    notate,
    parse,
    parse_solution,
    render,
    render_solution,
    render_svg,
    steps,
    with_rules,
)
from pi_appliance.puzzles.solitaire_chess.solve import MODES, foretell, generate, hint, legal_captures, solve
from pi_appliance.puzzles.text_format import listing_parser

parse_listing = listing_parser(parse, parse_solution)
TITLE = "Solitaire chess"
NODE_UNIT = "captures"

__all__ = [
    "BOARDS", "MODES", "NODE_UNIT", "RULES", "TITLE", "Board", "Capture", "Solution", "Square", "check", "describe",
    "foretell", "generate", "hint", "legal_captures", "notate", "parse", "parse_listing", "parse_solution", "render",
    "render_solution", "render_svg", "solve", "steps", "with_rules",
]  # fmt: skip
