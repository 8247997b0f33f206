"""IDA* over Panguru positions packed into integers; C types in kernel.pxd.

Colours count from 1; 0 is the hole. A position is the sum of colour << 4 * place. `costs` has, for each
colour and mask of its places, the fewest moves onto their plates; their sum is an admissible heuristic.
"""

from array import array
from collections.abc import Sequence
from random import Random

FOUND, EXHAUSTED, BUDGET_SPENT = 1, 0, 2  # results of a round
# Random numbers for Zobrist hashing, the same in every run.
ZOBRIST = array("I", [Random(number).getrandbits(32) for number in range(256)])  # noqa: S311


class MoveTables:
    """The moves from place n, `ends[starts[n]:starts[n + 1]]`, and the costs: 1 << places bytes per colour."""

    def __init__(self, starts: "array[int]", ends: "array[int]", costs: "array[int]", colours: int) -> None:
        self.starts, self.ends, self.costs = starts, ends, costs
        self.places, self.colours = len(starts) - 1, colours
        self.masks = array("I", bytes(4 * 16))

    def unpack(self, key: int) -> int:
        """Fill `masks` from the position `key`, and return the place of the hole."""
        hole = 0
        for colour in range(16):
            self.masks[colour] = 0
        for place in range(self.places):
            colour = key >> (4 * place) & 15
            self.masks[colour] |= 1 << place
            if colour == 0:
                hole = place
        return hole

    def heuristic(self) -> int:
        """Return a lower bound of the moves to the goal from `masks`."""
        total = 0
        for colour in range(1, self.colours + 1):
            total += self.costs[colour << self.places | self.masks[colour]]
        return total

    def expand(self, level: Sequence[int], first: int, last: int, moves_left: int, next_level: set[int]) -> None:
        """Add the successors of `level[first:last]` that may need at most `moves_left` moves."""
        for number in range(first, last):
            key = level[number]
            hole = self.unpack(key)
            estimate = self.heuristic()
            for at in range(self.starts[hole], self.starts[hole + 1]):
                start = self.ends[at]
                colour = key >> (4 * start) & 15
                mask = self.masks[colour]
                new_mask = mask ^ (1 << start | 1 << hole)
                row = colour << self.places
                if estimate + self.costs[row | new_mask] <= moves_left + self.costs[row | mask]:
                    next_level.add(key ^ (colour << (4 * start) | colour << (4 * hole)))

    def count_paths(
        self, level: Sequence[int], first: int, last: int, next_counts: dict[int, int], counts: dict[int, int]
    ) -> None:
        """Add the paths to the goal from `level[first:last]` to `counts`, given those one move on."""
        for number in range(first, last):
            key = level[number]
            hole = self.unpack(key)
            total = 0
            for at in range(self.starts[hole], self.starts[hole + 1]):
                start = self.ends[at]
                colour = key >> (4 * start) & 15
                total += next_counts.get(key ^ (colour << (4 * start) | colour << (4 * hole)), 0)
            if total:
                counts[key] = total


class IdaRound:
    """One depth-first round of IDA* for at most `bound` moves from `key`.

    It turns back at positions that the table of `table_size` (a power of two) has at the same or a smaller
    depth.
    """

    def __init__(self, tables: MoveTables, key: int, bound: int, table_size: int) -> None:
        self.tables, self.bound, self.key = tables, bound, key
        self.nodes = self.depth = self.position_hash = 0
        self.content = array("B", bytes(16))
        self.masks = array("I", bytes(4 * 16))
        self.path = array("B", bytes(bound + 2))
        self.next_moves = array("I", bytes(4 * (bound + 2)))
        self.estimates = array("I", bytes(4 * (bound + 2)))
        self.table_size = table_size
        self.table_keys = array("Q", bytes(8 * table_size))
        self.table_depths = array("I", bytes(4 * table_size))
        self.next_bound = 0xFFFFFFFF
        self.start_search(tables.unpack(key))

    def start_search(self, hole: int) -> None:
        """Set up the first position, with the hole at place `hole`."""
        for place in range(self.tables.places):
            self.content[place] = self.key >> (4 * place) & 15
        for colour in range(16):
            self.masks[colour] = self.tables.masks[colour]
        self.path[0] = hole
        self.next_moves[0] = self.tables.starts[hole]
        self.estimates[0] = self.tables.heuristic()

    def hole_path(self) -> list[int]:
        """Return the places that the hole visits."""
        return [self.path[step] for step in range(self.depth + 1)]

    def run(self, budget: int) -> int:
        """Continue for `budget` moves, and return FOUND, EXHAUSTED (see `next_bound`) or BUDGET_SPENT."""
        tables = self.tables
        depth, spent, result = self.depth, 0, BUDGET_SPENT
        if depth == 0 and self.estimates[0] == 0:
            return FOUND
        while spent < budget:
            hole, at = self.path[depth], self.next_moves[depth]
            if at == tables.starts[hole + 1]:
                if depth == 0:
                    result = EXHAUSTED
                    break
                depth -= 1
                self.swap(self.path[depth], hole)
                continue
            self.next_moves[depth] = at + 1
            start = tables.ends[at]
            if depth > 0 and self.path[depth - 1] == start:
                continue  # this would undo the last move
            colour = self.content[start]
            row, mask = colour << tables.places, self.masks[colour]
            estimate = self.estimates[depth] + tables.costs[row | (mask ^ (1 << start | 1 << hole))]
            estimate -= tables.costs[row | mask]
            spent += 1
            if depth + 1 + estimate > self.bound:
                self.next_bound = min(self.next_bound, depth + 1 + estimate)
                continue
            self.swap(start, hole)
            slot = self.position_hash & (self.table_size - 1)
            if self.table_keys[slot] == self.key and self.table_depths[slot] <= depth + 1:
                self.swap(hole, start)
                continue
            self.table_keys[slot], self.table_depths[slot] = self.key, depth + 1
            depth += 1
            self.path[depth], self.estimates[depth] = start, estimate
            self.next_moves[depth] = tables.starts[start]
            if estimate == 0:
                result = FOUND
                break
        self.depth = depth
        self.nodes += spent
        return result

    def swap(self, start: int, hole: int) -> None:
        """Move the pebble at `start` into `hole`."""
        colour = self.content[start]
        self.content[hole], self.content[start] = colour, 0
        self.masks[colour] ^= 1 << start | 1 << hole
        self.key ^= colour << (4 * start) | colour << (4 * hole)
        self.position_hash ^= ZOBRIST[colour << 4 | start] ^ ZOBRIST[colour << 4 | hole]
