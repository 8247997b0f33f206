"""The search behind the cube, after Kociemba's two phases: plain Python over buffers, typed for Cython by kernel.pxd.

The first phase brings a cube to where U, D and half turns of the other faces suffice: twist, flip and slice are 0. The
second one solves it by these. Turns are numbered face * 3 + power, faces in the order URFDLB, so that the opposite of a
face is three further or nearer.
"""

from collections.abc import MutableSequence, Sequence

DONE, FOUND, LIMIT_REACHED = 0, 1, 2  # what `run` says: no more, one more, or that it spent what it was given
TURNS = 18
SLICES = 495
TWISTS = 2187
ROW = 547  # bytes of a class in the wide table
ORDERS = 24
SECOND_TURNS = 10
AXES = 3
MAX_LENGTH = 40
MIN_RETURN = 5  # turns: who leaves the second phase's cubes is not back sooner, unless a shorter way led there


class SearchTables:
    """The buffers that a search reads. `wide` may be empty: then the small tables of twist and flip stand in."""

    def __init__(
        self,
        turns: Sequence[Sequence[int]],
        views: Sequence[int],
        classes: Sequence[int],
        ranks: Sequence[int],
        near: Sequence[Sequence[int]],
        wide: Sequence[int],
        second: Sequence[int],
    ) -> None:
        self.twist, self.flip, self.slice, self.four, self.corner, self.edge = turns
        self.views, self.classes, self.ranks = views, classes, ranks
        self.near_corner, self.near_edge, self.near_twist, self.near_flip = near
        self.wide = wide
        self.is_wide = len(wide) > 0
        self.second = second

    def after(self, start: Sequence[int], turn: int) -> tuple[int, ...]:
        """Return the coordinates START after TURN."""
        return (
            self.twist[start[0] * TURNS + turn],
            self.flip[start[1] * TURNS + turn],
            self.four[start[2] * TURNS + turn],
            self.corner[start[3] * TURNS + turn],
            self.four[start[4] * TURNS + turn],
            self.four[start[5] * TURNS + turn],
        )

    def step(self, twist: int, flip: int, where: int, before: int) -> int:
        """Return how far these are from the second phase, at least; BEFORE is what it was one turn ago."""
        if self.is_wide:
            code = self.classes[flip * SLICES + where]
            other = self.views[(code & 15) * TWISTS + twist]
            rest = self.wide[(code >> 4) * ROW + (other >> 2)] >> ((other & 3) * 2) & 3
            return before + (rest + 31 - before) % 3 - 1  # of one less, the same and one more it is the one that fits
        one = self.near_twist[twist * SLICES + where]
        two = self.near_flip[flip * SLICES + where]
        return one if one > two else two

    def distance(self, twist: int, flip: int, where: int) -> int:
        """Return the same where nothing is known of one turn ago: by walking there."""
        if not self.is_wide:
            return self.step(twist, flip, where, 0)
        walked = twist_after = flip_after = where_after = 0
        while twist or flip or where:
            code = self.classes[flip * SLICES + where]
            other = self.views[(code & 15) * TWISTS + twist]
            less = ((self.wide[(code >> 4) * ROW + (other >> 2)] >> ((other & 3) * 2) & 3) + 2) % 3
            for turn in range(TURNS):
                twist_after = self.twist[twist * TURNS + turn]
                flip_after = self.flip[flip * TURNS + turn]
                where_after = self.slice[where * TURNS + turn]
                code = self.classes[flip_after * SLICES + where_after]
                other = self.views[(code & 15) * TWISTS + twist_after]
                if self.wide[(code >> 4) * ROW + (other >> 2)] >> ((other & 3) * 2) & 3 == less:
                    break
            twist, flip, where = twist_after, flip_after, where_after
            walked += 1
        return walked


class PhaseSearch:
    """One cube's ways through both phases, the first phase with exactly LENGTH turns, together with at most MOST.

    `path` holds the turns that were found, `found` how many they are.
    """

    def __init__(self, tables: SearchTables, room: Sequence[MutableSequence[int]]) -> None:
        self.tables = tables
        self.twist, self.flip, self.slice, self.dist, self.next, self.path = room[:6]
        self.four, self.corner, self.up, self.down = room[6:]
        self.nodes = self.found = self.second = 0

    def begin(self, start: Sequence[int], length: int, most: int, longest: int, last: int) -> None:
        """Begin with the cube whose coordinates are START, after a turn of the face LAST (99: none).

        The second phase has at most LONGEST turns.
        """
        self.twist[0], self.flip[0] = start[0], start[1]
        self.slice[0] = start[2] // ORDERS
        self.four[0], self.corner[0], self.up[0], self.down[0] = start[2], start[3], start[4], start[5]
        self.dist[0] = self.tables.distance(start[0], start[1], start[2] // ORDERS)
        self.next[0] = 0
        self.length, self.most, self.longest, self.last = length, most, longest, last
        self.depth = self.known = 0
        if self.dist[0] > length:
            self.depth = -1

    def tighten(self, most: int) -> None:
        """From now on, look for ways of at most MOST turns."""
        self.most = most

    def run(self, budget: int) -> int:
        """Go on for about BUDGET positions; return DONE, FOUND or TIRED. After FOUND it may be asked to go on."""
        tables = self.tables
        depth = self.depth
        length = self.length
        end = self.nodes + budget
        while depth >= 0:
            if depth == length:
                depth -= 1
                if self.finish():
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
                return LIMIT_REACHED
            self.nodes += 1
            self.next[depth] = turn + 1
            twist = tables.twist[self.twist[depth] * TURNS + turn]
            flip = tables.flip[self.flip[depth] * TURNS + turn]
            where = tables.slice[self.slice[depth] * TURNS + turn]
            dist = tables.step(twist, flip, where, self.dist[depth])
            left = length - depth - 1
            if dist > left or (dist == 0 and 0 < left < MIN_RETURN):
                continue
            self.path[depth] = turn
            if self.known > depth:  # noqa: PLR1730 - min is slow in plain Python
                self.known = depth
            depth += 1
            self.twist[depth], self.flip[depth], self.slice[depth] = twist, flip, where
            self.dist[depth] = dist
            self.next[depth] = 0
        self.depth = depth
        return DONE

    def finish(self) -> int:
        """Try the second phase where the first one ended; return 1 if it leads home in time."""
        tables = self.tables
        for depth in range(self.known, self.length):
            turn = self.path[depth]
            self.four[depth + 1] = tables.four[self.four[depth] * TURNS + turn]
            self.corner[depth + 1] = tables.corner[self.corner[depth] * TURNS + turn]
            self.up[depth + 1] = tables.four[self.up[depth] * TURNS + turn]
            self.down[depth + 1] = tables.four[self.down[depth] * TURNS + turn]
        length = self.length
        self.known = length
        room = self.most - length
        if room > self.longest:  # noqa: PLR1730
            room = self.longest
        corner, order = self.corner[length], self.four[length] % ORDERS
        edge = tables.ranks[self.up[length]] * ORDERS + self.down[length] % ORDERS
        least = tables.near_corner[corner * ORDERS + order]
        other = tables.near_edge[edge * ORDERS + order]
        if other > least:  # noqa: PLR1730
            least = other
        last = self.path[length - 1] // 3 if length else self.last
        for left in range(least, room + 1):
            if self.go_home(corner, edge, order, length, left, last):
                self.found = length + left
                self.second = left
                return 1
        return 0

    def go_home(self, corner: int, edge: int, order: int, at: int, left: int, last: int) -> int:
        """Write into `path` from AT on the LEFT turns of the second phase that lead home; return 1 if there are any."""
        if left == 0:
            return 1 if corner == 0 and edge == 0 and order == 0 else 0
        tables = self.tables
        self.nodes += 1
        for number in range(SECOND_TURNS):
            turn = tables.second[number]
            face = turn // 3
            if face == last or face + 3 == last:
                continue
            order_after = tables.four[order * TURNS + turn]
            corner_after = tables.corner[corner * TURNS + turn]
            if tables.near_corner[corner_after * ORDERS + order_after] >= left:
                continue
            edge_after = tables.edge[edge * SECOND_TURNS + number]
            if tables.near_edge[edge_after * ORDERS + order_after] >= left:
                continue
            self.path[at] = turn
            if self.go_home(corner_after, edge_after, order_after, at + 1, left - 1, face):
                return 1
        return 0


class DepthSearch:
    """All ways home of exactly so many turns, for one cube. `path` holds the turns of the one that was found.

    It looks along all three axes. Whoever is N turns from home is at most N from the second phase on each, and, before
    the last turn, less than that on the axis it turns about.
    """

    def __init__(self, tables: SearchTables, room: Sequence[MutableSequence[int]], renamed: Sequence[int]) -> None:
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
                return LIMIT_REACHED
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
