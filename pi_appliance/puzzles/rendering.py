"""Answer boards; listings, details, tables and reports that all puzzles share.

A listing has "Starting Board" and the board; for each solution "Start Solution", the solution, and
"End Solution". A solution begins with its notation, unless the puzzle reads its solutions itself.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from html import escape
from itertools import islice, takewhile
from typing import TypeVar

from pi_appliance.errors import ApplianceError, ConfigError, Problem, Refused, Unavailable
from pi_appliance.puzzles import Answer, Progress, Puzzle, SolveMode, Table, pluralize
from pi_appliance.puzzles.runtime import Interrupted, SearchRuntime

BOARD_HEADER, SOLUTION_START, SOLUTION_END = "Starting Board", "Start Solution", "End Solution"
READ_PROGRESS_INTERVAL = 50  # solutions
_ROW = re.compile(r"([^\r\n]*)(?:\r\n?|\n)?")  # matched one by one: splitlines takes ten times the memory of the text


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
    """Return each board of a listing with its solutions. Raises ConfigError.

    `board_of` parses a drawing, `line_of` the first row of a solution, `read_solution` all rows.
    """
    entries: list[tuple[Board, list[Solution]]] = []
    total = text.count("\n") + 1
    rows = enumerate((match[1] for match in _ROW.finditer(text)), 1)
    for number, row in rows:
        if row == BOARD_HEADER:
            drawing = "\n".join(row for _, row in take_drawing(rows, is_blank))
            entries.append((_placed(partial(board_of, drawing, file), number), []))
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
                lines.append(_placed(partial(line_of, board, notation, file), at - 1))
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


def parse_error(file: str, line: int, column: int, message: str, hint: str) -> ConfigError:
    """Return an error with one problem."""
    return ConfigError([Problem(file, line, column, message, hint)])


def take_drawing(rows: Rows, is_blank: Callable[[str], bool]) -> list[tuple[int, str]]:
    """Consume the rows up to the next blank one."""
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
    """Return the error about a solution without an end, which begins in row `start`."""
    return parse_error(file, start, 1, "this solution does not end", f"write {SOLUTION_END!r} below its last row")


def _placed(read: Callable[[], Result], above: int) -> Result:
    """Call `read`; move its problems down by `above` rows."""
    try:
        return read()
    except ConfigError as error:
        problems = error.problems
        raise ConfigError([replace(each, line=each.line + above) for each in problems]) from None


DEFAULT_MAX_SOLUTIONS = 10_000  # solutions listed; the longest take some 20 MB
MAX_KEPT_SOLUTIONS = 1_000  # listed solutions kept in memory for pages and JSON
PROGRESS_INTERVAL = 50  # solutions
RESOURCE_ERRORS = (Refused, Unavailable, MemoryError)  # errors that end the search of one board, but not the batch


@dataclass(slots=True, kw_only=True)
class BoardReport:
    """A board and its result."""

    name: str
    board: object
    mode: SolveMode
    generator_details: Mapping[str, int | float | str] = field(default_factory=dict)
    """Details of the generation, if the board was generated."""
    answer: Answer[object] | None = None
    listed: int = 0  # the number of listed solutions
    solutions: list[object] = field(default_factory=list)  # the first of them
    seconds: float = 0.0
    partial_result: str = ""  # the partial result in a sentence, if the search or the listing was interrupted
    refused: ApplianceError | None = None
    """Why memory or disk space did not suffice to answer it or to list all solutions."""

    @property
    def solved(self) -> bool:
        """Whether it has a solution."""
        return self.answer is not None and self.answer.proof is None

    @property
    def proven(self) -> bool:
        """Whether it is proven to have none."""
        return self.answer is not None and self.answer.proof is not None


def answer_board(
    puzzle: Puzzle, report: BoardReport, limit: int, runtime: SearchRuntime, write: Callable[[str], object]
) -> None:
    """Solve a board, write its part of result.txt, and fill in `report`. Raises Interrupted."""
    started, interrupted = runtime.monotonic(), None

    def report_listed() -> None:
        runtime.report_progress(None, f"{pluralize(report.listed, 'solution')} listed")

    try:
        write(f"{BOARD_HEADER}\n{puzzle.render(report.board)}\n")
        report.answer = puzzle.solve(report.board, report.mode, runtime)
        list_solutions(puzzle, report, 1 if report.mode is SolveMode.FIRST else limit, write, report_listed)
    except Interrupted as error:
        interrupted = error
        listed = f"listing was interrupted after {pluralize(report.listed, 'solution')}"
        report.partial_result = listed if report.answer else format_partial_result(error)
    except RESOURCE_ERRORS as error:  # report what is known and listed so far
        report.refused = to_appliance_error(error)
    report.seconds = runtime.monotonic() - started
    if report.answer:  # free the tables of the search for the next boards
        tried = report.answer.nodes_searched()
        report.answer = replace(report.answer, solutions=iter(()), nodes_searched=lambda: tried)
    write(render_report(puzzle, report))
    if interrupted:
        raise interrupted


def list_solutions(
    puzzle: Puzzle,
    report: BoardReport,
    limit: int,
    write: Callable[[str], object],
    sign: Callable[[], object] = lambda: None,
) -> None:
    """Write up to `limit` solutions, and count them in `report`; call `sign` now and then."""
    render_solution, board = puzzle.render_solution, report.board  # of 50,000 solutions, each look-up counts
    for solution in islice(report.answer.solutions if report.answer else (), limit):
        drawing = render_solution(board, solution)
        end = SOLUTION_END if drawing[-1:] == "\n" else f"\n{SOLUTION_END}"
        write(f"{SOLUTION_START}\n\n{drawing}{end}\n\n")
        report.listed += 1
        if report.listed <= MAX_KEPT_SOLUTIONS:
            report.solutions.append(solution)
        if not report.listed % PROGRESS_INTERVAL:
            sign()


def render_report(puzzle: Puzzle, report: BoardReport) -> str:
    """Return the text below the listed solutions."""
    generated = "; ".join(
        f"{name.replace('-', ' ')} {format_value(value)}" for name, value in generator_facts(puzzle, report).items()
    )
    start = {"Generator": generated, "Board": puzzle.describe(report.board)}
    if report.answer:
        start["Solutions"] = format_count(report.answer, report.listed)
        start["Solutions listed"] = f"{report.listed:,}"
        start[f"{puzzle.NODE_UNIT.capitalize()} tried"] = f"{report.answer.nodes_searched():,}"
    refused, elapsed = str(report.refused or ""), format_elapsed(report.seconds)
    end = {"So far": report.partial_result, "Refused": refused, "Time": elapsed}
    details = render_details(report.answer) if report.answer else ""
    start, end = ({name: value for name, value in rows.items() if value} for rows in (start, end))
    return f"{render_rows(start)}{details}{render_rows(end)}\n"


def format_count(answer: Answer[object], listed: int) -> str:
    """Return the number of solutions in words."""
    if answer.proof:
        return f"none, proven by {answer.proof} ({answer.reason})"
    if answer.count is not None:
        return f"{answer.count:,}"
    return f"at least {max(1, listed):,}; not counted"


def render_details(answer: Answer[object]) -> str:
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
    formats = [f"{{:{'>' if to_the_right else '<'}{width}}}" for width, to_the_right in zip(widths, right, strict=True)]
    drawing = "".join("  ".join(formats).format(*row).rstrip() + "\n" for row in rows)
    return f"{table.title}\n{drawing}"


def svg_document(width: float, height: float, title: str, style: str, parts: Iterable[str]) -> str:
    """Return an SVG picture. Class names in `style` start with the name of the puzzle."""
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    start = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" style="max-width:100%;height:auto">'
    start += f"\n<title>{escape(title, quote=False)}</title>\n<style>{style}</style>"
    return "\n".join((start, *parts, "</svg>\n"))


def to_appliance_error(error: Exception) -> ApplianceError:
    """Convert one of RESOURCE_ERRORS to an error with a message for the user."""
    if isinstance(error, ApplianceError):
        return error
    return Refused("it needs more memory than allowed; raise the limit or use fewer cores")


def format_partial_result(interrupted: Interrupted) -> str:
    """Return the partial result of an interrupted search."""
    return (interrupted.partial_result or "nothing is known yet").rstrip(".")


def generator_facts(puzzle: Puzzle, report: BoardReport) -> dict[str, int | float | str]:
    """Return the details of the generation that the result does not repeat."""
    if not report.generator_details:
        return {}
    known_details = report.answer.details if report.answer else {}
    solutions = {puzzle.notate(report.board, line) for line in report.solutions}
    return {
        name: value
        for name, value in report.generator_details.items()
        if known_details.get(name) != value and value not in solutions
    }


def summarize(report: BoardReport) -> str:
    """Return the result in a sentence."""
    if report.answer is None:
        return str(report.refused or f"Not answered yet: {report.partial_result or 'it was not reached'}.")
    if report.answer.proof:
        return f"No solution, proven by {report.answer.proof}: {report.answer.reason}."
    if report.answer.count is None:
        result = "Solved; the solutions were not counted"
    elif report.mode is SolveMode.FEWEST:
        result = f"{pluralize(report.answer.count, 'shortest solution')}"
    else:
        result = pluralize(report.answer.count, "solution")
    end = report.partial_result or str(report.refused or "")
    return f"{result}; {end}." if end else f"{result}."


def report_to_json(puzzle: Puzzle, report: BoardReport) -> dict[str, object]:
    """Return the object of a board in result.json."""
    answer = report.answer
    return {
        "name": report.name,
        "board": puzzle.render(report.board),
        "size": puzzle.describe(report.board),
        "generator": dict(report.generator_details),
        "mode": str(report.mode),
        "answered": answer is not None,
        **(answer_to_json(answer) if answer else {}),
        "listed": report.listed,
        "solutions": [puzzle.notate(report.board, line) for line in report.solutions],
        "seconds": round(report.seconds, 3),
        "partial_result": report.partial_result,
        "refused": str(report.refused or ""),
    }


def answer_to_json(answer: Answer[object]) -> dict[str, object]:
    """Return the result without its solutions."""
    return {
        "solved": answer.proof is None,
        "proof": answer.proof and str(answer.proof),
        "reason": answer.reason,
        "count": answer.count,
        "nodes_searched": answer.nodes_searched(),
        "details": dict(answer.details),
        "tables": [{key: getattr(table, key) for key in ("title", "headers", "rows")} for table in answer.tables],
        "pictures": list(answer.pictures),
    }


def render_precomputed(answer: Answer[object], seconds: float) -> str:
    """Return the text about precomputed tables."""
    return render_details(answer) + render_rows({"Time": format_elapsed(seconds)}) + "\n"


def summarize_precomputed(answer: Answer[object]) -> str:
    """Return the details of precomputed tables in a row."""
    facts = (f"{format_label(name).lower()} {format_value(value)}" for name, value in answer.details.items())
    return ", ".join(facts) or "complete"


def format_elapsed(seconds: float) -> str:
    """Return a duration such as 1.5 ms, 12 s or 2 h 5 min."""
    if seconds < 1:
        return f"{seconds * 1000:.1f} ms" if seconds < 0.1 else f"{seconds * 1000:.0f} ms"
    if seconds < 120:
        return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min {rest} s"
