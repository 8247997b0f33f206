"""Find the fleets that solve a Bimaru puzzle, one by one, and count them.

The search tries the places over the ship square that has the fewest, or those of the longest ship
that is left. After each ship, `narrow` fills in what follows.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from pi_appliance.puzzles.bimaru.board import Board, Solution, order_fleet
from pi_appliance.puzzles.bimaru.parse import parse
from pi_appliance.puzzles.bimaru.position import (
    Contradiction,
    Layout,
    Place,
    Position,
    narrow,
    start_position,
    union_masks,
)

PROGRESS_MASK = 15  # report progress every 16 ships: a few milliseconds

Tick = Callable[[], object]  # called now and then. An exception that it raises ends the search.


def ignore_progress() -> None:
    """Do nothing, for a search that reports no progress."""


class SearchLimitReached(Exception):
    """The search tried more ships than it may."""


class FleetSearch:
    """A search for the solutions of a board. Raises SearchLimitReached after `node_limit` ships."""

    def __init__(self, board: Board, tick: Tick = ignore_progress, node_limit: int | None = None) -> None:
        self.layout, self._tick, self._node_limit = Layout(board), tick, node_limit
        self.nodes_searched = 0  # ships tried

    def find_solutions(self) -> Iterator[Solution]:
        """Yield every solution once."""
        for position in self._search(start_position(self.layout)):
            yield order_fleet(place.ship for place in position.complete)

    def _search(self, position: Position) -> Iterator[Position]:
        try:
            position = narrow(self.layout, position)
        except Contradiction:
            return
        ships, water, complete, places = position
        if not places:
            yield position
            return
        known = [*complete, *places]
        if pending := ships & ~union_masks(complete):
            # A solution has exactly one ship on this square.
            for place in _fewest_over(pending, places):
                self._count_node()
                yield from self._search(Position(ships | place.mask, water | place.halo, (), known))
            return
        left = Counter(self.layout.board.fleet) - Counter(place.length for place in complete)
        longest = max(left)
        choices = [place for place in places if place.length == longest]
        others = [place for place in known if place.length != longest or place in complete]
        for number, place in enumerate(choices):
            self._count_node()
            # The earlier choices are excluded: solutions with one of them were found there.
            later = [*others, *choices[number:]]
            yield from self._search(Position(ships | place.mask, water | place.halo, (), later))

    def _count_node(self) -> None:
        self.nodes_searched += 1
        if not self.nodes_searched & PROGRESS_MASK:
            self._tick()
        if self._node_limit is not None and self.nodes_searched > self._node_limit:
            raise SearchLimitReached


def _fewest_over(pending: int, places: Sequence[Place]) -> list[Place]:
    """Return the places over the square of `pending` that has the fewest."""
    choices: list[list[Place]] = []
    while pending:
        lowest = pending & -pending
        choices.append([place for place in places if place.mask & lowest])
        pending ^= lowest
    return min(choices, key=len)


def count_solutions(board: Board | str, limit: int | None = None) -> int:
    """Count the solutions, up to `limit`."""
    board = parse(board) if isinstance(board, str) else board
    return sum(1 for _ in islice(FleetSearch(board).find_solutions(), limit))


def find_two(board: Board, tick: Tick, node_limit: int) -> list[Solution]:
    """Return the first two solutions, if there are so many. Raises SearchLimitReached."""
    return list(islice(FleetSearch(board, tick, node_limit).find_solutions(), 2))


def is_unique(board: Board | str) -> bool:
    """Return whether there is exactly one solution."""
    return count_solutions(board, 2) == 1
