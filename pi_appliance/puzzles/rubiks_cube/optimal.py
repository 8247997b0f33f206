"""All shortest solutions of a cube, with the proof that none is shorter.

A bidirectional search finds near ones; others are searched depth after depth and resumed. A 2x2x2
has a table of positions: the order of seven corners * 729 + twists, with the corner DBL fixed.
"""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from itertools import islice, permutations

from pi_appliance.puzzles import Answer, SolveMode, Table, kernel_mode, pluralize
from pi_appliance.puzzles.rubiks_cube import coordinates, kernel
from pi_appliance.puzzles.rubiks_cube.board import FACES, TURN_NAMES, Board, Solution
from pi_appliance.puzzles.rubiks_cube.coordinates import (
    CORNERS,
    ORDERS,
    SOLVED,
    TURNS,
    Coordinates,
    State,
    cube_state,
    to_coordinates,
    turn_states,
)
from pi_appliance.puzzles.rubiks_cube.kernel import DONE, FOUND, MAX_LENGTH, DepthSearch, SearchTables
from pi_appliance.puzzles.rubiks_cube.pruning_tables import build_distance_table, cached_tables
from pi_appliance.puzzles.rubiks_cube.two_phase import (
    NO_FACE,
    NODE_BUDGET,
    Turns,
    axis_rotations,
    inverse_turn,
    turn_prefixes,
)
from pi_appliance.puzzles.runtime import Buffer, Checkpoint, SearchRuntime

MAX_NEAR_MOVES = 6  # three from each end: some thousand positions
POCKET_TURNS = 9  # of U, R and F; with the corner DBL fixed, a 2x2x2 needs no others
_CORNER_STICKERS = 3 * len(CORNERS)
# Solutions of at least so many turns are split by their first two turns, or by their first three.
_SPLIT_BY_TWO, _SPLIT_BY_THREE = 12, 16

_Level = dict[bytes, list[Turns]]


def find_near_solutions(state: State, side: int) -> list[Turns]:
    """Return all shortest solutions if they have at most `MAX_NEAR_MOVES` turns, else none."""
    size = len(SOLVED) if side == 3 else _CORNER_STICKERS
    turn_count = TURNS if side == 3 else POCKET_TURNS
    actions = [bytes(action[:size]).ljust(256, b"\0") for action in turn_states()[:turn_count]]
    forward: _Level = {bytes(state[:size]): [()]}
    backward: _Level = {bytes(SOLVED[:size]): [()]}
    for length in range(MAX_NEAR_MOVES + 1):
        if length % 2:
            forward = _expand_level(forward, actions, is_backward=False)
        elif length:
            backward = _expand_level(backward, actions, is_backward=True)
        solutions = [
            first + rest
            for position in forward.keys() & backward.keys()
            for first in forward[position]
            for rest in backward[position]
            if not first or not rest or _may_follow(first[-1], rest[0])
        ]
        if solutions:
            return sorted(solutions)
    return []


def _expand_level(level: _Level, actions: Sequence[bytes], *, is_backward: bool) -> _Level:
    expanded: _Level = {}
    for position, paths in level.items():
        for turn in range(len(actions)):
            if is_backward:
                longer = [(turn, *path) for path in paths if not path or _may_follow(turn, path[0])]
            else:
                longer = [(*path, turn) for path in paths if not path or _may_follow(path[-1], turn)]
            if longer:
                action = actions[inverse_turn(turn) if is_backward else turn]
                expanded.setdefault(position.translate(action), []).extend(longer)
    return expanded


def _may_follow(turn: int, other: int) -> bool:
    """Return whether `other` may come next: another face, opposite faces in one order."""
    return turn // 3 not in {other // 3, other // 3 + 3}


@dataclass(slots=True)
class OptimalState:
    """Progress: no solution is shorter than `length`, and `done` work units of it are searched."""

    length: int
    done: int = 0
    nodes: int = 0
    solutions: list[Turns] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.solutions = [tuple(solution) for solution in self.solutions]  # JSON has no tuples


class OptimalSearch:
    """Search for all shortest solutions of one 3x3x3; resumes from its checkpoint."""

    def __init__(self, state: State, tables: SearchTables, runtime: SearchRuntime) -> None:
        self._state, self._tables, self._runtime = state, tables, runtime
        self._rotations = axis_rotations()
        self._checkpoint = Checkpoint(runtime, "rubiks-cube/shortest", state)
        self._solved = to_coordinates([SOLVED])[0]
        saved = self._checkpoint.load()
        self.progress = OptimalState(**saved.values) if saved else OptimalState(self._lower_bound())

    def run(self) -> None:
        """Find all shortest solutions. Raises Interrupted."""
        progress = self.progress

        def describe() -> str:
            return f"no solution has fewer than {pluralize(progress.length, 'move')}"

        with self._checkpoint.guard(
            lambda: (asdict(progress), ()), describe, "; the next run continues from there"
        ) as save_sometimes:
            while not progress.solutions or progress.done:
                for solutions, nodes in self._search_length():
                    progress.solutions += solutions
                    progress.nodes += nodes
                    progress.done += 1
                    save_sometimes()
                progress.done = 0
                if not progress.solutions:
                    progress.length += 1

    def search_step(self, length: int) -> Iterator[int]:
        """Search for one solution of `length` turns; yield the positions searched."""
        search = self._create_search()
        search.begin(self._starts(self._state), self._solved, length, NO_FACE)
        while (result := search.run(NODE_BUDGET)) != DONE:
            if result == FOUND:
                self.progress.solutions.append(tuple(search.path[:length]))
                return
            yield search.nodes

    def _lower_bound(self) -> int:
        bounds = [
            self._tables.bound(start.twist, start.flip, start.slice_sorted // ORDERS)
            for start in self._starts(self._state)
        ]
        return max(*bounds, min(bounds) + 1)

    def _search_length(self) -> Iterator[tuple[list[Turns], int]]:
        """Yield solutions and positions of each remaining work unit of the current length."""
        length = self.progress.length
        units: Sequence[Turns] = list(turn_prefixes((length >= _SPLIT_BY_TWO) * 2 + (length >= _SPLIT_BY_THREE)))
        note = f"no solution of fewer than {length} moves"

        def search_unit(prefix: Turns) -> tuple[list[Turns], int]:
            state = self._state
            for turn in prefix:
                state = coordinates.compose(state, turn_states()[turn])
            search = self._create_search()
            last_face = prefix[-1] // 3 if prefix else NO_FACE
            search.begin(self._starts(state), self._solved, length - len(prefix), last_face)
            solutions: list[Turns] = []
            while (result := search.run(NODE_BUDGET)) != DONE:
                if result == FOUND:
                    solutions.append(prefix + tuple(search.path[: length - len(prefix)]))
                self._runtime.report_progress(None, note)
            return solutions, search.nodes

        for result in self._runtime.executor.map(search_unit, units[self.progress.done :]):
            self._runtime.report_progress(self.progress.done / len(units) if len(units) > 1 else None, note)
            yield result

    def _create_search(self) -> DepthSearch:
        buffers = [array("i", bytes(12 * (MAX_LENGTH + 1))) for _ in range(6)]
        axis_turns = array("i")
        for faces in self._rotations:
            axis_turns.extend(FACES.index(faces[FACES[turn // 3]]) * 3 + turn % 3 for turn in range(TURNS))
        return DepthSearch(self._tables, buffers, axis_turns)

    def _starts(self, state: State) -> list[Coordinates]:
        return to_coordinates(coordinates.conjugate(state, faces) for faces in self._rotations)


CACHE_NAME = "rubiks-cube/pocket-2"
POCKET_ORDERS, POCKET_TWISTS = 5040, 729
POCKET_POSITIONS = POCKET_ORDERS * POCKET_TWISTS
GODS_NUMBER = 11
FIXED_CORNER = CORNERS.index("DBL")
_PLACES = tuple(place for place in range(len(CORNERS)) if place != FIXED_CORNER)


def load_distances(runtime: SearchRuntime) -> memoryview:
    """Return the distance of each position, a byte each. Raises `Interrupted`."""

    def build() -> dict[str, Buffer]:
        orders, twists = _move_tables()
        sizes = POCKET_ORDERS, POCKET_TWISTS, POCKET_TURNS
        return {"distances": build_distance_table(orders, twists, *sizes, runtime, "table of the 2x2x2")}

    return cached_tables(runtime, CACHE_NAME, build)["distances"]


def distance_table(distances: "memoryview[int]") -> Table:
    """Return the number of positions by distance."""
    content = bytes(distances)
    rows = [(distance, content.count(distance)) for distance in range(GODS_NUMBER + 1)]
    title = f"Positions of the 2x2x2 by the moves they need (God's number: {GODS_NUMBER})"
    return Table(title, ("moves", "positions"), rows)


def solve_pocket(board: Board, mode: SolveMode, runtime: SearchRuntime) -> Answer[Solution]:
    """Return the shortest solutions of a 2x2x2. Raises `Interrupted`."""
    distances = load_distances(runtime)
    start = _position_number(cube_state(board.facelets, 2))
    path_counts: dict[int, int] = {}
    count = _count_paths(distances, start, path_counts)
    solutions: Iterator[Solution] = iter(()) if mode is SolveMode.COUNT else _iter_solutions(distances, start)
    if mode is SolveMode.FIRST:
        solutions = islice(solutions, 1)
    return Answer(
        solutions=solutions,
        nodes_searched=lambda: len(path_counts),
        count=count,
        details={"moves": distances[start], "optimal": "proven", "kernel": kernel_mode(kernel)},
        tables=[distance_table(distances)],
    )


def _position_number(state: State) -> int:
    corners = [divmod(state[3 * corner], 3) for corner in range(len(CORNERS))]
    order = tuple(_PLACES.index(corners[corner][0]) for corner in _PLACES)
    twist_at = dict(corners)
    twist = sum(twist_at[place] * 3**at for at, place in enumerate(_PLACES[:-1]))
    number: int = _order_numbers()[order] * POCKET_TWISTS + twist
    return number


@lru_cache(maxsize=1)
def _order_numbers() -> dict[tuple[int, ...], int]:
    return {order: number for number, order in enumerate(permutations(range(len(_PLACES))))}


@lru_cache(maxsize=1)
def _move_tables() -> "tuple[array[int], array[int]]":
    numbers = _order_numbers()
    orders, twists = array("H"), array("H")
    actions = []
    for state in turn_states()[:POCKET_TURNS]:
        pieces = [divmod(state[3 * place], 3) for place in _PLACES]
        actions.append([(_PLACES.index(place), turn) for place, turn in pieces])
    for order in numbers:
        orders.extend(numbers[tuple([action[at][0] for at in order])] for action in actions)
    for number in range(POCKET_TWISTS):
        digits = [number // 3**at % 3 for at in range(6)]
        digits.append(-sum(digits) % 3)
        for action in actions:
            moved = zip(action, digits, strict=True)
            twists.append(sum((turn + digit) % 3 * 3**to for (to, turn), digit in moved if to < 6))
    return orders, twists


def _closer_positions(distances: "memoryview[int]", position: int) -> Iterator[tuple[int, int]]:
    orders, twists = _move_tables()
    order, twist = divmod(position, POCKET_TWISTS)
    for turn in range(POCKET_TURNS):
        other = orders[order * POCKET_TURNS + turn] * POCKET_TWISTS + twists[twist * POCKET_TURNS + turn]
        if distances[other] < distances[position]:
            yield turn, other


def _count_paths(distances: "memoryview[int]", position: int, path_counts: dict[int, int]) -> int:
    if not distances[position]:
        return 1
    if position not in path_counts:
        path_counts[position] = sum(
            _count_paths(distances, other, path_counts) for _, other in _closer_positions(distances, position)
        )
    return path_counts[position]


def _iter_solutions(distances: "memoryview[int]", position: int) -> Iterator[Solution]:
    if not distances[position]:
        yield ()
    for turn, other in _closer_positions(distances, position):
        for rest in _iter_solutions(distances, other):
            yield (TURN_NAMES[turn], *rest)
