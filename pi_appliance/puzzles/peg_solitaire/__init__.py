"""Peg solitaire: jump peg over peg into an empty hole and remove it, until one is left."""

from pi_appliance.puzzles.peg_solitaire.board import (
    BOARDS,
    RULES,
    Board,
    Hole,
    Jump,
    Solution,
    check,
    describe,
    with_rules,
)
from pi_appliance.puzzles.peg_solitaire.notation import (
    notate,
    parse,
    parse_listing,
    parse_solution,
    render,
    render_solution,
    render_svg,
    steps,
)
from pi_appliance.puzzles.peg_solitaire.solve import MODES, foretell, hint, solve

TITLE = "Peg solitaire"
NODE_UNIT = "jumps"
NOTATION = "3,1 is the hole in column 3 of row 1; both count from 0, from the left and from the top."

__all__ = [
    "BOARDS", "MODES", "NODE_UNIT", "NOTATION", "RULES", "TITLE", "Board", "Hole", "Jump", "Solution", "check",
    "describe", "foretell", "hint", "notate", "parse", "parse_listing", "parse_solution", "render", "render_solution",
    "render_svg", "solve", "steps", "with_rules",
]  # fmt: skip
