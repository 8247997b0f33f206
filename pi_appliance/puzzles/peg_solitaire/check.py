"""Validate a solution by replaying it with the rules. Shares no code with the solver."""

from collections.abc import Sequence

from pi_appliance.puzzles import Validation, pluralize
from pi_appliance.puzzles.peg_solitaire.board import Board, Hole, Jump


def check(board: Board, line: Sequence[Jump]) -> Validation:
    """Return whether `line` leads to a single peg, at the goal if there is one; if not, the wrong jump."""
    filled = {hole: hole in board.pegs for hole in board.holes}
    for number, jump in enumerate(line, 1):
        if wrong := _apply_jump(filled, *jump, triangular=board.triangular):
            return Validation(f"jump {number}, {jump}: {wrong}")
    left = [hole for hole, peg in filled.items() if peg]
    if len(left) != 1:
        return Validation(f"{len(left)} pegs are left after {pluralize(len(line), 'jump')}")
    if board.goal not in (None, left[0]):
        return Validation(f"the last peg is at {left[0]}, not at {board.goal}")
    return Validation()


def _apply_jump(filled: dict[Hole, bool], start: Hole, end: Hole, *, triangular: bool) -> str:
    """Make one jump on `filled`, or return the rule it breaks."""
    way = (end.x - start.x, end.y - start.y)
    if triangular and way not in {(2, 0), (-2, 0), (0, 2), (0, -2), (2, 2), (-2, -2)}:
        return "a jump goes two holes along a line of the triangles"
    if not triangular and way not in {(2, 0), (-2, 0), (0, 2), (0, -2)}:
        return "a jump goes two holes to the right, left, down or up"
    over = Hole((start.x + end.x) // 2, (start.y + end.y) // 2)
    for hole, wanted in ((start, True), (over, True), (end, False)):
        if hole not in filled:
            return f"there is no hole at {hole}"
        if filled[hole] != wanted:
            return f"there is no peg at {hole}" if wanted else f"{hole} is not empty"
    filled[start] = filled[over] = False
    filled[end] = True
    return ""
