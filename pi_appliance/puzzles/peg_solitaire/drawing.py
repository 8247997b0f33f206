"""How a peg solitaire board is read from a drawing.

A square board stands there as it is, or with a space between its marks. Below a first line "triangle", either each row
stands half a place beside the one above, with a space between its marks, or each begins where its first line to the
lower left does:

    triangle        triangle
      O             O
     X X            XX
    X X X           XXX
"""

from collections.abc import Iterator

from pi_appliance.errors import ConfigError, Problem
from pi_appliance.puzzles.peg_solitaire.board import Board, Hole, spaced

PEG = "X"
EMPTY = "O."
BLANK = " #"
HEAD = "triangle"
SIDE = 15
MOST_HOLES = 64  # a position is a set of holes, and so fits one machine word
_AS_WELL = str.maketrans("xo●○", "XOXO")  # what a hand writes, too, and what others print
_MEANT = {"0": "O", "*": "X", "_": ".", "-": "."}
_RIGHT = "a board is drawn with X for a peg, O or . for an empty hole, a space or # where there is none"
_STAGGER = "each row stands half a place beside the one above, with a space between two marks"


def parse(text: str, file: str, first: int = 1) -> Board:
    """Return the board drawn in TEXT; blank space around the drawing does not count.

    Raises ConfigError with the first problem of each line; FILE is the name they go by, FIRST the number there of the
    first line.
    """
    rows = [row.rstrip() for row in text.splitlines()]
    head = next((number for number, row in enumerate(rows) if row), 0)
    triangular = bool(rows) and rows[head].strip().lower() == HEAD
    if triangular:
        rows[head] = ""
    rows = [row.translate(_AS_WELL) for row in rows]
    problems = [problem for number, row in enumerate(rows, first) for problem in _strange(row, number, file)]
    if problems:
        raise ConfigError(problems)
    drawn = [Hole(x, y) for y, row in enumerate(rows) for x, mark in enumerate(row) if mark not in BLANK]
    if not drawn:
        raise ConfigError([Problem(file, first, 1, "no board is drawn here", _RIGHT)])
    staggered = triangular and not any(Hole(x + 1, y) in set(drawn) for x, y in drawn)
    if staggered and (problems := list(_crooked(drawn, first, file))):
        raise ConfigError(problems)
    places = [Hole((at.x + at.y) // 2, at.y) for at in drawn] if staggered else drawn
    if not triangular and spaced(drawn) and not any("#" in row for row in rows):
        places = [Hole(at.x // 2, at.y) for at in drawn]
    left, top = min(x for x, _ in places), min(y for _, y in places)
    holes = [Hole(x - left, y - top) for x, y in places]
    problems = list(_too_large(drawn, holes, first, file))
    pegs = frozenset(hole for hole, (x, y) in zip(holes, drawn, strict=True) if rows[y][x] == PEG)
    if not pegs:
        corner = min(x for x, _ in drawn)
        problems.append(Problem(file, first + drawn[0].y, corner + 1, "the board has no peg", "draw pegs as X"))
    if problems:
        raise ConfigError(problems)
    return Board(tuple(holes), pegs, triangular=triangular)


def _strange(row: str, number: int, file: str) -> list[Problem]:
    for column, mark in enumerate(row, 1):
        if mark not in PEG + EMPTY + BLANK:
            what = "a tab" if mark == "\t" else repr(mark)
            right = f"did you mean {_MEANT[mark]!r}?" if mark in _MEANT else _RIGHT
            return [Problem(file, number, column, f"{what} is no part of a board", right)]
    return []


def _crooked(drawn: list[Hole], first: int, file: str) -> Iterator[Problem]:
    """Yield the first mark of each row that does not stand half a place beside the row above."""
    side = sum(drawn[0]) % 2
    told = -1
    for x, y in drawn:
        if (x + y) % 2 != side and y != told:
            told = y
            yield Problem(file, first + y, x + 1, "this mark stands straight below another row's", _STAGGER)


def _too_large(drawn: list[Hole], holes: list[Hole], first: int, file: str) -> Iterator[Problem]:
    """Yield the first hole beyond each limit, where it is DRAWN. Both lists are in reading order."""
    right = f"a board has at most {MOST_HOLES} holes, {SIDE} a row and {SIDE} rows"
    both = list(zip(drawn, holes, strict=True))
    beyond = {
        f"the board is more than {SIDE} holes wide": [at for at, hole in both if hole.x >= SIDE],
        f"the board is more than {SIDE} rows high": [at for at, hole in both if hole.y >= SIDE],
        f"the board has {len(drawn)} holes": drawn[MOST_HOLES:],
    }
    for wrong, places in beyond.items():
        if places:
            yield Problem(file, first + places[0].y, places[0].x + 1, wrong, right)
