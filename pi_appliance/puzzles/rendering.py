"""What a report says of one board as text: the original's layout first, then what is known of the solutions."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

from pi_appliance.errors import ConfigError, Problem
from pi_appliance.puzzles import Progress, Puzzle, SolveResult, Table

BOARD_HEADER, SOLUTION_START, SOLUTION_END = "Starting Board", "Start Solution", "End Solution"
READ_PROGRESS_INTERVAL = 50  # solutions between two signs of progress


def parse_listing(
    text: str,
    file: str,
    progress: Progress,
    *,
    board_of: Callable[[str, str], Any],
    line_of: Callable[[Any, str, str], Any],
) -> Sequence[tuple[Any, Sequence[Any]]]:
    """Return each board in TEXT, read by BOARD_OF(drawing, file), with its lines, read by LINE_OF(board, row, file).

    Raises ConfigError; what is wrong within a board or a line is told by its row in FILE.
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
        raise ConfigError([Problem(file, 1, 1, "this is no listing", f"begin with {BOARD_HEADER!r} and the board")])
    return found


def _until_empty(rows: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    for number, row in rows:
        if not row.strip():
            return
        yield number, row


def _solution(rows: Iterator[tuple[int, str]], start: int, file: str) -> tuple[int, str]:
    """Take the rows up to the end of the solution that begins in row START; return the first that is not empty."""
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
    """Return what READ returns; its problems stand ABOVE rows further down in the file."""
    try:
        return read()
    except ConfigError as error:
        raise ConfigError(
            [Problem(each.file, each.line + above, each.column, each.message, each.hint) for each in error.problems]
        ) from None


MAX_KEPT_SOLUTIONS = 1_000  # lines kept in memory, of those listed, for who draws or notates them afterwards
PROGRESS_INTERVAL = 50  # solutions between two signs of life
NO_PROGRESS: Callable[[int], object] = lambda _: None  # noqa: E731 - a default that says what it is


class ListedSolutions(NamedTuple):
    """How many solutions were listed, and the first of them."""

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
    """Write BOARD, then at most LIMIT of LINES as they are found; yield what is listed by then, after each.

    SIGN is told how many there are now and then; it may raise, as LINES may: what is written by then is whole.
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
    """Return what is known of BOARD by ANSWER, a row each; LISTED solutions stand above."""
    rows = {
        "Board": puzzle.describe(board),
        "Solutions": format_count(answer, listed),
        "Solutions listed": f"{listed:,}",
        f"{puzzle.NODE_UNIT.capitalize()} tried": f"{answer.nodes_searched():,}",
    }
    return render_rows(rows) + render_details(answer)


def format_count(answer: SolveResult, listed: int) -> str:
    """Return how many solutions there are, in words."""
    if answer.proof:
        return f"none, proven by {answer.proof} ({answer.reason})"
    if answer.count is not None:
        return f"{answer.count:,}"
    return f"at least {max(1, listed):,}; how many there are was not counted"


def render_details(answer: SolveResult) -> str:
    """Return what else ANSWER knows: its facts, a row each, and its tables."""
    tables = "".join(f"\n{render_table(table)}" for table in answer.tables)
    return render_rows(format_details(answer.details)) + tables + ("\n" if tables else "")


def format_details(facts: Mapping[str, int | float | str]) -> dict[str, str]:
    """Return FACTS as a person reads them; how it was computed comes last."""
    in_order = sorted(facts.items(), key=lambda fact: fact[0] == "kernel")
    return {format_label(name): format_value(value) for name, value in in_order}


def render_rows(rows: Mapping[str, str]) -> str:
    """Return ROWS as `Name: value`, a line each."""
    return "".join(f"{name}: {value}\n" for name, value in rows.items())


def format_label(name: str) -> str:
    """Return NAME, in kebab-case, as a person writes it."""
    return name.replace("_", " ").capitalize()


def format_value(value: float | str) -> str:
    """Return VALUE as a person reads it."""
    match value:
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.4g}" if abs(value) < 1_000 else f"{value:,.0f}"
    return str(value)


def render_table(table: Table) -> str:
    """Draw TABLE under its title: numbers to the right, words to the left."""
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
    """Return a picture of PARTS, WIDTH by HEIGHT of their own units. TITLE is what is read out instead of it.

    A page may hold many pictures, so STYLE uses class names that begin with those of its puzzle; colours for the night
    stand in `@media (prefers-color-scheme:dark)`.
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
