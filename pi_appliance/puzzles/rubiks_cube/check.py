"""Replay a solution on the stickers. Shares no code with the solvers, which turn pieces."""

from collections.abc import Sequence

from pi_appliance.puzzles import Validation, pluralize
from pi_appliance.puzzles.rubiks_cube.board import FACES, TURNS, Board, apply_turn, parse_turn


def check(board: Board, solution: Sequence[str]) -> Validation:
    """Check whether `solution` leads to one colour per face; the error describes the first problem."""
    facelets = board.facelets
    for number, move in enumerate(solution, 1):
        turn = parse_turn(move, board.side) if move in TURNS else None
        if turn is None:
            example = f"write {FACES[0]}, {FACES[0]}2 or {FACES[0]}'"
            return Validation(f"move {number}, {move}: it is not a turn of a face; {example}")
        facelets = apply_turn(facelets, board.side, turn)
    area = board.side * board.side
    mixed = [face for at, face in enumerate(FACES) if len(set(facelets[at * area : (at + 1) * area])) > 1]
    if mixed:
        faces = f"the face {mixed[0]} has" if len(mixed) == 1 else f"the faces {', '.join(mixed)} have"
        return Validation(f"{faces} more than one colour after {pluralize(len(solution), 'move')}")
    return Validation()
