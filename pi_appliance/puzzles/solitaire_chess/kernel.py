"""Search of solitaire chess positions packed into bytes; C types in kernel.pxd.

A position has one byte for each square that is occupied at the start: the kind of piece, 1 to 6, plus 8 for
each capture made if captures are limited; 0 if empty.
"""

from array import array
from collections.abc import Sequence

KING = 1
FOUND, EXHAUSTED, BUDGET_SPENT = 1, 0, 2  # results of a search call
MAX_DEAD_POSITIONS = 300_000  # per generation, of two: at most 60 MB


class CaptureTables:
    """The possible captures: entries of piece kind k on square s start at `starts[k * squares + s]`.

    An entry has the square of the captured piece (`ends`) and the mask of the squares between, which must be
    empty.
    """

    def __init__(
        self,
        starts: "array[int]",
        ends: "array[int]",
        between: "array[int]",
        squares: int,
        capture_limit: int,
        protect_king: bool,
    ) -> None:
        self.starts, self.ends, self.between = starts, ends, between
        self.squares, self.capture_limit, self.protect_king = squares, capture_limit, protect_king
        self.content = bytearray(squares)
        self.occupied = self.square = self.entry = 0

    def load_position(self, position: bytes) -> None:
        """Make `position` the current one."""
        one = 1
        self.content[:] = position
        self.occupied = 0
        for square in range(self.squares):
            if self.content[square]:
                self.occupied |= one << square

    def find_capture(self, square: int, entry: int) -> bool:
        """Find the next legal capture from `square` and `entry` on, and store both in `self`."""
        while square < self.squares:
            piece = self.content[square]
            if piece and not (self.capture_limit and piece >> 3 >= self.capture_limit):
                row = (piece & 7) * self.squares + square
                entry = max(entry, self.starts[row])
                last = self.starts[row + 1]
                while entry < last:
                    end = self.ends[entry]
                    if (
                        self.occupied >> end & 1
                        and not self.occupied & self.between[entry]
                        and not (self.protect_king and self.content[end] & 7 == KING)
                    ):
                        self.square, self.entry = square, entry
                        return True
                    entry += 1
            square += 1
            entry = 0
        return False

    def child(self) -> bytes:
        """Return the position after the capture that was found."""
        end = self.ends[self.entry]
        piece, captured = self.content[self.square], self.content[end]
        self.content[self.square] = 0
        self.content[end] = piece + 8 if self.capture_limit else piece
        result = bytes(self.content)
        self.content[self.square], self.content[end] = piece, captured
        return result

    def children(self, position: bytes) -> list[tuple[int, int, bytes]]:
        """List the captures in `position`: start, end, and the position after it."""
        result = []
        self.load_position(position)
        entry = square = 0
        while self.find_capture(square, entry):
            square, entry = self.square, self.entry + 1
            result.append((square, self.ends[self.entry], self.child()))
        return result

    def expand(
        self, level: Sequence[bytes], first: int, last: int, counts: dict[bytes, int], next_counts: dict[bytes, int]
    ) -> int:
        """Add the successors of `level[first:last]` with their path counts; return their number."""
        captures = 0
        for number in range(first, last):
            position = level[number]
            paths = counts[position]
            self.load_position(position)
            square = entry = 0
            while self.find_capture(square, entry):
                square, entry = self.square, self.entry + 1
                child = self.child()
                next_counts[child] = next_counts.get(child, 0) + paths
                captures += 1
        return captures

    def count_paths(
        self, level: Sequence[bytes], first: int, last: int, next_counts: dict[bytes, int], counts: dict[bytes, int]
    ) -> None:
        """Add the paths to the end from `level[first:last]` to `counts`, given those one capture on."""
        for number in range(first, last):
            position = level[number]
            self.load_position(position)
            square = entry = 0
            total = 0
            while self.find_capture(square, entry):
                square, entry = self.square, self.entry + 1
                total += next_counts.get(self.child(), 0)
            if total:
                counts[position] = total


class DepthFirstSearch:
    """Find every path from `start` to a position after `goal` captures, depth first.

    Dead positions are stored in two generations; when the newer one is full, the older one is dropped.
    """

    def __init__(self, tables: CaptureTables, start: bytes, goal: int) -> None:
        self.tables, self.goal = tables, goal
        self.nodes = self.dead = self.depth = 0
        self.path = [start]
        self.square = array("I", bytes(4 * (goal + 2)))
        self.entry = array("I", bytes(4 * (goal + 2)))
        self.alive = array("B", bytes(goal + 2))
        self.newer: set[bytes] = set()
        self.older: set[bytes] = set()

    def captures(self) -> list[tuple[int, int]]:
        """Return the captures of the current path as pairs of squares."""
        return [(self.square[step], self.tables.ends[self.entry[step] - 1]) for step in range(self.depth)]

    def run(self, budget: int) -> int:
        """Continue for `budget` captures; return FOUND, EXHAUSTED or BUDGET_SPENT."""
        tables, depth, spent, result = self.tables, self.depth, 0, BUDGET_SPENT
        tables.load_position(self.path[depth])
        while spent < budget:
            if not tables.find_capture(self.square[depth], self.entry[depth]):
                if not self.alive[depth]:
                    self.mark_dead(self.path[depth])
                if depth == 0:
                    result = EXHAUSTED
                    break
                if self.alive[depth]:
                    self.alive[depth - 1] = 1
                depth -= 1
                self.path.pop()
                tables.load_position(self.path[depth])
                continue
            self.square[depth], self.entry[depth] = tables.square, tables.entry + 1
            spent += 1
            child = tables.child()
            if child in self.newer or child in self.older:
                continue
            depth += 1
            self.path.append(child)
            self.square[depth] = self.entry[depth] = self.alive[depth] = 0
            tables.load_position(child)
            if depth == self.goal:
                self.alive[depth] = 1
                result = FOUND
                break
        self.depth = depth
        self.nodes += spent
        return result

    def mark_dead(self, position: bytes) -> None:
        """Store that `position` has no solution."""
        self.newer.add(position)
        self.dead += 1
        if len(self.newer) >= MAX_DEAD_POSITIONS:
            self.older, self.newer = self.newer, set()
