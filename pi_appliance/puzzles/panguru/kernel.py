"""The search behind Panguru: positions are integers, a colour in four bits a place. Plain Python over plain integers.

Colours count from 1; 0 is the hole. A position is the sum of colour << 4 * place, a mask the set of places of one
colour. Of each colour and mask, COSTS tells the fewest moves that bring those pebbles onto their plates if nothing is
in the way, so that the sum over all colours never tells too many: a move moves one pebble.
"""

from array import array
from collections.abc import Sequence
from random import Random

FOUND, OVER, MORE = 1, 0, 2  # what a walk says: a line is found; there is none within the bound; its budget is spent
SALTS = array("I", [Random(number).getrandbits(32) for number in range(256)])  # noqa: S311 - the same each time


class Ground:
    """What never changes in one search: the moves, and what masks cost.

    Place N can be reached from ENDS[STARTS[N]:STARTS[N + 1]]. COSTS holds, for each colour from 0, 1 << places bytes.
    """

    def __init__(self, starts: "array[int]", ends: "array[int]", costs: "array[int]", colours: int) -> None:
        self.starts, self.ends, self.costs = starts, ends, costs
        self.places, self.colours = len(starts) - 1, colours
        self.masks = array("I", bytes(4 * 16))

    def unpack(self, key: int) -> int:
        """Fill `masks` from the position KEY, and return its hole."""
        hole = 0
        for colour in range(16):
            self.masks[colour] = 0
        for place in range(self.places):
            colour = key >> (4 * place) & 15
            self.masks[colour] |= 1 << place
            if colour == 0:
                hole = place
        return hole

    def estimate(self) -> int:
        """Return the fewest moves that the masks may take."""
        total = 0
        for colour in range(1, self.colours + 1):
            total += self.costs[colour << self.places | self.masks[colour]]
        return total

    def grow(self, level: Sequence[int], first: int, last: int, left: int, after: set[int]) -> None:
        """Add to the set AFTER what one move makes of LEVEL[FIRST:LAST], if it may end within LEFT moves more."""
        for number in range(first, last):
            key = level[number]
            hole = self.unpack(key)
            estimate = self.estimate()
            for at in range(self.starts[hole], self.starts[hole + 1]):
                start = self.ends[at]
                colour = key >> (4 * start) & 15
                mask = self.masks[colour]
                moved = mask ^ (1 << start | 1 << hole)
                row = colour << self.places
                if estimate + self.costs[row | moved] <= left + self.costs[row | mask]:
                    after.add(key ^ (colour << (4 * start) | colour << (4 * hole)))

    def weigh(self, level: Sequence[int], first: int, last: int, after: dict[int, int], ways: dict[int, int]) -> None:
        """Put into WAYS how many lines go on from LEVEL[FIRST:LAST], where AFTER knows of the positions one move on."""
        for number in range(first, last):
            key = level[number]
            hole = self.unpack(key)
            total = 0
            for at in range(self.starts[hole], self.starts[hole + 1]):
                start = self.ends[at]
                colour = key >> (4 * start) & 15
                total += after.get(key ^ (colour << (4 * start) | colour << (4 * hole)), 0)
            if total:
                ways[key] = total


class Walk:
    """Looks for one line of at most BOUND moves from the position KEY, depth first (one round of IDA*).

    It remembers in ROOM places (a power of two) which positions it met with how many moves, and turns back where it
    comes again with as many or more.
    """

    def __init__(self, ground: Ground, key: int, bound: int, room: int) -> None:
        self.ground, self.bound, self.key = ground, bound, key
        self.nodes = self.depth = self.salt = 0
        self.content = array("B", bytes(16))
        self.masks = array("I", bytes(4 * 16))
        self.way = array("B", bytes(bound + 2))
        self.turns = array("I", bytes(4 * (bound + 2)))
        self.left = array("I", bytes(4 * (bound + 2)))
        self.room = room
        self.met = array("Q", bytes(8 * room))
        self.when = array("I", bytes(4 * room))
        self.beyond = 0xFFFFFFFF
        self.begin(ground.unpack(key))

    def begin(self, hole: int) -> None:
        """Stand at the beginning, with the hole at place HOLE."""
        for place in range(self.ground.places):
            self.content[place] = self.key >> (4 * place) & 15
        for colour in range(16):
            self.masks[colour] = self.ground.masks[colour]
        self.way[0] = hole
        self.turns[0] = self.ground.starts[hole]
        self.left[0] = self.ground.estimate()

    def line(self) -> list[int]:
        """Return the way of the hole."""
        return [self.way[step] for step in range(self.depth + 1)]

    def run(self, budget: int) -> int:
        """Go on for BUDGET moves. `beyond` is the next bound that may find more, when all is over."""
        ground = self.ground
        depth, spent, result = self.depth, 0, MORE
        if depth == 0 and self.left[0] == 0:
            return FOUND
        while spent < budget:
            hole, at = self.way[depth], self.turns[depth]
            if at == ground.starts[hole + 1]:
                if depth == 0:
                    result = OVER
                    break
                depth -= 1
                self.swap(self.way[depth], hole)
                continue
            self.turns[depth] = at + 1
            start = ground.ends[at]
            if depth > 0 and self.way[depth - 1] == start:
                continue  # that would take back the last move
            colour = self.content[start]
            row, mask = colour << ground.places, self.masks[colour]
            left = self.left[depth] + ground.costs[row | (mask ^ (1 << start | 1 << hole))] - ground.costs[row | mask]
            spent += 1
            if depth + 1 + left > self.bound:
                self.beyond = min(self.beyond, depth + 1 + left)
                continue
            self.swap(start, hole)
            seat = self.salt & (self.room - 1)
            if self.met[seat] == self.key and self.when[seat] <= depth + 1:
                self.swap(hole, start)
                continue
            self.met[seat], self.when[seat] = self.key, depth + 1
            depth += 1
            self.way[depth], self.left[depth] = start, left
            self.turns[depth] = ground.starts[start]
            if left == 0:
                result = FOUND
                break
        self.depth = depth
        self.nodes += spent
        return result

    def swap(self, start: int, hole: int) -> None:
        """Move the pebble at START into HOLE."""
        colour = self.content[start]
        self.content[hole], self.content[start] = colour, 0
        self.masks[colour] ^= 1 << start | 1 << hole
        self.key ^= colour << (4 * start) | colour << (4 * hole)
        self.salt ^= SALTS[colour << 4 | start] ^ SALTS[colour << 4 | hole]
