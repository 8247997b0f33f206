"""A peg solitaire board of any shape, on squares or triangles, its rules, and known boards."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from pi_appliance.errors import UnknownName
from pi_appliance.puzzles import Rule, Rules, Validation, check_rules, load_board, pluralize

SQUARE = ((1, 0), (-1, 0), (0, 1), (0, -1))
TRIANGLE = (*SQUARE, (1, 1), (-1, -1))
RULES = {
    "goal": Rule("the hole where the last peg must end, such as 3,3; default: anywhere"),
    "positions": Rule(
        "the positions that a count visits: the needed ones, or all reachable ones for a table of them",
        "needed",
        ("needed", "all"),
    ),
}


class Hole(NamedTuple):
    """A hole, counted to the right and down. On triangles x,y is above x,y+1 and x+1,y+1."""

    x: int
    y: int

    def __str__(self) -> str:
        return f"{self.x},{self.y}"


class Jump(NamedTuple):
    """A peg jumps from `start` to `end`, two holes away; the peg between is removed."""

    start: Hole
    end: Hole

    def __str__(self) -> str:
        return f"{self.start}-{self.end}"


Solution = tuple[Jump, ...]  # jumps from the starting board to a single peg


@dataclass(frozen=True, slots=True)
class Board:
    """The holes in reading order, the holes with pegs, and the hole of the last peg (None: any)."""

    holes: tuple[Hole, ...]
    pegs: frozenset[Hole]
    goal: Hole | None = None
    triangular: bool = False
    """Whether jumps go along the three directions of a triangular grid."""
    all_positions: bool = False  # whether a count visits all reachable positions, even if fewer would do

    @property
    def directions(self) -> tuple[tuple[int, int], ...]:
        """The offsets of the neighbours: right, left, down, up; on triangles also diagonal."""
        return TRIANGLE if self.triangular else SQUARE


def looks_spaced(holes: Iterable[tuple[int, int]]) -> bool:
    """Return whether the holes look like a drawing with a space between all marks."""
    places = set(holes)
    beside, next_but_one = (any((x + far, y) in places for x, y in places) for far in (1, 2))
    return not beside and next_but_one and len({x % 2 for x, _ in places}) == 1


def with_rules(board: Board | str, rules: Rules) -> Board:
    """Return the board with other rules; an empty value means the default. Raises UnknownName.

    >>> from pi_appliance.puzzles import peg_solitaire
    >>> peg_solitaire.with_rules("XX.", {"goal": "2,0"}).goal
    Hole(x=2, y=0)
    """
    board = load_board(board, Board)
    values = check_rules("peg solitaire", RULES, rules)
    if "goal" in values:
        board = replace(board, goal=_find_goal(board, values["goal"]) if values["goal"] else None)
    return replace(board, all_positions=values["positions"] == "all") if "positions" in values else board


def describe(board: Board | str) -> str:
    """Return the size, and rules that differ from the default, in words."""
    board = load_board(board, Board)
    size = f"{pluralize(len(board.pegs), 'peg')} in {pluralize(len(board.holes), 'hole')}"
    if board.triangular:
        size += " of a triangular board"
    if board.goal:
        size += f", the last one at {board.goal}"
    return f"{size}, counted with all positions" if board.all_positions else size


def _find_goal(board: Board, name: str) -> Hole:
    for hole in board.holes:
        if str(hole) == name.replace(" ", ""):
            return hole
    # A hole with a similar name is not near, so a central hole is suggested.
    right = f"write a hole as x,y, both counted from 0 at the top left, such as {board.holes[len(board.holes) // 2]}"
    raise UnknownName("hole of this board", name, [str(hole) for hole in board.holes], right)


def _english_drawing(*rows: str) -> str:
    return "".join(f"{row:^7}\n" for row in rows)


def _draw(widths: Sequence[int], empty: Hole) -> str:
    """Draw centred rows of pegs; the columns of `empty` are counted from the widest row."""
    rows = [list(f"{'X' * width:^{max(widths)}}") for width in widths]
    rows[empty.y][empty.x] = "O"
    return "".join("".join(row) + "\n" for row in rows)


def _draw_triangle(side: int, empty: Hole) -> str:
    rows = [" ".join("O" if (x, y) == empty else "X" for x in range(y + 1)) for y in range(side)]
    return "triangle\n" + "".join(f"{row:^{2 * side - 1}}\n" for row in rows)


BOARDS: Mapping[str, str] = {
    "full": _english_drawing("XXX", "XXX", "XXXXXXX", "XXXOXXX", "XXXXXXX", "XXX", "XXX"),
    "cross": _english_drawing("OOO", "OXO", "OOXXXOO", "OOOXOOO", "OOOXOOO", "OOO", "OOO"),
    "plus": _english_drawing("OOO", "OXO", "OOOXOOO", "OXXXXXO", "OOOXOOO", "OXO", "OOO"),
    "fireplace": _english_drawing("XXX", "XXX", "OOXXXOO", "OOXOXOO", "OOOOOOO", "OOO", "OOO"),
    "pyramid": _english_drawing("OOO", "OXO", "OOXXXOO", "OXXXXXO", "XXXXXXX", "OOO", "OOO"),
    "arrow": _english_drawing("OXO", "XXX", "OXXXXXO", "OOOXOOO", "OOOXOOO", "XXX", "XXX"),
    "diamond": _english_drawing("OXO", "XXX", "OXXXXXO", "XXXXXXX", "OXXXXXO", "XXX", "OXO"),
    "european": _draw((3, 5, 7, 7, 7, 5, 3), Hole(2, 0)),
    "wiegleb": _draw((3, 3, 3, 9, 9, 9, 3, 3, 3), Hole(4, 4)),
    "diamond-41": _draw((1, 3, 5, 7, 9, 7, 5, 3, 1), Hole(4, 2)),
    "triangle-4": _draw_triangle(4, Hole(0, 1)),
    "triangle-5": _draw_triangle(5, Hole(0, 0)),
    "triangle-6": _draw_triangle(6, Hole(0, 0)),
    "triangle-7": _draw_triangle(7, Hole(0, 1)),
}


def check(board: Board | str, solution: Sequence[Jump]) -> Validation:
    """Return whether `solution` leads to a single peg, at the goal if there is one.

    >>> from pi_appliance.puzzles import peg_solitaire
    >>> bool(peg_solitaire.check("XX.", next(peg_solitaire.solve("XX.").solutions)))
    True
    >>> peg_solitaire.check("XX.", ()).error
    '2 pegs are left after 0 jumps'
    """
    board = load_board(board, Board)
    filled = {hole: hole in board.pegs for hole in board.holes}
    for number, jump in enumerate(solution, 1):
        if wrong := _apply_jump(filled, *jump, triangular=board.triangular):
            return Validation(f"jump {number}, {jump}: {wrong}")
    pegs = [hole for hole, peg in filled.items() if peg]
    if len(pegs) != 1:
        return Validation(f"{len(pegs)} pegs are left after {pluralize(len(solution), 'jump')}")
    if board.goal not in (None, pegs[0]):
        return Validation(f"the last peg is at {pegs[0]}, not at {board.goal}")
    return Validation()


def _apply_jump(filled: dict[Hole, bool], start: Hole, end: Hole, *, triangular: bool) -> str:
    ways = {(2 * right, 2 * down) for right, down in (TRIANGLE if triangular else SQUARE)}
    if (end.x - start.x, end.y - start.y) not in ways:
        lines = "along a line of the triangles" if triangular else "to the right, left, down or up"
        return f"a jump goes two holes {lines}"
    over = Hole((start.x + end.x) // 2, (start.y + end.y) // 2)
    for hole, wanted in ((start, True), (over, True), (end, False)):
        if hole not in filled:
            return f"there is no hole at {hole}"
        if filled[hole] != wanted:
            return f"there is no peg at {hole}" if wanted else f"{hole} is not empty"
    filled[start] = filled[over] = False
    filled[end] = True
    return ""
