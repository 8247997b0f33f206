"""The search for shortest solutions: all three axes at once, each with its distance to the second phase as a bound.

What it is given and gives is as in kernel.py. Whoever is N turns from home is at most N from the second phase on every
axis, and, before the last turn, less than that on the axis it turns about.
"""

from collections.abc import MutableSequence, Sequence

from pi_appliance.puzzles.rubiks_cube.kernel import Tables

DONE, FOUND, TIRED = 0, 1, 2
TURNS = 18
ORDERS = 24
AXES = 3


class Exact:
    """All ways home of exactly so many turns, for one cube. `path` holds the turns of the one that was found."""

    def __init__(self, tables: Tables, room: Sequence[MutableSequence[int]], renamed: Sequence[int]) -> None:
        """ROOM is memory; RENAMED tells what each turn is called along each axis, axis by axis."""
        self.tables, self.renamed = tables, renamed
        self.twist, self.flip, self.slice, self.dist, self.next, self.path = room
        self.nodes = self.depth = self.length = self.last = 0
        self.corner = self.four = self.up = self.down = 0
        self.home_up = self.home_down = 0

    def begin(self, starts: Sequence[Sequence[int]], home: Sequence[int], length: int, last: int) -> None:
        """Begin with a cube seen along the axes as STARTS, after a turn of the face LAST (99: none); HOME is solved."""
        for axis in range(AXES):
            start = starts[axis]
            self.twist[axis], self.flip[axis], self.slice[axis] = start[0], start[1], start[2] // ORDERS
            self.dist[axis] = self.tables.distance(start[0], start[1], start[2] // ORDERS)
        self.four, self.corner, self.up, self.down = starts[0][2], starts[0][3], starts[0][4], starts[0][5]
        self.home_up, self.home_down = home[4], home[5]
        self.length, self.last = length, last
        self.depth = self.next[0] = 0
        if self.too_far(0, length):
            self.depth = -1

    def too_far(self, at: int, left: int) -> int:
        """Say, 1 or 0, whether what stands at AT needs more than LEFT turns."""
        one, two, three = self.dist[at], self.dist[at + 1], self.dist[at + 2]
        if one > left or two > left or three > left:
            return 1
        # Its last turn is about one of the axes: there, it was home in the second phase before.
        return 1 if left > 0 and one == left and two == left and three == left else 0

    def run(self, budget: int) -> int:
        """Go on for about BUDGET positions; return DONE, FOUND or TIRED. After FOUND it may be asked to go on."""
        tables = self.tables
        depth = self.depth
        length = self.length
        end = self.nodes + budget
        while depth >= 0:
            if depth == length:
                depth -= 1
                if self.is_home():
                    self.depth = depth
                    return FOUND
                continue
            turn = self.next[depth]
            if turn == TURNS:
                depth -= 1
                continue
            face = turn // 3
            last = self.path[depth - 1] // 3 if depth else self.last
            if face == last or face + 3 == last:
                self.next[depth] = face * 3 + 3
                continue
            if self.nodes >= end:
                self.depth = depth
                return TIRED
            self.nodes += 1
            self.next[depth] = turn + 1
            left = length - depth - 1
            here = depth * AXES
            there = here + AXES
            far = 0
            for axis in range(AXES):
                named = self.renamed[axis * TURNS + turn]
                self.twist[there + axis] = tables.twist[self.twist[here + axis] * TURNS + named]
                self.flip[there + axis] = tables.flip[self.flip[here + axis] * TURNS + named]
                self.slice[there + axis] = tables.slice[self.slice[here + axis] * TURNS + named]
                far = tables.step(
                    self.twist[there + axis],
                    self.flip[there + axis],
                    self.slice[there + axis],
                    self.dist[here + axis],
                )
                self.dist[there + axis] = far
                if far > left:
                    break
            if far > left or self.too_far(there, left):
                continue
            self.path[depth] = turn
            depth += 1
            self.next[depth] = 0
        self.depth = depth
        return DONE

    def is_home(self) -> int:
        """Say, 1 or 0, whether the turns of `path` lead home."""
        tables = self.tables
        four, corner, up, down = self.four, self.corner, self.up, self.down
        for depth in range(self.length):
            turn = self.path[depth]
            four, corner = tables.four[four * TURNS + turn], tables.corner[corner * TURNS + turn]
            up, down = tables.four[up * TURNS + turn], tables.four[down * TURNS + turn]
        home = four == 0 and corner == 0 and up == self.home_up and down == self.home_down
        at = self.length * AXES
        return 1 if home and self.twist[at] == 0 and self.flip[at] == 0 else 0
