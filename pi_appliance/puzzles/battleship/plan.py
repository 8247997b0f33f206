"""What the sweep of the kernel is to do on a battleship board: its cells, their ships, and how ways are written."""

from collections import Counter
from collections.abc import Sequence
from math import comb, prod

from pi_appliance.puzzles.battleship.board import HIT, SUNK, Board
from pi_appliance.puzzles.battleship.fit import Placement
from pi_appliance.puzzles.battleship.kernel import CORNER, Cell, Move, Size

Rows = tuple[tuple[Cell, ...], ...]
"""The cells of a sweep; its rows go along the shorter side of the board."""


def plan(board: Board, there: Sequence[Placement], size: Size) -> Rows:
    """Return the sweep that counts the ways to lay the fleet of BOARD on the places THERE, in polynomials of SIZE."""
    turned = is_turned(board)
    width, height = (board.height, board.width) if turned else (board.width, board.height)
    rooms, shifts = _lengths(board.fleet, size)
    moves: dict[tuple[int, int], list[Move]] = {}
    for place in there:
        (x, y), (end_x, _) = place.ship if not turned else (each[::-1] for each in place.ship)
        across = end_x > x or place.length == 1
        move = (*_bits(board.touching, x, width, place.length, across), rooms[place.length], shifts[place.length])
        moves.setdefault((x, y), []).append(move)
    filled = {(y, x) if turned else (x, y) for x, y in board.marked(HIT + SUNK)}

    def cell(x: int, y: int) -> Cell:
        end = (2 if board.touching == "allowed" else 1) << 4 * x
        corner = CORNER if board.touching == "never" and x + 1 < width else 0
        return Cell(4 * x, 1 << 4 * x, end, corner, int((x, y) not in filled), tuple(moves.get((x, y), ())))

    return tuple(tuple(cell(x, y) for x in range(width)) for y in range(height))


def is_turned(board: Board) -> bool:
    """Say whether the columns of BOARD are shorter than its rows, and take their place in a sweep."""
    return board.width > board.height


def size_of(board: Board, there: Sequence[Placement]) -> Size:
    """Return how large polynomials are: no coefficient is above the product of the ways to choose places alone."""
    numbers = Counter(place.length for place in there)
    ships = Counter(board.fleet)
    ways = prod(max(comb(numbers[length], laid) for laid in range(most + 1)) for length, most in ships.items())
    return Size(prod(most + 1 for most in ships.values()), -(-ways.bit_length() // 64))


def _lengths(fleet: Sequence[int], size: Size) -> tuple[dict[int, int], dict[int, int]]:
    """Return for each length which coefficients have such a ship left, and the shift that lays it: mixed radix."""
    rooms, shifts, stride = {}, {}, 1
    for length in sorted(set(fleet)):
        ships = fleet.count(length)
        bytes_each = 8 * size.words * stride
        left = b"\xff" * (bytes_each * ships) + bytes(bytes_each)
        rooms[length] = int.from_bytes(left * (size.slots // (stride * (ships + 1))), "little")
        shifts[length] = 8 * bytes_each
        stride *= ships + 1
    return rooms, shifts


def _bits(touching: str, x: int, width: int, length: int, across: bool) -> tuple[int, int, int]:
    """Return the bits of a key that a ship at column X wants clear, those it sets, and how far it goes in its row."""
    cells = length if across else 1
    own = range(x, x + cells)
    clear = sum(15 << 4 * each for each in own)
    sets = sum(1 << 4 * each for each in own) if across else length << 4 * x
    if touching == "allowed":
        return clear, 0 if across else sets, cells
    if x:
        clear |= 15 << 4 * (x - 1)
    if x + cells < width:
        # A ship that goes on to the right lies in this row too; one that has ended there touches at a corner.
        clear |= (14 if touching == "corners" else 15) << 4 * (x + cells)
    return (clear | CORNER if touching == "never" else clear), sets, cells
