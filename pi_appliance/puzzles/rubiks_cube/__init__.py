"""Rubik's cube: the 3x3x3 in at most 22 moves at once, fewer with time; the 2x2x2 optimally."""

from pi_appliance.puzzles.rubiks_cube.board import BOARDS, RULES, Board, Solution, check, describe, with_rules
from pi_appliance.puzzles.rubiks_cube.notation import (
    notate,
    parse,
    parse_listing,
    parse_solution,
    render,
    render_solution,
    render_svg,
    steps,
)
from pi_appliance.puzzles.rubiks_cube.solve import (
    MODES,
    count_boards,
    foretell,
    generate,
    hint,
    precompute,
    random_cube,
    solve,
    solve_many,
)

TITLE = "Rubik's cube"
NODE_UNIT = "positions"

__all__ = [
    "BOARDS", "MODES", "NODE_UNIT", "RULES", "TITLE", "Board", "Solution", "check", "count_boards", "describe",
    "foretell", "generate", "hint", "notate", "parse", "parse_listing", "parse_solution", "precompute", "random_cube",
    "render", "render_solution", "render_svg", "solve", "solve_many", "steps", "with_rules",
]  # fmt: skip
