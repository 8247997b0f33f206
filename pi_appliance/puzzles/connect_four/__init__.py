"""Connect Four: drop discs into seven columns of six; four in a row wins.

Perfect play from any position.
"""

from pi_appliance.puzzles.connect_four.board import (
    BOARDS,
    RULES,
    Board,
    End,
    Positions,
    Solution,
    check,
    describe,
    with_rules,
)
from pi_appliance.puzzles.connect_four.book import precompute
from pi_appliance.puzzles.connect_four.notation import (
    notate,
    parse,
    parse_listing,
    parse_positions,
    parse_solution,
    render,
    render_solution,
    render_svg,
    steps,
)
from pi_appliance.puzzles.connect_four.solve import MODES, foretell, generate, hint, score_many, score_rows, solve

TITLE = "Connect Four"
NODE_UNIT = "positions"

__all__ = [
    "BOARDS", "MODES", "NODE_UNIT", "RULES", "TITLE", "Board", "End", "Positions", "Solution", "check", "describe",
    "foretell", "generate", "hint", "notate", "parse", "parse_listing", "parse_positions", "parse_solution",
    "precompute", "render", "render_solution", "render_svg", "score_many", "score_rows", "solve", "steps", "with_rules",
]  # fmt: skip
