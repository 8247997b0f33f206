"""Check a Panguru solution by replaying it. Shares no code with the solver."""

from collections.abc import Sequence

from pi_appliance.puzzles import Validation
from pi_appliance.puzzles.panguru.board import HOLE, HOME, Board


def check(board: Board, line: Sequence[int]) -> Validation:
    """Check that `line` brings each pebble of `board` onto a plate of its colour."""
    pebbles = list(board.pebbles)
    for number, start in enumerate(line, 1):
        hole = pebbles.index(HOLE)
        if not 0 <= start < len(pebbles):
            return Validation(f"move {number}: there is no place {start}")
        if not any(start in row and hole in row for row in board.move_lines) or start == hole:
            return Validation(f"move {number}: no pebble can move from {start} to {hole}")
        pebbles[hole], pebbles[start] = pebbles[start], HOLE
    if board.plates[pebbles.index(HOLE)] != HOME:
        return Validation(f"the hole ends at {pebbles.index(HOLE)}, not on the plate W")
    for place, (pebble, plate) in enumerate(zip(pebbles, board.plates, strict=True)):
        if pebble not in (plate, HOLE):
            return Validation(f"pebble {pebble} ends at {place}, on a plate {plate}")
    return Validation()
