"""Search a 3x3x3: for a short solution in two phases, or for all shortest ones.

Two phases (Kociemba): the cube and its inverse are searched along three axes in turn, first with 0
turns in phase 1, then with 1, and so on. Shortest solutions: a bidirectional search finds them if
they are short. Longer ones are searched depth after depth.
"""

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, lru_cache
from itertools import product
from typing import NamedTuple

from pi_appliance.puzzles import pluralize
from pi_appliance.puzzles.rubiks_cube import coordinates as c
from pi_appliance.puzzles.rubiks_cube.board import FACES, FaceMap
from pi_appliance.puzzles.rubiks_cube.coordinates import SOLVED, TURNS, Coordinates, State, to_coordinates, turn_states
from pi_appliance.puzzles.rubiks_cube.kernel import DONE, FOUND, MAX_LENGTH, DepthSearch, PhaseSearch, SearchTables
from pi_appliance.puzzles.runtime import SERIAL, Checkpoint, SearchRuntime, find_solutions

MAX_SOLUTION = 22  # turns of the longest solution
MAX_PHASE2 = 10  # turns; another phase 1 gives a shorter solution sooner than a longer phase 2
NODE_BUDGET = 5_000  # positions between two progress reports: hundredths of a second in plain Python
NO_FACE = 99
PARALLEL_SPLITS = ((12, 1), (14, 27), (MAX_LENGTH, 243))
"""A phase 1 shorter than the first number is split into the second number of parts.

A part takes hundredths of a second, in plain Python a second.
"""

Turns = tuple[int, ...]
StopCondition = Callable[[int, int], bool]
"""Gets the length of the shortest solution and the positions searched; returns whether to stop."""


class PhaseSolution(NamedTuple):
    """A solution: numbers of turns, and the lengths of phase 1 and phase 2."""

    turns: Turns
    split: tuple[int, int]


class CubeView(NamedTuple):
    """The cube as one of the searches sees it: rotated as a whole, and perhaps inverted."""

    state: State
    start: Coordinates
    names: FaceMap  # for each face of this view, its face on the cube of the board
    is_inverse: bool

    def to_cube_turns(self, turns: Turns) -> Turns:
        """Translate turns of this view into turns of the cube."""
        named = [FACES.index(self.names[FACES[turn // 3]]) * 3 + turn % 3 for turn in turns]
        if self.is_inverse:
            named = [inverse_turn(turn) for turn in reversed(named)]
        return tuple(named)


class WorkUnit(NamedTuple):
    """A part of phase 1 with `length` turns of one view: every `parts`-th pair of first turns."""

    length: int
    view: int
    part: int
    parts: int


def inverse_turn(turn: int) -> int:
    """Return the number of the inverse turn."""
    return turn - turn % 3 + 2 - turn % 3


def axis_rotations() -> list[FaceMap]:
    """Return the rotations around the corner URF: each brings another axis upright."""
    corner: FaceMap = dict(zip("URFDLB", "RFULBD", strict=True))
    identity: FaceMap = {face: face for face in FACES}
    return [identity, corner, c.compose_maps(corner, corner)]


@lru_cache(maxsize=1)
def cube_views(state: State) -> Sequence[CubeView]:
    """Return the different views of a state: along each axis, each also inverted."""
    variants = [(rotation, is_inverse) for is_inverse in (False, True) for rotation in axis_rotations()]
    seen = [c.conjugate(c.inverse(state) if is_inverse else state, rotation) for rotation, is_inverse in variants]
    views: dict[State, CubeView] = {}
    for each, start, (rotation, is_inverse) in zip(seen, to_coordinates(seen), variants, strict=True):
        names = {new: old for old, new in rotation.items()}
        views.setdefault(each, CubeView(each, start, names, is_inverse))
    return tuple(views.values())


def _bound(start: Coordinates, tables: SearchTables) -> int:
    return tables.bound(start.twist, start.flip, start.slice_sorted // c.ORDERS)


def may_be_near(state: State, tables: SearchTables) -> bool:
    """Return whether `find_near_solutions` may find something for a state of a 3x3x3 cube."""
    return max(_bound(view.start, tables) for view in cube_views(state)) <= MAX_NEAR_MOVES


@cache
def turn_prefixes(length: int) -> Sequence[Turns]:
    """Return the sequences of `length` turns that can begin a solution.

    No face is turned twice in a row, and opposite faces are turned in one order only.
    """
    if not length:
        return [()]
    pairs = product(turn_prefixes(length - 1), range(TURNS))
    return [(*prefix, turn) for prefix, turn in pairs if not prefix or _may_follow(prefix[-1], turn)]


def search_buffers() -> "list[array[int]]":
    """Return the buffers of a `PhaseSearch`."""
    return [array("i", bytes(4 * MAX_LENGTH)) for _ in range(10)]


class TwoPhaseSearch:
    """Search for shorter and shorter solutions of one cube."""

    def __init__(self, state: State, tables: SearchTables, runtime: SearchRuntime | None = None) -> None:
        """Search on all cores of `runtime`, or in this process without one."""
        self._executor = runtime.executor if runtime else None
        self._splits = PARALLEL_SPLITS if runtime else ((MAX_LENGTH, 1),)
        self._views = cube_views(state)
        self._search = PhaseSearch(tables, search_buffers())
        self._finished_nodes = 0  # positions that all cores have searched in finished units
        self.lower_bound = max(_bound(view.start, tables) for view in self._views)
        # Whether a solution with this number of moves is found. The last entry is a sentinel.
        self._found_lengths = (runtime or SERIAL).shared_buffer(MAX_SOLUTION + 2)
        self._found_lengths[MAX_SOLUTION + 1] = 1

    @property
    def nodes(self) -> int:
        """The number of positions searched; on many cores, in all finished units."""
        return self._finished_nodes if self._executor else self._search.nodes

    def run(self, should_stop: StopCondition = lambda _moves, _nodes: False) -> Iterator[PhaseSolution | None]:
        """Yield each shorter solution, at least one; and None from time to time."""
        if not self._executor:
            for unit in self._work_units(should_stop):
                yield from self._search_unit(unit, should_stop)
            return

        def search_unit(unit: WorkUnit) -> tuple[list[PhaseSolution], int]:
            before = self._search.nodes
            found = [solution for solution in self._search_unit(unit, should_stop) if solution]
            return found, self._search.nodes - before

        for solutions, nodes in self._executor.map(search_unit, self._work_units(should_stop)):
            self._finished_nodes += nodes
            yield from solutions
            yield None

    def _best_length(self) -> int:
        """Return the length of the shortest solution of all cores, or `MAX_SOLUTION` + 1."""
        return bytes(self._found_lengths).index(1)

    def _work_units(self, should_stop: StopCondition) -> Iterator[WorkUnit]:
        for length in range(MAX_LENGTH - MAX_PHASE2):
            parts = next(parts for limit, parts in self._splits if length < limit)
            for view, part in product(range(len(self._views)), range(parts)):
                moves = self._best_length()
                if length >= moves or (moves <= MAX_SOLUTION and should_stop(moves, self.nodes)):
                    return
                yield WorkUnit(length, view, part, parts)

    def _search_unit(self, unit: WorkUnit, should_stop: StopCondition) -> Iterator[PhaseSolution | None]:
        """Yield the solutions of a unit that are shorter than all so far, and None now and then."""
        search, view = self._search, self._views[unit.view]
        pairs: Sequence[Turns] = turn_prefixes(2)[unit.part :: unit.parts] if unit.parts > 1 else [()]
        for pair in pairs:
            if unit.length >= self._best_length():
                return
            state = view.state
            for turn in pair:
                state = c.compose(state, turn_states()[turn])
            start = to_coordinates([state])[0] if pair else view.start
            last_face = pair[-1] // 3 if pair else NO_FACE
            max_length = self._best_length() - 1 - len(pair)
            search.begin(start, unit.length - len(pair), max_length, MAX_PHASE2, last_face)
            while (result := search.run(NODE_BUDGET)) != DONE:
                moves, solution = len(pair) + search.solution_length, None
                if result == FOUND and moves < self._best_length():
                    self._found_lengths[moves] = 1
                    turns = view.to_cube_turns((*pair, *search.path[: search.solution_length]))
                    solution = PhaseSolution(turns, (moves - search.phase2_length, search.phase2_length))
                yield solution
                if self._best_length() <= MAX_SOLUTION and should_stop(self._best_length(), search.nodes):
                    return
                search.limit_length(self._best_length() - 1 - len(pair))
            yield None


MAX_NEAR_MOVES = 6  # moves; three from each end reach some thousand positions
_CORNER_STICKERS = 3 * len(c.CORNERS)
# From these lengths on, solutions are split by their first two turns, and by their first three.
_SPLIT_BY_TWO, _SPLIT_BY_THREE = 12, 16

_Level = dict[bytes, list[Turns]]


def find_near_solutions(state: State, side: int) -> list[Turns]:
    """Return all shortest solutions if they have at most `MAX_NEAR_MOVES` turns, else none."""
    forward: _Level = {_position(state, side): [()]}
    for length in range(MAX_NEAR_MOVES + 1):
        if length % 2:
            forward = _expand_level(forward, _turn_actions(side), is_backward=False)
        backward = _backward_level(side, length // 2)
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


def _position(state: State, side: int) -> bytes:
    return bytes(state if side == 3 else state[:_CORNER_STICKERS])


@cache
def _turn_actions(side: int) -> Sequence[bytes]:
    turn_count = TURNS if side == 3 else c.POCKET_TURNS
    return [_position(action, side).ljust(256, b"\0") for action in turn_states()[:turn_count]]


@cache
def _backward_level(side: int, length: int) -> _Level:
    """Return the positions that are `length` turns from solved: the same for every cube."""
    if not length:
        return {_position(SOLVED, side): [()]}
    return _expand_level(_backward_level(side, length - 1), _turn_actions(side), is_backward=True)


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
    """Return whether `other` may follow `turn`.

    It must turn another face. Opposite faces are turned in one order only.
    """
    return turn // 3 not in {other // 3, other // 3 + 3}


@dataclass(slots=True)
class OptimalState:
    """The progress.

    No solution is shorter than `length`, and `done` work units of it are searched.
    """

    length: int
    done: int = 0
    nodes: int = 0
    solutions: list[Turns] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.solutions = [tuple(solution) for solution in self.solutions]  # JSON has no tuples


class OptimalSearch:
    """Searches for all shortest solutions of one 3x3x3, and resumes from its checkpoint."""

    def __init__(self, state: State, tables: SearchTables, runtime: SearchRuntime) -> None:
        self._state, self._tables, self._runtime = state, tables, runtime
        self._checkpoint = Checkpoint(runtime, "rubiks-cube/shortest", state)
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
        search = _create_search(self._tables)
        search.begin(_starts(self._state), to_coordinates([SOLVED])[0], length, NO_FACE)
        while (result := search.run(NODE_BUDGET)) != DONE:
            if result == FOUND:
                self.progress.solutions.append(tuple(search.path[:length]))
                return
            yield search.nodes

    def _lower_bound(self) -> int:
        bounds = [_bound(start, self._tables) for start in _starts(self._state)]
        return max(*bounds, min(bounds) + 1)

    def _search_length(self) -> Iterator[tuple[list[Turns], int]]:
        """Yield solutions and positions of each remaining work unit of the current length."""
        length = self.progress.length
        prefixes = turn_prefixes((length >= _SPLIT_BY_TWO) * 2 + (length >= _SPLIT_BY_THREE))
        units = [(self._state, length, prefix) for prefix in prefixes[self.progress.done :]]
        for result in self._runtime.map(_unit_search, self._tables, units):
            part = self.progress.done / len(prefixes) if len(prefixes) > 1 else None
            self._runtime.report_progress(part, f"no solution of fewer than {length} moves")
            yield result


def _unit_search(
    tables: SearchTables, runtime: SearchRuntime
) -> Callable[[tuple[State, int, Turns]], tuple[list[Turns], int]]:
    def search_unit(unit: tuple[State, int, Turns]) -> tuple[list[Turns], int]:
        """Return the solutions that begin with these turns, and the positions searched."""
        state, length, prefix = unit

        def report() -> None:
            runtime.report_progress(None, f"no solution of fewer than {length} moves")

        for turn in prefix:
            state = c.compose(state, turn_states()[turn])
        search = _create_search(tables)
        last_face = prefix[-1] // 3 if prefix else NO_FACE
        search.begin(_starts(state), to_coordinates([SOLVED])[0], length - len(prefix), last_face)
        found = find_solutions(lambda: search.run(NODE_BUDGET), report)
        solutions = [prefix + tuple(search.path[: length - len(prefix)]) for _ in found]
        report()
        return solutions, search.nodes

    return search_unit


def _create_search(tables: SearchTables) -> DepthSearch:
    buffers, rotations = [array("i", bytes(12 * (MAX_LENGTH + 1))) for _ in range(8)], axis_rotations()
    axis_turns = array("i")
    for faces in (*rotations, *({new: old for old, new in faces.items()} for faces in rotations)):
        axis_turns.extend(FACES.index(faces[FACES[turn // 3]]) * 3 + turn % 3 for turn in range(TURNS))
    return DepthSearch(tables, buffers, axis_turns)


def _starts(state: State) -> list[Coordinates]:
    return to_coordinates(c.conjugate(state, faces) for faces in axis_rotations())
