"""Answer one board, and report it as text, JSON and a sentence."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pi_appliance.errors import ApplianceError, Refused, Unavailable
from pi_appliance.puzzles import Puzzle, SolveMode, SolveResult, pluralize
from pi_appliance.puzzles.rendering import (
    ListedSolutions,
    format_label,
    format_value,
    list_solutions,
    render_answer,
    render_details,
    render_rows,
)
from pi_appliance.puzzles.runtime.interface import Interrupted, SearchRuntime

NOTHING_LISTED = ListedSolutions(0, [])
RESOURCE_ERRORS = (Refused, Unavailable, MemoryError)
"""Errors that end the search of one board, but not the batch."""


@dataclass(slots=True, kw_only=True)
class BoardReport:
    """A board and its result."""

    name: str
    board: Any
    mode: SolveMode
    generator_details: Mapping[str, int | float | str] = field(default_factory=dict)
    """Details of the generation, if the board was generated."""
    answer: SolveResult | None = None
    listed: ListedSolutions = NOTHING_LISTED
    seconds: float = 0.0
    partial_result: str = ""
    """The partial result in a sentence, if the search or the listing was interrupted."""
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
    """Solve a board, write its part of result.txt, and store the result in `report`. Raises Interrupted.

    At most `limit` solutions are listed, and one in mode FIRST.
    """
    started, interrupted = runtime.monotonic(), None
    try:
        report.answer = puzzle.solve(report.board, report.mode, runtime)
    except Interrupted as error:
        interrupted, report.partial_result = error, format_partial_result(error)
    except RESOURCE_ERRORS as error:
        report.refused = to_appliance_error(error)
    lines = report.answer.solutions if report.answer else ()
    max_count = 1 if report.mode is SolveMode.FIRST else limit

    def report_listed(number: int) -> None:
        runtime.report_progress(None, f"{pluralize(number, 'solution')} listed")

    try:
        for listed in list_solutions(puzzle, report.board, lines, max_count, write, report_listed):
            report.listed = listed
    except Interrupted as error:
        interrupted, report.partial_result = (
            error,
            f"listing was interrupted after {pluralize(report.listed.number, 'solution')}",
        )
    except RESOURCE_ERRORS as error:  # report what is known and listed so far
        report.refused = to_appliance_error(error)
    report.seconds = runtime.monotonic() - started
    if report.answer:  # free the tables of the search for the next boards
        tried = report.answer.nodes_searched()
        report.answer = replace(report.answer, solutions=iter(()), nodes_searched=lambda: tried)
    write(render_report(puzzle, report))
    if interrupted:
        raise interrupted


def to_appliance_error(error: Exception) -> ApplianceError:
    """Convert one of RESOURCE_ERRORS to an error with a message for the user."""
    if isinstance(error, ApplianceError):
        return error
    return Refused("it needs more memory than allowed; raise the limit or use fewer cores")


def format_partial_result(interrupted: Interrupted) -> str:
    """Return the partial result of an interrupted search."""
    return (interrupted.partial_result or "nothing is known yet").rstrip(".")


def render_report(puzzle: Puzzle, report: BoardReport) -> str:
    """Return the text below the listed solutions."""
    generated = "; ".join(
        f"{name.replace('-', ' ')} {format_value(value)}" for name, value in generator_facts(puzzle, report).items()
    )
    rows = {"Generator": generated} if generated else {}
    if report.answer is not None:
        body = render_answer(puzzle, report.board, report.answer, report.listed.number)
    else:
        body = render_rows({"Board": puzzle.describe(report.board)})
    end = {
        "So far": report.partial_result,
        "Refused": str(report.refused or ""),
        "Time": format_elapsed(report.seconds),
    }
    return render_rows(rows) + body + render_rows({name: words for name, words in end.items() if words}) + "\n"


def generator_facts(puzzle: Puzzle, report: BoardReport) -> dict[str, int | float | str]:
    """Return the details of the generation that the result does not repeat."""
    if not report.generator_details:
        return {}
    known_details = report.answer.details if report.answer else {}
    solutions = {puzzle.notate(report.board, line) for line in report.listed.solutions}
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


def report_to_json(puzzle: Puzzle, report: BoardReport) -> dict[str, Any]:
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
        "listed": report.listed.number,
        "solutions": [puzzle.notate(report.board, line) for line in report.listed.solutions],
        "seconds": round(report.seconds, 3),
        "partial_result": report.partial_result,
        "refused": str(report.refused or ""),
    }


def answer_to_json(answer: SolveResult) -> dict[str, Any]:
    """Return the result without its solutions."""
    return {
        "solved": answer.proof is None,
        "proof": answer.proof and str(answer.proof),
        "reason": answer.reason,
        "count": answer.count,
        "nodes_searched": answer.nodes_searched(),
        "details": dict(answer.details),
        "tables": [
            {"title": table.title, "headers": list(table.headers), "rows": [list(row) for row in table.rows]}
            for table in answer.tables
        ],
        "pictures": list(answer.pictures),
    }


def render_precomputed(answer: SolveResult, seconds: float) -> str:
    """Return the text about precomputed tables."""
    return render_details(answer) + render_rows({"Time": format_elapsed(seconds)}) + "\n"


def summarize_precomputed(answer: SolveResult) -> str:
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
