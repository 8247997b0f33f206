"""Replays a line of solitaire chess on the drawn board, by the rules of the game and nothing else."""

from collections.abc import Sequence

from pi_appliance.puzzles import Validation, pluralize
from pi_appliance.puzzles.solitaire_chess.board import NAMES, Board, Capture, King, Pawns, Square


def check(board: Board, line: Sequence[Capture]) -> Validation:
    """Say whether LINE leaves a single piece of BOARD; if not, which capture is wrong."""
    men = dict(board.men)
    made = dict.fromkeys(men, 0)
    for number, (start, end) in enumerate(line, 1):
        wrong = _wrong(board, men, start, end)
        if not wrong and board.captures_each and made[start] >= board.captures_each:
            wrong = f"the {NAMES[men[start]]} has captured {pluralize(made[start], 'time')} already"
        if wrong:
            return Validation(f"capture {number}, {start}x{end}: {wrong}")
        men[end] = men.pop(start)
        made[end] = made.pop(start) + 1
    if len(men) != 1:
        return Validation(f"{len(men)} pieces are left after {pluralize(len(line), 'capture')}")
    return Validation()


def _wrong(board: Board, men: dict[Square, str], start: Square, end: Square) -> str:
    """Return the rule that the capture breaks; empty if none."""
    for square in (start, end):
        if square not in men:
            return f"there is no piece on {square}"
    if men[end] == "K" and board.king is King.LAST:
        return "a king is never captured"
    piece, across, up = men[start], end[0] - start[0], end[1] - start[1]
    if not _reaches(board.pawns, piece, across, up):
        return f"a {NAMES[piece]} does not capture like that"
    far = max(abs(across), abs(up))
    if piece != "N":
        for step in range(1, far):
            between = Square(start[0] + across * step // far, start[1] + up * step // far)
            if between in men:
                return f"{between} is in the way"
    return ""


def _reaches(pawns: Pawns, piece: str, across: int, up: int) -> bool:
    """Say whether PIECE goes so many files to the right and ranks upwards, if nothing is in the way."""
    wide, high = abs(across), abs(up)
    straight, aslant = (wide == 0) != (high == 0), wide == high != 0
    match piece:
        case "K":
            return max(wide, high) == 1
        case "Q":
            return straight or aslant
        case "R":
            return straight
        case "B":
            return aslant
        case "N":
            return {wide, high} == {1, 2}
        case _:
            return wide == high == 1 and (pawns is Pawns.BOTH or (up > 0) == (pawns is Pawns.UP))
