"""Check a fleet against a battleship board, square by square. Shares no code with the solver."""

from collections import Counter
from collections.abc import Sequence

from pi_appliance.puzzles import Validation
from pi_appliance.puzzles.battleship.board import HIT, MISS, SUNK, Board, Ship, Square


def check(board: Board, line: Sequence[Ship]) -> Validation:
    """Check that `line` is the fleet of `board` and agrees with its marks and rules."""
    owners: dict[Square, Ship] = {}
    lengths: list[int] = []
    for ship in line:
        covered = _covered_squares(ship)
        if not covered:
            return Validation(f"{ship} is not a valid ship: name its left or upper end first, then its other end")
        if error := _check_marks(board, covered):
            return Validation(f"{ship}: {error}")
        for square in covered:
            if square in owners:
                return Validation(f"{ship}: {owners[square]} already lies on {square}")
        owners.update(dict.fromkeys(covered, ship))
        lengths.append(len(covered))
    missing, extra = Counter(board.fleet) - Counter(lengths), Counter(lengths) - Counter(board.fleet)
    if missing or extra:
        amount = "no more ships" if extra else "another ship"
        return Validation(f"the fleet has {amount} of {min(extra or missing)}")
    return Validation(_check_contact(board, owners) or _check_hits(board, owners) or _check_sunk_ships(board, line))


def _covered_squares(ship: Ship) -> list[Square]:
    """List the squares of `ship`; empty unless it is straight and runs right or down."""
    (left, top), (right, bottom) = ship
    if left != right and top != bottom:
        return []
    return [Square(x, y) for y in range(top, bottom + 1) for x in range(left, right + 1)]


def _check_marks(board: Board, covered: Sequence[Square]) -> str:
    for x, y in covered:
        if not (0 <= y < len(board.rows) and 0 <= x < len(board.rows[y])):
            return f"{Square(x, y)} is outside the sea"
        if board.rows[y][x] == MISS:
            return f"{Square(x, y)} is a miss"
    marks = {board.rows[y][x] for x, y in covered}
    if SUNK in marks and marks != {SUNK}:
        return "only some of its squares are sunk"
    if board.sinking == "announced" and marks == {HIT}:
        return "all its squares are hit, but it is not marked as sunk"
    return ""


def _check_contact(board: Board, owners: dict[Square, Ship]) -> str:
    if board.touching == "allowed":
        return ""
    # The directions up and left are covered from the neighbouring square.
    steps = [(1, 0), (0, 1)] if board.touching == "corners" else [(1, 0), (0, 1), (1, 1), (-1, 1)]
    for (x, y), ship in owners.items():
        for right, down in steps:
            other = owners.get(Square(x + right, y + down), ship)
            if other != ship:
                return f"{ship} touches {other}"
    return ""


def _check_hits(board: Board, owners: dict[Square, Ship]) -> str:
    for y, row in enumerate(board.rows):
        for x, mark in enumerate(row):
            if mark in (HIT, SUNK) and (x, y) not in owners:
                return f"{Square(x, y)} is hit, but no ship lies there"
    return ""


def _check_sunk_ships(board: Board, line: Sequence[Ship]) -> str:
    return next((f"the sunk ship {ship} is missing" for ship in board.sunk_ships if ship not in line), "")
