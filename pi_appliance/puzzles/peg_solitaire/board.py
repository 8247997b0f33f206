"""A peg solitaire board of any shape, and how it is read from a drawing."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from pi_appliance.errors import ConfigError, Problem, UnknownName
from pi_appliance.puzzles import counted

PEG = "X"
EMPTY = "O."
BLANK = " #"
SIDE = 15
MOST_HOLES = 64  # a position is a set of holes, and so fits one machine word
_MEANT = {"x": "X", "o": "O", "0": "O", "*": "X", "_": ".", "-": "."}  # what a hand writes instead
_RIGHT = "a board is drawn with X for a peg, O or . for an empty hole, a space or # where there is none"


class Hole(NamedTuple):
    """A place for a peg; x counts to the right and y downwards, both from 0."""

    x: int
    y: int

    def __str__(self) -> str:
        return f"{self.x},{self.y}"


class Jump(NamedTuple):
    """The peg at `start` leaps two holes to `end`; the one between is taken."""

    start: Hole
    end: Hole

    def __str__(self) -> str:
        return f"{self.start}-{self.end}"


Line = tuple[Jump, ...]
"""A solution: jumps from the starting board to a single peg."""


@dataclass(frozen=True, slots=True)
class Board:
    """The holes in reading order, those that hold pegs, and the one where the last peg must end (None: anywhere)."""

    holes: tuple[Hole, ...]
    pegs: frozenset[Hole]
    goal: Hole | None = None


def parse(text: str, file: str, first: int = 1) -> Board:
    """Return the board drawn in TEXT; blank space around the drawing does not count.

    Raises ConfigError with the first problem of each line; FILE is the name they go by, FIRST the number there of the
    first line.
    """
    rows = [row.rstrip() for row in text.splitlines()]
    problems = [problem for number, row in enumerate(rows, first) for problem in _strange(row, number, file)]
    if problems:
        raise ConfigError(problems)
    drawn = {Hole(x, y): mark for y, row in enumerate(rows) for x, mark in enumerate(row) if mark not in BLANK}
    if not drawn:
        raise ConfigError([Problem(file, first, 1, "no board is drawn here", _RIGHT)])
    left, top = min(x for x, _ in drawn), min(y for _, y in drawn)
    problems = list(_too_large(tuple(drawn), left, top, first, file))
    if PEG not in drawn.values():
        problems.append(Problem(file, first + top, left + 1, "the board has no peg", "draw pegs as X"))
    if problems:
        raise ConfigError(problems)
    holes = {Hole(x - left, y - top): mark for (x, y), mark in drawn.items()}
    return Board(tuple(holes), frozenset(hole for hole, mark in holes.items() if mark == PEG))


def with_rules(board: Board, rules: Mapping[str, str]) -> Board:
    """Return BOARD with RULES: the goal. Raises UnknownName."""
    for name in rules:
        if name != "goal":
            raise UnknownName("rule of peg solitaire", name, ["goal"])
    return aim(board, rules["goal"]) if "goal" in rules else board


def aim(board: Board, goal: str) -> Board:
    """Return BOARD with the hole where the last peg must end, named as x,y. Raises UnknownName if it has none such."""
    for hole in board.holes:
        if str(hole) == goal.replace(" ", ""):
            return replace(board, goal=hole)
    # A number that looks like another is not near it, so one of the holes in the middle is the example.
    right = f"a hole is called x,y, both counted from 0 at the top left, such as {board.holes[len(board.holes) // 2]}"
    raise UnknownName("hole of this board", goal, [str(hole) for hole in board.holes], right)


def describe(board: Board) -> str:
    """Return the size of BOARD in words."""
    size = f"{counted(len(board.pegs), 'peg')} in {counted(len(board.holes), 'hole')}"
    return size + (f", the last one at {board.goal}" if board.goal else "")


def _strange(row: str, number: int, file: str) -> list[Problem]:
    for column, mark in enumerate(row, 1):
        if mark not in PEG + EMPTY + BLANK:
            what = "a tab" if mark == "\t" else repr(mark)
            right = f"did you mean {_MEANT[mark]!r}?" if mark in _MEANT else _RIGHT
            return [Problem(file, number, column, f"{what} is no part of a board", right)]
    return []


def _too_large(drawn: tuple[Hole, ...], left: int, top: int, first: int, file: str) -> list[Problem]:
    """Return the first hole beyond each limit. DRAWN is in reading order and begins in line FIRST."""
    right = f"a board has at most {MOST_HOLES} holes, {SIDE} a row and {SIDE} rows"
    beyond = {
        f"the board is more than {SIDE} holes wide": [hole for hole in drawn if hole.x - left >= SIDE],
        f"the board is more than {SIDE} rows high": [hole for hole in drawn if hole.y - top >= SIDE],
        f"the board has {len(drawn)} holes": drawn[MOST_HOLES:],
    }
    return [Problem(file, first + holes[0].y, holes[0].x + 1, wrong, right) for wrong, holes in beyond.items() if holes]
