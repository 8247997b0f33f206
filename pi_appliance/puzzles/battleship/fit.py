"""Where ships may lie on a battleship board, each for itself, and which two of them exclude each other."""

from collections.abc import Iterable
from functools import lru_cache, reduce
from operator import or_
from typing import NamedTuple

from pi_appliance.puzzles.battleship.board import HIT, MISS, SUNK, Board, Ship, Square

SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1))
CORNERS = ((1, 1), (1, -1), (-1, 1), (-1, -1))
APART = {"allowed": (), "corners": SIDES, "never": SIDES + CORNERS}


class Placement(NamedTuple):
    """A ship that may lie somewhere, as sets of squares: bit y * width + x."""

    ship: Ship
    length: int
    body: int
    zone: int
    """Its squares and all around it where no other ship may lie."""


def places(board: Board) -> list[Placement]:
    """Return every place for a ship of the fleet that the marks allow, the longest ships first, in reading order."""
    miss, sunk, hit = (squares(board, mark) for mark in (MISS, SUNK, HIT))
    filled = hit | sunk
    known = union(_set(ship.squares, board.width) for ship in board.known)
    return [
        place
        for place in _sea(board.width, board.height, tuple(sorted(set(board.fleet), reverse=True)), board.touching)
        if not place.body & miss
        and place.body & sunk in (0, place.body)
        and not filled & place.zone & ~place.body
        and not (place.body & known and place.ship not in board.known)
        and not (board.sinking == "told" and place.body & hit == place.body)
    ]


def squares(board: Board, marks: str) -> int:
    """Return the set of the squares that bear one of MARKS."""
    return _set(board.marked(marks), board.width)


def union(sets: Iterable[int]) -> int:
    """Return the set of all squares that are in one of SETS."""
    return reduce(or_, sets, 0)


@lru_cache(maxsize=8)
def _sea(width: int, height: int, lengths: tuple[int, ...], touching: str) -> tuple[Placement, ...]:
    """Return every place on a sea where nothing is marked, kept as every question about a board begins with it."""
    ships = [
        Ship(Square(x, y), Square(x + right * (length - 1), y + down * (length - 1)))
        for length in lengths
        for y in range(height)
        for x in range(width)
        for right, down in ((1, 0), (0, 1))
        if x + right * (length - 1) < width and y + down * (length - 1) < height and (right or length > 1)
    ]
    return tuple(_place(ship, width, height, touching) for ship in ships)


def _place(ship: Ship, width: int, height: int, touching: str) -> Placement:
    around = {
        Square(square.x + right, square.y + down)
        for square in ship.squares
        for right, down in APART[touching]
        if 0 <= square.x + right < width and 0 <= square.y + down < height
    }
    body = _set(ship.squares, width)
    return Placement(ship, len(ship.squares), body, body | _set(around, width))


def _set(some: Iterable[Square], width: int) -> int:
    return union(1 << (y * width + x) for x, y in some)
