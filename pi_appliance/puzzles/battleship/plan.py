"""What the sweep of the kernel is to do on a battleship board: its cells, their ships, and how ways are written."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, prod

from pi_appliance.puzzles.battleship.board import HIT, SUNK, Board
from pi_appliance.puzzles.battleship.fit import Place
from pi_appliance.puzzles.battleship.kernel import CORNER, Cell, Move, Size


@dataclass(frozen=True, slots=True)
class Plan:
    """A sweep: rows of cells along the shorter side of the board."""

    rows: tuple[tuple[Cell, ...], ...]
    size: Size
    turned: bool
    """Whether its rows are the columns of the board."""


def plan(board: Board, there: Sequence[Place]) -> Plan:
    """Return the sweep that counts the ways to lay the fleet of BOARD on the places THERE."""
    turned = board.width > board.height
    width, height = (board.height, board.width) if turned else (board.width, board.height)
    lengths = sorted(set(board.fleet))
    most = {length: sum(place.length == length for place in there) for length in lengths}
    size = _size(board.fleet, most)
    bits = 64 * size.words
    shifts, rooms, stride = {}, {}, 1
    for length in lengths:
        ships = board.fleet.count(length)
        shifts[length] = stride * bits
        free = [number for number in range(size.slots) if number // stride % (ships + 1) < ships]
        rooms[length] = sum(((1 << bits) - 1) << (number * bits) for number in free)
        stride *= ships + 1
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

    return Plan(tuple(tuple(cell(x, y) for x in range(width)) for y in range(height)), size, turned)


def _size(fleet: Sequence[int], most: dict[int, int]) -> Size:
    """Return how wide polynomials must be: no coefficient is above the product of the ways to choose places alone."""
    ways = prod(max(comb(number, ships) for ships in range(fleet.count(length) + 1)) for length, number in most.items())
    return Size(prod(fleet.count(length) + 1 for length in most), -(-ways.bit_length() // 64))


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
