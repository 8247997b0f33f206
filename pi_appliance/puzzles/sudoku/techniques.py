"""Solve and rate a sudoku as a person does: by the simplest technique, else by a guess.

The candidates of a cell, digits that it may have, are the bits of an integer; bit 0 is digit 1.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from itertools import combinations
from operator import or_

from pi_appliance.puzzles import load_board
from pi_appliance.puzzles.deductions import CONTRADICTION, Difficulty, NamedStep, describe_next, join_names, rate_steps
from pi_appliance.puzzles.runtime import SERIAL, SearchRuntime
from pi_appliance.puzzles.sudoku.board import EMPTY, SYMBOLS, Board, cell_name, grid_layout
from pi_appliance.puzzles.sudoku.count import is_unique_grid
from pi_appliance.puzzles.sudoku.sat import SatSearch

TECHNIQUES = {
    **dict.fromkeys(("naked single", "hidden single"), "easy"),
    **dict.fromkeys(("locked candidates", "naked pair", "hidden pair", "naked triple", "hidden triple"), "medium"),
    "X-wing": "hard",
    "guess": "extreme",
}
"""The techniques, simplest first, and the level of a grid that needs them."""
SAT_EFFORT = 10_000_000  # propagations for all clues together, which take seconds; a 16x16 grid needs a million
_SUBSET_NAMES = {2: "pair", 3: "triple"}

_Cells = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Deduction(NamedStep):
    """One step: its reason, and the digit it places or the candidates it removes."""

    cells: tuple[int, ...] = ()  # cells from which the step follows
    units: tuple[int, ...] = ()  # indices of the units in which the step is seen
    digits: int = 0  # digits of the step, as bits
    solved_cell: int | None = None  # cell in which a digit is placed
    reduced_cells: tuple[int, ...] = ()  # cells that lose candidates


class CandidateGrid:
    """A grid with its candidates ("pencil marks")."""

    def __init__(self, grid: str, size: int) -> None:
        self.layout = grid_layout(size)
        self.boxes_first = [*range(2 * size, 3 * size), *range(2 * size)]  # order of the units in some techniques
        self.candidates = [(1 << size) - 1] * (size * size)
        self.unsolved = set(range(size * size))
        for cell, symbol in enumerate(grid):
            if symbol != EMPTY:
                self.place_digit(cell, 1 << SYMBOLS.index(symbol))

    def place_digit(self, cell: int, digit: int) -> None:
        """Place a digit, given as a bit, and remove it from all peers of the cell."""
        self.unsolved.discard(cell)
        for peer in self.layout.peers[cell]:
            self.candidates[peer] &= ~digit
        self.candidates[cell] = digit

    def find_places(self, unit: int, digit: int) -> tuple[int, ...]:
        """Return the cells of a unit where a digit may stand."""
        return tuple(cell for cell in self.layout.units[unit].cells if self.candidates[cell] & digit)

    def apply(self, deduction: Deduction) -> None:
        """Place the digit of a deduction, or remove its candidates."""
        if deduction.solved_cell is not None:
            self.place_digit(deduction.solved_cell, deduction.digits)
            return
        for cell in deduction.reduced_cells:
            self.candidates[cell] &= ~self.removed_candidates(deduction, cell)

    def removed_candidates(self, deduction: Deduction, cell: int) -> int:
        """Return the candidates that a deduction removes from a cell."""
        # In a hidden subset, the cells of the step keep only its digits. Otherwise, cells lose
        # these digits.
        removed = ~deduction.digits if cell in deduction.cells else deduction.digits
        return self.candidates[cell] & removed

    def deductions(self) -> Iterator[Deduction]:
        """Yield the contradictions, then the deductions, by the simplest technique first."""
        yield from self._contradictions()
        yield from self._naked_singles()
        yield from self._hidden_singles()
        yield from self._locked_candidates()
        for size in _SUBSET_NAMES:
            yield from self._naked_subsets(size)
            yield from self._hidden_subsets(size)
        yield from self._x_wings()

    def _contradictions(self) -> Iterator[Deduction]:
        for cell, candidates in enumerate(self.candidates):
            if not candidates:
                text = f"nothing can stand at {self._name(cell)}"
                yield Deduction(technique=CONTRADICTION, text=text, cells=(cell,), units=self.layout.units_of[cell])
        for number, unit in enumerate(self.layout.units):
            union = self._union(unit.cells)
            missing = ~union & ((1 << self.layout.size) - 1)
            if missing:
                digit = missing & -missing
                text = f"{_digit_names(digit)} has no place left in {unit.name}"
                yield Deduction(technique=CONTRADICTION, text=text, digits=digit, units=(number,))

    def _naked_singles(self) -> Iterator[Deduction]:
        for cell in sorted(self.unsolved):
            digit = self.candidates[cell]
            if not digit & (digit - 1):
                text = f"{self._name(cell)} is {_digit_names(digit)}: it sees all other digits"
                yield Deduction("naked single", text, (cell,), self.layout.units_of[cell], digit, cell)

    def _hidden_singles(self) -> Iterator[Deduction]:
        for number in self.boxes_first:
            for digit in self._open_digits(number):
                places = self.find_places(number, digit)
                if len(places) == 1:
                    unit = self.layout.units[number].name
                    text = f"{self._name(places[0])} is {_digit_names(digit)}: its only place in {unit}"
                    yield Deduction("hidden single", text, places, (number,), digit, places[0])

    def _locked_candidates(self) -> Iterator[Deduction]:
        units, units_of = self.layout.units, self.layout.units_of
        for number in self.boxes_first:
            for digit in self._open_digits(number):
                places = self.find_places(number, digit)
                shared = set(units_of[places[0]]).intersection(*(units_of[cell] for cell in places)) - {number}
                for other in sorted(shared):
                    reduced = tuple(cell for cell in self.find_places(other, digit) if cell not in places)
                    if reduced:
                        text = f"in {units[number].name}, {_digit_names(digit)} stands within {units[other].name}"
                        yield self._removal("locked candidates", text, places, (number, other), digit, reduced)

    def _naked_subsets(self, size: int) -> Iterator[Deduction]:
        for number in range(3 * self.layout.size):
            unit = self.layout.units[number]
            few = [cell for cell in unit.cells if cell in self.unsolved and self.candidates[cell].bit_count() <= size]
            for subset in combinations(few, size):
                digits = self._union(subset)
                if digits.bit_count() != size:
                    continue
                reduced = tuple(cell for cell in unit.cells if cell not in subset and self.candidates[cell] & digits)
                if reduced:
                    text = f"in {unit.name}, {self._names(subset)} take {_digit_names(digits)}"
                    yield self._removal(f"naked {_SUBSET_NAMES[size]}", text, subset, (number,), digits, reduced)

    def _hidden_subsets(self, size: int) -> Iterator[Deduction]:
        for number in range(3 * self.layout.size):
            places = {digit: set(self.find_places(number, digit)) for digit in self._open_digits(number)}
            few = [digit for digit, cells in places.items() if len(cells) <= size]
            for subset in combinations(few, size):
                union = set().union(*(places[digit] for digit in subset))
                if len(union) != size:
                    continue
                digits, cells = sum(subset), tuple(sorted(union))
                reduced = tuple(cell for cell in cells if self.candidates[cell] & ~digits)
                if reduced:
                    unit = self.layout.units[number].name
                    text = f"in {unit}, {_digit_names(digits)} stand at {self._names(cells)}, and nothing else does"
                    technique = f"hidden {_SUBSET_NAMES[size]}"
                    yield Deduction(technique, text, cells, (number,), digits, reduced_cells=reduced)

    def _x_wings(self) -> Iterator[Deduction]:
        size = self.layout.size
        for first, across in ((0, 1), (size, 0)):
            for digit in (1 << number for number in range(size)):
                pairs: dict[tuple[int, int], list[int]] = {}
                for unit in range(first, first + size):
                    places = self.find_places(unit, digit)
                    if len(places) == 2:
                        key = self.layout.units_of[places[0]][across], self.layout.units_of[places[1]][across]
                        pairs.setdefault(key, []).append(unit)
                for crossing, units in pairs.items():
                    if len(units) != 2:
                        continue
                    corners = self.find_places(units[0], digit) + self.find_places(units[1], digit)
                    reduced = tuple(
                        cell for unit in crossing for cell in self.find_places(unit, digit) if cell not in corners
                    )
                    if reduced:
                        names = [self.layout.units[unit].name for unit in (*units, *crossing)]
                        text = f"{_digit_names(digit)} of {names[0]} and {names[1]} stands in {names[2]} and {names[3]}"
                        yield self._removal("X-wing", text, corners, (*units, *crossing), digit, reduced)

    def _removal(
        self, technique: str, text: str, cells: _Cells, units: _Cells, digits: int, reduced: _Cells
    ) -> Deduction:
        text = f"{text}: crossed out at {self._names(reduced)}"
        return Deduction(technique, text, cells, units, digits, reduced_cells=reduced)

    def _union(self, cells: Iterable[int]) -> int:
        """Return the candidates of all `cells` together."""
        return reduce(or_, map(self.candidates.__getitem__, cells), 0)

    def _open_digits(self, unit: int) -> list[int]:
        union = self._union(cell for cell in self.layout.units[unit].cells if cell in self.unsolved)
        return [1 << number for number in range(self.layout.size) if union >> number & 1]

    def _name(self, cell: int) -> str:
        return cell_name(cell, self.layout.size)

    def _names(self, cells: Iterable[int]) -> str:
        return join_names([self._name(cell) for cell in cells])


def iter_deductions(grid: CandidateGrid, solution: str = "") -> Iterator[Deduction]:
    """Yield deductions until the grid is full or contradictory; apply each at the next request.

    If no technique helps, a cell is guessed from `solution`; without it, the guess is the last one.
    """
    while grid.unsolved:
        deduction = next(grid.deductions(), None) or _make_guess(grid, solution)
        yield deduction
        if deduction.technique == CONTRADICTION or (deduction.solved_cell is None and not deduction.reduced_cells):
            return
        grid.apply(deduction)


def _make_guess(grid: CandidateGrid, solution: str) -> Deduction:
    cell = min(grid.unsolved, key=lambda cell: (grid.candidates[cell].bit_count(), cell))
    name, candidates = cell_name(cell, grid.layout.size), _digit_names(grid.candidates[cell])
    if not solution:
        return Deduction(technique="guess", text=f"a guess: {name} is one of {candidates}", cells=(cell,))
    digit = 1 << SYMBOLS.index(solution[cell])
    text = f"a guess: {name} is {_digit_names(digit)}, one of {candidates}"
    return Deduction("guess", text, (cell,), grid.layout.units_of[cell], digit, cell)


def _digit_names(digits: int) -> str:
    return join_names([symbol for number, symbol in enumerate(SYMBOLS) if digits >> number & 1])


def hint(board: Board | str, runtime: SearchRuntime = SERIAL) -> str:
    """Return the next step of the first grid as text.

    >>> from pi_appliance.puzzles import sudoku
    >>> sudoku.hint("sample")
    'naked single: r4c3 is 2: it sees all other digits'
    """
    board = load_board(board, Board)
    grid, size = board.grids[0], board.size
    conflict = find_conflict(grid, size)
    steps = iter([conflict]) if conflict else iter_deductions(CandidateGrid(grid, size))
    return describe_next(steps, runtime, "the grid is full")


def find_conflict(grid: str, size: int) -> Deduction | None:
    """Return two clues that contradict each other, or None."""
    for number, unit in enumerate(grid_layout(size).units):
        seen: dict[str, int] = {}
        for cell in unit.cells:
            symbol = grid[cell]
            if symbol != EMPTY and symbol in seen:
                cells = seen[symbol], cell
                text = f"{cell_name(cells[0], size)} and {cell_name(cell, size)} are both {symbol}, in {unit.name}"
                return Deduction(technique=CONTRADICTION, text=text, cells=cells, units=(number,))
            seen[symbol] = cell
    return None


def rate_difficulty(grid: str, size: int, runtime: SearchRuntime, solution: str = "") -> Difficulty:
    """Rate a grid; without the `solution`, up to the first guess. Raises Interrupted."""
    return rate_steps(iter_deductions(CandidateGrid(grid, size), solution), TECHNIQUES, runtime)


def redundant_clues(grid: str, size: int, solution: str, runtime: SearchRuntime) -> Iterator[str]:
    """Yield the cells of clues without which `solution` stays unique. Raises SearchLimitReached."""
    is_only = uniqueness_test(solution, size, runtime)
    clues = [cell for cell, symbol in enumerate(grid) if symbol != EMPTY]
    for done, cell in enumerate(clues):
        runtime.report_progress(None, f"is clue {done + 1} of {len(clues)} needed?")
        if is_only(grid[:cell] + EMPTY + grid[cell + 1 :]):
            yield cell_name(cell, size)


def uniqueness_test(solution: str, size: int, runtime: SearchRuntime) -> Callable[[str], bool]:
    """Return a function: whether a grid has only this solution. It may raise SearchLimitReached."""
    if size == 9:
        return partial(is_unique_grid, runtime=runtime)
    search = SatSearch(EMPTY * len(solution), size, runtime)
    search.forbid(solution)

    def is_only(grid: str) -> bool:
        clues = ((cell, symbol) for cell, symbol in enumerate(grid) if symbol != EMPTY)
        return search.solve(clues, SAT_EFFORT) is None

    return is_only
