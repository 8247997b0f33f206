"""Where ships may lie on a battleship board, each for itself, and which two of them exclude each other."""

from collections.abc import Iterator
from typing import NamedTuple

from pi_appliance.puzzles.battleship.board import HIT, MISS, SUNK, Board, Ship, Square

SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1))
CORNERS = ((1, 1), (1, -1), (-1, 1), (-1, -1))
APART = {"allowed": (), "corners": SIDES, "never": SIDES + CORNERS}


class Place(NamedTuple):
    """A ship that may lie somewhere, as sets of squares: bit y * width + x."""

    ship: Ship
    length: int
    body: int
    zone: int
    """Its squares and all around it where no other ship may lie."""


def bit(board: Board, square: Square) -> int:
    """Return the set that holds SQUARE alone."""
    return 1 << (square.y * board.width + square.x)


def squares(board: Board, marks: str) -> int:
    """Return the set of the squares that bear one of MARKS."""
    return sum(bit(board, square) for square in board.marked(marks))


def places(board: Board) -> list[Place]:
    """Return every place for a ship of the fleet that the marks allow, the longest ships first, in reading order."""
    miss, sunk, hit = (squares(board, mark) for mark in (MISS, SUNK, HIT))
    ships = {ship: sum(bit(board, each) for each in ship.squares) for ship in board.known}
    known = sum(set(ships.values()))
    found = []
    for ship in lying(board):
        body = sum(bit(board, square) for square in ship.squares)
        zone = body | _around(board, ship)
        if (
            not body & miss
            and body & sunk in (0, body)
            and not (board.sinking == "told" and body & hit == body)
            and not (body & known and ship not in ships)
            and not (zone & ~body & (hit | sunk))
        ):
            found.append(Place(ship, len(ship.squares), body, zone))
    return found


def lying(board: Board) -> Iterator[Ship]:
    """Yield every ship of a length in the fleet that lies on the sea, whatever is marked there."""
    for length in sorted(set(board.fleet), reverse=True):
        for y in range(board.height):
            for x in range(board.width):
                if x + length <= board.width:
                    yield Ship(Square(x, y), Square(x + length - 1, y))
                if 1 < length <= board.height - y:
                    yield Ship(Square(x, y), Square(x, y + length - 1))


def _around(board: Board, ship: Ship) -> int:
    around = 0
    for square in ship.squares:
        for right, down in APART[board.touching]:
            x, y = square.x + right, square.y + down
            if 0 <= x < board.width and 0 <= y < board.height:
                around |= bit(board, Square(x, y))
    return around
