"""Panguru in the plainest way, shares nothing with ours: the original's table, replay, breadth-first search."""

from collections.abc import Sequence
from random import Random

# As the original gives it: for each place, those that a pebble can move to.
TABLE = [
    [1, 2, 3, 4, 5, 6, 9, 10, 12, 14],
    [0, 2, 3, 4, 6, 8, 10, 13],
    [0, 1, 4, 5, 7, 9, 11, 14],
    [0, 1, 4, 5, 6, 7, 10, 12],
    [0, 1, 2, 3, 5, 7, 8, 11, 12, 13],
    [0, 2, 3, 4, 8, 9, 12, 14],
    [0, 1, 3, 7, 8, 9, 10, 11],
    [2, 3, 4, 6, 8, 9, 11, 12],
    [1, 4, 5, 6, 7, 9, 12, 13],
    [0, 2, 5, 6, 7, 8, 13, 14],
    [0, 1, 3, 6, 11, 12, 13, 14],
    [2, 4, 6, 7, 10, 12, 13, 14],
    [0, 3, 4, 5, 7, 8, 10, 11, 13, 14],
    [1, 4, 8, 9, 10, 11, 12, 14],
    [0, 2, 5, 9, 10, 11, 12, 13],
]
# The boards of four rows, by hand: the sides, the rows, and from the top to the middle.
SMALL_TABLE = [
    [1, 2, 3, 4, 5, 6, 9],
    [0, 2, 3, 4, 6, 8],
    [0, 1, 4, 5, 7, 9],
    [0, 1, 4, 5, 6, 7],
    [0, 1, 2, 3, 5, 7, 8],
    [0, 2, 3, 4, 8, 9],
    [0, 1, 3, 7, 8, 9],
    [2, 3, 4, 6, 8, 9],
    [1, 4, 5, 6, 7, 9],
    [0, 2, 5, 6, 7, 8],
]


def moved(pebbles: str, start: int) -> str:
    """Return PEBBLES after the one at START went into the hole."""
    lies = list(pebbles)
    hole = lies.index("-")
    lies[hole], lies[start] = lies[start], "-"
    return "".join(lies)


def replayed(plates: str, pebbles: str, line: Sequence[int], table: Sequence[Sequence[int]] = TABLE) -> bool:
    """Say whether LINE is made of moves of TABLE and ends with every pebble on its plate."""
    for start in line:
        if start not in table[pebbles.index("-")]:
            return False
        pebbles = moved(pebbles, start)
    return pebbles.replace("-", "W") == plates


def reached(pebbles: str, table: Sequence[Sequence[int]]) -> set[str]:
    """Return every arrangement that moves of TABLE make of PEBBLES."""
    met, queue = {pebbles}, [pebbles]
    for position in queue:
        for start in table[position.index("-")]:
            after = moved(position, start)
            if after not in met:
                met.add(after)
                queue.append(after)
    return met


def breadth_first(plates: str, pebbles: str, table: Sequence[Sequence[int]] = TABLE) -> set[tuple[int, ...]]:
    """Return every shortest line, found by looking at everything, from both ends in turn."""
    goal = plates.replace("W", "-")
    fore: dict[str, set[tuple[int, ...]]] = {pebbles: {()}}
    back: dict[str, set[tuple[int, ...]]] = {goal: {()}}
    seen, known = {pebbles}, {goal}
    while True:
        if both := fore.keys() & back.keys():
            return {begin + end for position in both for begin in fore[position] for end in back[position]}
        if len(fore) <= len(back):
            fore = _on(fore, seen, table, forward=True)
        else:
            back = _on(back, known, table, forward=False)


def _on(
    level: dict[str, set[tuple[int, ...]]], seen: set[str], table: Sequence[Sequence[int]], *, forward: bool
) -> dict[str, set[tuple[int, ...]]]:
    after: dict[str, set[tuple[int, ...]]] = {}
    for position, lines in level.items():
        hole = position.index("-")
        for start in table[hole]:
            position_after = moved(position, start)
            if position_after not in seen:
                more = {(*line, start) for line in lines} if forward else {(hole, *line) for line in lines}
                after.setdefault(position_after, set()).update(more)
    seen |= after.keys()
    return after


def scrambled(seed: int, moves: int, colours: str = "AABBCCDDEEFFGG") -> tuple[str, str]:
    """Return plates, and pebbles that MOVES random moves brought from them."""
    dice = Random(seed)
    plates = "".join(dice.sample("W" + colours, len(colours) + 1))
    pebbles = plates.replace("W", "-")
    table = TABLE if len(plates) == 15 else SMALL_TABLE
    for _ in range(moves):
        pebbles = moved(pebbles, dice.choice(table[pebbles.index("-")]))
    return plates, pebbles
