"""Positions of a Bimaru puzzle, what follows from them at once, and the search for its solutions.

Squares are numbered in reading order from 0. A set of squares is an integer with one bit for each.
The search tries the places over the ship square that has the fewest, or those of the longest ship
that is left. After each ship, `narrow` fills in what follows.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from pi_appliance.puzzles import load_board
from pi_appliance.puzzles.battleship.fleet import Placement, Solution, Square, list_placements, mask_places, to_mask
from pi_appliance.puzzles.bimaru.board import (
    PIECES,
    SHIP_MARKS,
    Board,
    Mark,
    column_name,
    draw_pieces,
    order_fleet,
)
from pi_appliance.puzzles.deductions import SearchLimitReached


class Line(NamedTuple):
    """A row or a column. `total` is its number of ship squares, or None if that is unknown."""

    name: str
    mask: int
    total: int | None
    is_derived: bool = False  # whether the total is not given, but follows from the other lines

    def __str__(self) -> str:
        return f"{self.name}, whose total must be {self.total}," if self.is_derived else self.name


class Contradiction(Exception):
    """A position has no solution.

    The text is only built when it is read, because a search raises thousands.
    """

    def __init__(self, kind: str, name: str = "", number: int = 0, mask: int = 0) -> None:
        """Store a key of `_REASONS`, the values of its text, and the squares that prove it."""
        self.kind, self.name, self.number, self.mask = kind, name, number, mask

    def __str__(self) -> str:
        return _REASONS[self.kind].format(name=self.name, number=self.number)


_REASONS = {
    "many": "{name} has more ship squares than its total, {number}",
    "few": "{name} has no room for the {number} ship squares of its total",
    "contact": "ships touch at {name}",
    "surplus": "there are more ships of {number} than in the fleet",
    "uncovered": "no ship that is left fits over {name}",
    "room": "there is no room for the ships of {number} that are left",
}


class Layout:
    """The lines of a board, the possible places of its ships, and its squares as masks."""

    def __init__(self, board: Board) -> None:
        self.board, self.width, self.height = board, board.width, board.height
        self.all = (1 << self.width * self.height) - 1
        self._first_column = sum(1 << y * self.width for y in range(self.height))
        self._last_column = self._first_column << self.width - 1
        self.lines = tuple(self._find_lines())
        self.counted_lines = tuple(
            (line.mask, line.total, at) for at, line in enumerate(self.lines) if line.total is not None
        )
        self.given_ships = board.mask_marks(SHIP_MARKS)
        self.given_water = board.mask_marks(Mark.WATER)
        self.places = tuple(self._find_places())

    def _find_lines(self) -> Iterator[Line]:
        row, column = (1 << self.width) - 1, self._first_column
        rows = [Line(f"row {y + 1}", row << y * self.width, total) for y, total in enumerate(self.board.row_totals)]
        columns = [Line(column_name(x), column << x, total) for x, total in enumerate(self.board.column_totals)]
        for lines in (rows, columns):
            rest = sum(self.board.fleet) - sum(line.total or 0 for line in lines)
            is_derived = sum(line.total is None for line in lines) == 1  # the fleet determines a single unknown total
            for line in lines:
                yield line._replace(total=rest, is_derived=True) if is_derived and line.total is None else line

    def number(self, square: Square) -> int:
        """Return the number of a square."""
        return square.y * self.width + square.x

    def squares(self, mask: int) -> list[Square]:
        """Return the squares of a mask in reading order."""
        return [Square(number % self.width, number // self.width) for number in iterate_bits(mask)]

    def sides_of(self, mask: int) -> int:
        """Return the squares next to those of `mask`, in the four directions.

        Squares of `mask` itself can be among them.
        """
        return self._beside(mask) | (mask << self.width & self.all) | mask >> self.width

    def corners_of(self, mask: int) -> int:
        """Return the squares diagonal to those of `mask`."""
        beside = self._beside(mask)
        return (beside << self.width & self.all) | beside >> self.width

    def _beside(self, mask: int) -> int:
        return (mask & ~self._first_column) >> 1 | (mask & ~self._last_column) << 1

    def find_runs(self, ships: int) -> Iterator[int]:
        """Yield the connected parts of a mask."""
        while ships:
            run = ships & -ships
            while (grown := (run | self.sides_of(run)) & ships) != run:
                run = grown
            ships &= ~run
            yield run

    def _find_places(self) -> Iterator[Placement]:
        """Yield the places of ships that agree with the given squares, longest ships first."""
        given = [(piece, mask) for piece in PIECES if (mask := self.board.mask_marks(piece))]
        for place, pieces in _list_places(self.width, self.height, self.board.fleet):
            if not place.mask & self.given_water and all(
                not mask & place.mask & ~pieces.get(piece, 0) for piece, mask in given
            ):
                yield place


@lru_cache(maxsize=16)
def _list_places(width: int, height: int, fleet: tuple[int, ...]) -> tuple[tuple[Placement, dict[str, int]], ...]:
    """Return all places of the ships of an empty grid, each with the squares of its pieces."""
    places = []
    for place in sorted(list_placements(width, height, fleet, "never"), key=lambda at: (-at.length, at.line >= height)):
        masks = Counter[str]()
        for square, piece in draw_pieces(place.ship):
            masks[piece] |= to_mask([square], width)
        places.append((place, dict(masks)))
    return tuple(places)


def iterate_bits(mask: int) -> Iterator[int]:
    """Yield the numbers of the bits of a mask, lowest first."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


class Position(NamedTuple):
    """A position: the known squares, the complete ships, and the possible places of the others."""

    ships: int
    water: int
    complete: tuple[Placement, ...]
    places: Sequence[Placement]  # places of the ships that are left; a search may exclude some


def fill_lines(layout: Layout, ships: int, water: int) -> tuple[int, int]:
    """Fill the squares that follow from contact and single totals. Raises Contradiction."""
    while True:
        before = ships, water
        water |= layout.corners_of(ships)
        if ships & water:
            raise Contradiction("contact", str(layout.squares(ships & water)[0]), mask=ships & water)
        for mask, total, at in layout.counted_lines:
            has, free = (ships & mask).bit_count(), mask & ~(ships | water)
            if has > total:
                raise Contradiction("many", layout.lines[at].name, total, mask)
            if has + free.bit_count() < total:
                raise Contradiction("few", layout.lines[at].name, total, mask)
            if has == total:
                water |= free
            elif has + free.bit_count() == total:
                ships |= free
        if (ships, water) == before:
            return before


def narrow(layout: Layout, position: Position) -> Position:
    """Fill the squares that follow from a position, and drop impossible places.

    Raises Contradiction.
    """
    ships, water, places = position.ships, position.water, position.places
    while True:
        ships, water = fill_lines(layout, ships, water)
        complete, places = survey_fleet(layout, ships, water, places)
        if not (dead := layout.all & ~(water | ships | mask_places(places))):
            return Position(ships, water, tuple(complete), places)
        water |= dead
        places = [*complete, *places]


def survey_fleet(
    layout: Layout, ships: int, water: int, places: Iterable[Placement]
) -> tuple[list[Placement], list[Placement]]:
    """Return the complete ships, and the possible places of the others. Raises Contradiction."""
    complete, possible = _split_places(layout, ships, water, places)
    left = Counter(layout.board.fleet)
    for place in complete:
        left[place.length] -= 1
        if left[place.length] < 0:
            raise Contradiction("surplus", number=place.length, mask=place.mask)
    possible = [place for place in possible if left[place.length]]
    room = Counter(place.length for place in possible)
    for length, number in left.items():
        if room[length] < number:
            raise Contradiction("room", number=length)
    if uncovered := ships & ~mask_places(complete) & ~mask_places(possible):
        raise Contradiction("uncovered", str(layout.squares(uncovered)[0]), mask=uncovered)
    return complete, possible


def _split_places(
    layout: Layout, ships: int, water: int, places: Iterable[Placement]
) -> tuple[list[Placement], list[Placement]]:
    """Return the places of complete ships, and the places where a ship is still possible."""
    no_limit = layout.width * layout.height
    free_in = [
        no_limit if line.total is None else line.total - (ships & line.mask).bit_count() for line in layout.lines
    ]
    complete, possible = list[Placement](), list[Placement]()
    for place in places:
        if place.mask & water or place.halo & ships:
            continue
        new = place.mask & ~ships
        if not (new or place.halo & ~water):
            complete.append(place)
        elif new.bit_count() <= free_in[place.line]:
            possible.append(place)
    return complete, possible


PROGRESS_MASK = 15  # progress is reported every 16 ships: a few milliseconds

Tick = Callable[[], object]  # called from time to time. An exception that it raises ends the search.


class FleetSearch:
    """A search for the solutions of a board. Raises SearchLimitReached after `node_limit` ships."""

    def __init__(self, board: Board, tick: Tick = lambda: None, node_limit: int | None = None) -> None:
        self.layout, self._tick, self._node_limit = Layout(board), tick, node_limit
        self.nodes_searched = 0  # ships tried

    def find_solutions(self) -> Iterator[Solution]:
        """Yield every solution once."""
        start = Position(self.layout.given_ships, self.layout.given_water, (), self.layout.places)
        for position in self._search(start):
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
        if pending := ships & ~mask_places(complete):
            # Exactly one ship of each solution covers this square.
            over = ([place for place in places if place.mask >> number & 1] for number in iterate_bits(pending))
            for place in min(over, key=len):
                self._count_node()
                yield from self._search(Position(ships | place.mask, water | place.halo, (), known))
            return
        left = Counter(self.layout.board.fleet) - Counter(place.length for place in complete)
        longest = max(left)
        choices = [place for place in places if place.length == longest]
        others = [place for place in known if place.length != longest or place in complete]
        for number, place in enumerate(choices):
            self._count_node()
            # Earlier choices are excluded, because solutions with them were found there.
            later = [*others, *choices[number:]]
            yield from self._search(Position(ships | place.mask, water | place.halo, (), later))

    def _count_node(self) -> None:
        self.nodes_searched += 1
        if not self.nodes_searched & PROGRESS_MASK:
            self._tick()
        if self._node_limit is not None and self.nodes_searched > self._node_limit:
            raise SearchLimitReached


def count_solutions(board: Board | str, limit: int | None = None) -> int:
    """Count the solutions, up to `limit`.

    >>> from pi_appliance.puzzles import bimaru
    >>> bimaru.count_solutions("several", limit=10)
    10
    """
    board = load_board(board, Board)
    return sum(1 for _ in islice(FleetSearch(board).find_solutions(), limit))


def find_two(board: Board, tick: Tick, node_limit: int) -> list[Solution]:
    """Return the first two solutions, if there are so many. Raises SearchLimitReached."""
    return list(islice(FleetSearch(board, tick, node_limit).find_solutions(), 2))


def is_unique(board: Board | str) -> bool:
    """Return whether there is exactly one solution.

    >>> from pi_appliance.puzzles import bimaru
    >>> bimaru.is_unique("magazine"), bimaru.is_unique("several")
    (True, False)
    """
    return count_solutions(board, 2) == 1
