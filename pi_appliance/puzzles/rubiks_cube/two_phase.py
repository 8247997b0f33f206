"""Kociemba's method: short solutions at once, and shorter ones while there is time.

The cube is looked at along its three axes, and undone too (a solution backwards solves the inverse): six searches that
take turns, each with a first phase of 0 turns, then of 1, and so on.
"""

from array import array
from collections.abc import Callable, Iterator
from typing import NamedTuple

from pi_appliance.puzzles.rubiks_cube import cubies
from pi_appliance.puzzles.rubiks_cube.board import FACES
from pi_appliance.puzzles.rubiks_cube.coordinates import Coordinates, coordinates
from pi_appliance.puzzles.rubiks_cube.kernel import DONE, FOUND, LONGEST, Search, Tables

AT_ONCE = 22  # turns: what is longer is not looked at
SECOND = 10  # turns of a second phase: another first phase leads to a shorter one sooner than this is searched
BUDGET = 5_000  # positions between two looks around: some hundredths of a second in plain Python
ROOM = 10
NONE = 99  # no face

Turns = tuple[int, ...]
Over = Callable[[int, int], bool]
"""Told the moves of the shortest solution so far, and the positions looked at; says whether that is enough."""


class Found(NamedTuple):
    """A solution: turns by number, of which the first SPLIT are those of the first phase as it was looked for."""

    turns: Turns
    split: tuple[int, int]


class View(NamedTuple):
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


def axes() -> list[cubies.Map]:
    """Return the ways to turn the whole cube around its corner URF: each brings another axis upright."""
    corner: cubies.Map = dict(zip("URFDLB", "RFULBD", strict=True))
    same: cubies.Map = {face: face for face in FACES}
    return [same, corner, cubies.after(corner, corner)]


def views(state: cubies.State) -> list[View]:
    """Return the ways to look at STATE that differ: along each axis, as it is and undone."""
    found: dict[Coordinates, View] = {}
    ways = axes()
    looks = [(way, False) for way in ways] + [(way, True) for way in ways]
    starts = coordinates(cubies.seen_after(cubies.inverse(state) if back else state, way) for way, back in looks)
    for start, (way, back) in zip(starts, looks, strict=True):
        names = {new: old for old, new in way.items()}
        found.setdefault(start, View(start, names, back))
    return list(found.values())


def first_turns(many: int) -> Iterator[Turns]:
    """Yield each so MANY turns a solution may begin with: not of one face twice, and opposite faces in one order."""
    if not many:
        yield ()
        return
    for some in first_turns(many - 1):
        for turn in range(18):
            if not some or some[-1] // 3 not in {turn // 3, turn // 3 + 3}:
                yield (*some, turn)


def for_ever(_moves: int, _nodes: int) -> bool:
    """Say that it is never over: whoever is told this ends the hunt by himself."""
    return False


def buffer_size() -> "list[array[int]]":
    """Return the memory of a search."""
    return [array("i", bytes(4 * LONGEST)) for _ in range(ROOM)]


class TwoPhaseSearch:
    """A hunt for shorter and shorter solutions of one cube."""

    def __init__(self, state: cubies.State, tables: Tables) -> None:
        self._tables, self._views = tables, views(state)
        self._search = Search(tables, buffer_size())
        self.least = max(tables.distance(view.start[0], view.start[1], view.start[2] // 24) for view in self._views)
        """No solution is shorter."""

    @property
    def nodes(self) -> int:
        """How many positions were looked at."""
        return self._search.nodes

    def run(self, over: Over = for_ever) -> Iterator[Found | None]:
        """Yield each shorter solution, and None now and then; once there is one, until it is OVER."""
        moves = 0
        for found in self._looks():
            yield found
            moves = len(found.turns) if found else moves
            if moves and over(moves, self.nodes):
                return

    def _looks(self) -> Iterator[Found | None]:
        """Yield each shorter solution, and None after every BUDGET positions without one."""
        search, most = self._search, AT_ONCE
        for length in range(LONGEST - SECOND):
            for view in self._views:
                if length > most:
                    return
                search.begin(view.start, length, most, SECOND, NONE)
                while (said := search.run(BUDGET)) != DONE:
                    if said == FOUND:
                        turns = view.told(tuple(search.path[: search.found]))
                        most = search.found - 1
                        search.tighten(most)
                        yield Found(turns, (search.found - search.second, search.second))
                    else:
                        yield None
                yield None
