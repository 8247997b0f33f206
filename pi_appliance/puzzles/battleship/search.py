"""Lays the fleet ship by ship: first over the hits, then where there is room. Finds every placement once.

Each hit is on exactly one ship, so that the ships that may lie over one hit tell all placements apart; the hit with
the fewest of them comes first. Ships that lie over no hit follow, the longest first, equal ones in reading order.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations

from pi_appliance.puzzles.battleship.board import HIT, SUNK, Board, Ship, Solution
from pi_appliance.puzzles.battleship.fit import Placement, places, squares

OFTEN = 63  # ships tried between two signs of progress, as a mask
Tick = Callable[[int], None]
"""Told now and then how many ships were tried; what it raises ends the search."""


class SearchLimitReached(Exception):
    """A search came to the end of its patience."""


class Search:
    """One search for the placements on a board. With PATIENCE, it raises GaveUp after so many ships tried."""

    def __init__(self, board: Board, tick: Tick, *, patience: int | None = None) -> None:
        self.board, self.tick, self.patience = board, tick, patience
        self.places = places(board)
        self.tried = 0
        self._left = {length: board.fleet.count(length) for length in set(board.fleet)}
        self._laid: list[Placement] = []

    def lines(self) -> Iterator[Solution]:
        """Yield every placement once, in the order of the fleet; where ships are told apart, with all their names."""
        for laid in self._over(squares(self.board, HIT + SUNK), self.places):
            groups = [
                sorted(place.ship for place in laid if place.length == length)
                for length in sorted(self._left, reverse=True)
            ]
            if self.board.ships == "alike":
                yield tuple(ship for group in groups for ship in group)
            else:
                yield from _named(groups)

    def possible(self) -> bool:
        """Say whether there is a placement. Raises GaveUp."""
        return next(self.lines(), None) is not None

    def _over(self, hits: int, there: Sequence[Placement]) -> Iterator[list[Placement]]:
        """Yield the ways to lay what is left of the fleet on places of THERE so that all HITS are covered."""
        if not self._room(hits, there):
            return
        if not hits:
            yield from self._beside(there)
            return
        over: dict[int, list[Placement]] = {}
        for place in there:
            covered = place.body & hits
            while covered:
                lowest = covered & -covered
                over.setdefault(lowest, []).append(place)
                covered ^= lowest
        if len(over) < hits.bit_count():
            return
        for place in min(over.values(), key=len):
            yield from self._with(place, hits & ~place.body, there)

    def _beside(self, there: Sequence[Placement]) -> Iterator[list[Placement]]:
        """Yield the ways to lay what is left of the fleet on places of THERE, no hit being left."""
        length = max((length for length, left in self._left.items() if left), default=0)
        if not length:
            yield self._laid
            return
        shorter = [place for place in there if place.length < length]
        equal = [place for place in there if place.length == length]
        for number, place in enumerate(equal):
            yield from self._with(place, 0, equal[number + 1 :] + shorter)

    def _with(self, place: Placement, hits: int, there: Sequence[Placement]) -> Iterator[list[Placement]]:
        """Yield the ways with PLACE laid, and the rest on places of THERE over HITS."""
        self.tried += 1
        if not self.tried & OFTEN:
            self.tick(self.tried)
        if self.patience is not None and self.tried > self.patience:
            raise SearchLimitReached
        self._left[place.length] -= 1
        self._laid.append(place)
        zone, left = place.zone, self._left
        yield from self._over(hits, [each for each in there if not each.body & zone and left[each.length]])
        self._laid.pop()
        self._left[place.length] += 1

    def _room(self, hits: int, there: Sequence[Placement]) -> bool:
        """Say whether the ships left have enough squares for HITS, and places of THERE, each length for itself."""
        if sum(length * left for length, left in self._left.items()) < hits.bit_count():
            return False
        lengths = [place.length for place in there]
        return all(lengths.count(length) >= left for length, left in self._left.items() if left)


def _named(groups: Sequence[Sequence[Ship]]) -> Iterator[Solution]:
    """Yield the ships of GROUPS with all their names, one way after the other: twelve alike have half a billion."""
    if not groups:
        yield ()
        return
    for names in permutations(groups[0]):
        for others in _named(groups[1:]):
            yield names + others
