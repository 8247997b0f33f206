"""The hunt for a short solution on all cores: each takes shares of it, and all know at once how short it is by now."""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from pi_appliance.puzzles.rubiks_cube import cubies
from pi_appliance.puzzles.rubiks_cube.kernel import DONE, FOUND, LONGEST, Tables
from pi_appliance.puzzles.rubiks_cube.two_phase import (
    AT_ONCE,
    BUDGET,
    NONE,
    SECOND,
    Found,
    Over,
    Turns,
    TwoPhaseSearch,
    first_turns,
    for_ever,
)
from pi_appliance.puzzles.runtime.interface import SearchRuntime

# First phases of fewer turns than this are looked through in so many parts, whatever the cube is: a part takes some
# hundredths of a second, in plain Python a second.
_PARTS = ((12, 1), (14, 27), (LONGEST, 243))


class WorkUnit(NamedTuple):
    """First phases of LENGTH turns of one view; of all pairs of first turns each PARTS-th one, from PART on."""

    length: int
    view: int
    part: int
    parts: int


class ParallelHunt(TwoPhaseSearch):
    """A hunt for shorter and shorter solutions of one cube, on all cores."""

    def __init__(self, state: cubies.State, tables: Tables, runtime: SearchRuntime) -> None:
        super().__init__(state, tables)
        self._map, self._nodes = runtime.map, 0
        self._found = runtime.shared_buffer(AT_ONCE + 2)  # of each number of moves, whether there is such a solution
        self._found[AT_ONCE + 1] = 1  # there is none of so many that is looked for: so far, they are the fewest
        self._pairs = list(first_turns(2))

    @property
    def nodes(self) -> int:
        """How many positions were looked at, by all that is known of the others."""
        return self._nodes

    def run(self, over: Over = for_ever) -> Iterator[Found | None]:
        """Yield each solution that was the shortest when it was found, and None now and then, until it is OVER."""

        def look(share: WorkUnit) -> tuple[list[Found], int]:
            before = self._search.nodes
            return list(self._look(share, over)), self._search.nodes - before

        for found, nodes in self._map(look, self._shares(over)):
            self._nodes += nodes
            yield from found
            yield None

    def _moves(self) -> int:
        """Return the moves of the shortest solution that anybody has found; one more than there may be, if none is."""
        return bytes(self._found).index(1)

    def _shares(self, over: Over) -> Iterator[WorkUnit]:
        for length in range(LONGEST - SECOND):
            parts = next(parts for longer, parts in _PARTS if length < longer)
            for view, part in product(range(len(self._views)), range(parts)):
                moves = self._moves()
                if length >= moves or (moves <= AT_ONCE and over(moves, self._nodes)):
                    return
                yield WorkUnit(length, view, part, parts)

    def _look(self, share: WorkUnit, over: Over) -> Iterator[Found]:
        """Yield what is shorter than all that anybody has found, of SHARE. Others may end it, or the time does."""
        search, view = self._search, self._views[share.view]
        pairs: list[Turns] = self._pairs[share.part :: share.parts] if share.parts > 1 else [()]
        for pair in pairs:
            if share.length >= self._moves():
                return
            start: tuple[int, ...] = view.start
            for turn in pair:
                start = self._tables.after(start, turn)
            last = pair[-1] // 3 if pair else NONE
            search.begin(start, share.length - len(pair), self._moves() - 1 - len(pair), SECOND, last)
            while (said := search.run(BUDGET)) != DONE:
                moves = len(pair) + search.found
                if said == FOUND and moves < self._moves():
                    self._found[moves] = 1
                    turns = view.told((*pair, *search.path[: search.found]))
                    yield Found(turns, (moves - search.second, search.second))
                if self._moves() <= AT_ONCE and over(self._moves(), search.nodes):
                    return
                search.tighten(self._moves() - 1 - len(pair))
