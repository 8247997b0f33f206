"""Kociemba's method: short solutions at once, and shorter ones while there is time.

The cube is looked at along its three axes, and undone too (a solution backwards solves the inverse): six searches that
take turns, each with a first phase of 0 turns, then of 1, and so on.
"""

from array import array
from collections.abc import Callable, Iterator
from itertools import product
from typing import NamedTuple

from pi_appliance.puzzles.rubiks_cube import cubies
from pi_appliance.puzzles.rubiks_cube.board import FACES
from pi_appliance.puzzles.rubiks_cube.coordinates import Coordinates, to_coordinates
from pi_appliance.puzzles.rubiks_cube.kernel import DONE, FOUND, MAX_LENGTH, PhaseSearch, SearchTables
from pi_appliance.puzzles.runtime.interface import SearchRuntime

MAX_SOLUTION = 22  # turns: what is longer is not looked at
MAX_PHASE2 = 10  # turns of a second phase: another first phase leads to a shorter one sooner than this is searched
NODE_BUDGET = 5_000  # positions between two looks around: some hundredths of a second in plain Python
_BUFFER_COUNT = 10
NO_FACE = 99  # no face

Turns = tuple[int, ...]
StopCondition = Callable[[int, int], bool]
"""Told the moves of the shortest solution so far, and the positions looked at; says whether that is enough."""


class PhaseSolution(NamedTuple):
    """A solution: turns by number, of which the first SPLIT are those of the first phase as it was looked for."""

    turns: Turns
    split: tuple[int, int]


class CubeView(NamedTuple):
    """The cube as one of the searches sees it: after the whole of it was turned, and perhaps undone."""

    start: Coordinates
    names: cubies.Map  # of its faces, in the cube as it is held
    undone: bool

    def told(self, turns: Turns) -> Turns:
        """Return TURNS of this view as turns of the cube."""
        named = [FACES.index(self.names[FACES[turn // 3]]) * 3 + turn % 3 for turn in turns]
        if self.undone:
            named = [turn - turn % 3 + 2 - turn % 3 for turn in reversed(named)]
        return tuple(named)


def axis_rotations() -> list[cubies.Map]:
    """Return the ways to turn the whole cube around its corner URF: each brings another axis upright."""
    corner: cubies.Map = dict(zip("URFDLB", "RFULBD", strict=True))
    same: cubies.Map = {face: face for face in FACES}
    return [same, corner, cubies.compose_maps(corner, corner)]


def cube_views(state: cubies.State) -> list[CubeView]:
    """Return the ways to look at STATE that differ: along each axis, as it is and undone."""
    found: dict[Coordinates, CubeView] = {}
    ways = axis_rotations()
    looks = [(way, False) for way in ways] + [(way, True) for way in ways]
    starts = to_coordinates(cubies.conjugate(cubies.inverse(state) if back else state, way) for way, back in looks)
    for start, (way, back) in zip(starts, looks, strict=True):
        names = {new: old for old, new in way.items()}
        found.setdefault(start, CubeView(start, names, back))
    return list(found.values())


def turn_prefixes(many: int) -> Iterator[Turns]:
    """Yield each so MANY turns a solution may begin with: not of one face twice, and opposite faces in one order."""
    if not many:
        yield ()
        return
    for some in turn_prefixes(many - 1):
        for turn in range(18):
            if not some or some[-1] // 3 not in {turn // 3, turn // 3 + 3}:
                yield (*some, turn)


def never_stop(_moves: int, _nodes: int) -> bool:
    """Say that it is never over: whoever is told this ends the hunt by himself."""
    return False


def search_buffers() -> "list[array[int]]":
    """Return the memory of a search."""
    return [array("i", bytes(4 * MAX_LENGTH)) for _ in range(_BUFFER_COUNT)]


class TwoPhaseSearch:
    """A hunt for shorter and shorter solutions of one cube."""

    def __init__(self, state: cubies.State, tables: SearchTables) -> None:
        self._tables, self._views = tables, cube_views(state)
        self._search = PhaseSearch(tables, search_buffers())
        self.least = max(tables.distance(view.start[0], view.start[1], view.start[2] // 24) for view in self._views)
        """No solution is shorter."""

    @property
    def nodes(self) -> int:
        """How many positions were looked at."""
        return self._search.nodes

    def run(self, over: StopCondition = never_stop) -> Iterator[PhaseSolution | None]:
        """Yield each shorter solution, and None now and then; once there is one, until it is OVER."""
        moves = 0
        for found in self._looks():
            yield found
            moves = len(found.turns) if found else moves
            if moves and over(moves, self.nodes):
                return

    def _looks(self) -> Iterator[PhaseSolution | None]:
        """Yield each shorter solution, and None after every BUDGET positions without one."""
        search, most = self._search, MAX_SOLUTION
        for length in range(MAX_LENGTH - MAX_PHASE2):
            for view in self._views:
                if length > most:
                    return
                search.begin(view.start, length, most, MAX_PHASE2, NO_FACE)
                while (said := search.run(NODE_BUDGET)) != DONE:
                    if said == FOUND:
                        turns = view.told(tuple(search.path[: search.found]))
                        most = search.found - 1
                        search.tighten(most)
                        yield PhaseSolution(turns, (search.found - search.second, search.second))
                    else:
                        yield None
                yield None


# First phases of fewer turns than this are looked through in so many parts, whatever the cube is: a part takes some
# hundredths of a second, in plain Python a second.
_SPLITS = ((12, 1), (14, 27), (MAX_LENGTH, 243))


class WorkUnit(NamedTuple):
    """First phases of LENGTH turns of one view; of all pairs of first turns each PARTS-th one, from PART on."""

    length: int
    view: int
    part: int
    parts: int


class ParallelTwoPhaseSearch(TwoPhaseSearch):
    """A hunt for shorter and shorter solutions of one cube, on all cores."""

    def __init__(self, state: cubies.State, tables: SearchTables, runtime: SearchRuntime) -> None:
        super().__init__(state, tables)
        self._map, self._nodes = runtime.executor.map, 0
        self._found = runtime.shared_buffer(
            MAX_SOLUTION + 2
        )  # of each number of moves, whether there is such a solution
        self._found[MAX_SOLUTION + 1] = 1  # there is none of so many that is looked for: so far, they are the fewest
        self._pairs = list(turn_prefixes(2))

    @property
    def nodes(self) -> int:
        """How many positions were looked at, by all that is known of the others."""
        return self._nodes

    def run(self, over: StopCondition = never_stop) -> Iterator[PhaseSolution | None]:
        """Yield each solution that was the shortest when it was found, and None now and then, until it is OVER."""

        def look(share: WorkUnit) -> tuple[list[PhaseSolution], int]:
            before = self._search.nodes
            return list(self._look(share, over)), self._search.nodes - before

        for found, nodes in self._map(look, self._shares(over)):
            self._nodes += nodes
            yield from found
            yield None

    def _moves(self) -> int:
        """Return the moves of the shortest solution that anybody has found; one more than there may be, if none is."""
        return bytes(self._found).index(1)

    def _shares(self, over: StopCondition) -> Iterator[WorkUnit]:
        for length in range(MAX_LENGTH - MAX_PHASE2):
            parts = next(parts for longer, parts in _SPLITS if length < longer)
            for view, part in product(range(len(self._views)), range(parts)):
                moves = self._moves()
                if length >= moves or (moves <= MAX_SOLUTION and over(moves, self._nodes)):
                    return
                yield WorkUnit(length, view, part, parts)

    def _look(self, share: WorkUnit, over: StopCondition) -> Iterator[PhaseSolution]:
        """Yield what is shorter than all that anybody has found, of SHARE. Others may end it, or the time does."""
        search, view = self._search, self._views[share.view]
        pairs: list[Turns] = self._pairs[share.part :: share.parts] if share.parts > 1 else [()]
        for pair in pairs:
            if share.length >= self._moves():
                return
            start: tuple[int, ...] = view.start
            for turn in pair:
                start = self._tables.after(start, turn)
            last = pair[-1] // 3 if pair else NO_FACE
            search.begin(start, share.length - len(pair), self._moves() - 1 - len(pair), MAX_PHASE2, last)
            while (said := search.run(NODE_BUDGET)) != DONE:
                moves = len(pair) + search.found
                if said == FOUND and moves < self._moves():
                    self._found[moves] = 1
                    turns = view.told((*pair, *search.path[: search.found]))
                    yield PhaseSolution(turns, (moves - search.second, search.second))
                if self._moves() <= MAX_SOLUTION and over(self._moves(), search.nodes):
                    return
                search.tighten(self._moves() - 1 - len(pair))
