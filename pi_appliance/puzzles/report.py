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
    made: Mapping[str, int | float | str] = field(default_factory=dict)
    """Details of the generation, if the board was generated."""
    answer: SolveResult | None = None
    listed: ListedSolutions = NOTHING_LISTED
    seconds: float = 0.0
    cut_off: str = ""
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
    puzzle: Puzzle, told: BoardReport, limit: int, runtime: SearchRuntime, write: Callable[[str], object]
) -> None:
    """Solve a board, write its part of result.txt, and store the result in `told`. Raises Interrupted.

    At most `limit` solutions are listed, and one in mode FIRST.
    """
    begun, interrupted = runtime.monotonic(), None
    try:
        told.answer = puzzle.solve(told.board, told.mode, runtime)
    except Interrupted as error:
        interrupted, told.cut_off = error, format_partial_result(error)
    except RESOURCE_ERRORS as error:
        told.refused = to_appliance_error(error)
    lines = told.answer.solutions if told.answer else ()
    most = 1 if told.mode is SolveMode.FIRST else limit

    def sign(number: int) -> None:
        runtime.report_progress(None, f"{pluralize(number, 'solution')} listed")

    try:
        for listed in list_solutions(puzzle, told.board, lines, most, write, sign):
            told.listed = listed
    except Interrupted as error:
        interrupted, told.cut_off = error, f"listing was cut off after {pluralize(told.listed.number, 'solution')}"
    except RESOURCE_ERRORS as error:  # report what is known and listed so far
        told.refused = to_appliance_error(error)
    told.seconds = runtime.monotonic() - begun
    if told.answer:  # free the tables of the search for the next boards
        tried = told.answer.nodes_searched()
        told.answer = replace(told.answer, solutions=iter(()), nodes_searched=lambda: tried)
    write(render_report(puzzle, told))
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


def render_report(puzzle: Puzzle, told: BoardReport) -> str:
    """Return the text below the listed solutions."""
    made = "; ".join(
        f"{name.replace('-', ' ')} {format_value(value)}" for name, value in generator_facts(puzzle, told).items()
    )
    rows = {"Made": made} if made else {}
    if told.answer is not None:
        body = render_answer(puzzle, told.board, told.answer, told.listed.number)
    else:
        body = render_rows({"Board": puzzle.describe(told.board)})
    end = {"So far": told.cut_off, "Refused": str(told.refused or ""), "Time": format_elapsed(told.seconds)}
    return render_rows(rows) + body + render_rows({name: words for name, words in end.items() if words}) + "\n"


def generator_facts(puzzle: Puzzle, told: BoardReport) -> dict[str, int | float | str]:
    """Return the details of the generation that the result does not repeat."""
    if not told.made:
        return {}
    said = told.answer.details if told.answer else {}
    solutions = {puzzle.notate(told.board, line) for line in told.listed.solutions}
    return {name: value for name, value in told.made.items() if said.get(name) != value and value not in solutions}


def summarize(told: BoardReport) -> str:
    """Return the result in a sentence."""
    if told.answer is None:
        return str(told.refused or f"Not answered yet: {told.cut_off or 'it was not reached'}.")
    if told.answer.proof:
        return f"No solution, proven by {told.answer.proof}: {told.answer.reason}."
    if told.answer.count is None:
        many = "Solved; the solutions were not counted"
    elif told.mode is SolveMode.FEWEST:
        many = f"{pluralize(told.answer.count, 'shortest solution')}"
    else:
        many = pluralize(told.answer.count, "solution")
    end = told.cut_off or str(told.refused or "")
    return f"{many}; {end}." if end else f"{many}."


def report_to_json(puzzle: Puzzle, told: BoardReport) -> dict[str, Any]:
    """Return the object of a board in result.json."""
    answer = told.answer
    return {
        "name": told.name,
        "board": puzzle.render(told.board),
        "size": puzzle.describe(told.board),
        "generator": dict(told.made),
        "mode": str(told.mode),
        "answered": answer is not None,
        **(answer_to_json(answer) if answer else {}),
        "listed": told.listed.number,
        "solutions": [puzzle.notate(told.board, line) for line in told.listed.solutions],
        "seconds": round(told.seconds, 3),
        "partial_result": told.cut_off,
        "refused": str(told.refused or ""),
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
