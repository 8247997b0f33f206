"""Dynamic programme of the battleship count in reading order; C types in kernel.pxd; see ADR 0050.

A key has four bits per column: 0 if its last cell is water, else one more than the cells its ship needs
below. Bit 60 is set if a ship ended up and to the left where not even corners may touch. The ways of a key
are a polynomial in the number of ships of each length, with its coefficients side by side in one integer.
"""

import sys
from collections.abc import Iterable, Sequence
from operator import mul
from typing import NamedTuple

Layer = dict[int, int]
Move = tuple[int, int, int, int, int]
"""A ship that may start at a cell: the key bits that must be clear, the key bits it sets, the
cells it covers in this row, the mask of coefficients with such a ship left, and the shift that
places it."""

CORNER_BIT = 1 << 60
PROFILE_MASK = CORNER_BIT - 1


class Cell(NamedTuple):
    """The transitions at one cell."""

    shift: int  # position of the column's four bits in the key
    unit: int  # the lowest of these bits
    end: int  # subtracted from the key when a ship ends here. If ships may touch, it clears the column.
    corner: int  # CORNER_BIT if the next cell must know that a ship ended above this one, else 0
    may_be_water: int  # 1 if the cell may stay empty, 0 if it must hold a ship
    moves: tuple[Move, ...]


class PolynomialSize(NamedTuple):
    """The layout of a polynomial in one integer."""

    slots: int  # number of coefficients: one for each subset of the fleet by lengths
    words: int  # 64-bit words per coefficient, enough for the largest possible count


def step_forward(items: Iterable[tuple[int, int]], ahead: Sequence[Layer], cell: Cell) -> int:
    """Distribute the ways of `items` (keys at `cell`) over `ahead`, the next layers; return the number of items."""
    shift, unit, end, corner, may_be_water, moves = cell
    next_layer = ahead[1]
    done = 0
    for key, ways in items:
        done += 1
        value = (key >> shift) & 15
        base = key & PROFILE_MASK
        if value > 1:
            base -= end if value == 2 else unit
            next_layer[base] = next_layer.get(base, 0) + ways
            continue
        if value:
            base = (base - unit) | corner
        if may_be_water:
            next_layer[base] = next_layer.get(base, 0) + ways
        if value:
            continue
        for clear, sets, cells, available, move_shift in moves:
            if not key & clear:
                placed = ways & available
                if placed:
                    layer = ahead[cells]
                    new_key = base | sets
                    layer[new_key] = layer.get(new_key, 0) + (placed << move_shift)
    return done


def step_backward(
    items: Iterable[tuple[int, int]], ahead: Sequence[Layer], cell: Cell, size: PolynomialSize, completions: Layer
) -> int:
    """Store the ways to complete each key in `completions`; return the placements with water at `cell`.

    `ahead[n]` holds the ways to complete from n cells later.
    """
    shift, unit, end, corner, may_be_water, moves = cell
    next_layer = ahead[1]
    water_count = 0
    for key, ways in items:
        value = (key >> shift) & 15
        base = key & PROFILE_MASK
        if value > 1:
            base -= end if value == 2 else unit
            total = next_layer.get(base, 0)
        else:
            if value:
                base = (base - unit) | corner
            total = next_layer.get(base, 0) if may_be_water else 0
            if total:
                water_count += combine_ways(ways, total, size)
            if not value:
                for clear, sets, cells, available, move_shift in moves:
                    if not key & clear:
                        total += (ahead[cells].get(base | sets, 0) & available) << move_shift
        if total:
            completions[key] = total
    return water_count


def combine_ways(ways: int, completions: int, size: PolynomialSize) -> int:
    """Count how often `ways` and `completions` place the whole fleet together.

    Two subsets of the fleet make up the whole if their numbers (in mixed radix) add up to the last one.
    """
    slots, words = size
    first, rest = _split_words(ways, words), _split_words(completions, words)
    skipped = slots - len(rest) // words
    if words == 1:
        return sum(map(mul, first[skipped:], rest[::-1]))
    return sum(
        sum(map(mul, first[skipped * words + low :: words], rest[len(rest) - words + high :: -words]))
        << 64 * (low + high)
        for low in range(words)
        for high in range(words)
    )


def _split_words(ways: int, words: int) -> memoryview:
    """Return the coefficients of `ways` as 64-bit words, `words` per coefficient, lowest first."""
    count = -(-ways.bit_length() // (64 * words)) * words
    view = memoryview(ways.to_bytes(8 * count, sys.byteorder)).cast("Q")
    return view if sys.byteorder == "little" else view[::-1]
