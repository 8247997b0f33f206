"""Puzzles, and what each of them offers. Pure: no clock, disk, network or thread. Floor 1.

A puzzle is a file or folder pi_appliance/puzzles/<name> that has everything in `Puzzle`; the job kind
'puzzle', the command line and the contract tests find it by its name. Its `check` shares no code with its `solve`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Any, Protocol

Progress = Callable[[float | None, str], None]
"""Told now and then how far a search is, from 0 to 1 (None: nobody knows), and what it does. What it raises ends it."""


class Proof(StrEnum):
    """How it is known that there is no solution."""

    PARITY = "parity"  # something that no move can change forbids every end
    EXHAUSTION = "exhaustion"  # everything that can be reached was looked at


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What solving came to. A search that was stopped has none: there is no answer 'perhaps'."""

    lines: Iterator[Any]
    """Every solution once, each found when it is asked for; empty if there is none."""
    tried: Callable[[], int]
    """Says how many moves were tried until now."""
    count: int | None = None
    """How many solutions there are exactly; None where counting would take too long."""
    proof: Proof | None = None
    """Set only if it is proven that there is no solution."""
    why: str = ""
    """The proof in words."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A yes, or a no that says why: true only if nothing is wrong."""

    wrong: str = ""

    def __bool__(self) -> bool:
        return not self.wrong


class Puzzle(Protocol):
    """What a module in this folder has. A board is whatever `parse` makes of a drawing, a line is one solution."""

    TITLE: str
    MOVES: str
    """What its moves are called, many of them: "jumps"."""
    BOARDS: Mapping[str, str]
    """The boards it knows by name, drawn as `parse` reads them."""

    def parse(self, text: str, file: str) -> Any:
        """Return the board drawn in TEXT. Raises ConfigError with every problem; FILE is the name it goes by."""

    def aim(self, board: Any, goal: str) -> Any:
        """Return BOARD with a narrower GOAL than the puzzle's own. Raises UnknownName if it has no such goal."""

    def solve(self, board: Any, progress: Progress) -> Answer:
        """Return the answer: solved (the first line is found by then) or proven to have no solution."""

    def check(self, board: Any, line: Any) -> Checked:
        """Say whether LINE solves BOARD, by the rules alone."""

    def describe(self, board: Any) -> str:
        """Return the size of BOARD in words."""

    def render(self, board: Any) -> str:
        """Draw BOARD as `parse` reads it."""

    def render_line(self, board: Any, line: Any) -> str:
        """Draw the solution LINE: each board on the way, a blank line after each."""

    def render_svg(self, board: Any) -> str:
        """Draw BOARD as one self-contained SVG picture."""

    def parse_listing(self, text: str, file: str, progress: Progress) -> Sequence[tuple[Any, Sequence[Any]]]:
        """Return each board of a listing with its lines.

        Raises ConfigError if TEXT cannot be read as one, and Refused at a step that is no move.
        """


def counted(number: int, what: str) -> str:
    """Return NUMBER and WHAT, with an s unless it is one."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def list_solutions(puzzle: Puzzle, board: Any, answer: Answer, limit: int, write: Callable[[str], object]) -> int:
    """Write the board, at most LIMIT solutions as they are found, then what is known of them. Returns how many."""
    write(f"Starting Board\n{puzzle.render(board)}\n")
    listed = 0
    for line in islice(answer.lines, limit):
        listed += 1
        write(f"Start Solution\n\n{puzzle.render_line(board, line)}End Solution\n\n")
    write(f"Board: {puzzle.describe(board)}\n{_known(answer)}\n")
    write(f"Solutions listed: {listed:,}\n{puzzle.MOVES.capitalize()} tried: {answer.tried():,}\n")
    return listed


def _known(answer: Answer) -> str:
    if answer.proof:
        return f"Solutions: none, proven by {answer.proof} ({answer.why})"
    return f"Solutions: {answer.count:,}" if answer.count is not None else "Solutions: at least one; too many to count"
