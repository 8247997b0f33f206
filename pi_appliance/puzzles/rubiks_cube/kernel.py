"""Search kernels of the cube, after Kociemba, and breadth-first search of its tables; types in kernel.pxd.

Phase 1 brings twist, flip and slice to 0; phase 2 needs U, D and half turns only. A turn is face * 3 + power,
faces in the order URFDLB. Phase 1 sees a position as the first one of its class of flip and slice: `symmetry`
leads from the cube to there, and `twist` and the turns are those seen there. A table of pairs has one byte per
left * across + right. The large pruning table has one byte per class * TWISTS + twist: the distance modulo 3, plus
3 times the number of a list that has all turns which shorten it. While it is built, it has the distances.
"""

from collections.abc import MutableSequence, Sequence

DONE, FOUND, LIMIT_REACHED = 0, 1, 2  # results of `run`
TURNS = 18
SLICES = 495
TWISTS = 2187
ORDERS = 24
PHASE2_TURN_COUNT = 10
AXES = 3
MAX_LENGTH = 40
MIN_RETURN = 5  # turns to leave phase 2 and come back, unless a shorter way leads there
SYMMETRIES = 16
LIST = 19  # turns, and `TURNS` as the end; the first list has all turns
UNKNOWN = 255


class SearchTables:
    """Buffers read by a search. If `large` is empty, the small tables are used."""

    def __init__(
        self,
        move_tables: Sequence[Sequence[int]],
        class_tables: Sequence[Sequence[int]],
        symmetry_tables: Sequence[Sequence[int]],
        phase2_tables: Sequence[Sequence[int]],
        small_tables: Sequence[Sequence[int]],
        large: Sequence[int],
        turn_lists: Sequence[int],
    ) -> None:
        self.twist, self.slice_sorted, self.corners, self.ud_edges = move_tables
        self.classes, self.class_of, self.class_slice = class_tables
        self.twist_symmetry, self.turn_symmetry, self.inverse_turns, self.products = symmetry_tables
        self.ud_ranks, self.phase2_turns = phase2_tables
        self.corner_distance, self.edge_distance, self.twist_distance, self.class_distance = small_tables
        self.large, self.turn_lists = large, turn_lists
        self.is_large = len(large) > 0
        self.parts = move_tables, class_tables, symmetry_tables, phase2_tables, small_tables, large, turn_lists

    def __reduce__(self) -> tuple[object, ...]:
        """Return how to rebuild the tables, for the workers of a search."""
        return SearchTables, self.parts

    def look_up(self, group: int, twist: int, before: int) -> int:
        """Return a lower bound of the length of phase 1, plus 256 times where the turns that shorten it are listed.

        `before` is the bound one turn ago: the distance modulo 3 suffices, as one turn changes it by at most one.
        """
        if self.is_large:
            entry = self.large[group * TWISTS + twist]
            return before + (entry + 31 - before) % 3 - 1 + entry // 3 * (LIST << 8)
        one = self.twist_distance[twist * SLICES + self.class_slice[group]]
        two = self.class_distance[group]
        return one if one > two else two

    def bound(self, twist: int, flip: int, where: int) -> int:
        """Return the same bound without a previous one: walk down the large table."""
        code = self.class_of[flip * SLICES + where]
        group = code >> 4
        twist = self.twist_symmetry[(code & 15) * TWISTS + twist]
        if not self.is_large:
            return self.look_up(group, twist, 0)
        walked = 0
        entry = self.large[group * TWISTS + twist]
        while twist or group:
            less = (entry + 2) % 3
            at = entry // 3 * LIST
            code = self.classes[group * TURNS + self.turn_lists[at]]
            after = self.twist_symmetry[(code & 15) * TWISTS + self.twist[twist * TURNS + self.turn_lists[at]]]
            entry = self.large[(code >> 4) * TWISTS + after]
            while entry % 3 != less:
                at += 1
                code = self.classes[group * TURNS + self.turn_lists[at]]
                after = self.twist_symmetry[(code & 15) * TWISTS + self.twist[twist * TURNS + self.turn_lists[at]]]
                entry = self.large[(code >> 4) * TWISTS + after]
            group, twist = code >> 4, after
            walked += 1
        return walked


class PhaseSearch:
    """Search one cube through both phases, with a fixed length of phase 1; `path` holds the solution."""

    def __init__(self, tables: SearchTables, buffers: Sequence[MutableSequence[int]]) -> None:
        self.tables = tables
        self.twist, self.group, self.symmetry, self.dist, self.next, self.path = buffers[:6]
        self.slice_sorted, self.corners, self.u_edges, self.d_edges = buffers[6:]
        self.nodes = self.solution_length = self.phase2_length = 0

    def begin(self, start: Sequence[int], phase1_length: int, max_length: int, max_phase2: int, last_face: int) -> None:
        """Begin with the coordinates `start`, after a turn of `last_face` (99: none)."""
        tables = self.tables
        code = tables.class_of[start[1] * SLICES + start[2] // ORDERS]
        self.group[0], self.symmetry[0] = code >> 4, code & 15
        self.twist[0] = tables.twist_symmetry[(code & 15) * TWISTS + start[0]]
        self.slice_sorted[0], self.corners[0], self.u_edges[0], self.d_edges[0] = start[2], start[3], start[4], start[5]
        self.dist[0] = tables.bound(start[0], start[1], start[2] // ORDERS)
        self.next[0] = 0
        self.length, self.max_length, self.max_phase2, self.last = phase1_length, max_length, max_phase2, last_face
        self.depth = self.known_corners = self.known_edges = 0  # depths to which the coordinates of phase 2 are valid
        if self.dist[0] > phase1_length:
            self.depth = -1
        elif self.dist[0] == phase1_length:
            self.next[0] = tables.look_up(self.group[0], self.twist[0], self.dist[0]) >> 8

    def limit_length(self, max_length: int) -> None:
        """Lower the maximum length of a solution."""
        self.max_length = max_length

    def run(self, budget: int) -> int:
        """Search about `budget` positions; return `DONE`, `FOUND` or `LIMIT_REACHED` (call it again)."""
        tables = self.tables
        depth = self.depth
        length = self.length
        end = self.nodes + budget
        while depth >= 0 and self.nodes < end:
            if depth == length:
                depth -= 1
                if self.try_phase2():
                    self.depth = depth
                    return FOUND
                continue
            turn = tables.turn_lists[self.next[depth]]
            if turn == TURNS:
                depth -= 1
                continue
            self.next[depth] += 1
            symmetry = self.symmetry[depth]
            actual = tables.inverse_turns[symmetry * TURNS + turn]
            face = actual // 3
            last = self.path[depth - 1] // 3 if depth else self.last
            if face == last or face + 3 == last:
                continue
            self.nodes += 1
            code = tables.classes[self.group[depth] * TURNS + turn]
            group = code >> 4
            twist = tables.twist_symmetry[(code & 15) * TWISTS + tables.twist[self.twist[depth] * TURNS + turn]]
            left = length - depth - 1
            seen = dist = 0
            if left == 0:
                if group or twist:
                    continue
            else:
                seen = tables.look_up(group, twist, self.dist[depth])
                dist = seen & 255
                if dist > left or (dist == 0 and left < MIN_RETURN):
                    continue
            self.path[depth] = actual
            if self.known_corners > depth:  # noqa: PLR1730 - min is slow in plain Python
                self.known_corners = depth
            depth += 1
            self.group[depth], self.twist[depth], self.dist[depth] = group, twist, dist
            self.symmetry[depth] = tables.products[symmetry * SYMMETRIES + (code & 15)]
            self.next[depth] = seen >> 8 if dist == left else 0
        self.depth = depth
        return LIMIT_REACHED if depth >= 0 else DONE

    def try_phase2(self) -> int:
        """Search phase 2 from the end of phase 1; return 1 if it solves the cube, else 0."""
        tables = self.tables
        length = self.length
        if self.known_edges > self.known_corners:  # noqa: PLR1730
            self.known_edges = self.known_corners
        for depth in range(self.known_corners, length):
            turn = self.path[depth]
            self.slice_sorted[depth + 1] = tables.slice_sorted[self.slice_sorted[depth] * TURNS + turn]
            self.corners[depth + 1] = tables.corners[self.corners[depth] * TURNS + turn]
        self.known_corners = length
        limit = self.max_length - length
        if limit > self.max_phase2:  # noqa: PLR1730
            limit = self.max_phase2
        corner, order = self.corners[length], self.slice_sorted[length] % ORDERS
        least = tables.corner_distance[corner * ORDERS + order]
        if least > limit:
            return 0
        for depth in range(self.known_edges, length):
            turn = self.path[depth]
            self.u_edges[depth + 1] = tables.slice_sorted[self.u_edges[depth] * TURNS + turn]
            self.d_edges[depth + 1] = tables.slice_sorted[self.d_edges[depth] * TURNS + turn]
        self.known_edges = length
        edge = tables.ud_ranks[self.u_edges[length]] * ORDERS + self.d_edges[length] % ORDERS
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
    Each turn is chosen from the list of one axis, `guide`: the first without a turn to spare, or axis 0.
    """

    def __init__(
        self, tables: SearchTables, buffers: Sequence[MutableSequence[int]], axis_turns: Sequence[int]
    ) -> None:
        """Create a search; `axis_turns` has the number of each turn as seen along each axis, and then the reverse."""
        self.tables, self.axis_turns = tables, axis_turns
        self.twist, self.group, self.symmetry, self.dist, self.lists, self.next, self.guide, self.path = buffers
        self.nodes = self.depth = self.length = self.last = 0
        self.corners = self.slice_sorted = self.u_edges = self.d_edges = 0
        self.solved_u_edges = self.solved_d_edges = 0

    def begin(self, starts: Sequence[Sequence[int]], solved: Sequence[int], length: int, last_face: int) -> None:
        """Begin with a cube as seen along each axis; `solved` are the coordinates of the solved cube."""
        tables = self.tables
        for axis in range(AXES):
            start = starts[axis]
            code = tables.class_of[start[1] * SLICES + start[2] // ORDERS]
            self.group[axis], self.symmetry[axis] = code >> 4, code & 15
            self.twist[axis] = tables.twist_symmetry[(code & 15) * TWISTS + start[0]]
            self.dist[axis] = tables.bound(start[0], start[1], start[2] // ORDERS)
            self.lists[axis] = tables.look_up(code >> 4, self.twist[axis], self.dist[axis]) >> 8
        self.slice_sorted, self.corners, self.u_edges, self.d_edges = (
            starts[0][2],
            starts[0][3],
            starts[0][4],
            starts[0][5],
        )
        self.solved_u_edges, self.solved_d_edges = solved[4], solved[5]
        self.length, self.last = length, last_face
        self.depth = -1
        if not self.is_too_far(0, length):
            self.enter(0, length)

    def is_too_far(self, at: int, left: int) -> int:
        """Return 1 if the position at `at` needs more than `left` turns, else 0."""
        one, two, three = self.dist[at], self.dist[at + 1], self.dist[at + 2]
        if one > left or two > left or three > left:
            return 1
        # Along the axis of the last turn, the cube was in phase 2 before that turn.
        return 1 if left > 0 and one == left and two == left and three == left else 0

    def enter(self, depth: int, left: int) -> None:
        """Begin with the turns of the position at `depth`."""
        self.depth = depth
        self.guide[depth] = self.next[depth] = 0
        for axis in range(AXES):
            if self.dist[depth * AXES + axis] == left:
                self.guide[depth] = axis
                self.next[depth] = self.lists[depth * AXES + axis]
                return

    def run(self, budget: int) -> int:
        """Search about `budget` positions; return `DONE`, `FOUND` or `LIMIT_REACHED` (call it again)."""
        tables = self.tables
        length = self.length
        end = self.nodes + budget
        while self.depth >= 0:
            depth = self.depth
            if depth == length:
                self.depth -= 1
                if self.is_solved():
                    return FOUND
                continue
            seen = tables.turn_lists[self.next[depth]]
            if seen == TURNS:
                self.depth -= 1
                continue
            if self.nodes >= end:
                return LIMIT_REACHED
            self.next[depth] += 1
            here = depth * AXES
            axis = self.guide[depth]
            seen = tables.inverse_turns[self.symmetry[here + axis] * TURNS + seen]
            turn = self.axis_turns[(AXES + axis) * TURNS + seen]
            face = turn // 3
            last = self.path[depth - 1] // 3 if depth else self.last
            if face == last or face + 3 == last:
                continue
            self.nodes += 1
            left = length - depth - 1
            there = here + AXES
            far = 0
            for axis in range(AXES):
                symmetry = self.symmetry[here + axis]
                seen = tables.turn_symmetry[symmetry * TURNS + self.axis_turns[axis * TURNS + turn]]
                code = tables.classes[self.group[here + axis] * TURNS + seen]
                group = code >> 4
                twist = tables.twist_symmetry[
                    (code & 15) * TWISTS + tables.twist[self.twist[here + axis] * TURNS + seen]
                ]
                seen = tables.look_up(group, twist, self.dist[here + axis])
                far = seen & 255
                if far > left:
                    break
                self.group[there + axis], self.twist[there + axis], self.dist[there + axis] = group, twist, far
                self.symmetry[there + axis] = tables.products[symmetry * SYMMETRIES + (code & 15)]
                self.lists[there + axis] = seen >> 8
            if far > left or self.is_too_far(there, left):
                continue
            self.path[depth] = turn
            self.enter(depth + 1, left)
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
        return 1 if self.twist[at] == 0 and self.group[at] == 0 else 0


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
    classes: Sequence[int],
    twist_moves: Sequence[int],
    twist_symmetry: Sequence[int],
    symmetries: Sequence[int],
    twists: MutableSequence[int],
) -> int:
    """Mark the entries one turn away from entries of class `row` at `depth`; return their number.

    Entries that a symmetry maps onto each other are marked together. `twists` is work space.
    """
    count = found = 0
    for twist in range(TWISTS):
        if large[row * TWISTS + twist] == depth:
            twists[count] = twist
            count += 1
    if not count:
        return found
    for turn in range(TURNS):
        code = classes[row * TURNS + turn]
        base = (code >> 4) * TWISTS
        view = (code & 15) * TWISTS
        alike = symmetries[code >> 4]
        for number in range(count):
            twist = twist_symmetry[view + twist_moves[twists[number] * TURNS + turn]]
            if large[base + twist] != UNKNOWN:
                continue
            for symmetry in range(SYMMETRIES if alike != 1 else 1):
                if alike >> symmetry & 1:
                    other = base + twist_symmetry[symmetry * TWISTS + twist]
                    if large[other] == UNKNOWN:
                        large[other] = depth + 1
                        found += 1
    return found


def backward_bfs(
    large: "memoryview[int]",
    row: int,
    depth: int,
    classes: Sequence[int],
    twist_moves: Sequence[int],
    twist_symmetry: Sequence[int],
    twists: MutableSequence[int],
) -> int:
    """Mark the unknown entries of class `row` one turn away from `depth`; writes only into this row."""
    count = found = 0
    for twist in range(TWISTS):
        if large[row * TWISTS + twist] == UNKNOWN:
            twists[count] = twist
            count += 1
    for turn in range(TURNS):
        if not count:
            break
        code = classes[row * TURNS + turn]
        base = (code >> 4) * TWISTS
        view = (code & 15) * TWISTS
        left = 0
        for number in range(count):
            twist = twists[number]
            if large[base + twist_symmetry[view + twist_moves[twist * TURNS + turn]]] == depth:
                large[row * TWISTS + twist] = depth + 1
                found += 1
            else:
                twists[left] = twist
                left += 1
        count = left
    return found


def add_turn_lists(
    large: "memoryview[int]",
    row: int,
    classes: Sequence[int],
    twist_moves: Sequence[int],
    twist_symmetry: Sequence[int],
    list_of: Sequence[int],
    masks: MutableSequence[int],
) -> int:
    """Replace the distances of class `row` by those modulo 3, plus 3 times the number of a list; return 0.

    `list_of` has the number of the list for each set of turns that shorten phase 1; `masks` is work space. Entries
    of other rows may be replaced already or not.
    """
    for twist in range(TWISTS):
        masks[twist] = 0
    for turn in range(TURNS):
        code = classes[row * TURNS + turn]
        base = (code >> 4) * TWISTS
        view = (code & 15) * TWISTS
        for twist in range(TWISTS):
            other = large[base + twist_symmetry[view + twist_moves[twist * TURNS + turn]]]
            if (large[row * TWISTS + twist] + 2 - other) % 3 == 0:
                masks[twist] |= 1 << turn
    for twist in range(TWISTS):
        large[row * TWISTS + twist] = large[row * TWISTS + twist] % 3 + 3 * list_of[masks[twist]]
    return 0
