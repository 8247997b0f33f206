"""The rule of three: what no jump of peg solitaire can change."""

from collections.abc import Iterable

from pi_appliance.puzzles.peg_solitaire.board import Board, Hole


def parity(board: Board, holes: Iterable[Hole]) -> tuple[bool, ...]:
    """Return which colours of diagonals agree in odd and even, for HOLES of BOARD; no jump can change it.

    Colour the diagonals with three colours in turn: a jump touches one hole of each colour, so that all three counts
    turn from odd to even or back together. On squares both directions of diagonals do; among triangles, one.
    """
    odd = [False] * 6
    for x, y in holes:
        odd[(x + y) % 3] ^= True
        if not board.triangular:
            odd[3 + (x - y) % 3] ^= True
    return (odd[0] == odd[1], odd[1] == odd[2], odd[3] == odd[4], odd[4] == odd[5])


def forbids(board: Board) -> str:
    """Return why the pegs of BOARD can never become a single one where it has to be; empty if they may."""
    ends = (board.goal,) if board.goal else board.holes
    begin = parity(board, board.pegs)
    if any(parity(board, [end]) == begin for end in ends):
        return ""
    where = f"at {board.goal}" if board.goal else "anywhere on this board"
    return f"the rule of three: these pegs cannot become one {where}"
