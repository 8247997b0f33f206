"""Reads sudokus: a grid a line, drawn grids with or without lines between the boxes, tables with their solutions.

A `#` begins a comment, and a row in square brackets is one unless it is a list of numbers. Empty squares are 0 . * or
_; beyond 9 the symbols go on with A, B, C, or are numbers with blanks between them. A grid in one line may have more
fields behind or before it, with commas, semicolons or blanks between: a full grid of the same size is its solution,
what else there is does not count. Where a line or a comma stands between all squares of a row, or nine rows have
nothing but digits and blanks, an empty square may be blank.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from pi_appliance.errors import ConfigError, Problem
from pi_appliance.puzzles import pluralize
from pi_appliance.puzzles.sudoku.board import BOXES, EMPTY, SYMBOLS, Board, Solution

_AS_ONE = str.maketrans("0*_" + SYMBOLS[9:].lower(), "..." + SYMBOLS[9:])
_LONG = [size * size for size in BOXES if size > 6]  # what is so long in one piece is meant to be a grid
_SQUARES = {size * size: size for size in BOXES}
_BETWEEN = re.compile(r"[\s,;|]+")
_FIELD = re.compile(r'[^\s,;|"]+')
_LIST = re.compile(r"\s*\[[\[\]\s\d]*,[\[\]\s\d,]*")  # as programs print rows
_NO_BRACKETS = str.maketrans("[]", "  ")
_PRINTED = dict.fromkeys(range(0x2500, 0x2580), "-") | str.maketrans("│┃║┆┇┊┋·•∙", "|||||||...")  # boxes of terminals
_NINE = re.compile(r"(?:[1-9 ]{0,9}\r?\n){8}[1-9 ]{0,9}\s*")
_RULER = re.compile(r"[-+=|*\s:]*[-=]{2}[-+=|*\s:]*")
_RIGHT = "a grid is 81 digits in one line, or 9 rows of 9, with 0 . * or _ for an empty square"


class _Record(NamedTuple):
    """A grid in one line: its column there, its squares, and those of its solution if it stands behind it."""

    column: int
    grid: str
    solution: str


class _Row(NamedTuple):
    """A row of a drawing: where it stands, the column of each square in the file, and the squares."""

    number: int
    columns: list[int]
    squares: str


def parse(text: str, file: str) -> Board:
    """Return the grids in TEXT. Raises ConfigError with the first problem of each line; FILE is the name they go by."""
    grids: list[str] = []
    known: list[str] = []
    rows: list[_Row] = []
    problems: list[Problem] = []
    first: tuple[int, int] | None = None  # the size of the first grid, and its line
    lines = list(_lines(_with_dots(text.translate(_PRINTED))))
    sixteens = _drawn_in_sixteen(lines)
    for number, row in lines:
        record = None if number in sixteens else _record(row)
        if rows and record and len(record.grid) in _LONG:  # no row of a drawing is as long
            problems.append(_unfinished(rows, file))
            rows = []
        if rows or record is None:
            rows += _row(row, number, file, rows, problems, is_head=not grids)
            if not rows or len(rows) < len(rows[0].squares):
                continue
            start, rows, record = rows[0].number, [], _Record(0, "".join(each.squares for each in rows), "")
        else:
            start = number
        size = _SQUARES[len(record.grid)]
        if first is not None and first[0] != size:
            problems.append(_other_size(file, start, size, *first))
        first = first or (size, start)
        problems += _foreign(record, size, file, number)
        grids.append(record.grid)
        known.append(record.solution)
    if rows:
        problems.append(_unfinished(rows, file))
    if not grids and not problems:
        problems.append(Problem(file, 1, 1, "no grid is drawn here", _RIGHT))
    if problems:
        raise ConfigError(problems)
    return Board(tuple(grids), first[0] if first else 9, tuple(known) if any(known) else ())


def _unfinished(rows: list[_Row], file: str) -> Problem:
    missing = len(rows[0].squares) - len(rows)
    wrong = f"the grid that begins here has {pluralize(len(rows), 'row')} of {len(rows[0].squares)} squares"
    right = f"draw the {missing} that are missing" if missing > 1 else "draw the one that is missing"
    return Problem(file, rows[0].number, rows[0].columns[0], wrong, right)


def parse_solution(board: Board, text: str, file: str) -> Solution:
    """Return the solution that TEXT is: all squares in one line, `# 17` behind it for grid 17. Raises ConfigError."""
    digits, _, number = text.partition("#")
    indent = len(digits) - len(digits.lstrip())
    digits = digits.strip().translate(_AS_ONE)
    squares = board.size**2
    allowed = SYMBOLS[: board.size]
    column = next((at for at, mark in enumerate(digits, 1) if mark not in allowed), min(len(digits), squares) + 1)
    if len(digits) != squares or column <= squares:
        wrong = f"this is no solution of {squares} squares"
        raise ConfigError(
            [Problem(file, 1, indent + column, wrong, f"write {squares} symbols from 1 to {allowed[-1]}")]
        )
    number = number.strip()
    if not number:
        fits = (n for n, grid in enumerate(board.grids, 1) if _fits(grid, digits))
        return Solution(next(fits, 1), digits)
    if number.isascii() and number.isdigit() and len(number) < 10 and 1 <= int(number) <= len(board.grids):
        return Solution(int(number), digits)
    right = f"behind # stands the number of a grid, 1 to {len(board.grids)}"
    raise ConfigError([Problem(file, 1, text.index("#") + 1, f"there is no grid {number[:20]!r}", right)])


def _fits(grid: str, digits: str) -> bool:
    return all(clue in (EMPTY, mark) for clue, mark in zip(grid, digits, strict=True))


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each row that is not blank, comment or a ruled line, with its number."""
    for number, whole in enumerate(text.split("\n"), 1):
        row = whole.partition("#")[0].rstrip()
        if _LIST.fullmatch(row):
            row = row.translate(_NO_BRACKETS).rstrip(", ")
        if row.strip() and not row.lstrip().startswith("[") and not _RULER.fullmatch(row):
            yield number, row


def _with_dots(text: str) -> str:
    """Return TEXT, with dots for the blanks where it is nine rows of digits, each in its column."""
    if not _NINE.fullmatch(text) or not any(" " in row.strip() for row in text.split("\n")):
        return text
    return "\n".join(row.rstrip("\r").ljust(9)[:9].replace(" ", ".") for row in text.split("\n")[:9])


def _record(row: str) -> _Record | None:
    """Return the grid that ROW is all by itself, or is meant to be; None if it is none."""
    if len(row) < 16:
        return None
    fields = list(_FIELD.finditer(row))
    at = next((at for at, field in enumerate(fields) if _is_grid(field[0]) or len(field[0]) in _LONG), None)
    if at is None:
        return _spread(row)
    grid = fields[at][0].translate(_AS_ONE)
    others = (field[0].translate(_AS_ONE) for field in fields[at + 1 :])
    full = (other for other in others if len(other) == len(grid) and EMPTY not in other and _is_grid(other))
    return _Record(fields[at].start() + 1, grid, next(full, ""))


def _spread(row: str) -> _Record | None:
    """Return the large grid that ROW is with something between its squares; None if it is none."""
    squares = _BETWEEN.sub("", row)
    return _Record(1, squares.translate(_AS_ONE), "") if len(squares) in _LONG and _is_grid(squares) else None


def _is_grid(field: str) -> bool:
    """Whether FIELD is nothing but squares: a word of 16 letters is no grid of 4x4."""
    size = _SQUARES.get(len(field))
    return size is not None and not field.translate(_AS_ONE).strip(SYMBOLS[:size] + EMPTY)


def _drawn_in_sixteen(lines: list[tuple[int, str]]) -> set[int]:
    """Return the rows of 16 squares that are drawn grids of 16x16 and not grids of 4x4, a grid a line.

    They come in sixteens, and some symbol in them is too large for 4x4, or they have none at all.
    """
    squares = [(number, _BETWEEN.sub("", row).translate(_AS_ONE)) for number, row in lines]
    found: set[int] = set()
    if squares and len(squares) % 16 == 0 and all(len(row) == 16 for _, row in squares):
        for start in range(0, len(squares), 16):
            some = squares[start : start + 16]
            marks = set().union(*(row for _, row in some))
            if marks - set("1234.") or marks == {EMPTY}:
                found |= {number for number, _ in some}
    return found


def _row(row: str, number: int, file: str, above: list[_Row], problems: list[Problem], *, is_head: bool) -> list[_Row]:
    """Return ROW as a row of a drawing, or nothing if it is the head of a table; a problem is added to PROBLEMS."""
    read = _cells(row, number) or _numbers(row, number) or _symbols(row, number)
    size = len(above[0].squares) if above else len(read.squares)
    strange = next((at for at, mark in enumerate(read.squares) if mark not in SYMBOLS[:size] + EMPTY), None)
    if is_head and strange is not None and re.search("[,;]", row) and re.search("[a-z]{3}", row.casefold()):
        return []
    if size not in BOXES:
        right = _RIGHT if size != 0 else "draw its squares, or take it away"
        problems.append(Problem(file, number, read.columns[0] if read.columns else 1, _wide(read), right))
        return []
    if strange is not None:
        problems.append(_strange(read.squares[strange], size, file, number, read.columns[strange]))
        return [read._replace(squares=EMPTY * size)]
    if len(read.squares) != size:
        column = read.columns[min(size, len(read.squares) - 1)] if read.columns else 1
        problems.append(Problem(file, number, column, _wide(read), f"the rows above it have {size}"))
        return [read._replace(squares=EMPTY * size)]
    return [read]


def _wide(read: _Row) -> str:
    return f"this row has {len(read.squares)} square{'s' * (len(read.squares) != 1)}"


def _symbols(row: str, number: int) -> _Row:
    drawn = [(at, mark) for at, mark in enumerate(row, 1) if not mark.isspace() and mark not in "|,;"]
    return _Row(number, [at for at, _ in drawn], "".join(mark for _, mark in drawn).translate(_AS_ONE))


def _cells(row: str, number: int) -> _Row | None:
    """Return ROW as squares with a line or comma between all of them, some blank; None if it is not written so."""
    body = row.strip().removeprefix("|").removesuffix("|")
    between = next((mark for mark in "|,;" if mark in body), None)
    cells = body.split(between)
    if len(cells) not in BOXES or all(cell.strip() for cell in cells) or any(len(cell.strip()) > 1 for cell in cells):
        return None
    columns, at = [], row.index(body) + 1
    for cell in cells:
        columns.append(at + len(cell) - len(cell.lstrip()) if cell.strip() else at)
        at += len(cell) + 1
    return _Row(number, columns, "".join(cell.strip() or EMPTY for cell in cells).translate(_AS_ONE))


def _numbers(row: str, number: int) -> _Row | None:
    """Return ROW as numbers with blanks between them; None if it is not written so."""
    found = list(_FIELD.finditer(row))
    size = len(found)
    if size not in BOXES or not any(len(each[0]) == 2 for each in found):
        return None
    marks = []
    for each in found:
        field = each[0].translate(_AS_ONE) if len(each[0]) == 1 else each[0]
        if field == EMPTY:
            marks.append(field)
        elif field.isascii() and field.isdigit() and len(field) <= 2 and 1 <= int(field) <= size:
            marks.append(SYMBOLS[int(field) - 1])
        else:
            return None
    return _Row(number, [each.start() + 1 for each in found], "".join(marks))


def _strange(mark: str, size: int, file: str, number: int, column: int) -> Problem:
    right = f"use 1 to {SYMBOLS[size - 1]}, and 0 . * or _ for an empty square"
    return Problem(file, number, column, f"{mark!r} is no symbol of a {size}x{size} grid", right)


def _foreign(record: _Record, size: int, file: str, number: int) -> Iterator[Problem]:
    """Yield the first square of a grid in one line that holds no symbol of its SIZE."""
    for at, mark in enumerate(record.grid):
        if mark not in SYMBOLS[:size] + EMPTY:
            yield _strange(mark, size, file, number, record.column + at)
            return


def _other_size(file: str, number: int, size: int, first: int, where: int) -> Problem:
    wrong = f"this grid is {size}x{size}"
    return Problem(file, number, 1, wrong, f"the one in line {where} is {first}x{first}: give each size its own file")
