"""Check a solitaire chess solution by replaying it. Shares no code with the solver."""

from collections.abc import Sequence

from pi_appliance.puzzles import Validation, pluralize
from pi_appliance.puzzles.solitaire_chess.board import PIECE_NAMES, Board, Capture, KingRule, PawnDirection, Square


def check(board: Board, line: Sequence[Capture]) -> Validation:
    """Check that `line` has only legal captures and leaves a single piece of `board`."""
    pieces = dict(board.pieces)
    captures_made = dict.fromkeys(pieces, 0)
    for number, (start, end) in enumerate(line, 1):
        error = _check_capture(board, pieces, start, end)
        if not error and board.capture_limit and captures_made[start] >= board.capture_limit:
            times = pluralize(captures_made[start], "time")
            error = f"the {PIECE_NAMES[pieces[start]]} has already captured {times}"
        if error:
            return Validation(f"capture {number}, {start}x{end}: {error}")
        pieces[end] = pieces.pop(start)
        captures_made[end] = captures_made.pop(start) + 1
    if len(pieces) != 1:
        return Validation(f"{len(pieces)} pieces are left after {pluralize(len(line), 'capture')}")
    return Validation()


def _check_capture(board: Board, pieces: dict[Square, str], start: Square, end: Square) -> str:
    """Return the rule that the capture breaks; empty if none."""
    for square in (start, end):
        if square not in pieces:
            return f"there is no piece on {square}"
    if pieces[end] == "K" and board.king is KingRule.LAST:
        return "a king is never captured"
    piece, across, up = pieces[start], end[0] - start[0], end[1] - start[1]
    if not _can_reach(board.pawns, piece, across, up):
        return f"a {PIECE_NAMES[piece]} does not capture like that"
    distance = max(abs(across), abs(up))
    if piece != "N":
        for step in range(1, distance):
            between = Square(start[0] + across * step // distance, start[1] + up * step // distance)
            if between in pieces:
                return f"{between} is in the way"
    return ""


def _can_reach(pawns: PawnDirection, piece: str, across: int, up: int) -> bool:
    """Return whether `piece` may move `across` files and `up` ranks on an empty board."""
    width, height = abs(across), abs(up)
    straight, diagonal = (width == 0) != (height == 0), width == height != 0
    match piece:
        case "K":
            return max(width, height) == 1
        case "Q":
            return straight or diagonal
        case "R":
            return straight
        case "B":
            return diagonal
        case "N":
            return {width, height} == {1, 2}
        case _:
            one_diagonal = width == height == 1
            return one_diagonal and (pawns is PawnDirection.BOTH or (up > 0) == (pawns is PawnDirection.UP))
