"""Read Panguru boards and solutions."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from pi_appliance.errors import ConfigError, Problem
from pi_appliance.puzzles import pluralize
from pi_appliance.puzzles.panguru.board import (
    HOLE,
    HOME,
    TRIANGLE_SIZES,
    Board,
    MoveLines,
    Solution,
    parse_lines,
    reachable_places,
)
from pi_appliance.puzzles.rendering import parse_error

_HEADER = re.compile(r"\s*(plates|pebbles|moves)\s*[:=]", re.IGNORECASE)
_SEPARATORS = "/|,;\"'"  # allowed between or around plates and pebbles
_HOLE_MARKS = "-._"
_BOARD_HELP = (
    "draw two triangles side by side, plates and pebbles, or write 15 plates, a space and 15 pebbles, - for the hole"
)


class _Mark(NamedTuple):
    text: str
    line: int
    column: int


def parse(text: str, file: str = "board") -> Board:
    """Read two triangles, drawn or in rows, and `moves:`. Raises ConfigError."""
    sections = _split_sections(text)
    problems: list[Problem] = []
    marks = {name: list(_parse_marks(rows, file, problems)) for name, rows in sections.items() if name != "moves"}
    if problems:
        raise ConfigError(problems)
    plates, pebbles = _split_triangles(marks, file)
    _check_colours(plates, pebbles, file)
    return Board(
        "".join(mark.text.replace(HOLE, HOME) for mark in plates),
        "".join(mark.text for mark in pebbles),
        _parse_moves(sections.get("moves", []), len(plates), file),
    )


def _split_sections(text: str) -> dict[str, list[tuple[int, int, str]]]:
    """Return rows as (line, column, text) by their header; "" stands for none."""
    sections: dict[str, list[tuple[int, int, str]]] = {}
    header = ""
    for number, row in enumerate(text.splitlines(), 1):
        match = _HEADER.match(row)
        start = match.end() if match else 0
        header = match[1].lower() if match else header
        sections.setdefault(header, []).append((number, start + 1, row[start:]))
    return sections


def _parse_marks(rows: list[tuple[int, int, str]], file: str, problems: list[Problem]) -> Iterator[list[_Mark]]:
    """Yield the marks of each row that has any; report the first invalid one of each row."""
    for number, first, row in rows:
        marks: list[_Mark] = []
        for column, each in enumerate(row, first):
            if each in _HOLE_MARKS:
                marks.append(_Mark(HOLE, number, column))
            elif each.isascii() and each.isalpha():
                marks.append(_Mark(each.upper(), number, column))
            elif not each.isspace() and each not in _SEPARATORS:
                hint = "a colour is a letter from A to Z, the hole is -"
                problems.append(Problem(file, number, column, f"{each!r} is not a colour", hint))
                break
        if marks:
            yield marks


def _split_triangles(sections: dict[str, list[list[_Mark]]], file: str) -> tuple[list[_Mark], list[_Mark]]:
    rows = sections.get("", [])
    if "plates" in sections or "pebbles" in sections:
        halves = [[mark for row in sections.get(name, []) for mark in row] for name in ("plates", "pebbles")]
        if rows:
            first = rows[0][0]
            hint = "write it after plates: or pebbles:"
            raise parse_error(file, first.line, first.column, "this precedes the first header", hint)
    else:
        halves = _split_rows(rows, file)
    for name, half in zip(("plates", "pebbles"), halves, strict=True):
        if len(half) not in TRIANGLE_SIZES:
            at = half[-1] if half else _Mark("", 1, 1)
            hint = "a triangle of 2 to 5 rows has 3, 6, 10 or 15"
            raise parse_error(file, at.line, at.column, f"{len(half)} places for {name}", hint)
    if len(halves[0]) != len(halves[1]):
        at, message = halves[1][-1], f"{len(halves[0])} plates, but {len(halves[1])} places for pebbles"
        raise parse_error(file, at.line, at.column, message, "each plate has a pebble, one has the hole -")
    return halves[0], halves[1]


def _split_rows(rows: list[list[_Mark]], file: str) -> list[list[_Mark]]:
    if not rows:
        raise parse_error(file, 1, 1, "there is no board here", _BOARD_HELP)
    lengths = [len(row) for row in rows]
    gaps = [at for at in range(1, lengths[0]) if rows[0][at].column > rows[0][at - 1].column + 1]
    if len(rows) == len(gaps) == 1:  # in one row
        return [rows[0][: gaps[0]], rows[0][gaps[0] :]]
    if lengths == [2 * number for number in range(1, len(rows) + 1)] or len(rows) == 1:  # side by side
        return [[m for row in rows for m in row[: len(row) // 2]], [m for row in rows for m in row[len(row) // 2 :]]]
    half = len(rows) // 2
    steps = list(range(1, half + 1))
    if lengths in ([*steps, *steps], [lengths[0]] * 2):  # one below the other
        return [[mark for row in part for mark in row] for part in (rows[:half], rows[half:])]
    expected = zip(rows, [2, 4, 6, 8, 10], strict=False)
    first = next((row for row, hint in expected if len(row) != hint), rows[-1])
    message = f"the rows have {', '.join(map(str, lengths[:12]))} places"
    raise parse_error(file, first[0].line, first[0].column, message, _BOARD_HELP)


def _check_colours(plates: list[_Mark], pebbles: list[_Mark], file: str) -> None:
    problems: list[Problem] = []

    def add_problem(mark: _Mark, message: str, hint: str) -> None:
        problems.append(Problem(file, mark.line, mark.column, message, hint))

    homes = [mark for mark in plates if mark.text in {HOME, HOLE}]
    holes = [mark for mark in pebbles if mark.text == HOLE]
    if len(homes) != 1:
        message = f"{pluralize(len(homes), 'plate')} W"
        add_problem((homes or plates)[-1], message, "exactly one plate is W, where the hole must end")
    if len(holes) != 1:
        add_problem(
            (holes or pebbles)[-1], pluralize(len(holes), "hole"), "one place has the hole - instead of a pebble"
        )
    for mark in pebbles:
        if mark.text == HOME:
            add_problem(
                mark, "a pebble is called W", "W is the plate where the hole must end; no pebble has that colour"
            )
    for colour in sorted({mark.text for mark in plates + pebbles} - {HOME, HOLE}):
        on, off = ([mark for mark in half if mark.text == colour] for half in (pebbles, plates))
        if len(on) != len(off):
            message = f"colour {colour} has {pluralize(len(off), 'plate')} and {pluralize(len(on), 'pebble')}"
            add_problem((on or off)[-1], message, "each colour has as many pebbles as plates")
    if problems:
        raise ConfigError(problems)


def _parse_moves(rows: list[tuple[int, int, str]], places: int, file: str) -> MoveLines:
    words = [
        (match[0], number, first + match.start())
        for number, first, row in rows
        for match in re.finditer(r"[^\s,;]+", row)
    ]
    if words and not words[0][0].startswith("["):
        for word, number, column in words:  # one by one, so that an error has its place
            _parse_part(word, places, file, number, column)
    text = " ".join(row for _, _, row in rows)
    return _parse_part(text, places, file, *(words[0][1:] if words else (1, 1)))


def _parse_part(text: str, places: int, file: str, line: int, column: int) -> MoveLines:
    try:
        return parse_lines(text, places)
    except ValueError as error:
        message, _, hint = str(error).partition("; ")
        raise parse_error(file, line, column, message, hint) from None


def parse_solution(board: Board, text: str, file: str = "solution") -> Solution:
    """Read a solution of `board`: the path of the hole, such as 0-3-5. Raises ConfigError."""
    words = [
        (match[0], number, match.start() + 1)
        for number, row in enumerate(text.splitlines(), 1)
        for match in re.finditer(r"[^-\s]+|-", row)
    ]
    reachable = reachable_places(board)
    example = f"{board.hole}-{(reachable[board.hole] or (0,))[0]}"
    hint = f"write the path of the hole, which starts at {board.hole}, such as {example}"
    path: list[int] = []
    before = "-"
    for word, line, column in words:
        if word == before == "-":
            raise parse_error(file, line, column, "a place is missing before this -", hint)
        before = word
        if word == "-":
            continue
        if not re.fullmatch("[0-9]{1,3}", word) or int(word) >= len(reachable):
            raise parse_error(file, line, column, f"{word!r} is not a place of this board", hint)
        path.append(int(word))
        if path[0] != board.hole:
            raise parse_error(file, line, column, f"the hole does not start at {path[0]}", hint)
    if not path:
        raise parse_error(file, 1, 1, "there is no solution here", hint)
    if before == "-":
        raise parse_error(file, *words[-1][1:], "a place is missing after this -", hint)
    return tuple(path[1:])
