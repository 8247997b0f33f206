"""The sweep behind battleship's counts: cell after cell in reading order, every way to lay ships at once.

A key says all that cells further on must know of those before: four bits a column, 0 where its last cell is water, else
one more than the cells its ship still needs below; bit 60 says that a ship ended up and to the left, where not even
corners may touch. A layer gives each key its ways: a polynomial in the ships laid of each length, its coefficients side
by side in one integer, so that one addition adds them all, and one shift lays a ship.
Plain Python over plain integers, those of the ways as long as they need to be.
"""

import sys
from collections.abc import Iterable, Sequence
from operator import mul
from typing import NamedTuple

Layer = dict[int, int]
Move = tuple[int, int, int, int, int]
"""A ship that may begin at a cell: the bits it wants clear, the bits it sets, the cells it covers in this row, the
coefficients that have such a ship left, and the shift that lays it."""

CORNER = 1 << 60
REST = CORNER - 1


class Cell(NamedTuple):
    """What may be done at one cell."""

    at: int
    """Where its column has its four bits."""
    one: int
    """The lowest of them."""
    end: int
    """What is taken from a key when a ship ends here: where ships may touch, nobody has to know of it any more."""
    corner: int
    """CORNER where the next cell must know that a ship ended above this one, else 0."""
    water: int
    """1 if it may stay empty, 0 if it must hold a ship."""
    moves: tuple[Move, ...]


class Size(NamedTuple):
    """How a polynomial is laid out."""

    slots: int
    """Its coefficients: the fleets there are, from no ship to all of them."""
    words: int
    """The 64-bit words of each; wide enough for the largest number there can be."""


def push(items: Iterable[tuple[int, int]], ahead: Sequence[Layer], cell: Cell) -> int:
    """Spread the ways of ITEMS, keys at CELL, over the layers AHEAD (AHEAD[N] is N cells on); return how many."""
    at, one, end, corner, water, moves = cell
    after = ahead[1]
    done = 0
    for key, ways in items:
        done += 1
        value = (key >> at) & 15
        base = key & REST
        if value > 1:
            base -= end if value == 2 else one
            after[base] = after.get(base, 0) + ways
            continue
        if value:
            base = (base - one) | corner
        if water:
            after[base] = after.get(base, 0) + ways
        if value:
            continue
        for clear, sets, cells, room, shift in moves:
            if not key & clear:
                laid = ways & room
                if laid:
                    layer = ahead[cells]
                    new = base | sets
                    layer[new] = layer.get(new, 0) + (laid << shift)
    return done


def pull(items: Iterable[tuple[int, int]], ahead: Sequence[Layer], cell: Cell, size: Size, back: Layer) -> int:
    """Put into BACK, for the keys of ITEMS, the ways to go on from there, given those of the layers AHEAD.

    Return how many whole placements leave CELL empty: the ways of ITEMS joined with the ways to go on.
    """
    at, one, end, corner, water, moves = cell
    after = ahead[1]
    empty = 0
    for key, ways in items:
        value = (key >> at) & 15
        base = key & REST
        if value > 1:
            base -= end if value == 2 else one
            on = after.get(base, 0)
        else:
            if value:
                base = (base - one) | corner
            on = after.get(base, 0) if water else 0
            if on:
                empty += joined(ways, on, size)
            if not value:
                for clear, sets, cells, room, shift in moves:
                    if not key & clear:
                        on += (ahead[cells].get(base | sets, 0) & room) << shift
        if on:
            back[key] = on
    return empty


def joined(ways: int, on: int, size: Size) -> int:
    """Return how often WAYS and the ways to go ON lay the whole fleet together.

    Fleets are numbered in mixed radix, so that two make the whole one where their numbers add up to the last number.
    """
    slots, words = size
    first, rest = _words(ways, words), _words(on, words)
    skipped = slots - len(rest) // words
    if words == 1:
        return sum(map(mul, first[skipped:], rest[::-1]))
    return sum(
        sum(map(mul, first[skipped * words + low :: words], rest[len(rest) - words + high :: -words]))
        << 64 * (low + high)
        for low in range(words)
        for high in range(words)
    )


def _words(ways: int, words: int) -> memoryview:
    """Return the coefficients of WAYS as machine words, WORDS of them each, the lowest first."""
    count = -(-ways.bit_length() // (64 * words)) * words
    view = memoryview(ways.to_bytes(8 * count, sys.byteorder)).cast("Q")
    return view if sys.byteorder == "little" else view[::-1]
