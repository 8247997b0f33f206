"""Reads a battleship board: a grid of marks, a list of lists of 0 and 1, or a list of shots such as "B5 hit"."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from pi_appliance.errors import ConfigError, Problem, UnknownName, WrongArgument, suggest
from pi_appliance.puzzles import pluralize
from pi_appliance.puzzles.battleship.board import RULES, SIDE, SUNK, Board, Ship, ship_of, with_rules
from pi_appliance.puzzles.battleship.shots import shots

MARKS = {"?": "?", ".": ".", "~": ".", "o": ".", "O": ".", "X": "X", "x": "X", "#": "#"}
_MEANT = {" ": "?", "_": "?", "-": "?", "*": "X", "0": ".", "1": "#", "S": "#", "H": "X", "M": "."}
_RIGHT = "a square is ? (unknown), . (miss), X (hit) or # (of a sunk ship)"
_HEADS = (*RULES, "size", "whole")
_HEAD = re.compile(r"\s*([A-Za-z]+)\s*:(.*)")
_LIST = re.compile(r"\s*(?:\w+\s*=\s*)?[\[\]01,\s]*")
_SHOT = re.compile(r"\b(hit|miss|sunk)\b", re.IGNORECASE)
_COLUMNS = re.compile(r"\s*(?:A(?:\s*[B-O])*|1(?:\s+\d+)+)\s*")
_NUMBERED = re.compile(r"\s*\d+\s+(?=\S)|\s*\d+(?=[^\s\d])")
_NAMES = re.compile(r"[^\s,]+")

Row = tuple[int, str]
"""The number of a line in the file, and the line."""
_Marks = tuple[int, list[tuple[int, str]]]
"""The number of a line in the file, and the squares in it: the column and the mark of each."""


@dataclass(slots=True)
class _Reading:
    """What is read so far; a problem is told, and reading goes on."""

    file: str
    headers: dict[str, tuple[int, int, str]] = field(default_factory=dict)
    """By name: line, column and text of what stands behind it."""
    whole: list[tuple[int, int, str]] = field(default_factory=list)
    """The names of ships behind "whole", each with its line and column."""
    problems: list[Problem] = field(default_factory=list)

    def wrong(self, line: int, column: int, wrong: str, right: str) -> None:
        self.problems.append(Problem(self.file, line, column, wrong, right))

    def done(self) -> None:
        """Raise ConfigError if there was any problem."""
        if self.problems:
            raise ConfigError(self.problems)


def parse(text: str, file: str) -> Board:
    """Return the board drawn in TEXT; rules may stand above it, such as "fleet: 5,4,3,3,2". Raises ConfigError."""
    reading = _Reading(file)
    body = [row for row in enumerate(text.splitlines(), 1) if row[1].strip() and not _head(reading, row)]
    rules = {name: reading.headers[name][2] for name in RULES if name in reading.headers}
    empty = Board(rows=("?" * 10,) * 10)
    for name in rules:
        _try_rule(reading, empty, name)
    known: Sequence[Ship] = ()
    if any(_SHOT.search(row) for _, row in body) or (not body and "size" in reading.headers):
        rows, known = shots(body, _size(reading), reading.wrong)
    elif "size" in reading.headers:
        line, column, _ = reading.headers["size"]
        reading.wrong(line, column, "the size is told, and a grid follows", "a grid shows its size: leave this row out")
        rows = ["?"]
    else:
        rows = _listed(reading, body) if all(_LIST.fullmatch(row) for _, row in body) else _grid(reading, body)
    reading.done()
    known = [*known, *_known(reading, rows, known)]
    reading.done()
    return with_rules(Board(rows=tuple(rows), known=tuple(sorted(set(known)))), rules)


def _head(reading: _Reading, row: Row) -> bool:
    """Take ROW if it is a rule or the like: a name, a colon, and a value."""
    found = _HEAD.fullmatch(row[1])
    if not found or _SHOT.fullmatch(found[1]):
        return False
    name, at = found[1].lower(), (row[0], found.start(1) + 1)
    if name not in _HEADS:
        reading.wrong(*at, f"nothing is called {found[1]!r} here", suggest(name, _HEADS))
    elif name == "whole":
        reading.whole += [(row[0], ship.start() + 1, ship[0]) for ship in _NAMES.finditer(row[1], found.start(2))]
    elif name in reading.headers:
        reading.wrong(*at, f"{name} stands here twice", "leave one of the two out")
    else:
        value = found[2].strip()
        reading.headers[name] = (row[0], found.start(2) + len(found[2]) - len(found[2].lstrip()) + 1, value)
    return True


def _try_rule(reading: _Reading, board: Board, name: str) -> None:
    line, column, value = reading.headers[name]
    try:
        with_rules(board, {name: value})
    except (UnknownName, WrongArgument) as error:
        wrong, _, right = str(error).partition("; ")
        reading.wrong(line, column, wrong, right)


def _size(reading: _Reading) -> tuple[int, int]:
    line, column, text = reading.headers.get("size", (1, 1, "10x10"))
    found = re.fullmatch(r"(\d{1,2})\s*[xX×]\s*(\d{1,2})", text)  # noqa: RUF001 - the sign for "times"
    width, height = (int(found[1]), int(found[2])) if found and text.isascii() else (0, 0)
    if not (1 <= width <= SIDE and 1 <= height <= SIDE):
        reading.wrong(line, column, f"the size cannot be {text!r}", f"write columns x rows, 1 to {SIDE}, such as 10x10")
        return 10, 10
    return width, height


def _grid(reading: _Reading, body: Sequence[Row]) -> list[str]:
    if body and _COLUMNS.fullmatch(body[0][1]):
        body = body[1:]
    rows: list[_Marks] = []
    numbered = bool(body) and all(_NUMBERED.match(row) for _, row in body)
    for line, row in body:
        number = _NUMBERED.match(row) if numbered else None
        start = number.end() if number else 0
        squares = [(column, mark) for column, mark in enumerate(row[start:], start + 1) if not mark.isspace()]
        for column, mark in squares:
            if mark not in MARKS:
                meant = f"did you mean {_MEANT[mark]!r}? {_RIGHT}" if mark in _MEANT else _RIGHT
                reading.wrong(line, column, f"{mark!r} is no part of a board", meant)
                break
        rows.append((line, [(column, MARKS.get(mark, "?")) for column, mark in squares]))
    return _shaped(reading, rows)


def _listed(reading: _Reading, body: Sequence[Row]) -> list[str]:
    """Read rows of 0 and 1: in brackets, or each in a line of its own."""
    brackets = any("[" in row for _, row in body)
    rows: list[_Marks] = []
    opened = False
    for line, row in body:
        if not brackets:
            rows.append((line, []))
            opened = True
        for column, mark in enumerate(row[row.find("=") + 1 :], row.find("=") + 2):
            if mark == "[":
                opened = True
                rows.append((line, []))
            elif mark == "]":
                opened = False
            elif mark in "01" and opened:
                rows[-1][1].append((column, "." if mark == "0" else "#"))
            elif mark in "01":
                reading.wrong(line, column, "a number outside the rows", "write each row in brackets: [[0, 1], [0, 0]]")
    # The bracket around all rows opens a row too, with nothing in it.
    return _shaped(reading, [(line, row) for line, row in rows if row or not brackets])


def _shaped(reading: _Reading, rows: Sequence[_Marks]) -> list[str]:
    """Return the marks of ROWS; tell where their sizes are wrong."""
    if not any(row for _, row in rows):
        reading.wrong(1, 1, "no board is drawn here", f"draw rows of squares: {_RIGHT}; or list shots, such as B5 hit")
    width = len(rows[0][1]) if rows else 0
    for number, (line, row) in enumerate(rows):
        if len(row) != width:
            wrong = f"this row has {pluralize(len(row), 'square')}, the first one {width}"
            at = row[width][0] if len(row) > width else (row[-1][0] if row else 0) + 1
            reading.wrong(line, at, wrong, "all rows are as long as the first")
        elif len(row) > SIDE or number == SIDE:
            at = row[0][0] if number == SIDE else row[SIDE][0]
            reading.wrong(line, at, "the board is too large", f"it may have {SIDE} columns and {SIDE} rows")
            break
    return ["".join(mark for _, mark in row) for _, row in rows]


def _known(reading: _Reading, rows: Sequence[str], shot: Sequence[Ship]) -> list[Ship]:
    """Return the sunk ships that the heads "whole" name: they are drawn, and lie on none that was SHOT as a whole."""
    found: list[Ship] = []
    taken = {square for ship in shot for square in ship.squares}
    for line, column, word in reading.whole:
        ship = ship_of(word)
        if ship is None:
            reading.wrong(line, column, f"{word!r} is no ship", "name its first and last square, such as B5-B8")
        elif ship.end.x >= len(rows[0]) or ship.end.y >= len(rows):
            reading.wrong(line, column, f"{ship} is outside the sea", "columns are letters, rows are numbers")
        elif any(rows[y][x] != SUNK for x, y in ship.squares):
            reading.wrong(line, column, f"{ship} is not drawn as sunk", f"draw {SUNK} on all its squares")
        elif taken & set(ship.squares) and ship not in shot:
            reading.wrong(line, column, f"{ship} lies on another sunk ship", "two ships have no square in common")
        else:
            taken |= set(ship.squares)
            found.append(ship)
    return found
