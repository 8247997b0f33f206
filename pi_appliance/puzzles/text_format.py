"""Listings, details, tables and drawings that all puzzles share; `board_report` has the reports.

A listing has "Starting Board" and the board; for each solution "Start Solution", the solution, and
"End Solution". A solution begins with its notation, unless the puzzle reads its solutions itself.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from html import escape
from itertools import takewhile
from typing import NamedTuple, TypeVar

from pi_appliance.errors import ConfigError, Problem
from pi_appliance.puzzles import Progress, Table

BOARD_HEADER, SOLUTION_START, SOLUTION_END = "Starting Board", "Start Solution", "End Solution"
READ_PROGRESS_INTERVAL = 50  # solutions
_ROW = re.compile(r"([^\r\n]*)(?:\r\n?|\n)?")  # matched line by line: splitlines takes ten times the memory of the text


Board = TypeVar("Board")
Solution = TypeVar("Solution")
Result = TypeVar("Result")
Rows = Iterator[tuple[int, str]]
"""Numbered rows of a listing, from 1."""


def parse_listing(
    text: str,
    file: str,
    progress: Progress,
    *,
    board_of: Callable[[str, str], Board],
    line_of: Callable[[Board, str, str], Solution] | None = None,
    read_solution: Callable[[Board, Rows, int], Solution] | None = None,
    is_blank: Callable[[str], bool] = lambda row: not row.strip(),
) -> Sequence[tuple[Board, Sequence[Solution]]]:
    """Return the boards in a listing, each with its solutions. Raises ConfigError.

    `board_of` parses a drawing, `line_of` the first row of a solution, `read_solution` all rows.
    """
    entries: list[tuple[Board, list[Solution]]] = []
    total = text.count("\n") + 1
    rows = enumerate((match[1] for match in _ROW.finditer(text)), 1)
    for number, row in rows:
        if row == BOARD_HEADER:
            drawing = "\n".join(row for _, row in take_drawing(rows, is_blank))
            entries.append((move_problems(partial(board_of, drawing, file), number), []))
        elif row == SOLUTION_START:
            if not entries:
                raise parse_error(file, number, 1, "a solution without a board", f"begin with {BOARD_HEADER!r}")
            board, lines = entries[-1]
            if not len(lines) % READ_PROGRESS_INTERVAL:
                progress(min(1.0, number / total), f"{len(lines):,} solutions read")
            if read_solution:
                lines.append(read_solution(board, rows, number))
            elif line_of:
                at, notation = _first_row(rows, number, file)
                lines.append(move_problems(partial(line_of, board, notation, file), at - 1))
        elif row == SOLUTION_END:
            raise parse_error(
                file, number, 1, "this solution does not begin", f"write {SOLUTION_START!r} above its first row"
            )
    if not entries:
        raise parse_error(file, 1, 1, "this is not a listing", f"begin with {BOARD_HEADER!r} and the board")
    return entries


def listing_parser(
    board_of: Callable[[str, str], Board], line_of: Callable[[Board, str, str], Solution]
) -> Callable[[str, str, Progress], Sequence[tuple[Board, Sequence[Solution]]]]:
    """Return the function `parse_listing` of a puzzle whose solutions begin with their notation."""
    return partial(parse_listing, board_of=board_of, line_of=line_of)


class Problems(list[Problem]):
    """The problems in a text.

    Parsing continues after a problem, so that all of them are reported.
    """

    def __init__(self, file: str) -> None:
        super().__init__()
        self.file = file

    def add(self, line: int, column: int, message: str, hint: str) -> None:
        """Add a problem."""
        self.append(Problem(self.file, line, column, message, hint))

    def add_error(self, line: int, column: int, error: Exception) -> None:
        """Add an error whose text has a message, a semicolon and a hint."""
        message, _, hint = str(error).partition("; ")
        self.add(line, column, message, hint)

    def raise_any(self) -> None:
        """Raise ConfigError if there is a problem."""
        if self:
            raise ConfigError(self)


class Token(NamedTuple):
    """A part of a text, and where it stands in the file."""

    text: str
    place: tuple[int, int]  # line and column, from 1


def find_tokens(text: str, pattern: str | re.Pattern[str] = r"\S+") -> Iterator[Token]:
    """Yield the matches of a pattern in each row of a text."""
    for line, row in enumerate(text.splitlines(), 1):
        yield from (Token(match[0], (line, match.start() + 1)) for match in re.finditer(pattern, row))


def parse_error(file: str, line: int, column: int, message: str, hint: str) -> ConfigError:
    """Return an error with one problem."""
    return ConfigError([Problem(file, line, column, message, hint)])


def take_drawing(rows: Rows, is_blank: Callable[[str], bool]) -> list[tuple[int, str]]:
    """Remove the rows up to the next blank one from `rows`, and return them."""
    return list(takewhile(lambda row: not is_blank(row[1]), rows))


def _first_row(rows: Rows, start: int, file: str) -> tuple[int, str]:
    first: tuple[int, str] | None = None
    for number, row in rows:
        if row == SOLUTION_END:
            return first or (number, "")
        if row.strip() and first is None:
            first = number, row
    raise unended_solution(file, start)


def unended_solution(file: str, start: int) -> ConfigError:
    """Return an error: the solution that begins in row `start` has no end."""
    return parse_error(file, start, 1, "this solution does not end", f"write {SOLUTION_END!r} below its last row")


def move_problems(read: Callable[[], Result], above: int) -> Result:
    """Call `read`. Add `above` to the line numbers of its problems."""
    try:
        return read()
    except ConfigError as error:
        problems = error.problems
        raise ConfigError([replace(each, line=each.line + above) for each in problems]) from None


def format_details(facts: Mapping[str, int | float | str]) -> dict[str, str]:
    """Return the details with labels and formatted values. The kernel mode is the last one."""
    in_order = sorted(facts.items(), key=lambda fact: fact[0] == "kernel")
    return {format_label(name): format_value(value) for name, value in in_order}


def render_rows(rows: Mapping[str, str]) -> str:
    """Return lines of the form `Name: value`."""
    return "".join(f"{name}: {value}\n" for name, value in rows.items())


def format_label(name: str) -> str:
    """Return a snake_case name as a label."""
    return name.replace("_", " ").capitalize()


def format_value(value: float | str) -> str:
    """Return a value with separators or rounded."""
    match value:
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.4g}" if abs(value) < 1_000 else f"{value:,.0f}"
    return str(value)


def render_table(table: Table) -> str:
    """Draw a table below its title, numbers right-aligned."""
    rows = [table.headers, *(tuple(map(format_value, row)) for row in table.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    right = [all(not isinstance(row[number], str) for row in table.rows) for number in range(len(widths))]
    formats = [f"{{:{'>' if to_the_right else '<'}{width}}}" for width, to_the_right in zip(widths, right, strict=True)]
    drawing = "".join("  ".join(formats).format(*row).rstrip() + "\n" for row in rows)
    return f"{table.title}\n{drawing}"


def svg_document(width: float, height: float, title: str, style: str, parts: Iterable[str]) -> str:
    """Return an SVG picture. Class names in `style` start with the name of the puzzle."""
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    start = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" style="max-width:100%;height:auto">'
    start += f"\n<title>{escape(title, quote=False)}</title>\n<style>{style}</style>"
    return "\n".join((start, *parts, "</svg>\n"))


def format_elapsed(seconds: float) -> str:
    """Return a duration such as 1.5 ms, 12 s or 2 h 5 min."""
    if seconds < 1:
        return f"{seconds * 1000:.1f} ms" if seconds < 0.1 else f"{seconds * 1000:.0f} ms"
    if seconds < 120:
        return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min {rest} s"
