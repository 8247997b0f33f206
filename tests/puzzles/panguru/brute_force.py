"""Panguru by brute force, for comparison: the original table of moves, replay and breadth-first search."""

from collections.abc import Sequence
from random import Random

# The table of the original program: for each place the places that a pebble can move to.
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
# Boards of four rows, written manually: the sides, the rows, and the line down the middle.
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


def move_pebble(pebbles: str, start: int) -> str:
    """Return `pebbles` after the one at `start` moved into the hole."""
    places = list(pebbles)
    hole = places.index("-")
    places[hole], places[start] = places[start], "-"
    return "".join(places)


def is_solution(plates: str, pebbles: str, line: Sequence[int], table: Sequence[Sequence[int]] = TABLE) -> bool:
    """Return whether `line` has only moves of `table` and ends with every pebble on its plate."""
    for start in line:
        if start not in table[pebbles.index("-")]:
            return False
        pebbles = move_pebble(pebbles, start)
    return pebbles.replace("-", "W") == plates


def all_positions(pebbles: str, table: Sequence[Sequence[int]]) -> set[str]:
    """Return every position that can be reached from `pebbles`."""
    visited, queue = {pebbles}, [pebbles]
    for position in queue:
        for start in table[position.index("-")]:
            after = move_pebble(position, start)
            if after not in visited:
                visited.add(after)
                queue.append(after)
    return visited


def breadth_first(plates: str, pebbles: str, table: Sequence[Sequence[int]] = TABLE) -> set[tuple[int, ...]]:
    """Return every shortest solution, by bidirectional breadth-first search."""
    goal = plates.replace("W", "-")
    forward: dict[str, set[tuple[int, ...]]] = {pebbles: {()}}
    back: dict[str, set[tuple[int, ...]]] = {goal: {()}}
    visited, known = {pebbles}, {goal}
    while True:
        if both := forward.keys() & back.keys():
            return {begin + end for position in both for begin in forward[position] for end in back[position]}
        if len(forward) <= len(back):
            forward = _expand(forward, visited, table, forward=True)
        else:
            back = _expand(back, known, table, forward=False)


def _expand(
    level: dict[str, set[tuple[int, ...]]], visited: set[str], table: Sequence[Sequence[int]], *, forward: bool
) -> dict[str, set[tuple[int, ...]]]:
    after: dict[str, set[tuple[int, ...]]] = {}
    for position, lines in level.items():
        hole = position.index("-")
        for start in table[hole]:
            position_after = move_pebble(position, start)
            if position_after not in visited:
                more = {(*line, start) for line in lines} if forward else {(hole, *line) for line in lines}
                after.setdefault(position_after, set()).update(more)
    visited |= after.keys()
    return after


def scramble(seed: int, moves: int, colours: str = "AABBCCDDEEFFGG") -> tuple[str, str]:
    """Return plates, and pebbles after `moves` random moves from the goal."""
    random = Random(seed)
    plates = "".join(random.sample("W" + colours, len(colours) + 1))
    pebbles = plates.replace("W", "-")
    table = TABLE if len(plates) == 15 else SMALL_TABLE
    for _ in range(moves):
        pebbles = move_pebble(pebbles, random.choice(table[pebbles.index("-")]))
    return plates, pebbles
