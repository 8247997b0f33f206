"""Panguru: move pebbles into the one hole until each lies on a plate of its colour."""

from pi_appliance.puzzles.panguru.board import (
    BOARDS,
    RULES,
    Board,
    MoveLines,
    Solution,
    check,
    describe,
    original_lines,
    reachable_places,
    triangle_lines,
    with_rules,
)
from pi_appliance.puzzles.panguru.notation import (
    notate,
    parse,
    parse_solution,
    render,
    render_solution,
    render_svg,
    steps,
)
from pi_appliance.puzzles.panguru.solvable import explain_unsolvable, generate
from pi_appliance.puzzles.panguru.solve import MODES, difficulty, foretell, hint, solve
from pi_appliance.puzzles.text_format import listing_parser

parse_listing = listing_parser(parse, parse_solution)
TITLE = "Panguru"
NODE_UNIT = "moves"

__all__ = [
    "BOARDS", "MODES", "NODE_UNIT", "RULES", "TITLE", "Board", "MoveLines", "Solution", "check", "describe",
    "difficulty", "explain_unsolvable", "foretell", "generate", "hint", "notate", "original_lines", "parse",
    "parse_listing", "parse_solution", "reachable_places", "render", "render_solution", "render_svg", "solve", "steps",
    "triangle_lines", "with_rules",
]  # fmt: skip
