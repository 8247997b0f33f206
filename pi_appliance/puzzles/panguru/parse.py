"""Reads a Panguru board from the ways that one is written down."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from pi_appliance.errors import ConfigError, Problem
from pi_appliance.puzzles import pluralize
from pi_appliance.puzzles.panguru.board import HOLE, HOME, SIZES, Board, Solution, reach, read_lines

_HEAD = re.compile(r"\s*(plates|pebbles|moves)\s*[:=]", re.IGNORECASE)
_BREAKS = "/|,;\"'"  # what may stand between plates and pebbles, or around them
_HOLES = "-._"
_RIGHT = (
    "draw two triangles side by side, plates and pebbles, or write 15 plates, a space and 15 pebbles, - for the hole"
)


class _Mark(NamedTuple):
    """One colour or hole, and where it stands."""

    text: str
    line: int
    column: int


def parse(text: str, file: str) -> Board:
    """Return the board drawn in TEXT. Raises ConfigError with every problem.

    Plates and pebbles stand side by side as two triangles, one triangle below the other, each in a row of its own, both
    in one row, or behind `plates:` and `pebbles:`. Behind `moves:` stands an own table of moves.
    """
    parts = _parts(text)
    problems: list[Problem] = []
    marks = {name: list(_marks(rows, file, problems)) for name, rows in parts.items() if name != "moves"}
    if problems:
        raise ConfigError(problems)
    plates, pebbles = _two(marks, file)
    _match(plates, pebbles, file)
    return Board(
        "".join(mark.text.replace(HOLE, HOME) for mark in plates),
        "".join(mark.text for mark in pebbles),
        _moves(parts.get("moves", []), len(plates), file),
    )


def _parts(text: str) -> dict[str, list[tuple[int, int, str]]]:
    """Return rows as (line, column, text), by the head they stand below; "" is no head."""
    parts: dict[str, list[tuple[int, int, str]]] = {}
    head = ""
    for number, row in enumerate(text.splitlines(), 1):
        match = _HEAD.match(row)
        begin = match.end() if match else 0
        head = match[1].lower() if match else head
        parts.setdefault(head, []).append((number, begin + 1, row[begin:]))
    return parts


def _marks(rows: list[tuple[int, int, str]], file: str, problems: list[Problem]) -> Iterator[list[_Mark]]:
    """Yield the marks of each row that has any; append the first strange one of each row to PROBLEMS."""
    for number, first, row in rows:
        marks: list[_Mark] = []
        for column, each in enumerate(row, first):
            if each in _HOLES:
                marks.append(_Mark(HOLE, number, column))
            elif each.isascii() and each.isalpha():
                marks.append(_Mark(each.upper(), number, column))
            elif not each.isspace() and each not in _BREAKS:
                right = "a colour is a letter from A to Z, the hole is -"
                problems.append(Problem(file, number, column, f"{each!r} is no colour", right))
                break
        if marks:
            yield marks


def _two(parts: dict[str, list[list[_Mark]]], file: str) -> tuple[list[_Mark], list[_Mark]]:
    """Return the plates and the pebbles. Raises ConfigError if they cannot be told apart, or are no triangle."""
    rows = parts.get("", [])
    if "plates" in parts or "pebbles" in parts:
        halves = [[mark for row in parts.get(name, []) for mark in row] for name in ("plates", "pebbles")]
        if rows:
            first = rows[0][0]
            right = "write it behind plates: or pebbles:"
            raise ConfigError([Problem(file, first.line, first.column, "this stands before any head", right)])
    else:
        halves = _apart(rows, file)
    for name, half in zip(("plates", "pebbles"), halves, strict=True):
        if len(half) not in SIZES:
            at = half[-1] if half else _Mark("", 1, 1)
            right = "a triangle of 2 to 5 rows has 3, 6, 10 or 15"
            raise ConfigError([Problem(file, at.line, at.column, f"{len(half)} places for {name}", right)])
    if len(halves[0]) != len(halves[1]):
        at, wrong = halves[1][-1], f"{len(halves[0])} plates, but {len(halves[1])} places for pebbles"
        raise ConfigError([Problem(file, at.line, at.column, wrong, "each plate has a pebble, one has the hole -")])
    return halves[0], halves[1]


def _apart(rows: list[list[_Mark]], file: str) -> list[list[_Mark]]:
    if not rows:
        raise ConfigError([Problem(file, 1, 1, "no board is drawn here", _RIGHT)])
    long = [len(row) for row in rows]
    gaps = [at for at in range(1, long[0]) if rows[0][at].column > rows[0][at - 1].column + 1]
    if len(rows) == len(gaps) == 1:  # in one row
        return [rows[0][: gaps[0]], rows[0][gaps[0] :]]
    if long == [2 * number for number in range(1, len(rows) + 1)] or len(rows) == 1:  # side by side
        return [[m for row in rows for m in row[: len(row) // 2]], [m for row in rows for m in row[len(row) // 2 :]]]
    half = len(rows) // 2
    steps = list(range(1, half + 1))
    if long in ([*steps, *steps], [long[0]] * 2):  # one below the other
        return [[mark for row in part for mark in row] for part in (rows[:half], rows[half:])]
    fit = zip(rows, [2, 4, 6, 8, 10], strict=False)
    first = next((row for row, right in fit if len(row) != right), rows[-1])
    wrong = f"the rows have {', '.join(map(str, long[:12]))} places"
    raise ConfigError([Problem(file, first[0].line, first[0].column, wrong, _RIGHT)])


def _match(plates: list[_Mark], pebbles: list[_Mark], file: str) -> None:
    """Raise ConfigError if there is not one plate W, one hole, or if there are more plates of a colour than pebbles."""
    problems: list[Problem] = []

    def wrong(mark: _Mark, what: str, right: str) -> None:
        problems.append(Problem(file, mark.line, mark.column, what, right))

    homes = [mark for mark in plates if mark.text in {HOME, HOLE}]
    holes = [mark for mark in pebbles if mark.text == HOLE]
    if len(homes) != 1:
        what = f"{pluralize(len(homes), 'plate')} W"
        wrong((homes or plates)[-1], what, "one plate is called W, and there the hole must end")
    if len(holes) != 1:
        wrong((holes or pebbles)[-1], pluralize(len(holes), "hole"), "one place has the hole - instead of a pebble")
    for mark in pebbles:
        if mark.text == HOME:
            wrong(mark, "a pebble is called W", "W is the plate where the hole must end; no pebble has that colour")
    for colour in sorted({mark.text for mark in plates + pebbles} - {HOME, HOLE}):
        on, off = ([mark for mark in half if mark.text == colour] for half in (pebbles, plates))
        if len(on) != len(off):
            what = f"colour {colour} has {pluralize(len(off), 'plate')} and {pluralize(len(on), 'pebble')}"
            wrong((on or off)[-1], what, "each colour has as many pebbles as plates")
    if problems:
        raise ConfigError(problems)


def _moves(rows: list[tuple[int, int, str]], places: int, file: str) -> tuple[tuple[int, ...], ...]:
    words = [
        (match[0], number, first + match.start())
        for number, first, row in rows
        for match in re.finditer(r"[^\s,;]+", row)
    ]
    if words and not words[0][0].startswith("["):
        for word, number, column in words:  # each by itself, so that a wrong one is told where it stands
            _read(word, places, file, number, column)
    text = " ".join(row for _, _, row in rows)
    return _read(text, places, file, *(words[0][1:] if words else (1, 1)))


def _read(text: str, places: int, file: str, line: int, column: int) -> tuple[tuple[int, ...], ...]:
    try:
        return read_lines(text, places)
    except ValueError as error:
        wrong, _, right = str(error).partition("; ")
        raise ConfigError([Problem(file, line, column, wrong, right)]) from None


def parse_solution(board: Board, text: str, file: str) -> Solution:
    """Return the line of BOARD that TEXT notates: the way of the hole, such as 0-3-5. Raises ConfigError."""
    found = [
        (match[0], number, match.start() + 1)
        for number, row in enumerate(text.splitlines(), 1)
        for match in re.finditer(r"[^-\s]+|-", row)
    ]
    far = reach(board)
    right = (
        f"write the way of the hole, which begins at {board.hole}, such as {board.hole}-{(far[board.hole] or (0,))[0]}"
    )
    way: list[int] = []
    before = "-"
    for word, line, column in found:
        if word == before == "-":
            raise ConfigError([Problem(file, line, column, "no place stands before this -", right)])
        before = word
        if word == "-":
            continue
        if not re.fullmatch("[0-9]{1,3}", word) or int(word) >= len(far):
            raise ConfigError([Problem(file, line, column, f"{word!r} is no place of this board", right)])
        way.append(int(word))
        if way[0] != board.hole:
            raise ConfigError([Problem(file, line, column, f"the hole does not begin at {way[0]}", right)])
    if not way:
        raise ConfigError([Problem(file, 1, 1, "there is no line here", right)])
    if before == "-":
        raise ConfigError([Problem(file, *found[-1][1:], "no place stands behind this -", right)])
    return tuple(way[1:])
