"""Sudoku boards: one grid or the many of a file, their rules, the known boards, and parsing."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from pi_appliance.errors import InvalidOption
from pi_appliance.puzzles import Rule, Rules, Validation, check_rules, load_board, parse_number, pluralize
from pi_appliance.puzzles.deductions import LEVELS
from pi_appliance.puzzles.text_format import Problems, Token, listing_parser, parse_error

SYMBOLS = "123456789ABCDEFGHIJKLMNOP"
EMPTY = "."
_BOX_SIZES = ((2, 2), (3, 2), (4, 2), (3, 3), (5, 2), (4, 3), (5, 3), (4, 4), (5, 4), (5, 5))
BOXES = {width * height: (width, height) for width, height in _BOX_SIZES}
"""Width and height of a box, in cells, by the size of the grid."""
RULES: Mapping[str, Rule] = {
    "count-to": Rule("stop counting at this many solutions of a grid; all: count to the end", "all"),
    "difficulty": Rule("level of a new grid; default: any level", choices=LEVELS),
    "clues": Rule("number of clues of a new grid, such as 30; default: no redundant clue is left"),
}


class Solution(NamedTuple):
    """A solution: the number of its grid, counted from 1, and its symbols row by row."""

    grid: int
    digits: str


@dataclass(frozen=True, slots=True)
class Board:
    """Grids of one size, each a string of symbols row by row with `.` for an empty cell."""

    grids: tuple[str, ...]
    size: int = 9
    known_solutions: tuple[str, ...] = ()
    """Solutions from the file, one per grid ("" if missing); empty if there are none."""
    count_to: int | None = None  # stop counting at this many solutions; None: count all
    difficulty: str = ""  # level of a new grid, one of `LEVELS`; empty: any
    clues: int | None = None  # clues in a new grid; None: as few as possible

    @property
    def has_many_grids(self) -> bool:
        """Whether there is more than one grid."""
        return len(self.grids) > 1


class Unit(NamedTuple):
    """A row, a column or a box, and its cells."""

    name: str
    cells: tuple[int, ...]


class GridLayout(NamedTuple):
    """Units and peers of each cell. Cells are numbered in reading order from 0."""

    size: int
    units: tuple[Unit, ...]  # rows, then columns, then boxes
    units_of: tuple[tuple[int, int, int], ...]  # for each cell, the indices of its row, column and box in `units`
    peers: tuple[frozenset[int], ...]  # for each cell, the other cells that share a unit with it


@lru_cache(maxsize=16)
def grid_layout(size: int) -> GridLayout:
    """Return the layout of grids of `size`, one of `BOXES`."""
    width, height = BOXES[size]
    cells = range(size * size)
    units_of = tuple(
        (cell // size, size + cell % size, 2 * size + cell // size // height * (size // width) + cell % size // width)
        for cell in cells
    )
    names = [f"{kind} {number + 1}" for kind in ("row", "column", "box") for number in range(size)]
    units = tuple(
        Unit(name, tuple(cell for cell in cells if number in units_of[cell])) for number, name in enumerate(names)
    )
    peers = tuple(
        frozenset(other for number in units_of[cell] for other in units[number].cells) - {cell} for cell in cells
    )
    return GridLayout(size, units, units_of, peers)


def cell_name(cell: int, size: int) -> str:
    """Return the name of a cell, such as r1c9: row and column, counted from 1."""
    return f"r{cell // size + 1}c{cell % size + 1}"


MIN_CLUES = 17  # no 9x9 grid with fewer has a unique solution (McGuire et al., 2012)


def count_clues(grid: str) -> int:
    """Return the number of filled cells."""
    return len(grid) - grid.count(EMPTY)


def describe(board: Board | str) -> str:
    """Return the size of the board, and the rules that differ from the default."""
    board = load_board(board, Board)
    size = f"{board.size}x{board.size}"
    if board.has_many_grids:
        parts = [f"{pluralize(len(board.grids), 'grid')} of {size}"]
    else:
        parts = [f"{pluralize(count_clues(board.grids[0]), 'clue')} in {size} cells"]
    if board.count_to is not None:
        parts.append(f"counted to {board.count_to:,}")
    if board.difficulty:
        parts.append(f"new grids {board.difficulty}")
    if board.clues is not None:
        parts.append(f"new grids with {pluralize(board.clues, 'clue')}")
    return ", ".join(parts)


def with_rules(board: Board | str, rules: Rules) -> Board:
    """Return the board with these rules. Raises UnknownName, InvalidOption.

    >>> from pi_appliance.puzzles import sudoku
    >>> board = sudoku.with_rules("sample", {"difficulty": "medium"})
    >>> sudoku.generate(7, board).details["difficulty"]
    'medium'
    """
    board = load_board(board, Board)
    values = check_rules("sudoku", RULES, rules)
    if clues := values.get("clues"):
        board = replace(board, clues=parse_number("clues", clues, 1, board.size**2))
        if board.size == 9 and board.clues is not None and board.clues < MIN_CLUES:
            message = f"clues: no sudoku of {pluralize(board.clues, 'clue')} has only one solution"
            raise InvalidOption(f"{message}; write {MIN_CLUES} or more")
    elif clues == "":
        board = replace(board, clues=None)
    if limit := values.get("count-to"):
        board = replace(board, count_to=None if limit == "all" else parse_number("count-to", limit, 1))
    return replace(board, difficulty=values.get("difficulty", board.difficulty))


def draw_grid(grid: str, size: int) -> str:
    """Draw a grid with lines between its boxes."""
    width, height = BOXES[size]
    ruler = "+".join(["-" * (2 * width + 1)] * (size // width))[1:-1] + "\n"
    boxes = [" ".join(grid[at : at + width]) for at in range(0, size * size, width)]
    rows = [" | ".join(boxes[at : at + size // width]) + "\n" for at in range(0, len(boxes), size // width)]
    return ruler.join("".join(rows[top : top + height]) for top in range(0, size, height))


_KNOWN_GRIDS = {
    # The sample of the original project: half a minute if digits are just tried.
    "sample": "..4..17...8..2....2...7.......5.3.78..5...4..96.1.4.......5...9....1..6...17..2..",
    # No grid with fewer than 17 clues has a unique solution.
    "seventeen": ".......1.4.........2...........5.4.7..8...3....1.9....3..4..2...5.1........8.6...",
    # The first row of its solution is 987654321: the worst case for trying from 1 upwards.
    "uphill": "..............3.85..1.2.......5.7.....4...1...9.......5......73..2.1........4...9",
    # Four grids that were called the hardest of their year.
    "escargot": "1....7.9..3..2...8..96..5....53..9...1..8...26....4...3......1..4......7..7...3..",
    "everest": "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4..",
    "nugget": ".......39.....1..5..3.5.8....8.9...6.7...2...1..4.......9.8..5..2....6..4..7.....",
    "monster": "1.......2.9.4...5...6...7...5.9.3.......7.......85..4.7.....6...3...9.8...2.....1",
    # No solution, for whose proof some programs need millions of guesses.
    "impossible": ".....5.8....6.1.43..........1.5........1.6...3.......553.....61........4.........",
    # "seventeen" with one clue removed.
    "sixteen": ".......1.4.........2...........5.4.7..8...3....1.9....3..4..2...5.1........8.....",
}
BOARDS: Mapping[str, str] = {name: draw_grid(grid, 9) for name, grid in _KNOWN_GRIDS.items()}


def check(board: Board | str, solution: Solution) -> Validation:
    """Check whether `solution` solves its grid; the error names the wrong cell or unit.

    >>> from pi_appliance.puzzles import sudoku
    >>> bool(sudoku.check("sample", next(sudoku.solve("sample").solutions)))
    True
    >>> sudoku.check("sample", sudoku.Solution(1, "1" * 81)).error
    'row 1, column 3: it says 1, but the clue there is 4'
    """
    board = load_board(board, Board)
    number, digits = solution
    if not 1 <= number <= len(board.grids):
        return Validation(f"there is no grid {number}: there are {len(board.grids)}")
    size, grid = board.size, board.grids[number - 1]
    if len(digits) != size * size:
        return Validation(f"it has {len(digits)} cells, the grid has {size * size}")
    for cell, (clue, symbol) in enumerate(zip(grid, digits, strict=True)):
        where = f"row {cell // size + 1}, column {cell % size + 1}"
        if symbol not in SYMBOLS[:size]:
            return Validation(f"{where}: {symbol!r} is not from 1 to {SYMBOLS[size - 1]}")
        if clue not in (EMPTY, symbol):
            return Validation(f"{where}: it says {symbol}, but the clue there is {clue}")
    for number in range(size):
        for unit in grid_layout(size).units[number::size]:  # number-th row, column and box
            symbols = [digits[cell] for cell in unit.cells]
            if len(set(symbols)) != size:
                repeated = next(symbol for symbol in symbols if symbols.count(symbol) > 1)
                return Validation(f"{unit.name}: {repeated} stands there {symbols.count(repeated)} times")
    return Validation()


_NORMALIZE = str.maketrans("0*_" + SYMBOLS[9:].lower(), "..." + SYMBOLS[9:])
_CLUE_MASK = bytes(0 if byte == ord(EMPTY) else 255 for byte in range(256))
_SIZE_BY_CELLS = {size * size: size for size in BOXES}
# A field of such a length is certainly meant as a grid.
_LONG_LENGTHS = [cells for cells, size in _SIZE_BY_CELLS.items() if size > 6]
_MIN_GRID_LENGTH = min(_SIZE_BY_CELLS)
_SEPARATORS = re.compile(r"[\s,;|]+")
_FIELD_PATTERN = re.compile(r'[^\s,;|"]+')
_LIST_PATTERN = re.compile(r"\s*\[[\[\]\s\d]*,[\[\]\s\d,]*")  # a row as programs print a list
_NO_BRACKETS = str.maketrans("[]", "  ")
_BOX_DRAWING = dict.fromkeys(range(0x2500, 0x2580), "-") | str.maketrans("│┃║┆┇┊┋·•∙", "|||||||...")
_NINE_ROWS = re.compile(r"(?:[1-9 ]{0,9}\r?\n){8}[1-9 ]{0,9}\s*")
_RULER_PATTERN = re.compile(r"[-+=|*\s:]*[-=]{2}[-+=|*\s:]*")
_PLAIN_HEADER = re.compile(r"\A(?:puzzles?|quizzes|grids?),solutions?[ \t\r]*\n")
_BLANKS, _FIELD_ENDS = " \t\r", " \t,;"
_CELLS, _DIGITS = b"123456789.0*_", b"123456789"
_GRID_HELP = "a grid is 81 digits in one line, or 9 rows of 9, with 0 . * or _ for an empty cell"


class _LineGrid(NamedTuple):
    """A grid in one line of a file: its column, its cells, and the solution after it or "".

    `wrong` is the column of a mistake in the solution, the mistake and its correction.
    """

    column: int
    grid: str
    solution: str
    wrong: tuple[int, str, str] | None = None


_Cells = list[tuple[int, str]]  # the column and the symbol of each cell


def parse(text: str, file: str = "board") -> Board:
    """Return the grids in `text`. Raises ConfigError with the first problem of each line.

    >>> from pi_appliance.puzzles import sudoku
    >>> sudoku.parse(sudoku.BOARDS["seventeen"]).size
    9
    """
    return _parse_plain_lines(text) or _parse_any(text, file)


def _parse_plain_lines(text: str) -> Board | None:
    """Return the 9x9 grids of a text that has one in each line, and nothing unusual; else None.

    A few calls for the whole text make this ten times as fast as reading its lines one by one.
    """
    lines = _PLAIN_HEADER.sub("\n", text, count=1).split("\n")
    if any(mark in text for mark in f"#{_BLANKS}"):
        lines = [line.partition("#")[0].strip(_BLANKS) for line in lines]
    grids, solutions = list(filter(None, lines)), list[str]()
    if set(map(len, grids)) != {81}:
        if not all(line[81:82] in _FIELD_ENDS for line in grids):
            return None
        solutions = [line[81:].lstrip(_FIELD_ENDS) for line in grids]
        grids = [line[:81] for line in grids]
    if not _are_all_of(grids, _CELLS, {81}) or not _are_all_of(solutions, _DIGITS, {0, 81}):
        return None
    joined = "".join(grids)
    normal = joined.translate(_NORMALIZE)
    if normal != joined:
        grids = [normal[start : start + 81] for start in range(0, len(normal), 81)]
    if not any(solutions):
        return Board(tuple(grids)) if grids else None
    solved = "".join([grid for grid, solution in zip(grids, solutions, strict=True) if solution])
    if not _keeps_clues("".join(solutions).encode(), solved.encode()):
        return None  # the slower parser reports where the text is wrong
    return Board(tuple(grids), known_solutions=tuple(solutions))


def _are_all_of(fields: list[str], symbols: bytes, lengths: set[int]) -> bool:
    joined = "".join(fields)
    return lengths.issuperset(map(len, fields)) and joined.isascii() and not joined.encode().translate(None, symbols)


def _parse_any(text: str, file: str) -> Board:
    grids: list[str] = []
    solutions: list[str] = []
    rows: list[Token] = []  # rows of a drawn grid
    problems = Problems(file)
    first: tuple[int, int] | None = None  # size and line number of the first grid
    lines = list(_iter_rows(_fill_blanks(text.translate(_BOX_DRAWING))))
    drawn_lines = _find_sixteen_rows(lines)
    for line, row in lines:
        grid = None if line in drawn_lines else _read_line_grid(row)
        if rows and grid and len(grid.grid) in _LONG_LENGTHS:  # it is too long to be a row of a drawing
            _add_unfinished(rows, problems)
            rows = []
        if rows or grid is None:
            rows += _read_row(row, line, rows, problems, may_be_header=not grids)
            if not rows or len(rows) < len(rows[0].text):
                continue
            start, rows, grid = rows[0].place[0], [], _LineGrid(0, "".join(each.text for each in rows), "")
        else:
            start = line
        size = _SIZE_BY_CELLS[len(grid.grid)]
        if first is not None and first[0] != size:
            hint = f"the one in line {first[1]} is {first[0]}x{first[0]}: give each size its own file"
            problems.add(start, 1, f"this grid is {size}x{size}", hint)
        first = first or (size, start)
        if wrong := grid.grid.strip(SYMBOLS[:size] + EMPTY)[:1]:
            _add_wrong_symbol(wrong, size, line, grid.column + grid.grid.index(wrong), problems)
        elif grid.wrong:
            problems.add(line, *grid.wrong)
        grids.append(grid.grid)
        solutions.append(grid.solution)
    if rows:
        _add_unfinished(rows, problems)
    if not grids and not problems:
        problems.add(1, 1, "no grid is drawn here", _GRID_HELP)
    problems.raise_any()
    return Board(tuple(grids), first[0] if first else 9, tuple(solutions) if any(solutions) else ())


def parse_solution(board: Board | str, text: str, file: str = "solution") -> Solution:
    """Return the solution in `text`, with `# 17` after it for grid 17. Raises ConfigError."""
    board = load_board(board, Board)
    digits, _, number = text.partition("#")
    indent = len(digits) - len(digits.lstrip())
    digits = digits.strip().translate(_NORMALIZE)
    cell_count = board.size**2
    allowed = SYMBOLS[: board.size]
    wrong = (at for at, symbol in enumerate(digits, 1) if symbol not in allowed)
    column = next(wrong, min(len(digits), cell_count) + 1)
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
    """Read a whole grid in one row. Return None if the row is not meant to be a grid."""
    if len(row) < _MIN_GRID_LENGTH:
        return None
    fields = list(_FIELD_PATTERN.finditer(row))
    at = next((at for at, field in enumerate(fields) if _is_grid(field[0]) or len(field[0]) in _LONG_LENGTHS), None)
    if at is None:
        cells = _SEPARATORS.sub("", row)  # a large grid in one row with separators between its cells
        is_spread = len(cells) in _LONG_LENGTHS and _is_grid(cells)
        return _LineGrid(1, cells.translate(_NORMALIZE), "") if is_spread else None
    grid = fields[at][0].translate(_NORMALIZE)
    column, others = fields[at].start() + 1, fields[at + 1 :]
    long = (
        each for each in others if len(each[0]) > len(grid) // 2 and 2 * sum(map(str.isdigit, each[0])) > len(each[0])
    )
    other = next((each for each in others if len(each[0]) == len(grid)), None) or next(long, None)
    if other is None:
        return _LineGrid(column, grid, "")
    solution = other[0].translate(_NORMALIZE)
    return _LineGrid(column, grid, solution, _find_wrong_cell(solution, grid, other.start() + 1))


def _find_wrong_cell(solution: str, grid: str, first: int) -> tuple[int, str, str] | None:
    """Return column, problem and correction of the first wrong cell of a solution of `grid`."""
    size = _SIZE_BY_CELLS.get(len(grid), 0)
    if len(solution) != len(grid):
        message = f"this solution has {pluralize(len(solution), 'cell')}, and its grid {len(grid)}"
        return first, message, "write one symbol for each cell, or remove the solution"
    if not solution.strip(SYMBOLS[:size]) and _keeps_clues(solution.encode(), grid.encode()):
        return None  # checked first, because a file may have a million rows
    for at, (symbol, clue) in enumerate(zip(solution, grid, strict=True), first):
        if symbol not in SYMBOLS[:size]:
            return at, f"{symbol!r} is not a cell of a solution", f"use 1 to {SYMBOLS[size - 1]}"
        if clue not in (EMPTY, symbol):
            return at, f"the solution says {symbol} here, but the clue is {clue}", "correct one of the two"
    return None


def _is_grid(field: str) -> bool:
    size = _SIZE_BY_CELLS.get(len(field))
    return size is not None and not field.translate(_NORMALIZE).strip(SYMBOLS[:size] + EMPTY)


def _keeps_clues(solution: bytes, grid: bytes) -> bool:
    """Return whether `solution` equals `grid` in every cell with a clue.

    One comparison of large numbers is faster than a loop over the cells.
    """
    clues = int.from_bytes(grid.translate(_CLUE_MASK))
    return (int.from_bytes(solution) ^ int.from_bytes(grid)) & clues == 0


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


def _read_row(row: str, line: int, above: list[Token], problems: Problems, *, may_be_header: bool) -> list[Token]:
    """Read a row of a drawing; return nothing for a table header or a bad size."""
    symbols = [(at, mark) for at, mark in enumerate(row, 1) if not mark.isspace() and mark not in "|,;"]
    read = _read_cells(row) or _read_numbers(row) or symbols
    columns, cells = [column for column, _ in read] or [1], "".join(symbol for _, symbol in read).translate(_NORMALIZE)
    width = len(cells)
    size = len(above[0].text) if above else width
    wrong = cells.strip(SYMBOLS[:size] + EMPTY)[:1]
    if may_be_header and wrong and re.search("[,;]", row) and re.search("[a-z]{3}", row.casefold()):
        return []
    message = f"this row has {pluralize(width, 'cell')}"
    if size not in BOXES:
        problems.add(line, columns[0], message, _GRID_HELP if size != 0 else "draw its cells, or remove it")
        return []
    if wrong:
        _add_wrong_symbol(wrong, size, line, columns[cells.index(wrong)], problems)
    elif width != size:
        problems.add(line, columns[min(size, width - 1)], message, f"the rows above it have {size}")
    else:
        return [Token(cells, (line, columns[0]))]
    return [Token(EMPTY * size, (line, columns[0]))]


def _read_cells(row: str) -> _Cells:
    """Read a row that has separators between all cells, some of them blank.

    Return nothing if the row has another form.
    """
    body = row.strip().removeprefix("|").removesuffix("|")
    separator = next((mark for mark in "|,;" if mark in body), None)
    fields = body.split(separator)
    if len(fields) not in BOXES or all(field.strip() for field in fields) or any(len(f.strip()) > 1 for f in fields):
        return []
    cells, at = _Cells(), row.index(body) + 1
    for field in fields:
        indent = len(field) - len(field.lstrip()) if field.strip() else 0
        cells.append((at + indent, field.strip() or EMPTY))
        at += len(field) + 1
    return cells


def _read_numbers(row: str) -> _Cells:
    """Read a row of numbers, at least one of them with two digits.

    Return nothing if the row has another form.
    """
    fields = [(field.start() + 1, field[0]) for field in _FIELD_PATTERN.finditer(row)]
    size = len(fields)
    if size not in BOXES or not any(len(text) == 2 for _, text in fields):
        return []
    cells = _Cells()
    for column, text in fields:
        if text.translate(_NORMALIZE) == EMPTY:
            cells.append((column, EMPTY))
        elif text.isascii() and text.isdigit() and len(text) <= 2 and 1 <= int(text) <= size:
            cells.append((column, SYMBOLS[int(text) - 1]))
        else:
            return []
    return cells


def _add_unfinished(rows: list[Token], problems: Problems) -> None:
    missing = len(rows[0].text) - len(rows)
    message = f"the grid that begins here has {pluralize(len(rows), 'row')} of {len(rows[0].text)} cells"
    hint = f"draw the {missing} that are missing" if missing > 1 else "draw the one that is missing"
    problems.add(*rows[0].place, message, hint)


def _add_wrong_symbol(symbol: str, size: int, line: int, column: int, problems: Problems) -> None:
    hint = f"use 1 to {SYMBOLS[size - 1]}, and 0 . * or _ for an empty cell"
    problems.add(line, column, f"{symbol!r} is not a symbol of a {size}x{size} grid", hint)
