"""Reads a list of battleship shots: "B5 hit", "A1, C7 miss", "D4-D6 sunk", also "hit: B5, B6"."""

import re
from collections.abc import Callable, Iterator, Sequence

from pi_appliance.puzzles.battleship.board import HIT, MISS, SUNK, UNKNOWN, Ship, Square, ship_of

WORDS = {"hit": HIT, "miss": MISS, "sunk": SUNK}
_RIGHT = "write squares and hit, miss or sunk, such as: B5 hit, or D4-D6 sunk for a whole ship"
_WORD = re.compile(r"[^\s,;:]+")

Wrong = Callable[[int, int, str, str], None]
"""Is told line, column, what is wrong, and what would be right."""


def shots(body: Sequence[tuple[int, str]], size: tuple[int, int], wrong: Wrong) -> tuple[list[str], list[Ship]]:
    """Return the rows of a board of SIZE (columns, rows) with the shots of BODY, and the ships sunk as a whole."""
    width, height = size
    marks: dict[Square, str] = {}
    whole: dict[Square, Ship] = {}
    for line, row in body:
        for mark, named in _clauses(line, row, wrong):
            for ship, column in _ships(mark, named):
                if ship.end.x >= width or ship.end.y >= height:
                    wrong(line, column, f"{ship} is outside the sea", f"it has {width} columns and {height} rows")
                    continue
                for square in ship.squares:
                    before = marks.get(square, mark)
                    if MISS in (before, mark) and before != mark:
                        wrong(line, column, f"{square} is a miss and a hit", "leave one of the two out")
                    if whole.get(square, ship) != ship:
                        wrong(line, column, f"{ship} lies on {whole[square]}", "two ships have no square in common")
                    marks[square] = SUNK if SUNK in (before, mark) else mark
                if mark == SUNK and len(ship.squares) > 1:
                    whole.update(dict.fromkeys(ship.squares, ship))
    rows = ["".join(marks.get(Square(x, y), UNKNOWN) for x in range(width)) for y in range(height)]
    return rows, sorted(set(whole.values()))


def _clauses(line: int, row: str, wrong: Wrong) -> Iterator[tuple[str, list[tuple[Ship, int]]]]:
    """Yield the marks in ROW, each with what it is said of, and the column of that."""
    named: list[tuple[Ship, int]] = []
    first, begins = "", 0  # a mark that stands before its squares, and its column
    told = False  # that some word is none: it may have been meant for a square
    for found in _WORD.finditer(row):
        word, column = found[0], found.start() + 1
        mark, ship = WORDS.get(word.lower()), ship_of(word)
        if ship:
            named.append((ship, column))
        elif not mark:
            wrong(line, column, f"{word!r} is neither a square nor a mark", _RIGHT)
            told = True
        elif named and not first:
            yield mark, named
            named = []
        else:
            if first:
                yield first, named
            if first and not (named or told):
                wrong(line, begins, "no square is named with this mark", _RIGHT)
            first, begins, named = mark, column, []
    if first:
        yield first, named
    if first and not (named or told):
        wrong(line, begins, "no square is named with this mark", _RIGHT)
    elif named and not first:
        wrong(line, named[0][1], f"{named[0][0]} is neither hit nor miss here", _RIGHT)


def _ships(mark: str, named: list[tuple[Ship, int]]) -> list[tuple[Ship, int]]:
    """Return what NAMED is: squares in one line that were sunk together are one ship."""
    squares = sorted({square for ship, _ in named for square in ship.squares})
    if mark == SUNK and len(squares) > 1 and all(ship.start == ship.end for ship, _ in named):
        whole = Ship(squares[0], squares[-1])
        straight = whole.start.x == whole.end.x or whole.start.y == whole.end.y
        if straight and list(whole.squares) == squares:
            return [(whole, named[0][1])]
    return named
