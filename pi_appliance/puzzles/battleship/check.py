"""Says whether a fleet laid on a battleship board keeps the rules: square by square, by nothing but the rules."""

from collections import Counter
from collections.abc import Sequence

from pi_appliance.puzzles import Validation
from pi_appliance.puzzles.battleship.board import HIT, MISS, SUNK, Board, Ship, Square


def check(board: Board, line: Sequence[Ship]) -> Validation:
    """Say whether LINE is the fleet of BOARD, lies on it and agrees with its marks; if not, which ship is wrong."""
    owners: dict[Square, Ship] = {}
    lengths: list[int] = []
    for ship in line:
        covered = _covered(ship)
        if not covered:
            return Validation(f"{ship} is no ship: it goes to the right or down, from its first square to its last")
        if wrong := _marks(board, covered):
            return Validation(f"{ship}: {wrong}")
        for square in covered:
            if square in owners:
                return Validation(f"{ship}: {owners[square]} lies on {square} already")
        owners.update(dict.fromkeys(covered, ship))
        lengths.append(len(covered))
    missing, extra = Counter(board.fleet) - Counter(lengths), Counter(lengths) - Counter(board.fleet)
    if missing or extra:
        some = "no more ships" if extra else "another ship"
        return Validation(f"the fleet has {some} of {min(extra or missing)}")
    return Validation(_touch(board, owners) or _bare(board, owners) or _known(board, line))


def _covered(ship: Ship) -> list[Square]:
    """Return the squares from the first of SHIP to its last; none if that is no straight way to the right or down."""
    (left, top), (right, bottom) = ship
    if left != right and top != bottom:
        return []
    return [Square(x, y) for y in range(top, bottom + 1) for x in range(left, right + 1)]


def _marks(board: Board, covered: Sequence[Square]) -> str:
    """Return what forbids a ship on the squares COVERED, all others left aside."""
    for x, y in covered:
        if not (0 <= y < len(board.rows) and 0 <= x < len(board.rows[y])):
            return f"{Square(x, y)} is outside the sea"
        if board.rows[y][x] == MISS:
            return f"{Square(x, y)} is a miss"
    marks = {board.rows[y][x] for x, y in covered}
    if SUNK in marks and marks != {SUNK}:
        return "it is sunk on some of its squares only"
    if board.sinking == "told" and marks == {HIT}:
        return "all its squares are hit, and it was not told to be sunk"
    return ""


def _touch(board: Board, owners: dict[Square, Ship]) -> str:
    """Return which two ships touch where they may not."""
    if board.touching == "allowed":
        return ""
    # What lies up or to the left of a square is seen from the other one.
    steps = [(1, 0), (0, 1)] if board.touching == "corners" else [(1, 0), (0, 1), (1, 1), (-1, 1)]
    for (x, y), ship in owners.items():
        for right, down in steps:
            other = owners.get(Square(x + right, y + down), ship)
            if other != ship:
                return f"{ship} touches {other}"
    return ""


def _bare(board: Board, owners: dict[Square, Ship]) -> str:
    """Return which hit lies on no ship."""
    for y, row in enumerate(board.rows):
        for x, mark in enumerate(row):
            if mark in (HIT, SUNK) and (x, y) not in owners:
                return f"{Square(x, y)} is hit, and no ship lies there"
    return ""


def _known(board: Board, line: Sequence[Ship]) -> str:
    """Return which ship that is known to be sunk is not there."""
    return next((f"the sunk ship {ship} is not there" for ship in board.known if ship not in line), "")
