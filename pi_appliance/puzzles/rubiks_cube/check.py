"""Replays a line on the stickers of the cube, in space. Shares nothing with the solvers, which know pieces only."""

from collections.abc import Sequence

from pi_appliance.puzzles import Validation, pluralize
from pi_appliance.puzzles.rubiks_cube.board import FACES, TURNS, Board, apply_turn, parse_turn


def check(board: Board, line: Sequence[str]) -> Validation:
    """Say whether LINE leads from BOARD to a cube with one colour a face; if not, what is wrong."""
    facelets = board.facelets
    for number, word in enumerate(line, 1):
        turn = parse_turn(word, board.side) if word in TURNS else None
        if turn is None:
            return Validation(
                f"move {number}, {word}: it is no turn of a face; write {FACES[0]}, {FACES[0]}2 or {FACES[0]}'"
            )
        facelets = apply_turn(facelets, board.side, turn)
    area = board.side * board.side
    mixed = [face for at, face in enumerate(FACES) if len(set(facelets[at * area : (at + 1) * area])) > 1]
    if mixed:
        faces = f"the face {mixed[0]} has" if len(mixed) == 1 else f"the faces {', '.join(mixed)} have"
        return Validation(f"{faces} more than one colour after {pluralize(len(line), 'move')}")
    return Validation()
