"""Solves a sudoku as a person does: the simplest step that there is, again and again, and a guess where there is none.

A candidate is a digit that may still stand in a square; the candidates of a square are the bits of an integer, bit 0
for the digit 1.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

from pi_appliance.puzzles.sudoku.board import EMPTY, SYMBOLS, Shape, place, shape

TECHNIQUES = {
    "naked single": "easy",
    "hidden single": "easy",
    "locked candidates": "medium",
    "naked pair": "medium",
    "hidden pair": "medium",
    "naked triple": "medium",
    "hidden triple": "medium",
    "X-wing": "hard",
    "guess": "extreme",
}
"""The techniques, from the simplest on, with the level of a grid that needs them."""
CONTRADICTION = "contradiction"


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One step: why, and what it settles or crosses out."""

    technique: str
    words: str
    squares: tuple[int, ...] = ()
    """The squares that are the reason."""
    units: tuple[int, ...] = ()
    """The numbers of the units in which it is seen."""
    digits: int = 0
    """The digits it is about, as bits."""
    settled: int | None = None
    """The square in which the digit is now known to stand."""
    crossed: tuple[int, ...] = ()
    """The squares where digits are crossed out."""


class CandidateGrid:
    """A grid with its candidates, as they are pencilled into the squares."""

    def __init__(self, grid: str, size: int) -> None:
        self.shape: Shape = shape(size)
        every = (1 << size) - 1
        self.candidates = [every] * (size * size)
        self.open = set(range(size * size))
        for at, mark in enumerate(grid):
            if mark != EMPTY:
                self.settle(at, 1 << SYMBOLS.index(mark))

    def settle(self, at: int, digit: int) -> None:
        """Write DIGIT, a bit, into square AT, and cross it out in all squares that AT sees."""
        self.open.discard(at)
        for peer in self.shape.peers[at]:
            self.candidates[peer] &= ~digit
        self.candidates[at] = digit

    def places(self, unit: int, digit: int) -> tuple[int, ...]:
        """Return the squares of UNIT where DIGIT may stand."""
        return tuple(at for at in self.shape.units[unit].squares if self.candidates[at] & digit)

    def do(self, move: Move) -> None:
        """Do MOVE."""
        if move.settled is not None:
            self.settle(move.settled, move.digits)
            return
        for at in move.crossed:
            self.candidates[at] &= ~self.lost(move, at)

    def lost(self, move: Move, at: int) -> int:
        """Return the candidates that MOVE crosses out in square AT."""
        # In a hidden subset the squares of the reason keep its digits alone; elsewhere others lose them.
        return self.candidates[at] & (~move.digits if at in move.squares else move.digits)

    def next(self) -> Move | None:
        """Return the simplest move there is, a contradiction if the grid has one; None if only a guess helps."""
        return next(self._moves(), None)

    def _moves(self) -> Iterator[Move]:
        yield from self._contradictions()
        yield from self._naked_singles()
        yield from self._hidden_singles()
        yield from self._locked()
        for many in (2, 3):
            yield from self._naked(many)
            yield from self._hidden(many)
        yield from self._x_wings()

    def _contradictions(self) -> Iterator[Move]:
        for at, candidates in enumerate(self.candidates):
            if not candidates:
                words = f"nothing can stand at {self._place(at)}"
                yield Move(technique=CONTRADICTION, words=words, squares=(at,), units=self.shape.of[at])
        for number, unit in enumerate(self.shape.units):
            union = 0
            for at in unit.squares:
                union |= self.candidates[at]
            missing = ~union & ((1 << self.shape.size) - 1)
            if missing:
                words = f"{_names(missing & -missing)} has no place left in {unit.name}"
                yield Move(technique=CONTRADICTION, words=words, digits=missing & -missing, units=(number,))

    def _naked_singles(self) -> Iterator[Move]:
        for at in sorted(self.open):
            digit = self.candidates[at]
            if not digit & (digit - 1):
                words = f"{self._place(at)} is {_names(digit)}: it sees all other digits"
                yield Move(
                    technique="naked single",
                    words=words,
                    squares=(at,),
                    units=self.shape.of[at],
                    digits=digit,
                    settled=at,
                )

    def _hidden_singles(self) -> Iterator[Move]:
        for number in self._units(boxes_first=True):
            name = self.shape.units[number].name
            for digit in self._digits(number):
                places = self.places(number, digit)
                if len(places) == 1:
                    words = f"{self._place(places[0])} is {_names(digit)}: its only place in {name}"
                    yield Move(
                        technique="hidden single",
                        words=words,
                        squares=places,
                        units=(number,),
                        digits=digit,
                        settled=places[0],
                    )

    def _locked(self) -> Iterator[Move]:
        for number in self._units(boxes_first=True):
            for digit in self._digits(number):
                places = self.places(number, digit)
                shared = set(self.shape.of[places[0]]).intersection(*(self.shape.of[at] for at in places)) - {number}
                for other in sorted(shared):
                    crossed = tuple(at for at in self.places(other, digit) if at not in places)
                    if crossed:
                        units = self.shape.units
                        words = f"in {units[number].name}, {_names(digit)} stands within {units[other].name}"
                        yield self._crossing("locked candidates", words, places, (number, other), digit, crossed)

    def _naked(self, many: int) -> Iterator[Move]:
        for number in self._units(boxes_first=False):
            squares = self.shape.units[number].squares
            few = [at for at in squares if at in self.open and self.candidates[at].bit_count() <= many]
            for some in combinations(few, many):
                digits = 0
                for at in some:
                    digits |= self.candidates[at]
                if digits.bit_count() != many:
                    continue
                crossed = tuple(at for at in squares if at not in some and self.candidates[at] & digits)
                if crossed:
                    words = f"in {self.shape.units[number].name}, {self._places(some)} take {_names(digits)}"
                    yield self._crossing(f"naked {_SUBSET[many]}", words, some, (number,), digits, crossed)

    def _hidden(self, many: int) -> Iterator[Move]:
        for number in self._units(boxes_first=False):
            places = {digit: set(self.places(number, digit)) for digit in self._digits(number)}
            few = [digit for digit, where in places.items() if len(where) <= many]
            for some in combinations(few, many):
                union = set().union(*(places[digit] for digit in some))
                if len(union) != many:
                    continue
                digits, squares = sum(some), tuple(sorted(union))
                crossed = tuple(at for at in squares if self.candidates[at] & ~digits)
                if crossed:
                    name = self.shape.units[number].name
                    words = f"in {name}, {_names(digits)} stand at {self._places(squares)}, and nothing else does"
                    yield Move(
                        technique=f"hidden {_SUBSET[many]}",
                        words=words,
                        squares=squares,
                        units=(number,),
                        digits=digits,
                        crossed=crossed,
                    )

    def _x_wings(self) -> Iterator[Move]:
        size = self.shape.size
        for first, across in ((0, 1), (size, 0)):
            for digit in (1 << number for number in range(size)):
                pairs: dict[tuple[int, int], list[int]] = {}
                for unit in range(first, first + size):
                    places = self.places(unit, digit)
                    if len(places) == 2:
                        key = self.shape.of[places[0]][across], self.shape.of[places[1]][across]
                        pairs.setdefault(key, []).append(unit)
                for lines, units in pairs.items():
                    if len(units) != 2:
                        continue
                    corners = self.places(units[0], digit) + self.places(units[1], digit)
                    crossed = tuple(at for line in lines for at in self.places(line, digit) if at not in corners)
                    if crossed:
                        names = [self.shape.units[unit].name for unit in (*units, *lines)]
                        words = f"{_names(digit)} of {names[0]} and {names[1]} stands in {names[2]} and {names[3]}"
                        yield self._crossing("X-wing", words, corners, (*units, *lines), digit, crossed)

    def _crossing(
        self,
        technique: str,
        words: str,
        squares: tuple[int, ...],
        units: tuple[int, ...],
        digits: int,
        crossed: tuple[int, ...],
    ) -> Move:
        said = f"{words}: crossed out at {self._places(crossed)}"
        return Move(technique=technique, words=said, squares=squares, units=units, digits=digits, crossed=crossed)

    def _units(self, *, boxes_first: bool) -> Iterable[int]:
        size = self.shape.size
        return [*range(2 * size, 3 * size), *range(2 * size)] if boxes_first else range(3 * size)

    def _digits(self, unit: int) -> list[int]:
        """Return the digits that are not settled in UNIT."""
        union = 0
        for at in self.shape.units[unit].squares:
            if at in self.open:
                union |= self.candidates[at]
        return [1 << number for number in range(self.shape.size) if union >> number & 1]

    def _place(self, at: int) -> str:
        return place(at, self.shape.size)

    def _places(self, squares: Iterable[int]) -> str:
        return _listed([self._place(at) for at in squares])


_SUBSET = {2: "pair", 3: "triple"}


def walk(paper: CandidateGrid, solution: str = "") -> Iterator[Move]:
    """Yield each move on PAPER, as it is done, until the grid is full or contradicts itself.

    Where there is no simple step, a square with the fewest candidates is guessed as it is in SOLUTION; without one,
    the walk ends with a guess that settles nothing.
    """
    while paper.open:
        move = paper.next() or _guess(paper, solution)
        yield move
        if move.technique == CONTRADICTION or (move.settled is None and not move.crossed):
            return
        paper.do(move)


def _guess(paper: CandidateGrid, solution: str) -> Move:
    at = min(paper.open, key=lambda at: (paper.candidates[at].bit_count(), at))
    where, candidates = place(at, paper.shape.size), paper.candidates[at]
    if not solution:
        return Move(technique="guess", words=f"a guess: {where} is one of {_names(candidates)}", squares=(at,))
    digit = 1 << SYMBOLS.index(solution[at])
    words = f"a guess: {where} is {_names(digit)}, one of {_names(candidates)}"
    return Move(technique="guess", words=words, squares=(at,), units=paper.shape.of[at], digits=digit, settled=at)


def _names(digits: int) -> str:
    return _listed([mark for number, mark in enumerate(SYMBOLS) if digits >> number & 1])


def _listed(names: list[str]) -> str:
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)
