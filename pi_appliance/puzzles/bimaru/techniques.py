"""Solve and rate a Bimaru puzzle as a person does: by the simplest technique, else by a guess."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from math import comb

from pi_appliance.puzzles import deductions, load_board
from pi_appliance.puzzles.battleship.fleet import Placement, Ship, Solution, Square, mask_places, union_masks
from pi_appliance.puzzles.bimaru.board import ENDS, PIECES, Board, Mark, set_mark
from pi_appliance.puzzles.bimaru.search import (
    Contradiction,
    Layout,
    Position,
    find_two,
    iterate_bits,
    narrow,
    survey_fleet,
)
from pi_appliance.puzzles.deductions import CONTRADICTION, LEVELS, Difficulty, NamedStep, describe_next, join_names
from pi_appliance.puzzles.runtime import SERIAL, SearchRuntime

TECHNIQUES = {
    **dict.fromkeys(("given piece", "no contact", "full line", "needed squares", "longest ship"), "easy"),
    **dict.fromkeys(("common squares", "last place", "no room"), "medium"),
    **dict.fromkeys(("line arrangement", "trial"), "hard"),
    "guess": "extreme",
}
"""The techniques, simplest first, and the level of a puzzle that needs them."""
REDUNDANCY_LIMIT = 20_000  # ships tried for each given square: a second; usually less than 3,000
MAX_ARRANGEMENTS = 500  # arrangements of the ship squares of a line; a person gives up earlier


@dataclass(frozen=True, slots=True)
class Deduction(NamedStep):
    """One step: its reason, and the squares that it makes ship or water."""

    ships: int = 0
    water: int = 0
    reason: int = 0  # the squares from which the step follows


class SolvingGrid:
    """A grid that is being solved, with the squares that are known so far."""

    def __init__(self, board: Board) -> None:
        self.layout = Layout(board)
        self.ships, self.water = self.layout.given_ships, self.layout.given_water
        self._complete, self._possible = list[Placement](), list[Placement]()

    @property
    def open(self) -> int:
        """The squares that are not known."""
        return self.layout.all & ~(self.ships | self.water)

    def apply(self, deduction: Deduction) -> None:
        """Fill in the squares of a deduction."""
        self.ships |= deduction.ships
        self.water |= deduction.water

    def find_deduction(self) -> Deduction | None:
        """Return a contradiction or the simplest deduction; None if only a guess helps."""
        try:
            self._check_contact_and_lines()
            self._complete, self._possible = survey_fleet(self.layout, self.ships, self.water, self.layout.places)
        except Contradiction as error:
            return Deduction(CONTRADICTION, str(error), reason=error.mask)
        for deduction in self._deductions():
            new = replace(deduction, ships=deduction.ships & ~self.ships, water=deduction.water & ~self.water)
            if new.ships or new.water or new.technique == CONTRADICTION:
                return new
        return None

    def _check_contact_and_lines(self) -> None:
        if touching := self.layout.corners_of(self.ships) & self.ships:
            raise Contradiction("contact", str(self.layout.squares(touching)[0]), mask=touching)
        for mask, total, at in self.layout.counted_lines:
            name, has = self.layout.lines[at].name, (self.ships & mask).bit_count()
            if has > total:
                raise Contradiction("many", name, total, mask)
            if has + (self.open & mask).bit_count() < total:
                raise Contradiction("few", name, total, mask)

    def _deductions(self) -> Iterator[Deduction]:
        yield from self._given_pieces()
        yield from self._no_contact()
        yield from self._full_lines()
        yield from self._needed_squares()
        yield from self._longest_ships()
        yield from self._common_squares()
        yield from self._last_places()
        yield from self._squares_without_room()
        yield from self._line_arrangements()
        yield from self._trials()

    def _full_lines(self) -> Iterator[Deduction]:
        for line in self.layout.lines:
            free = self.open & line.mask
            if free and line.total == (self.ships & line.mask).bit_count():
                why = "all of its ship squares, so the rest" if line.total else "no ship squares, so it"
                text = f"{line} has {why} is water: {self._names(free)}"
                yield Deduction("full line", text, water=free, reason=self.ships & line.mask)

    def _needed_squares(self) -> Iterator[Deduction]:
        for line in self.layout.lines:
            free, has = self.open & line.mask, self.ships & line.mask
            if free and line.total == has.bit_count() + free.bit_count():
                text = f"{line} needs all of its open squares: {self._names(free)} {_are_ships(free)}"
                yield Deduction("needed squares", text, ships=free, reason=self.water & line.mask)

    def _given_pieces(self) -> Iterator[Deduction]:
        for x, y in self.layout.board.find_marks(PIECES):
            piece, bit = Mark(self.layout.board.rows[y][x]), 1 << self.layout.number(Square(x, y))
            around = (self.layout.sides_of(bit) | self.layout.corners_of(bit)) & ~bit
            if piece == Mark.MIDDLE:
                yield from self._middle_piece(Square(x, y), bit)
            elif piece == Mark.SINGLE:
                text = f"{Square(x, y)} is a ship of 1, so the squares around it are water"
                yield Deduction("given piece", text, water=around, reason=bit)
            else:
                right, down = ENDS[piece]
                ahead = 1 << self.layout.number(Square(x + right, y + down))
                end = {Mark.TOP: "upper", Mark.BOTTOM: "lower"}.get(piece, piece.name.lower())
                text = f"{Square(x, y)} is the {end} end of a ship: it goes on at {self._names(ahead)}, and the"
                text += " other squares around it are water"
                yield Deduction("given piece", text, ahead, around & ~ahead, bit)

    def _middle_piece(self, square: Square, bit: int) -> Iterator[Deduction]:
        row, column = self.layout.lines[square.y].mask, self.layout.lines[self.layout.height + square.x].mask
        sides = self.layout.sides_of(bit)
        for line, word in ((row, "left and right"), (column, "up and down")):
            along, across = sides & line, sides & ~line
            blocked = across.bit_count() < 2 or across & self.water
            if blocked or along & self.ships:
                text = f"{square} is the middle of a ship, which can only go on {word}: {self._names(along)}"
                text += f" {_are_ships(along)}" + (f", {self._names(across)} water" if across else "")
                yield Deduction("given piece", text, along, across, bit)

    def _no_contact(self) -> Iterator[Deduction]:
        for run in self.layout.find_runs(self.ships):
            corners = self.layout.corners_of(run) & self.open
            if corners:
                text = f"ships do not touch, so the squares diagonal to {self._names(run)} are water:"
                yield Deduction("no contact", f"{text} {self._names(corners)}", water=corners, reason=run)

    def _longest_ships(self) -> Iterator[Deduction]:
        longest = max((place.length for place in self._possible), default=0)
        for run in self._open_runs():
            ends = self.layout.sides_of(run) & self.open
            if run.bit_count() == longest and ends:
                text = f"no ship that is left is longer than {longest}, so {self._names(run)} ends there:"
                text += f" {self._names(ends)} {_are_water(ends)}"
                yield Deduction("longest ship", text, water=ends, reason=run)

    def _open_runs(self) -> Iterator[int]:
        """Return the runs of ship squares that are not a complete ship."""
        return self.layout.find_runs(self.ships & ~mask_places(self._complete))

    def _common_squares(self) -> Iterator[Deduction]:
        for run in self._open_runs():
            places = [place for place in self._possible if place.mask & run]
            ships, water = self._intersect(places)
            if ships or water:
                fitting = "the only ship that fits over" if len(places) == 1 else "all ships that fit over"
                text = f"{fitting} {self._names(run)}" + self._consequences(ships, water, several=len(places) > 1)
                yield Deduction("common squares", text, ships, water, run)

    def _intersect(self, places: Sequence[Placement]) -> tuple[int, int]:
        """Return the open squares that are ship for all of `places`, and those that are water."""
        ships = water = self.open
        for place in places:
            ships &= place.mask
            water &= place.halo
        return ships, water

    def _consequences(self, ships: int, water: int, *, several: bool) -> str:
        end = "" if several else "s"
        parts = [f"cover{end} {self._names(ships)}"] if ships else []
        parts += [f"leave{end} {self._names(water)} empty"] if water else []
        return f" {' and '.join(parts)}"

    def _last_places(self) -> Iterator[Deduction]:
        left = self._ships_left()
        for length in sorted(left, reverse=True):
            places = [place for place in self._possible if place.length == length]
            if len(places) == left[length]:
                names = join_names([str(place.ship) for place in places])
                halo = union_masks(place.halo for place in places)
                ships = f"the ship of {length} fits" if len(places) == 1 else f"the ships of {length} that are left fit"
                text = f"{ships} only on {names}"
                yield Deduction("last place", text, mask_places(places), halo & self.open, 0)
            elif left[length] == 1:
                common, water = self._intersect(places)
                if common or water:
                    text = f"all {len(places)} places of the ship of {length} that is left"
                    text += self._consequences(common, water, several=True)
                    yield Deduction("last place", text, common, water, 0)

    def _ships_left(self) -> Counter[int]:
        return Counter(self.layout.board.fleet) - Counter(place.length for place in self._complete)

    def _squares_without_room(self) -> Iterator[Deduction]:
        dead = self.open & ~mask_places(self._possible)
        if dead:
            left = self._ships_left()
            lengths, names = ", ".join(map(str, sorted(left.elements(), reverse=True))), self._names(dead)
            text = f"all ships are found: {names} {_are_water(dead)}"
            if left:
                text = f"none of the ships that are left ({lengths}) fits on {names}: water"
            yield Deduction("no room", text, water=dead)

    def _line_arrangements(self) -> Iterator[Deduction]:
        for at, line in enumerate(self.layout.lines):
            free = self.open & line.mask
            if line.total is None or not free:
                continue
            missing = line.total - (self.ships & line.mask).bit_count()
            if comb(free.bit_count(), missing) > MAX_ARRANGEMENTS:
                continue
            ships, water, some = free, free, False
            for arrangement in self._arrangements(at, free, missing):
                ships, water, some = ships & arrangement, water & ~arrangement, True
            name, needs = line, f"needs {missing} more ship square{'s' * (missing != 1)}"
            if not some:
                yield Deduction(CONTRADICTION, f"{name} {needs}, and there is no way to place them", reason=line.mask)
            elif ships or water:
                parts = [f"{self._names(ships)} {_are_ships(ships)}"] if ships else []
                parts += [f"{self._names(water)} {_are_water(water)}"] if water else []
                text = f"{name} {needs}: in every way to place them, {' and '.join(parts)}"
                yield Deduction("line arrangement", text, ships, water, self.ships & line.mask)

    def _arrangements(self, at: int, free: int, missing: int) -> Iterator[int]:
        """Yield the ways to place the missing ship squares of a line that the ships allow."""
        mask, places = self.layout.lines[at].mask, [*self._possible, *self._complete]
        along = {place.mask for place in places if place.line == at and place.length > 1}
        crossing = mask_places(place for place in places if place.line != at or place.length == 1)
        left = Counter(self.layout.board.fleet)
        for squares in combinations(iterate_bits(free), missing):
            added = sum(1 << square for square in squares)
            lengths = Counter[int]()
            for run in self.layout.find_runs(self.ships & mask | added):
                length = run.bit_count()
                lengths[length] += length > 1
                if (run not in along) if length > 1 else not run & crossing:
                    break
            else:
                if lengths <= left:
                    yield added

    def _trials(self) -> Iterator[Deduction]:
        places = [*self._complete, *self._possible]
        for number in iterate_bits(self.open):
            bit = 1 << number
            (name,) = self.layout.squares(bit)
            for ships, water, assumed, result in (
                (bit, 0, "a ship square", "water"),
                (0, bit, "water", "a ship square"),
            ):
                position = Position(self.ships | ships, self.water | water, (), places)
                try:
                    narrow(self.layout, position)
                except Contradiction as error:
                    text = f"suppose that {name} is {assumed}: in the end, {error}; so it is {result}"
                    yield Deduction("trial", text, water, ships, error.mask)

    def _names(self, mask: int) -> str:
        names: list[str] = []
        for run in self.layout.find_runs(mask):
            squares = self.layout.squares(run)
            whole = Ship(squares[0], squares[-1])
            names += [str(whole)] if len(whole.squares) == len(squares) else map(str, squares)
        return join_names(names)


def _are_ships(mask: int) -> str:
    return "are ship squares" if mask.bit_count() > 1 else "is a ship square"


def _are_water(mask: int) -> str:
    return "are water" if mask.bit_count() > 1 else "is water"


def iter_deductions(grid: SolvingGrid, solution: Solution = ()) -> Iterator[Deduction]:
    """Yield deductions until the grid is full or contradictory; apply each at the next request.

    If no technique helps, a square is guessed from `solution`; without it, the guess is the end.
    """
    while grid.open or not solution:
        deduction = grid.find_deduction() or (_make_guess(grid, solution) if grid.open else None)
        if deduction is None:
            return
        yield deduction
        if not (deduction.ships or deduction.water):
            return
        grid.apply(deduction)


def _make_guess(grid: SolvingGrid, solution: Solution) -> Deduction:
    layout = grid.layout
    lines = [line.mask for line in layout.lines if line.mask & grid.open]
    line = min(lines, key=lambda mask: (mask & grid.open).bit_count())
    bit = line & grid.open & -(line & grid.open)
    name = layout.squares(bit)[0]
    if not solution:
        return Deduction("guess", f"a guess: {name} is a ship square or water", reason=bit)
    if any(name in ship.squares for ship in solution):
        return Deduction("guess", f"a guess: {name} is a ship square", ships=bit)
    return Deduction("guess", f"a guess: {name} is water", water=bit)


def hint(board: Board | str, runtime: SearchRuntime = SERIAL) -> str:
    """Return the next step as text.

    >>> from pi_appliance.puzzles import bimaru
    >>> bimaru.hint("small")
    'given piece: C5 is a ship of 1, so the squares around it are water'
    """
    board = load_board(board, Board)
    return describe_next(iter_deductions(SolvingGrid(board)), runtime, "all squares are known")


def rate_difficulty(board: Board, runtime: SearchRuntime, solution: Solution = ()) -> Difficulty:
    """Rate a puzzle by its steps. Raises Interrupted.

    With a `solution`, guesses are filled in from it; otherwise the rating ends at the first guess.
    """
    return deductions.rate_steps(iter_deductions(SolvingGrid(board), solution), TECHNIQUES, runtime)


def find_hard_square(board: Board, level: str, runtime: SearchRuntime) -> Square | None:
    """Return the first square that needs a technique above `level`; None if there is none."""
    grid = SolvingGrid(board)
    for deduction in iter_deductions(grid):
        runtime.report_progress(None, "rating the difficulty")
        if LEVELS.index(TECHNIQUES[deduction.technique]) > LEVELS.index(level):
            new = deduction.ships | deduction.water | deduction.reason & grid.open
            return grid.layout.squares(new)[0]
    return None


def redundant_givens(board: Board, runtime: SearchRuntime) -> Iterator[Square]:
    """Yield given squares without which the solution stays unique. Raises SearchLimitReached."""
    for number, square in enumerate(board.givens, 1):
        tick = partial(runtime.report_progress, None, f"is given square {number} of {len(board.givens)} needed?")
        tick()
        if len(find_two(set_mark(board, square, Mark.UNKNOWN), tick, REDUNDANCY_LIMIT)) == 1:
            yield square
