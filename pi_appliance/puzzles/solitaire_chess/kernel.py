"""The search behind solitaire chess: positions are bytes, one a seat. Plain Python over plain integers and bytes.

A seat is a square that holds a piece at the beginning: no piece ever stands elsewhere. Its byte is the kind of piece,
1 to 6, plus 8 for each capture that the piece has made, where that is limited; 0 if the seat is empty.
"""

from array import array
from collections.abc import Sequence

KING = 1
FOUND, OVER, MORE = 1, 0, 2  # what a walk says: a line; there are no more; its budget is spent
REMEMBERED = 300_000  # positions without a line, in each of two generations: 60 MB at the most


class Seats:
    """What can capture what: for a piece of KIND on SEAT the entries from STARTS[KIND * seats + SEAT] up to the next.

    An entry has the seat it ends on, and the bits of the seats between, which must be empty. MOST is how often one
    piece may capture (0: as often as it can); SAFE, whether a king is never captured.
    """

    def __init__(
        self, starts: "array[int]", ends: "array[int]", between: "array[int]", seats: int, most: int, safe: bool
    ) -> None:
        self.starts, self.ends, self.between = starts, ends, between
        self.seats, self.most, self.safe = seats, most, safe
        self.cells = bytearray(seats)
        self.taken = self.seat = self.at = 0

    def load(self, position: bytes) -> None:
        """Set up POSITION."""
        one = 1
        self.cells[:] = position
        self.taken = 0
        for seat in range(self.seats):
            if self.cells[seat]:
                self.taken |= one << seat

    def seek(self, seat: int, at: int) -> bool:
        """Find a capture, from entry AT of the piece on SEAT on, and say whether there is one: then `seat` and `at`."""
        while seat < self.seats:
            piece = self.cells[seat]
            if piece and not (self.most and piece >> 3 >= self.most):
                row = (piece & 7) * self.seats + seat
                at = max(at, self.starts[row])
                last = self.starts[row + 1]
                while at < last:
                    end = self.ends[at]
                    if (
                        self.taken >> end & 1
                        and not self.taken & self.between[at]
                        and not (self.safe and self.cells[end] & 7 == KING)
                    ):
                        self.seat, self.at = seat, at
                        return True
                    at += 1
            seat += 1
            at = 0
        return False

    def child(self) -> bytes:
        """Return the position after the capture that was found."""
        end = self.ends[self.at]
        piece, captured = self.cells[self.seat], self.cells[end]
        self.cells[self.seat] = 0
        self.cells[end] = piece + 8 if self.most else piece
        after = bytes(self.cells)
        self.cells[self.seat], self.cells[end] = piece, captured
        return after

    def children(self, position: bytes) -> list[tuple[int, int, bytes]]:
        """Return each capture in POSITION: from where, where to, and the position after it."""
        found = []
        self.load(position)
        at = seat = 0
        while self.seek(seat, at):
            seat, at = self.seat, self.at + 1
            found.append((seat, self.ends[self.at], self.child()))
        return found

    def grow(
        self, level: Sequence[bytes], first: int, last: int, ways: dict[bytes, int], after: dict[bytes, int]
    ) -> int:
        """Add to AFTER what captures make of LEVEL[FIRST:LAST], with the number of ways there; return how many."""
        found = 0
        for number in range(first, last):
            position = level[number]
            known = ways[position]
            self.load(position)
            seat = at = 0
            while self.seek(seat, at):
                seat, at = self.seat, self.at + 1
                child = self.child()
                after[child] = after.get(child, 0) + known
                found += 1
        return found

    def weigh(
        self, level: Sequence[bytes], first: int, last: int, after: dict[bytes, int], ways: dict[bytes, int]
    ) -> None:
        """Put into WAYS how many lines go on from LEVEL[FIRST:LAST], where AFTER knows of the positions one on."""
        for number in range(first, last):
            position = level[number]
            self.load(position)
            seat = at = 0
            total = 0
            while self.seek(seat, at):
                seat, at = self.seat, self.at + 1
                total += after.get(self.child(), 0)
            if total:
                ways[position] = total


class Walk:
    """Every line from START to a position after GOAL captures, depth first.

    Positions that lead nowhere are remembered in two generations: when the newer one is full, the older one is
    forgotten, and would be walked through again.
    """

    def __init__(self, seats: Seats, start: bytes, goal: int) -> None:
        self.places, self.goal = seats, goal
        self.tried = self.dead = self.depth = 0
        self.way = [start]
        self.seat = array("I", bytes(4 * (goal + 2)))
        self.at = array("I", bytes(4 * (goal + 2)))
        self.alive = array("B", bytes(goal + 2))
        self.newer: set[bytes] = set()
        self.older: set[bytes] = set()

    def line(self) -> list[tuple[int, int]]:
        """Return the captures on the way, as seats: from where, and where to."""
        return [(self.seat[step], self.places.ends[self.at[step] - 1]) for step in range(self.depth)]

    def run(self, budget: int) -> int:
        """Go on to the next line, for BUDGET captures."""
        places, depth, spent, result = self.places, self.depth, 0, MORE
        places.load(self.way[depth])
        while spent < budget:
            if not places.seek(self.seat[depth], self.at[depth]):
                if not self.alive[depth]:
                    self.bury(self.way[depth])
                if depth == 0:
                    result = OVER
                    break
                if self.alive[depth]:
                    self.alive[depth - 1] = 1
                depth -= 1
                self.way.pop()
                places.load(self.way[depth])
                continue
            self.seat[depth], self.at[depth] = places.seat, places.at + 1
            spent += 1
            child = places.child()
            if child in self.newer or child in self.older:
                continue
            depth += 1
            self.way.append(child)
            self.seat[depth] = self.at[depth] = self.alive[depth] = 0
            places.load(child)
            if depth == self.goal:
                self.alive[depth] = 1
                result = FOUND
                break
        self.depth = depth
        self.tried += spent
        return result

    def bury(self, position: bytes) -> None:
        """Remember that POSITION leads nowhere."""
        self.newer.add(position)
        self.dead += 1
        if len(self.newer) >= REMEMBERED:
            self.older, self.newer = self.newer, set()
