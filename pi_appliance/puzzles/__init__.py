"""Puzzles, and what each of them offers. Pure: no clock, disk or thread; what they need comes as Work. Floor 1.

A puzzle is a file or folder pi_appliance/puzzles/<name> that has everything in `Puzzle`; the job kind 'puzzle', the
command line, the pages and the contract tests find it by its name. Its `check` shares no code with its `solve`.

As a library:

    from pi_appliance.puzzles import SerialRuntime, SolveMode, sudoku

    board = sudoku.parse("4.....8.5.3..........7......2.....6.....8.4......1.......6.3.7.5..2.....1.4......", "mine")
    answer = sudoku.solve(board, SolveMode.ALL, SerialRuntime())
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import ModuleType
from typing import Any, Protocol

from pi_appliance.puzzles import kernels
from pi_appliance.puzzles.runtime.interface import Cache, Interrupted, SearchRuntime, SerialRuntime

__all__ = [
    "Cache",
    "GeneratedBoard",
    "Interrupted",
    "Progress",
    "Proof",
    "Puzzle",
    "Rule",
    "SearchRuntime",
    "SerialRuntime",
    "SolveMode",
    "SolveResult",
    "Step",
    "Table",
    "Validation",
    "kernel_mode",
    "pluralize",
]

kernels.prefer_compiled()

Progress = Callable[[float | None, str], None]
"""Told now and then how far something is, 0 to 1 (None: nobody knows), and what it does. What it raises, ends it."""


class SolveMode(StrEnum):
    """What is asked of a board."""

    FIRST = "first"  # one solution
    ALL = "all"  # every solution, found as it is asked for, and how many there are
    COUNT = "count"  # how many there are, and none of them
    FEWEST = "fewest-moves"  # the shortest ones: all of those that take the fewest moves


class Proof(StrEnum):
    """How it is known that there is no solution."""

    PARITY = "parity"  # something that no move can change forbids every end
    EXHAUSTION = "exhaustion"  # everything that can be reached was looked at
    CONTRADICTION = "contradiction"  # the board contradicts the rules by itself


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of a puzzle that an owner may choose, such as which way pawns capture."""

    description: str
    default: str = ""
    choices: tuple[str, ...] = ()
    """All that it may be; empty: whatever `with_rules` can read."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of numbers that say more than one number does: positions of each level, lengths of many boards."""

    title: str
    headers: tuple[str, ...]
    rows: Sequence[tuple[int | float | str, ...]]


@dataclass(frozen=True, slots=True)
class Step:
    """The board at one moment of a line, as a picture. The first one is the board as it begins."""

    caption: str
    svg: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveResult:
    """What solving came to. A search that was stopped has none: there is no answer 'perhaps'."""

    solutions: Iterator[Any] = field(default_factory=lambda: iter(()))
    """The solutions, each once, each found when it is asked for; empty if there is none, or only a number is wished."""
    nodes_searched: Callable[[], int] = lambda: 0
    """Says how many moves (guesses, positions: the puzzle's MOVES) were tried until now."""
    count: int | None = None
    """How many solutions there are exactly; None where that was not asked for, or would take too long."""
    proof: Proof | None = None
    """Set only if it is proven that there is no solution."""
    reason: str = ""
    """The proof in words."""
    details: Mapping[str, int | float | str] = field(default_factory=dict)
    """What else is known, by names in kebab-case, such as {"score": 5, "difficulty": "3 guesses"}."""
    tables: Sequence[Table] = ()
    pictures: Mapping[str, str] = field(default_factory=dict)
    """Pictures that say more than the board does, SVG by names in kebab-case, such as a map of probabilities."""


@dataclass(frozen=True, slots=True)
class GeneratedBoard:
    """A board that was made, and what is known of it by its making."""

    board: Any
    details: Mapping[str, int | float | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Validation:
    """A yes, or a no that says why: true only if nothing is wrong."""

    error: str = ""

    def __bool__(self) -> bool:
        return not self.error


class Puzzle(Protocol):
    """What a module in this folder has. A board is whatever `parse` makes of a drawing, a line is one solution.

    It may also have what not every puzzle can: `make(seed, board, work) -> Made` makes a new board, with the size and
    the rules of BOARD, the same for the same seed; `hint(board, work) -> str` tells the next move in words;
    `prepare(work) -> Answer` builds on the shelf what makes `solve` fast, goes on where it was cut off, and is
    through at once when all is there; `MANY = True` says that a text may hold a great many boards.
    """

    TITLE: str
    NODE_UNIT: str
    """What `Answer.tried` counts, many of them: "jumps"."""
    BOARDS: Mapping[str, str]
    """The boards it knows by name, drawn as `parse` reads them; the first one stands where none is named."""
    RULES: Mapping[str, Rule]
    """The rules an owner may choose, by names in kebab-case."""
    MODES: tuple[SolveMode, ...]
    """What may be asked of its boards; the first one stands where nothing is said."""

    def parse(self, text: str, file: str) -> Any:
        """Return the board drawn in TEXT, with the default rules. Raises ConfigError with every problem.

        FILE is the name it goes by. It takes the usual notations of the field, tells them apart by itself, and skips
        blank space around a drawing.
        """

    def with_rules(self, board: Any, rules: Mapping[str, str]) -> Any:
        """Return BOARD with RULES in place of its own. Raises UnknownName (no such rule or value), WrongArgument."""

    def solve(self, board: Any, mode: SolveMode, runtime: SearchRuntime) -> SolveResult:
        """Return the answer: by then it is known whether there is a solution. Raises Interrupted; Refused (memory)."""

    def check(self, board: Any, line: Any) -> Validation:
        """Say whether LINE solves BOARD, by the rules alone."""

    def describe(self, board: Any) -> str:
        """Return the size of BOARD, and rules other than the default ones, in words."""

    def render(self, board: Any) -> str:
        """Draw BOARD as `parse` reads it; no row is empty."""

    def render_solution(self, board: Any, line: Any) -> str:
        """Draw the solution LINE, as a report lists it."""

    def render_svg(self, board: Any) -> str:
        """Draw BOARD as one self-contained SVG picture."""

    def notate(self, board: Any, line: Any) -> str:
        """Return LINE in one row, in the usual notation."""

    def steps(self, board: Any, line: Any) -> Iterator[Step]:
        """Yield the pictures that play LINE from the beginning."""

    def parse_solution(self, board: Any, text: str, file: str) -> Any:
        """Return the line of BOARD that TEXT notates. Raises ConfigError."""

    def parse_listing(self, text: str, file: str, progress: Progress) -> Sequence[tuple[Any, Sequence[Any]]]:
        """Return each board of a listing with its lines.

        Raises ConfigError if TEXT cannot be read as one, and Refused at a step that is no move.
        """


def pluralize(number: int, what: str) -> str:
    """Return NUMBER and WHAT, with an s unless it is one."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def kernel_mode(kernel: ModuleType) -> str:
    """Return how KERNEL runs: "compiled" by Cython, or "plain" Python. The answers are the same."""
    return "plain" if (kernel.__file__ or "").endswith(".py") else "compiled"
