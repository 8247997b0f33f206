"""Replays a line of Panguru on the drawn board, by the rules of the game and nothing else."""

from collections.abc import Sequence

from pi_appliance.puzzles import Validation
from pi_appliance.puzzles.panguru.board import HOLE, HOME, Board


def check(board: Board, line: Sequence[int]) -> Validation:
    """Say whether LINE brings each pebble of BOARD onto a plate of its colour; if not, which move is wrong."""
    lies = list(board.pebbles)
    for number, start in enumerate(line, 1):
        hole = lies.index(HOLE)
        if not 0 <= start < len(lies):
            return Validation(f"move {number}: there is no place {start}")
        if not any(start in row and hole in row for row in board.lines) or start == hole:
            return Validation(f"move {number}: no pebble can move from {start} to {hole}")
        lies[hole], lies[start] = lies[start], HOLE
    if board.plates[lies.index(HOLE)] != HOME:
        return Validation(f"the hole ends at {lies.index(HOLE)}, not on the plate W")
    for place, (pebble, plate) in enumerate(zip(lies, board.plates, strict=True)):
        if pebble not in (plate, HOLE):
            return Validation(f"pebble {pebble} ends at {place}, on a plate {plate}")
    return Validation()
