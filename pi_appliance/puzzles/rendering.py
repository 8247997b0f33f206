"""Text and SVG that all puzzles share: listings of solutions, details, tables and pictures.

A listing has "Starting Board" and the board; for each solution "Start Solution", the solution, and "End Solution". The
first non-empty row of a solution is its notation, unless the puzzle reads its listings itself. Other text is ignored.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

from pi_appliance.errors import ConfigError, Problem
from pi_appliance.puzzles import Progress, Puzzle, SolveResult, Table

BOARD_HEADER, SOLUTION_START, SOLUTION_END = "Starting Board", "Start Solution", "End Solution"
READ_PROGRESS_INTERVAL = 50  # solutions


def parse_listing(
    text: str,
    file: str,
    progress: Progress,
    *,
    board_of: Callable[[str, str], Any],
    line_of: Callable[[Any, str, str], Any],
) -> Sequence[tuple[Any, Sequence[Any]]]:
    """Return each board of a listing with its solutions.

    Args:
        text: the listing.
        file: its name in messages.
        progress: receives progress.
        board_of: parses a drawing: `board_of(drawing, file)`.
        line_of: parses a solution: `line_of(board, row, file)`.

    Raises:
        ConfigError: with the row of each problem.

    """
    found: list[tuple[Any, list[Any]]] = []
    texts = text.splitlines()
    rows = enumerate(texts, 1)
    for number, row in rows:
        if row == BOARD_HEADER:
            drawing = "\n".join(row for _, row in _until_empty(rows))
            found.append((_placed(partial(board_of, drawing, file), number), []))
        elif row == SOLUTION_START:
            if not found:
                raise ConfigError(
                    [Problem(file, number, 1, "a solution without a board", f"begin with {BOARD_HEADER!r}")]
                )
            board, lines = found[-1]
            if not len(lines) % READ_PROGRESS_INTERVAL:
                progress(number / len(texts), f"{len(lines):,} solutions read")
            at, notation = _solution(rows, number, file)
            lines.append(_placed(partial(line_of, board, notation, file), at - 1))
        elif row == SOLUTION_END:
            right = f"write {SOLUTION_START!r} above its first row"
            raise ConfigError([Problem(file, number, 1, "this solution does not begin", right)])
    if not found:
        raise ConfigError([Problem(file, 1, 1, "this is not a listing", f"begin with {BOARD_HEADER!r} and the board")])
    return found


def _until_empty(rows: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    for number, row in rows:
        if not row.strip():
            return
        yield number, row


def _solution(rows: Iterator[tuple[int, str]], start: int, file: str) -> tuple[int, str]:
    """Consume the rows of the solution that begins in row `start`; return the first non-empty one."""
    first: tuple[int, str] | None = None
    for number, row in rows:
        if row == SOLUTION_END:
            return first or (number, "")
        if row.strip() and first is None:
            first = number, row
    raise ConfigError(
        [Problem(file, start, 1, "this solution does not end", f"write {SOLUTION_END!r} below its last row")]
    )


def _placed(read: Callable[[], Any], above: int) -> Any:
    """Call `read`; move its problems down by `above` rows."""
    try:
        return read()
    except ConfigError as error:
        raise ConfigError(
            [Problem(each.file, each.line + above, each.column, each.message, each.hint) for each in error.problems]
        ) from None


MAX_KEPT_SOLUTIONS = 1_000  # listed solutions kept in memory for pages and JSON
PROGRESS_INTERVAL = 50  # solutions
NO_PROGRESS: Callable[[int], object] = lambda _: None  # noqa: E731


class ListedSolutions(NamedTuple):
    """The number of listed solutions, and the first of them."""

    number: int
    solutions: list[Any]


def list_solutions(
    puzzle: Puzzle,
    board: Any,
    lines: Iterable[Any],
    limit: int,
    write: Callable[[str], object],
    sign: Callable[[int], object] = NO_PROGRESS,
) -> Iterator[ListedSolutions]:
    """Write the board, then at most `limit` solutions; yield the solutions listed so far after each.

    `sign` receives their number regularly. After an exception, everything written so far is complete.
    """
    write(f"{BOARD_HEADER}\n{puzzle.render(board)}\n")
    kept: list[Any] = []
    yield ListedSolutions(0, kept)
    for number, line in enumerate(islice(lines, limit), 1):
        drawn = puzzle.render_solution(board, line)
        write(f"{SOLUTION_START}\n\n{drawn}{'' if drawn.endswith(chr(10)) else chr(10)}{SOLUTION_END}\n\n")
        if number <= MAX_KEPT_SOLUTIONS:
            kept.append(line)
        yield ListedSolutions(number, kept)
        if not number % PROGRESS_INTERVAL:
            sign(number)


def render_answer(puzzle: Puzzle, board: Any, answer: SolveResult, listed: int) -> str:
    """Return the results as rows of text; `listed` solutions precede them."""
    rows = {
        "Board": puzzle.describe(board),
        "Solutions": format_count(answer, listed),
        "Solutions listed": f"{listed:,}",
        f"{puzzle.NODE_UNIT.capitalize()} tried": f"{answer.nodes_searched():,}",
    }
    return render_rows(rows) + render_details(answer)


def format_count(answer: SolveResult, listed: int) -> str:
    """Return the number of solutions in words."""
    if answer.proof:
        return f"none, proven by {answer.proof} ({answer.reason})"
    if answer.count is not None:
        return f"{answer.count:,}"
    return f"at least {max(1, listed):,}; not counted"


def render_details(answer: SolveResult) -> str:
    """Return the details as rows, then the tables."""
    tables = "".join(f"\n{render_table(table)}" for table in answer.tables)
    return render_rows(format_details(answer.details)) + tables + ("\n" if tables else "")


def format_details(facts: Mapping[str, int | float | str]) -> dict[str, str]:
    """Return the details with labels and formatted values; the kernel mode comes last."""
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
    drawn = (
        "  ".join(
            cell.rjust(width) if to_the_right else cell.ljust(width)
            for cell, width, to_the_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in rows
    )
    return f"{table.title}\n" + "".join(f"{row}\n" for row in drawn)


def svg_document(width: float, height: float, title: str, style: str, parts: Iterable[str]) -> str:
    """Return an SVG picture that fits a phone, in light and dark mode.

    Args:
        width: in SVG units.
        height: in SVG units.
        title: the text for screen readers.
        style: CSS whose class names start with the name of the puzzle, as a page may hold many pictures.
        parts: the elements.

    """
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}"'
            f' height="{height:g}" role="img" style="max-width:100%;height:auto">',
            f"<title>{escape(title)}</title>",
            f"<style>{style}</style>",
            *parts,
            "</svg>\n",
        )
    )
