"""A peg solitaire board of any shape, squares or triangles, and the rules that stand for it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from pi_appliance.errors import UnknownName
from pi_appliance.puzzles import Rule, pluralize

SQUARE = ((1, 0), (-1, 0), (0, 1), (0, -1))
TRIANGLE = (*SQUARE, (1, 1), (-1, -1))
RULES = {
    "goal": Rule("the hole where the last peg must end, such as 3,3; anywhere if none is named"),
    "positions": Rule(
        "which positions a count looks at: those that are needed, or all that can be reached, for their table",
        "needed",
        ("needed", "all"),
    ),
}


class Hole(NamedTuple):
    """A place for a peg; x counts to the right and y downwards, both from 0.

    Among triangles, rows lie aslant: below x,y are x,y+1 to the left and x+1,y+1 to the right.
    """

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


Solution = tuple[Jump, ...]
"""A solution: jumps from the starting board to a single peg."""


@dataclass(frozen=True, slots=True)
class Board:
    """The holes in reading order, those that hold pegs, and the one where the last peg must end (None: anywhere)."""

    holes: tuple[Hole, ...]
    pegs: frozenset[Hole]
    goal: Hole | None = None
    triangular: bool = False
    """Whether jumps go along three directions, as among the points of triangles; otherwise along rows and columns."""
    whole: bool = False
    """Whether a count looks at all positions that can be reached, though fewer would do."""

    @property
    def directions(self) -> tuple[tuple[int, int], ...]:
        """The ways to a neighbour: to the right, left, down and up, and among triangles the two of the third line."""
        return TRIANGLE if self.triangular else SQUARE


def spaced(holes: Iterable[tuple[int, int]]) -> bool:
    """Say whether HOLES look as if a space stood between all of them: none side by side, and all in every other column.

    Taken as no holes, those spaces would leave no jump along a row.
    """
    places = set(holes)
    beside, next_but_one = (any((x + far, y) in places for x, y in places) for far in (1, 2))
    return not beside and next_but_one and len({x % 2 for x, _ in places}) == 1


def with_rules(board: Board, rules: Mapping[str, str]) -> Board:
    """Return BOARD with RULES, see `RULES`; an empty value is as if it was not named. Raises UnknownName."""
    for name, value in rules.items():
        if name == "goal":
            board = replace(board, goal=_goal(board, value) if value else None)
        elif name == "positions":
            if value and value not in RULES[name].choices:
                raise UnknownName("choice of positions", value, list(RULES[name].choices))
            board = replace(board, whole=value == "all")
        else:
            raise UnknownName("rule of peg solitaire", name, list(RULES))
    return board


def describe(board: Board) -> str:
    """Return the size of BOARD, and rules other than the default ones, in words."""
    size = f"{pluralize(len(board.pegs), 'peg')} in {pluralize(len(board.holes), 'hole')}"
    if board.triangular:
        size += " of a triangular board"
    if board.goal:
        size += f", the last one at {board.goal}"
    return size + (", counted with all positions" if board.whole else "")


def _goal(board: Board, name: str) -> Hole:
    for hole in board.holes:
        if str(hole) == name.replace(" ", ""):
            return hole
    # A number that looks like another is not near it, so one of the holes in the middle is the example.
    right = f"a hole is called x,y, both counted from 0 at the top left, such as {board.holes[len(board.holes) // 2]}"
    raise UnknownName("hole of this board", name, [str(hole) for hole in board.holes], right)
