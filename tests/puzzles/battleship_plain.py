"""Battleship the slow way, for comparison: every fleet by plain trying, and the rules as a person would read them."""

from collections.abc import Iterator, Sequence
from itertools import combinations

Cells = frozenset[tuple[int, int]]


def ships_on(width: int, height: int, length: int) -> list[Cells]:
    across = [frozenset((x + n, y) for n in range(length)) for y in range(height) for x in range(width - length + 1)]
    down = [frozenset((x, y + n) for n in range(length)) for y in range(height - length + 1) for x in range(width)]
    return list(dict.fromkeys([*across, *down]))


def touch(one: Cells, other: Cells, touching: str) -> bool:
    """Say whether two ships break the rule between them."""
    near = {
        "allowed": lambda dx, dy: dx == dy == 0,
        "corners": lambda dx, dy: dx + dy <= 1,
        "never": lambda dx, dy: max(dx, dy) <= 1,
    }[touching]
    return any(near(abs(a - c), abs(b - d)) for a, b in one for c, d in other)


def agrees(fleet: Sequence[Cells], rows: Sequence[str], sinking: str) -> bool:
    """Say whether FLEET is what the marks of ROWS tell of it."""
    covered = {cell for ship in fleet for cell in ship}
    for y, row in enumerate(rows):
        for x, mark in enumerate(row):
            if (x, y) in covered if mark == "." else mark != "?" and (x, y) not in covered:
                return False
    for ship in fleet:
        marks = {rows[y][x] for x, y in ship}
        if ("#" in marks and marks != {"#"}) or (sinking == "told" and marks == {"X"}):
            return False
    return True


def fleets(lengths: Sequence[int], width: int, height: int, touching: str) -> Iterator[list[Cells]]:
    """Yield every fleet on an open sea once, ships of one length being alike."""
    kinds = sorted(set(lengths), reverse=True)

    def more(kinds: Sequence[int], laid: list[Cells]) -> Iterator[list[Cells]]:
        if not kinds:
            yield laid
            return
        for some in combinations(ships_on(width, height, kinds[0]), lengths.count(kinds[0])):
            now = laid + list(some)
            if not any(touch(a, b, touching) for a, b in combinations(now, 2) if b in some):
                yield from more(kinds[1:], now)

    yield from more(kinds, [])
