"""Job kind `puzzle`: solve, count and generate boards; write reports as text, JSON and HTML.

An interrupted run reports its partial results and saves which board the next run starts with.
"""

import contextlib
import json
import resource
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import IO, Annotated, Any

from pi_appliance.config.units import format_size
from pi_appliance.errors import ApplianceError, DeadlineExceeded, Refused, Unavailable, UnknownName
from pi_appliance.jobs.context import JobContext, read_slot
from pi_appliance.jobs.reports import ReportSet
from pi_appliance.puzzles import Answer, Puzzle, SolveMode, pluralize
from pi_appliance.puzzles.boards import board_name, is_large, load_puzzle, read_board
from pi_appliance.puzzles.page import Page
from pi_appliance.puzzles.rendering import (
    RESOURCE_ERRORS,
    BoardReport,
    answer_board,
    answer_to_json,
    format_details,
    format_elapsed,
    format_partial_result,
    render_precomputed,
    render_rows,
    report_to_json,
    summarize,
    summarize_precomputed,
    to_appliance_error,
)
from pi_appliance.puzzles.runtime import FileCache, Interrupted, RecordingCache, SearchRuntime, local
from pi_appliance.puzzles.runtime.local import Estimate
from pi_appliance.storage.model import Picture, Result


class PuzzleContext(JobContext):
    """The context of a run that may search for a long time."""

    def search_runtime(
        self, progress: Callable[[float | None, str], None] | None = None
    ) -> AbstractContextManager[SearchRuntime]:
        """Create the runtime of a search for a `with` block; the end of the run interrupts it."""
        folder = self.config.state_dir / local.FOLDER
        deadline = self.parameters.deadline
        FileCache(folder).remove_stale_files()
        return local.open_runtime(
            folder,
            progress or self.progress,
            seconds=None if deadline is None else deadline - time.monotonic(),
            cpu_percent=self.config.jobs[self.job].cpu,
            memory_advice=f"let job {self.job} have `memory: {{}}`",
        )


@dataclass(slots=True)
class WeightedProgress:
    """Combines the progress of parts into the progress of the run."""

    context: PuzzleContext
    parts: int
    number: int = -1
    name: str = ""
    part: float = 0.0  # progress of the current part
    seconds: Callable[[], float] = lambda: 0.0  # a monotonic clock
    _estimate: Estimate = field(default_factory=lambda: Estimate(lambda: 0.0))

    def start_part(self, name: str) -> None:
        """Start the next part."""
        self.number, self.name, self.part = self.number + 1, name, 0.0
        self._estimate = Estimate(self.seconds)
        self.context.progress(self._whole_progress(None), name)

    def report_part(self, part: float | None, note: str) -> None:
        """Report the progress of the current part, None if unknown."""
        remaining = self._estimate.format_remaining(part)
        self.context.progress(self._whole_progress(part), f"{self.name}: {remaining}{', ' if remaining else ''}{note}")

    def _whole_progress(self, part: float | None) -> float | None:
        if self.parts == 1:
            return part
        self.part = max(self.part, part or 0.0)
        return (self.number + self.part) / self.parts


def daily_seeds(context: PuzzleContext, many: int) -> dict[str, int]:
    """Return names and seeds of new boards: different for each day, but reproducible."""
    day = (read_slot(context.scheduled_for) or context.now).astimezone(context.local_time().tzinfo)
    return {
        f"{day:%Y-%m-%d}" + (f"-{number}" if many > 1 else ""): int(f"{day:%Y%m%d}") * 1_000 + number
        for number in range(1, many + 1)
    }


RESULT_FILE = "result.txt"
DEFAULT_MAX_SOLUTIONS = 10_000  # solutions; the longest take some 20 MB
_MAX_SUMMARIES = 7  # boards in the error message if no report can be written
JSON_FORMAT = 1  # version of result.json; increase it for incompatible changes


_Problems = list[tuple[tuple[str | int, ...], str, str]]
_MAX_GENERATED = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys that a job of this kind has under `with:`."""

    puzzle: Annotated[str, "name of the puzzle, such as sudoku; `pi-appliance puzzle list` shows all"]
    boards: Annotated[
        list[Path],
        "known boards by name, your own by file; default: all known ones, or none with `generate` or `precompute`",
    ] = field(default_factory=list)
    solutions: Annotated[
        SolveMode | None,
        "which solutions to find on each board; default: depends on the puzzle, mostly the first solution",
    ] = None
    max_solutions: Annotated[int, "list at most this many solutions of each board"] = DEFAULT_MAX_SOLUTIONS
    rules: Annotated[dict[str, str], 'rules that differ from the default, such as {goal: "3,3"}'] = field(
        default_factory=dict
    )
    precompute: Annotated[bool, "first build the tables that make the puzzle fast; continues where it stopped"] = False
    generate: Annotated[int, "number of new boards, like the first one named; the seed is the date"] = 0
    keep_reports: Annotated[int, "number of dated report folders to keep"] = 14

    def check(self) -> _Problems:
        """Return problems between the keys: path, problem, remedy."""
        numbers = (
            ("max-solutions", self.max_solutions, "solutions", self.max_solutions >= 1, "1 or more"),
            ("keep-reports", self.keep_reports, "reports", self.keep_reports >= 1, "1 or more"),
            ("generate", self.generate, "boards", 0 <= self.generate <= _MAX_GENERATED, f"0 to {_MAX_GENERATED:,}"),
        )
        problems: _Problems = [
            ((key,), f"{value} is not a valid number of {noun}", f"use {allowed}")
            for key, value, noun, is_valid, allowed in numbers
            if not is_valid
        ]
        try:
            puzzle = load_puzzle(self.puzzle)
        except UnknownName as error:
            return [*problems, *_to_problems(("puzzle",), error)]
        return [*problems, *self._find_unsupported(puzzle), *self._find_wrong_boards(puzzle)]

    def _find_unsupported(self, puzzle: Puzzle) -> Iterator[tuple[tuple[str | int, ...], str, str]]:
        if self.solutions is not None and self.solutions not in puzzle.MODES:
            known = ", ".join(puzzle.MODES)
            yield ("solutions",), f"{self.puzzle} does not support {self.solutions}", f"supported: {known}"
        if self.generate and not hasattr(puzzle, "generate"):
            yield ("generate",), f"{self.puzzle} does not generate boards", "leave it out"
        if self.precompute and not hasattr(puzzle, "precompute"):
            yield ("precompute",), f"{self.puzzle} has no tables to build", "leave it out"

    def _find_wrong_boards(self, puzzle: Puzzle) -> _Problems:
        problems: _Problems = []
        for number, where in enumerate(self.boards):
            if not is_large(where):
                wrong = _board_problems(puzzle, where, {}, ("boards", number))
                problems += wrong or self._find_wrong_rules(puzzle, where)
        if not self.boards:
            problems += self._find_wrong_rules(puzzle, Path(next(iter(puzzle.BOARDS))))
        twice = [name for name, times in Counter(map(board_name, self.boards)).items() if times > 1]
        return problems + [(("boards",), f"two boards are called {name!r}", "give each its own name") for name in twice]

    def _find_wrong_rules(self, puzzle: Puzzle, where: Path) -> _Problems:
        """Return the rules that the board does not accept: each alone, then all together."""
        items = self.rules.items()
        wrong = [
            each for name, value in items for each in _board_problems(puzzle, where, {name: value}, ("rules", name))
        ]
        return wrong or (_board_problems(puzzle, where, self.rules, ("rules",)) if self.rules else [])


def _board_problems(puzzle: Puzzle, where: Path, rules: Mapping[str, str], path: tuple[str | int, ...]) -> _Problems:
    try:
        read_board(puzzle, where, rules)
    except ApplianceError as error:
        return _to_problems(path, error)
    return []


def _to_problems(path: tuple[str | int, ...], error: ApplianceError) -> _Problems:
    parts = (line.partition("; ") for line in str(error).splitlines())
    return [(path, problem, right) for problem, _, right in parts]


@dataclass(slots=True)
class PuzzleBatch:
    """The work of one run. `failure` is the error to raise at the end, if any."""

    context: PuzzleContext
    options: Options
    puzzle: Puzzle
    boards: Mapping[str, object]
    model: object  # the board that generated ones are like
    report_set: ReportSet = field(init=False)
    cache: RecordingCache = field(init=False)
    progress: WeightedProgress = field(init=False)
    start_time: float = field(init=False)  # monotonic seconds
    failure: ApplianceError | None = None
    reports: list[BoardReport] = field(default_factory=list)
    precomputed: Answer[object] | None = None
    seconds: float = 0.0  # time of precomputing
    stop_reason: str = ""  # reason of the interruption, if any
    precompute_progress: str = ""
    build_errors: list[str] = field(default_factory=list)
    """Tables and boards that could not be built, with the reasons."""
    failed_names: set[str] = field(default_factory=set)
    seeds: dict[str, int] = field(init=False)
    mode: SolveMode = field(init=False)

    def __post_init__(self) -> None:
        options = self.options
        self.seeds = daily_seeds(self.context, options.generate)
        self.progress = WeightedProgress(self.context, max(1, options.precompute + len(self.boards) + options.generate))
        self.mode = options.solutions or self.puzzle.MODES[0]

    def run_batch(self) -> Result:
        """Do the work, write the reports. Raises Unavailable, DeadlineExceeded."""
        try:
            # The runtime stays open for the reports, so that a signal cannot kill the process.
            with self._open_runtime() as runtime, self.context.report_set(self.options.keep_reports) as self.report_set:
                return self._write_reports(runtime)
        except Unavailable as error:  # without reports, the history has the results
            known = (each for each in self.reports if each.answer or each.partial_result)
            results = [f"{each.name}: {summarize(each).rstrip('.')}" for each in islice(known, _MAX_SUMMARIES)]
            message = f"{error}. Results: {'; '.join(results)}" if results else str(error)
            raise (DeadlineExceeded(message) if self.stop_reason else Unavailable(message)) from None

    @contextlib.contextmanager
    def _open_runtime(self) -> Iterator[SearchRuntime]:
        with self.context.search_runtime(self.progress.report_part) as runtime:
            runtime.cache = self.cache = RecordingCache(runtime.cache)
            self.progress.seconds, self.start_time = runtime.monotonic, runtime.monotonic()
            yield runtime

    def _write_reports(self, runtime: SearchRuntime) -> Result:
        page = Page(self.puzzle, self.context.job)
        with self.report_set.file(RESULT_FILE) as file:
            try:
                self._precompute_tables(runtime, page, file)
                for name in self._board_order():
                    self.progress.start_part(name)
                    report = BoardReport(name=name, board=self.boards[name], mode=self.mode)
                    self._answer_board(report, runtime, page, file)
                for report in self._generated_boards(runtime, page, file):
                    self._answer_board(report, runtime, page, file)
            except Interrupted as interrupted:
                self.stop_reason = interrupted.reason
            if names := self._unreached_names():
                file.write(f"Not reached: {', '.join(names)}\n\n")
            self._save_next_name(page, file)
            return self._finish_reports(page, file)

    def _precompute_tables(self, runtime: SearchRuntime, page: Page, file: IO[str]) -> None:
        if not self.options.precompute:
            return
        self.progress.start_part("precompute")
        start_time = runtime.monotonic()
        try:
            # The options were checked: the puzzle has this function, and `generate` below.
            self.precomputed = self.puzzle.precompute(runtime)  # type: ignore[attr-defined]
        except Interrupted as interrupted:
            self.precompute_progress = format_partial_result(interrupted)
            file.write(render_rows({"Precomputed so far": self.precompute_progress}) + "\n")
            page.add_precomputed(f"Not complete yet: {self.precompute_progress}.", {}, ())
            raise
        except RESOURCE_ERRORS as error:  # existing tables may suffice
            self._report_build_error("precomputed", to_appliance_error(error), page, file)
            return
        self.seconds = runtime.monotonic() - start_time
        file.write("Precomputed\n===========\n" + render_precomputed(self.precomputed, self.seconds))
        facts, elapsed = format_details(self.precomputed.details), format_elapsed(self.seconds)
        page.add_precomputed(f"Complete, in {elapsed}.", facts, self.precomputed.tables)

    def _report_build_error(self, name: str, error: ApplianceError, page: Page, file: IO[str]) -> None:
        self.build_errors.append(f"{name}: {error}")
        file.write(render_rows({f"Not {name}": str(error)}) + "\n")
        page.add_note(f"Not {name}", f"{error}.")

    def _board_order(self) -> list[str]:
        names, first = list(self.boards), self._load_next_name()
        at = names.index(first) if first in names else 0
        return names[at:] + names[:at]

    def _generated_boards(self, runtime: SearchRuntime, page: Page, file: IO[str]) -> Iterator[BoardReport]:
        """Yield the generated boards of this date, except those that cannot be generated."""
        for name, seed in self.seeds.items():
            self.progress.start_part(name)
            try:
                generated = self.puzzle.generate(seed, self.model, runtime)  # type: ignore[attr-defined]
            except RESOURCE_ERRORS as error:
                self.failed_names.add(name)
                self._report_build_error(f"generated: {name}", to_appliance_error(error), page, file)
                continue
            details = {"seed": str(seed), **generated.details}
            yield BoardReport(name=name, board=generated.board, mode=self.mode, generator_details=details)

    def _answer_board(self, report: BoardReport, runtime: SearchRuntime, page: Page, file: IO[str]) -> None:
        self.reports.append(report)
        if len(self.boards) + self.options.generate + self.options.precompute > 1:
            file.write(f"{report.name}\n{'=' * len(report.name)}\n")
        self._write_picture(f"{report.name}.svg", self.puzzle.render_svg(report.board))
        self.cache.start_board()
        try:
            answer_board(self.puzzle, report, self.options.max_solutions, runtime, file.write)
        finally:
            page.add_board(report)
            if report.generator_details:  # the next run generates another board
                self.cache.remove_board_entries()
        for name, drawn in (report.answer.pictures if report.answer else {}).items():
            self._write_picture(f"{report.name}-{name}.svg", drawn)

    def _write_picture(self, name: str, picture: str) -> None:
        with self.report_set.file(name) as file:
            file.write(picture)

    def _unreached_names(self) -> list[str]:
        reached = {report.name for report in self.reports} | self.failed_names
        return [name for name in (*self.boards, *self.seeds) if name not in reached]

    def _load_next_name(self) -> str:
        try:
            return str(json.loads(self.context.load_state() or "{}").get("next", ""))
        except (ValueError, AttributeError, Refused):  # a damaged state only loses the order
            return ""

    def _save_next_name(self, page: Page, file: IO[str]) -> None:
        """Save the first board not reached, if it changed, so that no board starves the others."""
        unreached, all_reached = set(self._unreached_names()), not any(report.partial_result for report in self.reports)
        first = next(
            (name for name in self._board_order() if name in unreached), "" if all_reached else self._load_next_name()
        )
        if first != self._load_next_name():
            try:
                self.context.save_state(json.dumps({"next": first}))
            except Unavailable as error:
                name = "The next board could not be saved"
                file.write(render_rows({name: str(error)}) + "\n")
                page.add_note(name, f"{error}.")

    def _finish_reports(self, page: Page, file: IO[str]) -> Result:
        context, ended = self.context, self.context.clock()
        summary = self._summarize_run()
        times = {name: at.isoformat(" ", "seconds") for name, at in (("Start time", context.now), ("End time", ended))}
        times_and_memory = times | {"Peak memory": format_size(_peak_memory())}
        file.write(f"{summary}\n{render_rows(times_and_memory)}")
        with self.report_set.file("result.json") as out:
            json.dump(self._to_json(summary, ended), out, indent=1, ensure_ascii=False)
            out.write("\n")
        with self.report_set.file("result.html") as out:
            began = context.now.astimezone(context.local_time().tzinfo)
            took = format_elapsed(self.progress.seconds() - self.start_time)  # the wall clock may have been changed
            out.write(page.render(summary, f"{began:%A}, {began.day} {began:%B %Y, %H:%M} · it took {took}"))
        self._set_failure(summary)
        return Result(summary, self._count_results())

    def _set_failure(self, summary: str) -> None:
        errors = [f"{report.name}: {report.refused}" for report in self.reports if report.refused]
        errors += [f"not {each}" for each in self.build_errors]
        if self.stop_reason:
            self.failure = DeadlineExceeded(summary)
        elif errors:
            self.failure = Refused(f"{errors[0]}. See the report for all results")

    def _summarize_run(self) -> str:
        if self.precomputed is not None and not self.reports and not self.stop_reason:
            return f"Tables complete: {summarize_precomputed(self.precomputed)}"
        if self.precompute_progress:
            return f"The tables are not complete yet: {self.stop_reason}. Result so far: {self.precompute_progress}"
        solved, proven = (sum(bool(getattr(report, how)) for report in self.reports) for how in ("solved", "proven"))
        summary = f"{pluralize(solved, 'board')} solved" + (f", {proven} proven to have no solution" if proven else "")
        if not self.stop_reason:
            return summary
        interrupted = [report for report in self.reports if report.partial_result]
        detail = f". Result for {interrupted[-1].name} so far: {interrupted[-1].partial_result}" if interrupted else ""
        unreached = f", {len(self._unreached_names())} not reached" if self._unreached_names() else ""
        return f"{summary}{unreached}. The run was interrupted: {self.stop_reason}{detail}"

    def _count_results(self) -> dict[str, str | int | float | bool | None]:
        generated = sum(bool(report.generator_details) for report in self.reports)
        return {
            "solved": sum(report.solved for report in self.reports),
            "no_solution": sum(report.proven for report in self.reports),
            "listed": sum(report.listed for report in self.reports),
            "tried": sum(report.answer.nodes_searched() for report in self.reports if report.answer),
            **({"generated": generated} if self.options.generate else {}),
        }

    def _to_json(self, summary: str, ended: datetime) -> dict[str, Any]:
        return {
            "format": JSON_FORMAT,
            "puzzle": self.options.puzzle,
            "title": self.puzzle.TITLE,
            "job": self.context.job,
            "started": self.context.now.isoformat(timespec="seconds"),
            "ended": ended.isoformat(timespec="seconds"),
            "complete": not self.stop_reason,
            "summary": summary,
            "peak_memory": _peak_memory(),
            "precomputed": answer_to_json(self.precomputed) if self.precomputed else None,
            "boards": [report_to_json(self.puzzle, report) for report in self.reports],
            "not_reached": self._unreached_names(),
        }


def _peak_memory() -> int:
    usages = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return max(resource.getrusage(each).ru_maxrss for each in usages) * 1024


Context = PuzzleContext


def report_picture(lines: Iterable[str]) -> Picture | None:
    """Draw a solution of the `lines` of a report, for a post; None if it has none."""
    from pi_appliance.puzzles.picture import draw_listing  # noqa: PLC0415 - only posts with a picture need it

    return draw_listing(lines)


def run(options: Options, context: PuzzleContext) -> Result:
    """Answer each board; DeadlineExceeded follows the report of an interruption. Raises Refused."""
    puzzle = load_puzzle(options.puzzle)
    all_known = not (options.boards or options.generate or options.precompute)
    paths = options.boards or ([Path(name) for name in puzzle.BOARDS] if all_known else [])
    boards = {board_name(where): read_board(puzzle, where, options.rules) for where in paths}
    model = next(iter(boards.values()), None) or read_board(puzzle, Path(next(iter(puzzle.BOARDS))), options.rules)
    batch = PuzzleBatch(context, options, puzzle, boards, model)
    result = batch.run_batch()
    if batch.failure is not None:
        raise batch.failure
    return result
