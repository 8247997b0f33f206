"""Bimaru by brute force, for comparison: every fleet of a small grid, and a plain reading of the rules."""

import random
from collections.abc import Collection, Iterator, Sequence
from functools import cache

from tests.puzzles.battleship.brute_force import Cells, list_fleets

Occupied = frozenset[tuple[int, int]]
Totals = Sequence[int | None]


@cache
def list_patterns(width: int, height: int, fleet: tuple[int, ...]) -> tuple[Occupied, ...]:
    """Return the squares of every fleet that does not touch itself."""
    return tuple(frozenset[tuple[int, int]]().union(*ships) for ships in _list_untouching(width, height, fleet))


def _list_untouching(width: int, height: int, fleet: tuple[int, ...]) -> Iterator[list[Cells]]:
    yield from list_fleets(fleet, width, height, "never")


def find_solutions(
    rows: Sequence[str], row_totals: Totals, column_totals: Totals, fleet: tuple[int, ...]
) -> list[Occupied]:
    """Return every pattern with these totals and given squares."""
    width, height = len(rows[0]), len(rows)
    marks = [(x, y, mark) for y, row in enumerate(rows) for x, mark in enumerate(row) if mark != "?"]
    return [
        pattern
        for pattern in list_patterns(width, height, fleet)
        if all(
            total in (None, known)
            for totals, knowns in zip((row_totals, column_totals), count_lines(pattern, width, height), strict=True)
            for total, known in zip(totals, knowns, strict=True)
        )
        and all(agrees(pattern, x, y, mark) for x, y, mark in marks)
    ]


def agrees(pattern: Collection[tuple[int, int]], x: int, y: int, mark: str) -> bool:
    """Return whether the square of a pattern agrees with a given mark."""
    return mark in ("?", shape(pattern, x, y)) or (mark == "X" and (x, y) in pattern)


def shape(pattern: Collection[tuple[int, int]], x: int, y: int) -> str:
    """Return the mark of a square: water, or the piece that its neighbours make it."""
    if (x, y) not in pattern:
        return "."
    sides = "".join(
        name
        for name, there in zip("lrud", ((x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)), strict=True)
        if there in pattern
    )
    return {"": "O", "l": ">", "r": "<", "u": "v", "d": "^", "lr": "#", "ud": "#"}[sides]


def to_text(rows: Sequence[str], row_totals: Totals, column_totals: Totals, fleet: Sequence[int]) -> str:
    """Return the text of a puzzle."""
    totals = ["- " if each is None else f"{each} " for each in row_totals]
    columns = " ".join("-" if each is None else str(each) for each in column_totals)
    lines = [f"{total}{' '.join(row)}" for total, row in zip(totals, rows, strict=True)]
    return "\n".join([f"fleet: {','.join(map(str, fleet))}", columns, *lines]) + "\n"


@cache
def count_lines(pattern: Occupied, width: int, height: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the numbers of ship squares of the rows and of the columns."""
    rows = tuple(sum(y == at for _, y in pattern) for at in range(height))
    return rows, tuple(sum(x == at for x, _ in pattern) for at in range(width))


def totals_of(pattern: Occupied, width: int, height: int) -> tuple[list[int | None], list[int | None]]:
    """Return the totals of the rows and columns of a pattern, to be changed."""
    rows, columns = count_lines(pattern, width, height)
    return [*rows], [*columns]


SMALL_GRIDS = (
    (3, 3, (2, 1)),
    (4, 4, (2, 1, 1)),
    (5, 4, (3, 2, 1)),
    (5, 5, (2, 2, 1)),
    (5, 5, (4, 2, 1)),
    (6, 5, (2, 2, 2)),
    (5, 5, (3, 2, 1)),
    (6, 6, (5, 3, 1)),
)
"""Columns, rows and fleet: at most some ten thousand patterns each."""


def random_puzzles(
    seed: int, number: int
) -> Iterator[tuple[list[str], list[int | None], list[int | None], tuple[int, ...]]]:
    """Yield puzzles of small grids: some with unknown totals, given squares, or without a solution."""
    rng = random.Random(seed)
    for at in range(number):
        width, height, fleet = SMALL_GRIDS[at % len(SMALL_GRIDS)]
        patterns = list_patterns(width, height, fleet)
        pattern, other = rng.choice(patterns), rng.choice(patterns)
        rows, columns = totals_of(pattern, width, height)
        if rng.random() < 0.3:  # of different patterns: often impossible, with sums that agree
            columns = totals_of(other, width, height)[1]
        hidden = rng.choice((0, 0, 1, 3, 6))
        for totals in (rows, columns):
            for line in rng.sample(range(len(totals)), min(hidden, len(totals))):
                totals[line] = None
        shown = rng.choice((0, 0, 1, 2, 4))
        squares = rng.sample([(x, y) for y in range(height) for x in range(width)], shown)
        marks = {}
        for x, y in squares:
            mark = shape(pattern, x, y)
            marks[x, y] = "X" if mark != "." and rng.random() < 0.3 else mark
        yield ["".join(marks.get((x, y), "?") for x in range(width)) for y in range(height)], rows, columns, fleet
