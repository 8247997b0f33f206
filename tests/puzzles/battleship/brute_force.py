"""Battleship by brute force, for comparison: every fleet, and a plain reading of the rules."""

from collections.abc import Iterator, Sequence
from itertools import combinations

Cells = frozenset[tuple[int, int]]


def list_ships(width: int, height: int, length: int) -> list[Cells]:
    across = [frozenset((x + n, y) for n in range(length)) for y in range(height) for x in range(width - length + 1)]
    down = [frozenset((x, y + n) for n in range(length)) for y in range(height - length + 1) for x in range(width)]
    return list(dict.fromkeys([*across, *down]))


def ships_touch(one: Cells, other: Cells, touching: str) -> bool:
    """Return whether two ships break the rule `touching`."""
    near = {
        "allowed": lambda dx, dy: dx == dy == 0,
        "corners": lambda dx, dy: dx + dy <= 1,
        "never": lambda dx, dy: max(dx, dy) <= 1,
    }[touching]
    return any(near(abs(a - c), abs(b - d)) for a, b in one for c, d in other)


def marks_agree(fleet: Sequence[Cells], rows: Sequence[str], sinking: str) -> bool:
    """Return whether `fleet` agrees with the marks of `rows`."""
    covered = {cell for ship in fleet for cell in ship}
    for y, row in enumerate(rows):
        for x, mark in enumerate(row):
            if (x, y) in covered if mark == "." else mark != "?" and (x, y) not in covered:
                return False
    for ship in fleet:
        marks = {rows[y][x] for x, y in ship}
        if ("#" in marks and marks != {"#"}) or (sinking == "announced" and marks == {"X"}):
            return False
    return True


def list_fleets(lengths: Sequence[int], width: int, height: int, touching: str) -> Iterator[list[Cells]]:
    """Yield every fleet on an open sea once; ships of one length are identical."""
    kinds = sorted(set(lengths), reverse=True)

    def place_rest(kinds: Sequence[int], placed: list[Cells]) -> Iterator[list[Cells]]:
        if not kinds:
            yield placed
            return
        for some in combinations(list_ships(width, height, kinds[0]), lengths.count(kinds[0])):
            now = placed + list(some)
            if not any(ships_touch(a, b, touching) for a, b in combinations(now, 2) if b in some):
                yield from place_rest(kinds[1:], now)

    yield from place_rest(kinds, [])
