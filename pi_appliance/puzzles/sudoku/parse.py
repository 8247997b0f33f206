"""Read sudokus, in the formats of docs/puzzles/sudoku.md."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from pi_appliance.errors import ConfigError, Problem
from pi_appliance.puzzles import pluralize
from pi_appliance.puzzles.rendering import listing_parser, parse_error
from pi_appliance.puzzles.sudoku.board import BOXES, EMPTY, SYMBOLS, Board, Solution

_NORMALIZE = str.maketrans("0*_" + SYMBOLS[9:].lower(), "..." + SYMBOLS[9:])
_SIZE_BY_CELLS = {size * size: size for size in BOXES}
# A field of such a length is surely meant as a grid.
_LONG_LENGTHS = [cells for cells, size in _SIZE_BY_CELLS.items() if size > 6]
_MIN_GRID_LENGTH = min(_SIZE_BY_CELLS)
_SEPARATORS = re.compile(r"[\s,;|]+")
_FIELD_PATTERN = re.compile(r'[^\s,;|"]+')
_LIST_PATTERN = re.compile(r"\s*\[[\[\]\s\d]*,[\[\]\s\d,]*")  # a row as programs print it
_NO_BRACKETS = str.maketrans("[]", "  ")
_BOX_DRAWING = dict.fromkeys(range(0x2500, 0x2580), "-") | str.maketrans("│┃║┆┇┊┋·•∙", "|||||||...")
_NINE_ROWS = re.compile(r"(?:[1-9 ]{0,9}\r?\n){8}[1-9 ]{0,9}\s*")
_RULER_PATTERN = re.compile(r"[-+=|*\s:]*[-=]{2}[-+=|*\s:]*")
_GRID_HELP = "a grid is 81 digits in one line, or 9 rows of 9, with 0 . * or _ for an empty cell"


class _LineGrid(NamedTuple):
    """A grid in one line: its column in the file, its cells, and the solution after it or ""."""

    column: int
    grid: str
    solution: str


class _DrawnRow(NamedTuple):
    """A row of a drawn grid: its line number, the column of each cell, and the cells."""

    line: int
    columns: list[int]
    cells: str


def parse(text: str, file: str = "board") -> Board:
    """Return the grids in `text`. Raises ConfigError with the first problem of each line."""
    grids: list[str] = []
    solutions: list[str] = []
    rows: list[_DrawnRow] = []
    problems: list[Problem] = []
    first: tuple[int, int] | None = None  # size and line of the first grid
    lines = list(_iter_rows(_fill_blanks(text.translate(_BOX_DRAWING))))
    drawn_lines = _find_sixteen_rows(lines)
    for line, row in lines:
        grid = None if line in drawn_lines else _read_line_grid(row)
        if rows and grid and len(grid.grid) in _LONG_LENGTHS:  # too long for a row of a drawing
            problems.append(_unfinished_problem(rows, file))
            rows = []
        if rows or grid is None:
            rows += _read_row(row, line, file, rows, problems, may_be_header=not grids)
            if not rows or len(rows) < len(rows[0].cells):
                continue
            start, rows, grid = rows[0].line, [], _LineGrid(0, "".join(each.cells for each in rows), "")
        else:
            start = line
        size = _SIZE_BY_CELLS[len(grid.grid)]
        if first is not None and first[0] != size:
            hint = f"the one in line {first[1]} is {first[0]}x{first[0]}: give each size its own file"
            problems.append(Problem(file, start, 1, f"this grid is {size}x{size}", hint))
        first = first or (size, start)
        problems += _check_symbols(grid, size, file, line)
        grids.append(grid.grid)
        solutions.append(grid.solution)
    if rows:
        problems.append(_unfinished_problem(rows, file))
    if not grids and not problems:
        problems.append(Problem(file, 1, 1, "no grid is drawn here", _GRID_HELP))
    if problems:
        raise ConfigError(problems)
    return Board(tuple(grids), first[0] if first else 9, tuple(solutions) if any(solutions) else ())


def parse_solution(board: Board, text: str, file: str = "solution") -> Solution:
    """Return the solution in `text`, with `# 17` after it for grid 17. Raises ConfigError."""
    digits, _, number = text.partition("#")
    indent = len(digits) - len(digits.lstrip())
    digits = digits.strip().translate(_NORMALIZE)
    cell_count = board.size**2
    allowed = SYMBOLS[: board.size]
    column = next(
        (at for at, symbol in enumerate(digits, 1) if symbol not in allowed), min(len(digits), cell_count) + 1
    )
    if len(digits) != cell_count or column <= cell_count:
        message = f"this is not a solution of {cell_count} cells"
        hint = f"write {cell_count} symbols from 1 to {allowed[-1]}"
        raise parse_error(file, 1, indent + column, message, hint)
    number = number.strip()
    if not number:
        for number_of_grid, grid in enumerate(board.grids, 1):
            if all(clue in (EMPTY, symbol) for clue, symbol in zip(grid, digits, strict=True)):
                return Solution(number_of_grid, digits)
        return Solution(1, digits)
    if number.isascii() and number.isdigit() and len(number) < 10 and 1 <= int(number) <= len(board.grids):
        return Solution(int(number), digits)
    hint = f"write the number of a grid after #, from 1 to {len(board.grids)}"
    raise parse_error(file, 1, text.index("#") + 1, f"there is no grid {number[:20]!r}", hint)


parse_listing = listing_parser(parse, parse_solution)


def _iter_rows(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number and text of each row that is not blank, a comment or a ruled line."""
    for number, line in enumerate(text.split("\n"), 1):
        row = line.partition("#")[0].rstrip()
        if _LIST_PATTERN.fullmatch(row):
            row = row.translate(_NO_BRACKETS).rstrip(", ")
        if row.strip() and not row.lstrip().startswith("[") and not _RULER_PATTERN.fullmatch(row):
            yield number, row


def _fill_blanks(text: str) -> str:
    """Replace blanks by dots if the text is nine rows of digits in fixed columns."""
    if not _NINE_ROWS.fullmatch(text) or not any(" " in row.strip() for row in text.split("\n")):
        return text
    return "\n".join(row.rstrip("\r").ljust(9)[:9].replace(" ", ".") for row in text.split("\n")[:9])


def _read_line_grid(row: str) -> _LineGrid | None:
    """Read a whole grid in one row. None if the row is not, and is not meant to be, a grid."""
    if len(row) < _MIN_GRID_LENGTH:
        return None
    fields = list(_FIELD_PATTERN.finditer(row))
    at = next((at for at, field in enumerate(fields) if _is_grid(field[0]) or len(field[0]) in _LONG_LENGTHS), None)
    if at is None:
        cells = _SEPARATORS.sub("", row)  # a large grid in one row with separators between its cells
        is_spread = len(cells) in _LONG_LENGTHS and _is_grid(cells)
        return _LineGrid(1, cells.translate(_NORMALIZE), "") if is_spread else None
    grid = fields[at][0].translate(_NORMALIZE)
    others = (field[0].translate(_NORMALIZE) for field in fields[at + 1 :])
    full = (other for other in others if len(other) == len(grid) and EMPTY not in other and _is_grid(other))
    return _LineGrid(fields[at].start() + 1, grid, next(full, ""))


def _is_grid(field: str) -> bool:
    size = _SIZE_BY_CELLS.get(len(field))
    return size is not None and not field.translate(_NORMALIZE).strip(SYMBOLS[:size] + EMPTY)


def _find_sixteen_rows(lines: list[tuple[int, str]]) -> set[int]:
    """Return the rows of 16 cells that belong to drawn 16x16 grids, not to a 4x4 each.

    They come in groups of sixteen, with a symbol that is too large for 4x4 or no symbol at all.
    """
    rows = [(number, _SEPARATORS.sub("", row).translate(_NORMALIZE)) for number, row in lines]
    drawn: set[int] = set()
    if rows and len(rows) % 16 == 0 and all(len(row) == 16 for _, row in rows):
        for start in range(0, len(rows), 16):
            group = rows[start : start + 16]
            symbols = set().union(*(row for _, row in group))
            if symbols - set("1234.") or symbols == {EMPTY}:
                drawn |= {number for number, _ in group}
    return drawn


def _read_row(
    row: str, line: int, file: str, above: list[_DrawnRow], problems: list[Problem], *, may_be_header: bool
) -> list[_DrawnRow]:
    """Read a row of a drawing; return nothing for a table header or a bad size."""
    read = _read_cells(row, line) or _read_numbers(row, line) or _read_symbols(row, line)
    size = len(above[0].cells) if above else len(read.cells)
    bad = next((at for at, symbol in enumerate(read.cells) if symbol not in SYMBOLS[:size] + EMPTY), None)
    if may_be_header and bad is not None and re.search("[,;]", row) and re.search("[a-z]{3}", row.casefold()):
        return []
    if size not in BOXES:
        hint = _GRID_HELP if size != 0 else "draw its cells, or remove it"
        problems.append(Problem(file, line, read.columns[0] if read.columns else 1, _describe_width(read), hint))
        return []
    if bad is not None:
        problems.append(_symbol_problem(read.cells[bad], size, file, line, read.columns[bad]))
        return [read._replace(cells=EMPTY * size)]
    if len(read.cells) != size:
        column = read.columns[min(size, len(read.cells) - 1)] if read.columns else 1
        problems.append(Problem(file, line, column, _describe_width(read), f"the rows above it have {size}"))
        return [read._replace(cells=EMPTY * size)]
    return [read]


def _read_symbols(row: str, line: int) -> _DrawnRow:
    symbols = [(at, symbol) for at, symbol in enumerate(row, 1) if not symbol.isspace() and symbol not in "|,;"]
    return _DrawnRow(line, [at for at, _ in symbols], "".join(symbol for _, symbol in symbols).translate(_NORMALIZE))


def _read_cells(row: str, line: int) -> _DrawnRow | None:
    """Read a row with separators between all cells, some of them blank. None if it is not."""
    body = row.strip().removeprefix("|").removesuffix("|")
    separator = next((mark for mark in "|,;" if mark in body), None)
    cells = body.split(separator)
    if len(cells) not in BOXES or all(cell.strip() for cell in cells) or any(len(cell.strip()) > 1 for cell in cells):
        return None
    columns, at = [], row.index(body) + 1
    for cell in cells:
        columns.append(at + len(cell) - len(cell.lstrip()) if cell.strip() else at)
        at += len(cell) + 1
    return _DrawnRow(line, columns, "".join(cell.strip() or EMPTY for cell in cells).translate(_NORMALIZE))


def _read_numbers(row: str, line: int) -> _DrawnRow | None:
    """Read a row of numbers, at least one with two digits. None if it is not."""
    fields = list(_FIELD_PATTERN.finditer(row))
    size = len(fields)
    if size not in BOXES or not any(len(field[0]) == 2 for field in fields):
        return None
    symbols = []
    for field in fields:
        text = field[0].translate(_NORMALIZE) if len(field[0]) == 1 else field[0]
        if text == EMPTY:
            symbols.append(text)
        elif text.isascii() and text.isdigit() and len(text) <= 2 and 1 <= int(text) <= size:
            symbols.append(SYMBOLS[int(text) - 1])
        else:
            return None
    return _DrawnRow(line, [field.start() + 1 for field in fields], "".join(symbols))


def _check_symbols(grid: _LineGrid, size: int, file: str, line: int) -> Iterator[Problem]:
    for at, symbol in enumerate(grid.grid):
        if symbol not in SYMBOLS[:size] + EMPTY:
            yield _symbol_problem(symbol, size, file, line, grid.column + at)
            return


def _describe_width(read: _DrawnRow) -> str:
    return f"this row has {pluralize(len(read.cells), 'cell')}"


def _unfinished_problem(rows: list[_DrawnRow], file: str) -> Problem:
    missing = len(rows[0].cells) - len(rows)
    message = f"the grid that begins here has {pluralize(len(rows), 'row')} of {len(rows[0].cells)} cells"
    hint = f"draw the {missing} that are missing" if missing > 1 else "draw the one that is missing"
    return Problem(file, rows[0].line, rows[0].columns[0], message, hint)


def _symbol_problem(symbol: str, size: int, file: str, line: int, column: int) -> Problem:
    hint = f"use 1 to {SYMBOLS[size - 1]}, and 0 . * or _ for an empty cell"
    return Problem(file, line, column, f"{symbol!r} is not a symbol of a {size}x{size} grid", hint)
