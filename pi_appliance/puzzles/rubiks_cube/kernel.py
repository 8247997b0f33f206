"""Search kernels of the cube, after Kociemba, and breadth-first search of its tables; types in kernel.pxd.

Phase 1 brings twist, flip and slice to 0; phase 2 needs U, D and half turns only. A turn is face * 3 + power,
faces in the order URFDLB. A table of pairs has one byte per left * across + right; the large pruning table
has a row of `ROW` bytes per class, two bits per twist: the distance modulo 3, or 3 for unknown.
"""

from collections.abc import MutableSequence, Sequence

DONE, FOUND, LIMIT_REACHED = 0, 1, 2  # results of `run`
TURNS = 18
SLICES = 495
TWISTS = 2187
ROW = 547  # bytes of a class in the large pruning table
ORDERS = 24
PHASE2_TURN_COUNT = 10
AXES = 3
MAX_LENGTH = 40
MIN_RETURN = 5  # turns to leave phase 2 and come back, unless a shorter way leads there


class SearchTables:
    """Buffers read by a search. If `large` is empty, the small tables are used."""

    def __init__(
        self,
        move_tables: Sequence[Sequence[int]],
        twist_symmetry: Sequence[int],
        class_of: Sequence[int],
        ud_ranks: Sequence[int],
        small_tables: Sequence[Sequence[int]],
        large: Sequence[int],
        phase2_turns: Sequence[int],
    ) -> None:
        self.twist, self.flip, self.slice, self.slice_sorted, self.corners, self.ud_edges = move_tables
        self.twist_symmetry, self.class_of, self.ud_ranks = twist_symmetry, class_of, ud_ranks
        self.corner_distance, self.edge_distance, self.twist_distance, self.flip_distance = small_tables
        self.large = large
        self.is_large = len(large) > 0
        self.phase2_turns = phase2_turns

    def apply_turn(self, start: Sequence[int], turn: int) -> tuple[int, ...]:
        """Return the coordinates `start` after a turn."""
        return (
            self.twist[start[0] * TURNS + turn],
            self.flip[start[1] * TURNS + turn],
            self.slice_sorted[start[2] * TURNS + turn],
            self.corners[start[3] * TURNS + turn],
            self.slice_sorted[start[4] * TURNS + turn],
            self.slice_sorted[start[5] * TURNS + turn],
        )

    def bound_after_turn(self, twist: int, flip: int, where: int, before: int) -> int:
        """Return a lower bound of the length of phase 1; `before` is the bound one turn ago.

        The large table has the distance modulo 3, and one turn changes it by at most one.
        """
        if self.is_large:
            code = self.class_of[flip * SLICES + where]
            other = self.twist_symmetry[(code & 15) * TWISTS + twist]
            rest = self.large[(code >> 4) * ROW + (other >> 2)] >> ((other & 3) * 2) & 3
            return before + (rest + 31 - before) % 3 - 1
        one = self.twist_distance[twist * SLICES + where]
        two = self.flip_distance[flip * SLICES + where]
        return one if one > two else two

    def bound(self, twist: int, flip: int, where: int) -> int:
        """Return the same bound without a previous one: walk down the large table."""
        if not self.is_large:
            return self.bound_after_turn(twist, flip, where, 0)
        walked = twist_after = flip_after = where_after = 0
        while twist or flip or where:
            code = self.class_of[flip * SLICES + where]
            other = self.twist_symmetry[(code & 15) * TWISTS + twist]
            less = ((self.large[(code >> 4) * ROW + (other >> 2)] >> ((other & 3) * 2) & 3) + 2) % 3
            for turn in range(TURNS):
                twist_after = self.twist[twist * TURNS + turn]
                flip_after = self.flip[flip * TURNS + turn]
                where_after = self.slice[where * TURNS + turn]
                code = self.class_of[flip_after * SLICES + where_after]
                other = self.twist_symmetry[(code & 15) * TWISTS + twist_after]
                if self.large[(code >> 4) * ROW + (other >> 2)] >> ((other & 3) * 2) & 3 == less:
                    break
            twist, flip, where = twist_after, flip_after, where_after
            walked += 1
        return walked


class PhaseSearch:
    """Search one cube through both phases, with a fixed length of phase 1; `path` holds the solution."""

    def __init__(self, tables: SearchTables, buffers: Sequence[MutableSequence[int]]) -> None:
        self.tables = tables
        self.twist, self.flip, self.slice, self.dist, self.next, self.path = buffers[:6]
        self.slice_sorted, self.corners, self.u_edges, self.d_edges = buffers[6:]
        self.nodes = self.solution_length = self.phase2_length = 0

    def begin(self, start: Sequence[int], phase1_length: int, max_length: int, max_phase2: int, last_face: int) -> None:
        """Begin with the coordinates `start`, after a turn of `last_face` (99: none)."""
        self.twist[0], self.flip[0] = start[0], start[1]
        self.slice[0] = start[2] // ORDERS
        self.slice_sorted[0], self.corners[0], self.u_edges[0], self.d_edges[0] = start[2], start[3], start[4], start[5]
        self.dist[0] = self.tables.bound(start[0], start[1], start[2] // ORDERS)
        self.next[0] = 0
        self.length, self.max_length, self.max_phase2, self.last = phase1_length, max_length, max_phase2, last_face
        self.depth = self.known = 0  # known: depth up to which the coordinates of phase 2 are valid
        if self.dist[0] > phase1_length:
            self.depth = -1

    def limit_length(self, max_length: int) -> None:
        """Lower the maximum length of a solution."""
        self.max_length = max_length

    def run(self, budget: int) -> int:
        """Search about `budget` positions; return `DONE`, `FOUND` or `LIMIT_REACHED` (call it again)."""
        tables = self.tables
        depth = self.depth
        length = self.length
        end = self.nodes + budget
        while depth >= 0:
            if depth == length:
                depth -= 1
                if self.try_phase2():
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
            dist = tables.bound_after_turn(twist, flip, where, self.dist[depth])
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

    def try_phase2(self) -> int:
        """Search phase 2 from the end of phase 1; return 1 if it solves the cube, else 0."""
        tables = self.tables
        for depth in range(self.known, self.length):
            turn = self.path[depth]
            self.slice_sorted[depth + 1] = tables.slice_sorted[self.slice_sorted[depth] * TURNS + turn]
            self.corners[depth + 1] = tables.corners[self.corners[depth] * TURNS + turn]
            self.u_edges[depth + 1] = tables.slice_sorted[self.u_edges[depth] * TURNS + turn]
            self.d_edges[depth + 1] = tables.slice_sorted[self.d_edges[depth] * TURNS + turn]
        length = self.length
        self.known = length
        limit = self.max_length - length
        if limit > self.max_phase2:  # noqa: PLR1730
            limit = self.max_phase2
        corner, order = self.corners[length], self.slice_sorted[length] % ORDERS
        edge = tables.ud_ranks[self.u_edges[length]] * ORDERS + self.d_edges[length] % ORDERS
        least = tables.corner_distance[corner * ORDERS + order]
        other = tables.edge_distance[edge * ORDERS + order]
        if other > least:  # noqa: PLR1730
            least = other
        last = self.path[length - 1] // 3 if length else self.last
        for left in range(least, limit + 1):
            if self.search_phase2(corner, edge, order, length, left, last):
                self.solution_length = length + left
                self.phase2_length = left
                return 1
        return 0

    def search_phase2(self, corner: int, edge: int, order: int, at: int, left: int, last: int) -> int:
        """Return 1 if exactly `left` turns of phase 2 solve it; they are written into `path` from `at` on."""
        if left == 0:
            return 1 if corner == 0 and edge == 0 and order == 0 else 0
        tables = self.tables
        self.nodes += 1
        for number in range(PHASE2_TURN_COUNT):
            turn = tables.phase2_turns[number]
            face = turn // 3
            if face == last or face + 3 == last:
                continue
            order_after = tables.slice_sorted[order * TURNS + turn]
            corner_after = tables.corners[corner * TURNS + turn]
            if tables.corner_distance[corner_after * ORDERS + order_after] >= left:
                continue
            edge_after = tables.ud_edges[edge * PHASE2_TURN_COUNT + number]
            if tables.edge_distance[edge_after * ORDERS + order_after] >= left:
                continue
            self.path[at] = turn
            if self.search_phase2(corner_after, edge_after, order_after, at + 1, left - 1, face):
                return 1
        return 0


class DepthSearch:
    """Search all solutions of one cube with a fixed length; `path` holds the one found.

    It bounds along all three axes: before the last turn, the cube is in phase 2 along the axis of that turn.
    """

    def __init__(
        self, tables: SearchTables, buffers: Sequence[MutableSequence[int]], axis_turns: Sequence[int]
    ) -> None:
        """Create a search; `axis_turns` has the number of each turn as seen along each axis."""
        self.tables, self.axis_turns = tables, axis_turns
        self.twist, self.flip, self.slice, self.dist, self.next, self.path = buffers
        self.nodes = self.depth = self.length = self.last = 0
        self.corners = self.slice_sorted = self.u_edges = self.d_edges = 0
        self.solved_u_edges = self.solved_d_edges = 0

    def begin(self, starts: Sequence[Sequence[int]], solved: Sequence[int], length: int, last_face: int) -> None:
        """Begin with a cube as seen along each axis; `solved` are the coordinates of the solved cube."""
        for axis in range(AXES):
            start = starts[axis]
            self.twist[axis], self.flip[axis], self.slice[axis] = start[0], start[1], start[2] // ORDERS
            self.dist[axis] = self.tables.bound(start[0], start[1], start[2] // ORDERS)
        self.slice_sorted, self.corners, self.u_edges, self.d_edges = (
            starts[0][2],
            starts[0][3],
            starts[0][4],
            starts[0][5],
        )
        self.solved_u_edges, self.solved_d_edges = solved[4], solved[5]
        self.length, self.last = length, last_face
        self.depth = self.next[0] = 0
        if self.is_too_far(0, length):
            self.depth = -1

    def is_too_far(self, at: int, left: int) -> int:
        """Return 1 if the position at `at` needs more than `left` turns, else 0."""
        one, two, three = self.dist[at], self.dist[at + 1], self.dist[at + 2]
        if one > left or two > left or three > left:
            return 1
        # Along the axis of the last turn, the cube was in phase 2 before that turn.
        return 1 if left > 0 and one == left and two == left and three == left else 0

    def run(self, budget: int) -> int:
        """Search about `budget` positions; return `DONE`, `FOUND` or `LIMIT_REACHED` (call it again)."""
        tables = self.tables
        depth = self.depth
        length = self.length
        end = self.nodes + budget
        while depth >= 0:
            if depth == length:
                depth -= 1
                if self.is_solved():
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
                seen = self.axis_turns[axis * TURNS + turn]
                self.twist[there + axis] = tables.twist[self.twist[here + axis] * TURNS + seen]
                self.flip[there + axis] = tables.flip[self.flip[here + axis] * TURNS + seen]
                self.slice[there + axis] = tables.slice[self.slice[here + axis] * TURNS + seen]
                far = tables.bound_after_turn(
                    self.twist[there + axis], self.flip[there + axis], self.slice[there + axis], self.dist[here + axis]
                )
                self.dist[there + axis] = far
                if far > left:
                    break
            if far > left or self.is_too_far(there, left):
                continue
            self.path[depth] = turn
            depth += 1
            self.next[depth] = 0
        self.depth = depth
        return DONE

    def is_solved(self) -> int:
        """Return 1 if the turns in `path` solve the cube, else 0."""
        tables = self.tables
        slices, corners, u_edges, d_edges = self.slice_sorted, self.corners, self.u_edges, self.d_edges
        for depth in range(self.length):
            turn = self.path[depth]
            slices, corners = tables.slice_sorted[slices * TURNS + turn], tables.corners[corners * TURNS + turn]
            u_edges = tables.slice_sorted[u_edges * TURNS + turn]
            d_edges = tables.slice_sorted[d_edges * TURNS + turn]
        if slices or corners or u_edges != self.solved_u_edges or d_edges != self.solved_d_edges:
            return 0
        at = self.length * AXES
        return 1 if self.twist[at] == 0 and self.flip[at] == 0 else 0


UNKNOWN = 255
SLICE_OFFSET = 2048 * TURNS  # the moves of slices follow those of flips
TWIST_OFFSET = SLICE_OFFSET + SLICES * TURNS


def bfs_fill(  # noqa: PLR0913, PLR0917 - a kernel gets its buffers as arguments
    distances: MutableSequence[int],
    left: Sequence[int],
    right: Sequence[int],
    across: int,
    width: int,
    depth: int,
    begin: int,
    end: int,
) -> int:
    """Mark the entries one turn away from entries `begin` to `end` at `depth`; return their number."""
    found = 0
    for entry in range(begin, end):
        if distances[entry] != depth:
            continue
        one = entry // across * width
        two = entry % across * width
        for turn in range(width):
            other = left[one + turn] * across + right[two + turn]
            if distances[other] == UNKNOWN:
                distances[other] = depth + 1
                found += 1
    return found


def forward_bfs(  # noqa: PLR0913, PLR0917
    large: "memoryview[int]",
    row: int,
    depth: int,
    raw: int,
    moves: Sequence[int],
    twist_symmetry: Sequence[int],
    class_of: Sequence[int],
    symmetries: Sequence[int],
    twists: MutableSequence[int],
) -> int:
    """Mark the entries one turn away from entries of class `row` at `depth`; return their number.

    Entries that a symmetry maps onto each other are marked together. `moves` has the tables of flip, slice
    and twist; `twists` is work space.
    """
    flip = raw // SLICES
    where = raw % SLICES
    level = depth % 3
    after = (depth + 1) % 3
    count = 0
    for twist in range(TWISTS):
        if large[row * ROW + (twist >> 2)] >> ((twist & 3) * 2) & 3 == level:
            twists[count] = twist
            count += 1
    found = 0
    if not count:
        return found
    for turn in range(TURNS):
        code = class_of[moves[flip * TURNS + turn] * SLICES + moves[SLICE_OFFSET + where * TURNS + turn]]
        base = (code >> 4) * ROW
        view = (code & 15) * TWISTS
        alike = symmetries[code >> 4]
        for number in range(count):
            twist = twist_symmetry[view + moves[TWIST_OFFSET + twists[number] * TURNS + turn]]
            place = base + (twist >> 2)
            shift = (twist & 3) * 2
            if large[place] >> shift & 3 == 3:
                large[place] = large[place] ^ (3 ^ after) << shift
                found += 1
                if alike != 1:
                    found += mark_symmetric(large, base, twist, after, twist_symmetry, alike)
    return found


def mark_symmetric(
    large: "memoryview[int]", base: int, twist: int, after: int, twist_symmetry: Sequence[int], alike: int
) -> int:
    """Mark the images of an entry under the symmetries `alike`; return their number."""
    found = 0
    for symmetry in range(1, 16):
        if alike >> symmetry & 1:
            other = twist_symmetry[symmetry * TWISTS + twist]
            place = base + (other >> 2)
            shift = (other & 3) * 2
            if large[place] >> shift & 3 == 3:
                large[place] = large[place] ^ (3 ^ after) << shift
                found += 1
    return found


def backward_bfs(  # noqa: PLR0913, PLR0917
    large: "memoryview[int]",
    row: int,
    depth: int,
    raw: int,
    moves: Sequence[int],
    twist_symmetry: Sequence[int],
    class_of: Sequence[int],
    twists: MutableSequence[int],
) -> int:
    """Mark the unknown entries of class `row` one turn away from `depth`; writes only into this row."""
    flip = raw // SLICES
    where = raw % SLICES
    level = depth % 3
    change = 3 ^ (depth + 1) % 3
    count = 0
    for twist in range(TWISTS):
        if large[row * ROW + (twist >> 2)] >> ((twist & 3) * 2) & 3 == 3:
            twists[count] = twist
            count += 1
    found = 0
    for turn in range(TURNS):
        if not count:
            break
        code = class_of[moves[flip * TURNS + turn] * SLICES + moves[SLICE_OFFSET + where * TURNS + turn]]
        base = (code >> 4) * ROW
        view = (code & 15) * TWISTS
        left = 0
        for number in range(count):
            twist = twists[number]
            other = twist_symmetry[view + moves[TWIST_OFFSET + twist * TURNS + turn]]
            if large[base + (other >> 2)] >> ((other & 3) * 2) & 3 == level:
                place = row * ROW + (twist >> 2)
                large[place] = large[place] ^ change << ((twist & 3) * 2)
                found += 1
            else:
                twists[left] = twist
                left += 1
        count = left
    return found
