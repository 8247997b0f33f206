"""Kernel of the battleship count: a dynamic programme over the squares in reading order.

A state (key) holds all that later cells must know about earlier ones, four bits per column. The
four bits are 0 if the last cell of the column is water. Otherwise they are one more than the number
of cells its ship still needs below. Bit 60 is set if a ship ended up and to the left, where not
even corners may touch.

A layer maps each key to its ways: a polynomial in the number of ships placed of each length. The
coefficients lie side by side in one integer (Kronecker substitution), so one addition adds them all
and one shift places a ship. The ways are Python integers of any length.

This file is plain Python; the C types are in kernel.pxd.
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

    shift: int
    """Position of the column's four bits in the key."""
    unit: int
    """The lowest of these bits."""
    end: int
    """Subtracted from the key when a ship ends here. If ships may touch, it clears the column."""
    corner: int
    """CORNER_BIT if the next cell must know that a ship ended above this one, else 0."""
    may_be_water: int
    """1 if the cell may stay empty, 0 if it must hold a ship."""
    moves: tuple[Move, ...]


class PolynomialSize(NamedTuple):
    """The layout of a polynomial in one integer."""

    slots: int
    """Number of coefficients: one for each subset of the fleet by lengths."""
    words: int
    """64-bit words per coefficient, enough for the largest possible count."""


def step_forward(items: Iterable[tuple[int, int]], ahead: Sequence[Layer], cell: Cell) -> int:
    """Distribute the ways of `items` over the next layers.

    Args:
        items: Pairs of key and ways at `cell`.
        ahead: `ahead[n]` is the layer n cells later.
        cell: The transitions.

    Returns:
        The number of items.

    """
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
    """Compute the ways to complete each key, and count the solutions with water at `cell`.

    Args:
        items: Pairs of key and ways at `cell`.
        ahead: `ahead[n]` holds the ways to complete from n cells later.
        cell: The transitions.
        size: Layout of the polynomials.
        completions: Receives the ways to complete from each key.

    Returns:
        The number of complete placements that leave `cell` empty.

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

    Subsets of the fleet are numbered in mixed radix, so two of them make up the whole fleet if
    their numbers add up to the last number.
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
