"""Puzzles: solve, count, check, generate and draw boards. `docs/library.md` shows the use.

>>> from pi_appliance.puzzles import sudoku
>>> sudoku.solve("seventeen").details["difficulty"]
'easy'

A puzzle is a folder with a `board.py`, whose package has everything in `Puzzle`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import import_module
from itertools import islice
from types import ModuleType
from typing import Generic, Protocol, TypeVar, cast

from pi_appliance.errors import ConfigError, InvalidOption, Refused, UnknownName
from pi_appliance.puzzles import kernels
from pi_appliance.puzzles.runtime import Cache, Interrupted, SearchRuntime

__all__ = [
    "Answer", "Cache", "ConfigError", "Details", "Footprint", "GeneratedBoard", "Grid", "Interrupted",
    "InvalidOption", "PositionScore", "Progress", "Proof", "Puzzle", "Refused", "Rule", "Rules", "SearchRuntime",
    "SolveMode", "Step", "Table", "UnknownName", "Validation", "check_mode", "check_rules", "kernel_mode",
    "load_board", "load_boards", "parse_number", "pluralize", "solutions_of",
]  # fmt: skip

kernels.prefer_compiled()

_MAX_NUMBER_DIGITS = 20
_THOUSANDS = re.compile(r"\d{1,3}((,\d{3})+|(_\d{3})+)", re.ASCII)  # 1,000 but not 1,2

Board = TypeVar("Board")
Solution = TypeVar("Solution")
Details = dict[str, int | float | str]
"""Results by names in snake_case, such as {"score": 5, "difficulty": "3 guesses"}."""

Rules = Mapping[str, str | int | float]
"""Values of rules by name, such as {"goal": "3,3"} or {"clues": 30}."""

Progress = Callable[[float | None, str], None]
"""Receives the part that is done, 0 to 1 (None: unknown), and the step. Exceptions end the work."""


class SolveMode(StrEnum):
    """Which solutions to find on a board."""

    FIRST = "first"  # one solution
    ALL = "all"  # every solution, computed lazily, and the count
    COUNT = "count"  # the number of solutions
    FEWEST = "fewest-moves"  # all shortest solutions


class Proof(StrEnum):
    """The kind of proof that a board has no solution."""

    PARITY = "parity"  # an invariant of moves excludes every end
    EXHAUSTION = "exhaustion"  # everything reachable was searched
    CONTRADICTION = "contradiction"  # the board contradicts the rules


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of a puzzle that can be changed, such as the direction in which pawns capture."""

    description: str
    default: str = ""
    choices: tuple[str, ...] = ()  # all allowed values; empty: any value that `with_rules` can read


@dataclass(frozen=True, slots=True)
class Table:
    """A table of results, such as positions per level."""

    title: str
    headers: tuple[str, ...]
    rows: Sequence[tuple[int | float | str, ...]]


@dataclass(frozen=True, slots=True)
class Step:
    """A picture of the board during a solution. The first step is the starting board."""

    caption: str
    svg: str
    placed: tuple[int, str] | None = None
    """The cell of a `Grid`, in reading order from 0, and the symbol that the step writes."""
    also: Sequence[int] = ()  # further cells that get the same symbol


@dataclass(frozen=True, slots=True)
class Grid:
    """A board on a page into whose cells a person writes symbols.

    The texts have one symbol per cell, in reading order.
    """

    width: int  # cells
    height: int
    block_width: int  # cells between two thick lines
    block_height: int
    symbols: str  # symbols that may be written
    clues: str  # the given symbols, and a dot for each empty cell
    solution: str
    optional: str = ""  # symbol that need not be written, if any
    # shown to the right of the rows; the rows then have numbers, and the columns letters
    row_totals: Sequence[str] = ()
    column_totals: Sequence[str] = ()
    note: str = ""  # further information for a person, such as the fleet

    def cell_name(self, number: int) -> str:
        """Return the name of a cell, such as "row 1, column 9" or "I1"."""
        row, column = divmod(number, self.width)
        return f"{chr(ord('A') + column)}{row + 1}" if self.row_totals else f"row {row + 1}, column {column + 1}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Generic[Solution]):
    """The result of a completed search.

    Attributes:
        solutions: The solutions without duplicates, computed lazily. Empty if there is none, or if
            only a count was requested; then `next(answer.solutions, None)` is None.
        count: The exact number of solutions. None if it was not requested or takes too long.
        proof: The kind of proof that there is no solution, else None.
        reason: The proof in words, else "".
        details: Other results by name, such as {"moves": 16}. The page of the puzzle lists them.
        tables: Tables of results, such as positions per level.
        pictures: Further SVG pictures by name, such as a probability map.
        nodes_searched: Returns the number of moves, guesses or positions tried so far, counted in
            the `NODE_UNIT` of the puzzle.
    """

    solutions: Iterator[Solution] = field(default_factory=lambda: iter(()), repr=False)
    nodes_searched: Callable[[], int] = field(default=lambda: 0, repr=False)
    count: int | None = None
    proof: Proof | None = None
    reason: str = ""
    details: Mapping[str, int | float | str] = field(default_factory=dict)
    tables: Sequence[Table] = ()
    pictures: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """The resources that a search needs at most, predicted before it starts."""

    memory: int = 0  # bytes at the peak, of all processes together, in addition to the program itself
    is_open: bool = False  # whether it may grow further: the search then requests each part, and may be refused
    tables: Mapping[str, int] = field(default_factory=dict)
    """Bytes by name of the tables that it saves in the cache, besides checkpoints."""
    saves: bool = True  # whether the search writes checkpoints
    is_parallel: bool = False  # whether the search uses all cores


@dataclass(frozen=True, slots=True)
class GeneratedBoard(Generic[Board]):
    """A generated board, with details that its generation has found."""

    board: Board
    details: Mapping[str, int | float | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Validation:
    """The result of a check: true if `error` is empty."""

    error: str = ""

    def __bool__(self) -> bool:
        return not self.error


@dataclass(frozen=True, slots=True)
class PositionScore:
    """The score of a position of a file. As text, it is a row that the file could have."""

    position: str
    score: int
    remark: str = ""

    def __str__(self) -> str:
        return f"{self.position} {self.score}" + (f" # {self.remark}" if self.remark else "")


class Puzzle(Protocol):
    """The functions and constants of the package of a puzzle. Boards and solutions are opaque.

    The functions of a board also take its drawing or name: they begin with `load_board`. Only
    `foretell` and `as_grid`, which programs seldom call, need the result of `parse`.

    Optional:
    - `generate(seed, board, runtime) -> GeneratedBoard`: a board like `board`, fixed by the seed.
    - `hint(board, runtime) -> str`: the next move in words.
    - `as_grid(board, solution) -> Grid | None`: the board for a page on which one writes symbols.
    - `parse_positions(text, file)` and `score_rows(positions, runtime) -> Iterator[PositionScore]`:
      the scores of a file of positions.
    - `precompute(runtime) -> Answer`: builds or continues building the tables in the cache.
    - `MANY_BOARDS = True`: a text may hold thousands of boards.
    - `count_boards(board) -> int`: how many a text holds, each of which gets its first solution.
    - `NOTATION`: a sentence that explains the names in the captions of the steps.
    - `SOLVED_AT_ONCE = True`: a picture shows the board and its solution, and no steps.
    """

    TITLE: str
    NODE_UNIT: str  # the plural of what `Answer.nodes_searched` counts: "jumps"
    BOARDS: Mapping[str, str]  # drawings of the known boards by name; the first one is the default
    RULES: Mapping[str, Rule]  # the rules that can be changed, by names in kebab-case
    MODES: tuple[SolveMode, ...]  # the supported modes; the first one is the default

    def parse(self, text: str, file: str = ...) -> object:
        """Parse a drawing with the default rules. Raises ConfigError with every problem."""

    def with_rules(self, board: object, rules: Rules) -> object:
        """Return the board with other rules. Raises UnknownName, InvalidOption."""

    def solve(self, board: object, mode: SolveMode, runtime: SearchRuntime) -> Answer[object]:
        """Solve the board. Raises Interrupted, Refused.

        When this returns, it is known whether the board has a solution.
        """

    def foretell(self, board: object, mode: SolveMode, runtime: SearchRuntime) -> Footprint:
        """Predict the resources of `solve` and `generate`, or of `precompute` if `board` is None.

        A search requests its memory by the same numbers. Raises Interrupted.
        """

    def check(self, board: object, solution: object) -> Validation:
        """Return whether `solution` solves the board, by the rules alone."""

    def describe(self, board: object) -> str:
        """Return the size, and rules that differ from the default, in words."""

    def render(self, board: object) -> str:
        """Draw the board as text that `parse` can read, without empty rows."""

    def render_solution(self, board: object, solution: object) -> str:
        """Draw a solution as text for a listing."""

    def render_svg(self, board: object) -> str:
        """Draw the board as one self-contained SVG picture."""

    def notate(self, board: object, solution: object) -> str:
        """Return a solution in one row, in the usual notation of the puzzle."""

    def steps(self, board: object, solution: object) -> Iterator[Step]:
        """Yield the pictures of a solution from the start."""

    def parse_solution(self, board: object, text: str, file: str = ...) -> object:
        """Parse a solution in notation. Raises ConfigError."""

    def parse_listing(self, text: str, file: str, progress: Progress) -> Sequence[tuple[object, Sequence[object]]]:
        """Return the boards in a listing, each with its solutions. Raises ConfigError, Refused."""


def pluralize(number: int, noun: str) -> str:
    """Return "1 move" or "2 moves"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def kernel_mode(kernel: ModuleType) -> str:
    """Return "compiled" if Cython compiled the kernel, else "plain". The results are the same."""
    return "plain" if (kernel.__file__ or "").endswith(".py") else "compiled"


def load_board(board: Board | str, kind: type[Board], file: str = "board") -> Board:
    """Return `board` itself, or the board of which it is the drawing or the name.

    Raises ConfigError.

    The package of `kind` has `parse` and `BOARDS`. Raises TypeError for any other `board`.
    """
    if isinstance(board, kind):
        return board
    if not isinstance(board, str):
        message = f"a board is a drawing, a name in BOARDS, or the result of parse, not {type(board).__name__}"
        raise TypeError(message)
    puzzle = cast(Puzzle, import_module(kind.__module__.rpartition(".")[0]))
    return cast(Board, puzzle.parse(puzzle.BOARDS.get(board, board), file))


def load_boards(boards: Iterable[Board | str], kind: type[Board]) -> list[Board]:
    """Return many boards as `load_board` does. Problems name the board, such as "boards[2]:1:8"."""
    if isinstance(boards, str):
        raise TypeError("this is one board, and many are expected: write a list, such as [text]")
    return [load_board(board, kind, f"boards[{number}]") for number, board in enumerate(boards)]


def solutions_of(mode: SolveMode, solutions: Iterator[Solution]) -> Iterator[Solution]:
    """Return the solutions that a mode lists: the first one, none for a count, else all."""
    return islice(solutions, {SolveMode.FIRST: 1, SolveMode.COUNT: 0}.get(mode))


def check_mode(puzzle: str, supported: Sequence[SolveMode], mode: SolveMode) -> SolveMode:
    """Return the mode, which may be given as text such as "count". Raises UnknownName."""
    if mode not in supported:
        raise UnknownName(f"mode of {puzzle}", str(mode), supported)
    return SolveMode(mode)


def check_rules(
    puzzle: str, known: Mapping[str, Rule], rules: Rules, *, empty_is_default: bool = True
) -> dict[str, str]:
    """Return the given rules; with `empty_is_default`, an empty value becomes the default.

    Raises UnknownName for an unknown rule or value.
    """
    values = {name: str(value) for name, value in rules.items()}
    for name, value in values.items():
        if name not in known:
            raise UnknownName(f"rule of {puzzle}", name, list(known))
        if known[name].choices and value not in known[name].choices and (value or not empty_is_default):
            raise UnknownName(f"value of {name}", value, known[name].choices)
    return {name: value or (known[name].default if empty_is_default else "") for name, value in values.items()}


def parse_number(rule: str, text: str, least: int = 0, most: int | None = None) -> int:
    """Return the value of a rule, such as "30" or "1,000". Raises InvalidOption."""
    digits = re.sub("[,_]", "", text.strip()) if _THOUSANDS.fullmatch(text.strip()) else text.strip()
    if digits.isascii() and digits.isdecimal() and len(digits) <= _MAX_NUMBER_DIGITS:
        number = int(digits)
        if least <= number <= (number if most is None else most):
            return number
    limits = f"from {least} on" if most is None else f"from {least} to {most}"
    raise InvalidOption(
        f"{rule}: {text!r} is not a number {limits}; write one, such as {max(least, min(30, most or 30))}"
    )
