"""Tables for the Panguru kernel: positions as integers, moves, and pairing costs."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from pi_appliance.puzzles.panguru import kernel
from pi_appliance.puzzles.panguru.board import HOLE, HOME, Board, reachable_places

UNREACHABLE = 255  # cost; longer than any solution


@dataclass(frozen=True, slots=True)
class PackedBoard:
    """A board for the kernel."""

    tables: kernel.MoveTables
    table_arguments: tuple["array[int]", "array[int]", "array[int]", int]
    """The arguments of `kernel.MoveTables`."""
    start: int
    goal: int
    reachable: tuple[tuple[int, ...], ...]
    """For each place the places one move away."""


def pack_board(board: Board) -> PackedBoard:
    """Convert `board` for the kernel."""
    reachable = reachable_places(board)
    starts, ends = array("I", [0]), array("B")
    for places in reachable:
        ends.extend(places)
        starts.append(len(ends))
    colour_numbers = {HOLE: 0, HOME: 0}
    for colour in sorted(set(board.plates) - {HOME}):
        colour_numbers[colour] = len(colour_numbers) - 1
    size = 1 << len(board.plates)
    distances = _find_distances(reachable)
    costs = array("B", bytes(size * len(colour_numbers)))
    for colour in set(colour_numbers) - {HOLE, HOME}:
        plates = [place for place, plate in enumerate(board.plates) if plate == colour]
        for mask, cost in _pairing_costs(plates, distances).items():
            costs[colour_numbers[colour] * size + mask] = min(cost, UNREACHABLE)
    arguments = starts, ends, costs, len(colour_numbers) - 2
    return PackedBoard(
        kernel.MoveTables(*arguments),
        arguments,
        _pack_position(board.pebbles, colour_numbers),
        _pack_position(board.plates, colour_numbers),
        reachable,
    )


def _pack_position(colours: str, colour_numbers: dict[str, int]) -> int:
    return sum(colour_numbers[colour] << 4 * place for place, colour in enumerate(colours))


def _find_distances(reachable: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the fewest moves between all pairs of places on an empty board."""
    distances = [[UNREACHABLE] * len(reachable) for _ in reachable]
    for start, row in enumerate(distances):
        row[start] = 0
        queue = [start]
        for place in queue:
            for neighbour in reachable[place]:
                if row[neighbour] == UNREACHABLE:
                    row[neighbour] = row[place] + 1
                    queue.append(neighbour)
    return distances


def _pairing_costs(plates: Sequence[int], distances: Sequence[Sequence[int]]) -> dict[int, int]:
    """Return the cost of the cheapest pairing with `plates`, for each mask of as many pebbles."""
    cheapest = {0: 0}
    for plate in plates:
        extended: dict[int, int] = {}
        for mask, cost in cheapest.items():
            for pebble, row in enumerate(distances):
                new_mask = mask | 1 << pebble
                if new_mask != mask and cost + row[plate] < extended.get(new_mask, UNREACHABLE * UNREACHABLE):
                    extended[new_mask] = cost + row[plate]
        cheapest = extended
    return cheapest
