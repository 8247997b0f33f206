"""The report of a board: its search, and its texts for `result.txt`, `result.json` and people."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from pi_appliance.errors import ApplianceError, Refused, Unavailable
from pi_appliance.puzzles import Answer, Puzzle, SolveMode, pluralize
from pi_appliance.puzzles.runtime import Interrupted, SearchRuntime
from pi_appliance.puzzles.text_format import (
    BOARD_HEADER,
    SOLUTION_END,
    SOLUTION_START,
    format_details,
    format_elapsed,
    format_label,
    format_value,
    render_rows,
    render_table,
)

JSON_FILE = "result.json"
DEFAULT_MAX_SOLUTIONS = 10_000  # solutions listed; the longest ones take some 20 MB
MAX_KEPT_SOLUTIONS = 1_000  # listed solutions kept in memory for pages and JSON
PROGRESS_INTERVAL = 50  # solutions between two progress reports
RESOURCE_ERRORS = (Refused, Unavailable, MemoryError)  # errors that end the search of one board, but not the batch


@dataclass(slots=True, kw_only=True)
class BoardReport:
    """A board of `puzzle`, and the result of its search."""

    puzzle: Puzzle
    name: str
    board: object
    mode: SolveMode
    generator_details: Mapping[str, int | float | str] = field(default_factory=dict)
    """Details of the generation, if the board was generated."""
    answer: Answer[object] | None = None
    listed: int = 0  # the number of listed solutions
    solutions: list[object] = field(default_factory=list)  # the first listed solutions
    seconds: float = 0.0
    partial_result: str = ""  # the partial result in a sentence, if the search or the listing was interrupted
    refused: ApplianceError | None = None
    """Why memory or disk space did not suffice to answer it or to list all solutions."""

    @property
    def solved(self) -> bool:
        """Whether the board has a solution."""
        return self.answer is not None and self.answer.proof is None

    @property
    def proven(self) -> bool:
        """Whether the board is proven to have no solution."""
        return self.answer is not None and self.answer.proof is not None

    def search(self, limit: int, runtime: SearchRuntime, write: Callable[[str], object]) -> None:
        """Solve the board, and write its part of result.txt. Raises Interrupted."""
        started, interrupted = runtime.monotonic(), None

        def report_listed() -> None:
            runtime.report_progress(None, f"{pluralize(self.listed, 'solution')} listed")

        try:
            write(f"{BOARD_HEADER}\n{self.puzzle.render(self.board)}\n")
            self.answer = self.puzzle.solve(self.board, self.mode, runtime)
            if self.mode is SolveMode.FIRST:  # one solution, or one for each board of a text with many boards
                limit = self.puzzle.count_boards(self.board) if hasattr(self.puzzle, "count_boards") else 1
            self.list_solutions(limit, write, report_listed)
        except Interrupted as error:
            interrupted = error
            listed = f"listing was interrupted after {pluralize(self.listed, 'solution')}"
            self.partial_result = listed if self.answer else format_partial_result(error)
        except RESOURCE_ERRORS as error:  # report what was found and listed before
            self.refused = to_appliance_error(error)
        self.seconds = runtime.monotonic() - started
        if self.answer:  # frees the tables of the search for the next boards
            tried = self.answer.nodes_searched()
            self.answer = replace(self.answer, solutions=iter(()), nodes_searched=lambda: tried)
        write(self.render())
        if interrupted:
            raise interrupted

    def list_solutions(
        self, limit: int, write: Callable[[str], object], sign: Callable[[], object] = lambda: None
    ) -> None:
        """Write and count up to `limit` solutions. Call `sign` from time to time."""
        # looked up once, which matters for 50,000 solutions
        render_solution, board = self.puzzle.render_solution, self.board
        for solution in islice(self.answer.solutions if self.answer else (), limit):
            drawing = render_solution(board, solution)
            end = SOLUTION_END if drawing[-1:] == "\n" else f"\n{SOLUTION_END}"
            write(f"{SOLUTION_START}\n\n{drawing}{end}\n\n")
            self.listed += 1
            if self.listed <= MAX_KEPT_SOLUTIONS:
                self.solutions.append(solution)
            if not self.listed % PROGRESS_INTERVAL:
                sign()

    def render(self) -> str:
        """Return the text below the listed solutions."""
        facts = self.generator_facts().items()
        start = {
            "Generator": "; ".join(f"{name.replace('-', ' ')} {format_value(value)}" for name, value in facts),
            "Board": self.puzzle.describe(self.board),
        }
        details = ""
        if self.answer:
            start["Solutions"] = self._format_count(self.answer)
            start["Solutions listed"] = f"{self.listed:,}"
            start[f"{self.puzzle.NODE_UNIT.capitalize()} tried"] = f"{self.answer.nodes_searched():,}"
            details = render_details(self.answer)
        end = {"So far": self.partial_result, "Refused": str(self.refused or ""), "Time": format_elapsed(self.seconds)}
        start, end = ({name: value for name, value in rows.items() if value} for rows in (start, end))
        return f"{render_rows(start)}{details}{render_rows(end)}\n"

    def _format_count(self, answer: Answer[object]) -> str:
        if answer.proof:
            return f"none, proven by {answer.proof} ({answer.reason})"
        if answer.count is not None:
            return f"{answer.count:,}"
        return f"at least {max(1, self.listed):,}; not counted"

    def generator_facts(self) -> dict[str, int | float | str]:
        """Return the details of the generation that the result does not repeat."""
        known = self.answer.details if self.answer else {}
        solutions = {self.puzzle.notate(self.board, line) for line in self.solutions if self.generator_details}
        facts = self.generator_details.items()
        return {name: value for name, value in facts if known.get(name) != value and value not in solutions}

    def summarize(self) -> str:
        """Return the result in a sentence."""
        if self.answer is None:
            return str(self.refused or f"Not answered yet: {self.partial_result or 'it was not reached'}.")
        if self.answer.proof:
            return f"No solution, proven by {self.answer.proof}: {self.answer.reason}."
        noun = "shortest solution" if self.mode is SolveMode.FEWEST else "solution"
        count = self.answer.count
        result = "Solved; the solutions were not counted" if count is None else pluralize(count, noun)
        return f"{'; '.join(filter(None, (result, self.partial_result or str(self.refused or ''))))}."

    def draw(self) -> str:
        """Return an SVG picture of the first solution, else of the result, else of the board."""
        if self.solutions:
            (last,) = deque(self.puzzle.steps(self.board, self.solutions[0]), maxlen=1)
            return last.svg
        pictures = self.answer.pictures.values() if self.answer else ()
        return next(iter(pictures), None) or self.puzzle.render_svg(self.board)

    def to_json(self) -> dict[str, object]:
        """Return the object of the board in result.json."""
        return {
            "name": self.name,
            "board": self.puzzle.render(self.board),
            "size": self.puzzle.describe(self.board),
            "generator": dict(self.generator_details),
            "mode": str(self.mode),
            "answered": self.answer is not None,
            **(answer_to_json(self.answer) if self.answer else {}),
            "listed": self.listed,
            "solutions": [self.puzzle.notate(self.board, line) for line in self.solutions],
            "seconds": round(self.seconds, 3),
            "partial_result": self.partial_result,
            "refused": str(self.refused or ""),
        }


def to_appliance_error(error: Exception) -> ApplianceError:
    """Convert one of RESOURCE_ERRORS to an error with a message for the user."""
    if isinstance(error, ApplianceError):
        return error
    return Refused("it needs more memory than allowed; raise the limit or use fewer cores")


def format_partial_result(interrupted: Interrupted) -> str:
    """Return the partial result of an interrupted search."""
    return (interrupted.partial_result or "nothing is known yet").rstrip(".")


def render_details(answer: Answer[object]) -> str:
    """Return the details as rows, then the tables."""
    tables = "".join(f"\n{render_table(table)}" for table in answer.tables)
    return render_rows(format_details(answer.details)) + tables + ("\n" if tables else "")


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
    """Return the details of precomputed tables in one line, for the summary of a run."""
    facts = (f"{format_label(name).lower()} {format_value(value)}" for name, value in answer.details.items())
    return ", ".join(facts) or "complete"
