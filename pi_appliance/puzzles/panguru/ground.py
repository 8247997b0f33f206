"""A Panguru board in the kernel's words: places, colours from 1, and what it costs to bring colours home."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from pi_appliance.puzzles.panguru import kernel
from pi_appliance.puzzles.panguru.board import HOLE, HOME, Board, reach

FAR = 255  # the cost of what cannot be; no way is as long


@dataclass(frozen=True, slots=True)
class Position:
    """Where a search begins and where it ends, as the kernel's keys."""

    ground: kernel.Ground
    tables: tuple["array[int]", "array[int]", "array[int]", int]
    """What the ground is made of."""
    start: int
    goal: int
    far: tuple[tuple[int, ...], ...]


def position_of(board: Board) -> Position:
    """Return BOARD in the kernel's words."""
    far = reach(board)
    starts, ends = array("I", [0]), array("B")
    for places in far:
        ends.extend(places)
        starts.append(len(ends))
    number = {HOLE: 0, HOME: 0}
    for colour in sorted(set(board.plates) - {HOME}):
        number[colour] = len(number) - 1
    size = 1 << len(board.plates)
    away = _distances(far)
    costs = array("B", bytes(size * len(number)))
    for colour in set(number) - {HOLE, HOME}:
        plates = [place for place, plate in enumerate(board.plates) if plate == colour]
        for mask, cost in _pairings(plates, away).items():
            costs[number[colour] * size + mask] = min(cost, FAR)
    tables = starts, ends, costs, len(number) - 2
    return Position(
        kernel.Ground(*tables),
        tables,
        _key(board.pebbles, number),
        _key(board.plates, number),
        far,
    )


def _key(colours: str, number: dict[str, int]) -> int:
    return sum(number[colour] << 4 * place for place, colour in enumerate(colours))


def _distances(far: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the fewest moves from each place to each."""
    away = [[FAR] * len(far) for _ in far]
    for start, row in enumerate(away):
        row[start] = 0
        queue = [start]
        for place in queue:
            for after in far[place]:
                if row[after] == FAR:
                    row[after] = row[place] + 1
                    queue.append(after)
    return away


def _pairings(plates: Sequence[int], away: Sequence[Sequence[int]]) -> dict[int, int]:
    """Return for each mask of as many pebbles as PLATES what the cheapest pairing with the plates costs."""
    cheapest = {0: 0}
    for plate in plates:
        more: dict[int, int] = {}
        for mask, cost in cheapest.items():
            for pebble, row in enumerate(away):
                after = mask | 1 << pebble
                if after != mask and cost + row[plate] < more.get(after, FAR * FAR):
                    more[after] = cost + row[plate]
        cheapest = more
    return cheapest
