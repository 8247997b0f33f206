"""Job kind `puzzle`: solve, count and generate boards; write reports as text, JSON and HTML.

An interrupted run reports its partial results and saves which board the next run starts with.
"""

import contextlib
import gc
import json
import resource
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Annotated

from pi_appliance.cluster.client import connect_to_cluster
from pi_appliance.config.options import Config, Job
from pi_appliance.config.units import Limits, Size, format_size, join_clauses
from pi_appliance.errors import ApplianceError, DeadlineExceeded, Issues, Refused, Unavailable, UnknownName
from pi_appliance.jobs.context import JobContext
from pi_appliance.puzzles import Answer, Progress, Puzzle, SolveMode, pluralize
from pi_appliance.puzzles.board_report import (
    DEFAULT_MAX_SOLUTIONS,
    JSON_FILE,
    RESOURCE_ERRORS,
    BoardReport,
    answer_to_json,
    format_partial_result,
    render_precomputed,
    summarize_precomputed,
    to_appliance_error,
)
from pi_appliance.puzzles.boards import board_name, is_large, load_puzzle, read_board
from pi_appliance.puzzles.daily import daily_to_json
from pi_appliance.puzzles.dry_run import Plan, Task, plan_tasks
from pi_appliance.puzzles.picture import animate_result, draw_result
from pi_appliance.puzzles.result_page import Page
from pi_appliance.puzzles.runtime import FileCache, Interrupted, SearchRuntime, local
from pi_appliance.puzzles.runtime.deadline import Estimate
from pi_appliance.puzzles.runtime.local import MemoryBudget
from pi_appliance.puzzles.text_format import format_details, format_elapsed, render_rows
from pi_appliance.storage.model import Result, read_slot


class PuzzleContext(JobContext):
    """The context of a run that may search for a long time."""

    cluster_note = ""  # why the configured cluster does not help, or only with some workers

    @contextlib.contextmanager
    def search_runtime(self, progress: Callable[[float | None, str], None] | None = None) -> Iterator[SearchRuntime]:
        """Create the runtime of a search for a `with` block; the end of the run interrupts it."""
        folder = self.config.state_dir / local.FOLDER
        deadline = self.parameters.deadline
        FileCache(folder).remove_stale_files()
        with connect_to_cluster(self.config) as cluster:
            self.cluster_note = cluster.note
            with local.open_runtime(
                folder,
                progress or self.progress,
                seconds=None if deadline is None else deadline - time.monotonic(),
                cpu_percent=self.config.jobs[self.job].cpu,
                memory_advice=_memory_advice(self.job),
                executor=cluster.executor,
            ) as runtime:
                yield runtime


@dataclass(slots=True)
class WeightedProgress:
    """Combines the progress of parts into the progress of the run."""

    context: PuzzleContext
    parts: int
    number: int = -1
    name: str = ""
    part: float = 0.0  # progress of the current part, 0 to 1
    seconds: Callable[[], float] = lambda: 0.0  # returns the seconds of a clock that never goes back
    _estimate: Estimate = field(init=False)

    def start_part(self, name: str) -> None:
        """Start the next part of the progress."""
        self.number, self.name, self.part, self._estimate = self.number + 1, name, 0.0, Estimate(self.seconds)
        self.context.progress(self._whole_progress(None), name)

    def report_part(self, part: float | None, note: str) -> None:
        """Report the progress of the current part, None if unknown."""
        notes = ", ".join(filter(None, (self._estimate.format_remaining(part), note)))
        self.context.progress(self._whole_progress(part), f"{self.name}: {notes}")

    def _whole_progress(self, part: float | None) -> float | None:
        if self.parts == 1:
            return part
        self.part = max(self.part, part or 0.0)
        return (self.number + self.part) / self.parts


def local_day(context: PuzzleContext) -> datetime:
    """Return the scheduled time of the run, or else its start, in the time zone of the owner."""
    return (read_slot(context.scheduled_for) or context.now).astimezone(context.local_time().tzinfo)


def daily_seeds(context: PuzzleContext, many: int) -> dict[str, int]:
    """Return names and seeds of new boards: different for each day, but reproducible."""
    day = local_day(context)
    return {
        f"{day:%Y-%m-%d}" + (f"-{number}" if many > 1 else ""): int(f"{day:%Y%m%d}") * 1_000 + number
        for number in range(1, many + 1)
    }


RESULT_FILE = "result.txt"
_MAX_SUMMARIES = 7  # boards named in the error message if no report can be written
JSON_FORMAT = 1  # version of result.json; increase it for incompatible changes
_MAX_GENERATED = 1_000
_CHECKPOINT_WRITES = Size(local.CHECKPOINT_WRITES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys that a job of this kind has under `with:`."""

    puzzle: Annotated[
        str,
        "battleship, bimaru, connect-four, panguru, peg-solitaire, rubiks-cube, solitaire-chess, sudoku, or one that "
        "a plug-in adds",
    ]
    boards: Annotated[
        list[Path],
        "known boards by name, your own by file; default: all known ones, or none with `generate` or `precompute`",
    ] = field(default_factory=list)
    solutions: Annotated[
        SolveMode | None,
        "which solutions to find on each board; default: depends on the puzzle, mostly the first solution",
    ] = None
    max_solutions: Annotated[
        int, "list at most this many solutions of each board", Limits(1, wrong="is not a valid number of solutions")
    ] = DEFAULT_MAX_SOLUTIONS
    rules: Annotated[dict[str, str], 'rules that differ from the default, such as {goal: "3,3"}'] = field(
        default_factory=dict
    )
    precompute: Annotated[bool, "first build the tables that make the puzzle fast; continues where it stopped"] = False
    generate: Annotated[
        int,
        "number of new boards, like the first one named; the seed is the date",
        Limits(0, _MAX_GENERATED, wrong="is not a valid number of boards"),
    ] = 0
    keep_reports: Annotated[
        int, "number of dated report folders to keep", Limits(1, wrong="is not a valid number of reports")
    ] = 14
    checkpoint_writes: Annotated[
        Size, "the most that a run writes to save unfinished searches, which spares the SD card"
    ] = _CHECKPOINT_WRITES

    def check(self) -> Issues:
        """Return problems between the keys: path, problem, remedy."""
        try:
            puzzle = load_puzzle(self.puzzle)
        except UnknownName as error:
            return _to_problems(("puzzle",), error)
        problems: Issues = []
        if self.solutions is not None and self.solutions not in puzzle.MODES:
            supported = f"supported: {', '.join(puzzle.MODES)}"
            problems.append((("solutions",), f"{self.puzzle} does not support {self.solutions}", supported))
        if self.generate and not hasattr(puzzle, "generate"):
            problems.append((("generate",), f"{self.puzzle} does not generate boards", "leave it out"))
        if self.precompute and not hasattr(puzzle, "precompute"):
            problems.append((("precompute",), f"{self.puzzle} has no tables to build", "leave it out"))
        return problems + self._find_wrong_boards(puzzle)

    def _find_wrong_boards(self, puzzle: Puzzle) -> Issues:
        problems: Issues = []
        for number, where in enumerate(self.boards):
            if not is_large(where):
                wrong = _board_problems(puzzle, where, {}, ("boards", number))
                problems += wrong or self._find_wrong_rules(puzzle, where)
        if not self.boards:
            problems += self._find_wrong_rules(puzzle, Path(next(iter(puzzle.BOARDS))))
        twice = [name for name, times in Counter(map(board_name, self.boards)).items() if times > 1]
        return problems + [(("boards",), f"two boards are called {name!r}", "give each its own name") for name in twice]

    def _find_wrong_rules(self, puzzle: Puzzle, where: Path) -> Issues:
        """Return the rules that the board does not accept: each alone, then all together."""
        wrong: Issues = []
        for name, value in self.rules.items():
            wrong += _board_problems(puzzle, where, {name: value}, ("rules", name))
        return wrong or (_board_problems(puzzle, where, self.rules, ("rules",)) if self.rules else [])


def _board_problems(puzzle: Puzzle, where: Path, rules: Mapping[str, str], path: tuple[str | int, ...]) -> Issues:
    try:
        read_board(puzzle, where, rules)
    except ApplianceError as error:
        return _to_problems(path, error)
    return []


def _to_problems(path: tuple[str | int, ...], error: ApplianceError) -> Issues:
    parts = (line.partition("; ") for line in str(error).splitlines())
    return [(path, problem, right) for problem, _, right in parts]


class PuzzleBatch:
    """Answers all boards of one run."""

    def __init__(
        self, context: PuzzleContext, options: Options, puzzle: Puzzle, boards: Mapping[str, object], model: object
    ) -> None:
        """Prepare to answer `boards`, and generated boards like `model`."""
        self.context, self.options, self.puzzle, self.boards, self.model = context, options, puzzle, boards, model
        self.seeds = daily_seeds(context, options.generate)
        self.progress = WeightedProgress(context, max(1, options.precompute + len(boards) + options.generate))
        self.mode = options.solutions or puzzle.MODES[0]
        self.page = Page(puzzle, context.job)
        self.reports: list[BoardReport] = []
        self.precomputed: Answer[object] | None = None
        self.stop_reason = ""  # reason of the interruption, if any
        self.precompute_progress = ""
        self.build_errors: list[str] = []  # reasons why tables and boards could not be built
        self.failed_names: set[str] = set()

    def run(self) -> Result:
        """Do the work, write the reports. Raises Unavailable, DeadlineExceeded, Refused."""
        try:
            # The runtime stays open while reports are written, so that a signal does not kill the
            # process.
            with (
                self.context.search_runtime(self.progress.report_part) as self.runtime,
                self.context.report_set(self.options.keep_reports) as self.report_set,
                self.report_set.file(RESULT_FILE) as self.file,
            ):
                self.runtime.checkpoint_writes = self.options.checkpoint_writes
                self.progress.seconds, self.start_time = self.runtime.monotonic, self.runtime.monotonic()
                result = self._write_reports()
        except Unavailable as error:  # if no report can be written, the history has the results
            known = (each for each in self.reports if each.answer or each.partial_result)
            results = [f"{each.name}: {each.summarize().rstrip('.')}" for each in islice(known, _MAX_SUMMARIES)]
            message = f"{error}. Results: {'; '.join(results)}" if results else str(error)
            raise (DeadlineExceeded(message) if self.stop_reason else Unavailable(message)) from None
        if self.stop_reason:
            raise DeadlineExceeded(result.summary)
        errors = [f"{report.name}: {report.refused}" for report in self.reports if report.refused]
        errors += [f"not {each}" for each in self.build_errors]
        if errors:
            raise Refused(f"{errors[0]}. See the report for all results")
        return result

    def _write_reports(self) -> Result:
        if self.context.cluster_note:
            self._write_note("Cluster", self.context.cluster_note)
        try:
            if self.options.precompute:
                self._precompute_tables()
            for name in self._board_order():
                self.progress.start_part(name)
                self._answer_board(name, self.boards[name], {})
            for name, seed in self.seeds.items():
                self._answer_generated_board(name, seed)
        except Interrupted as interrupted:
            self.stop_reason = interrupted.reason
        if names := self._unreached_names():
            self.file.write(f"Not reached: {', '.join(names)}\n\n")
        self._save_next_name()
        return self._finish_reports()

    def _precompute_tables(self) -> None:
        self.progress.start_part("precompute")
        start_time = self.runtime.monotonic()
        try:
            # It was checked with the options that the puzzle has this function, and `generate`
            # below.
            self.precomputed = answer = self.puzzle.precompute(self.runtime)  # type: ignore[attr-defined]
        except Interrupted as interrupted:
            self.precompute_progress = format_partial_result(interrupted)
            self.file.write(render_rows({"Precomputed so far": self.precompute_progress}) + "\n")
            self.page.add_precomputed(f"Not complete yet: {self.precompute_progress}.", {}, ())
            raise
        except RESOURCE_ERRORS as error:  # a search may succeed with the existing tables
            self._report_build_error("precomputed", error)
            return
        seconds = self.runtime.monotonic() - start_time
        self.file.write("Precomputed\n===========\n" + render_precomputed(answer, seconds))
        details, elapsed = format_details(answer.details), format_elapsed(seconds)
        self.page.add_precomputed(f"Complete, in {elapsed}.", details, answer.tables)

    def _report_build_error(self, name: str, error: Exception) -> None:
        message = str(to_appliance_error(error))
        self.build_errors.append(f"{name}: {message}")
        self._write_note(f"Not {name}", message)

    def _write_note(self, name: str, message: str) -> None:
        self.file.write(render_rows({name: message}) + "\n")
        self.page.add_note(name, f"{message}.")

    def _board_order(self) -> list[str]:
        names, first = list(self.boards), self._load_next_name()
        at = names.index(first) if first in names else 0
        return names[at:] + names[:at]

    def _answer_generated_board(self, name: str, seed: int) -> None:
        self.progress.start_part(name)
        try:
            generated = self.puzzle.generate(seed, self.model, self.runtime)  # type: ignore[attr-defined]
        except RESOURCE_ERRORS as error:
            self.failed_names.add(name)
            self._report_build_error(f"generated: {name}", error)
            return
        details = {"seed": str(seed), **generated.details}
        self.runtime.checkpoints.clear()
        try:
            self._answer_board(name, generated.board, details)
        finally:
            # these are of no use, because the next run generates another board
            for checkpoint in self.runtime.checkpoints:
                self.runtime.cache.remove(checkpoint)

    def _answer_board(self, name: str, board: object, details: Mapping[str, int | float | str]) -> None:
        report = BoardReport(puzzle=self.puzzle, name=name, board=board, mode=self.mode, generator_details=details)
        self.reports.append(report)
        if self.progress.parts > 1:
            self.file.write(f"{name}\n{'=' * len(name)}\n")
        self._write_picture(f"{name}.svg", self.puzzle.render_svg(board))
        try:
            report.search(self.options.max_solutions, self.runtime, self.file.write)
        finally:
            self.page.add_board(report)
            gc.collect()  # frees tables of a search that are in a cycle of references
        for picture, drawn in (report.answer.pictures if report.answer else {}).items():
            self._write_picture(f"{name}-{picture}.svg", drawn)

    def _write_picture(self, name: str, picture: str) -> None:
        with self.report_set.file(name) as file:
            file.write(picture)

    def _unreached_names(self) -> list[str]:
        reached = {report.name for report in self.reports} | self.failed_names
        return [name for name in (*self.boards, *self.seeds) if name not in reached]

    def _load_next_name(self) -> str:
        try:
            return str(json.loads(self.context.load_state() or "{}").get("next", ""))
        except (ValueError, AttributeError, Refused):  # a damaged state only loses the order of the boards
            return ""

    def _save_next_name(self) -> None:
        """Save the first board that was not reached, if it changed: the next run begins with it."""
        unreached, before = set(self._unreached_names()), self._load_next_name()
        default = before if any(report.partial_result for report in self.reports) else ""
        first = next((name for name in self._board_order() if name in unreached), default)
        if first != before:
            try:
                self.context.save_state(json.dumps({"next": first}))
            except Unavailable as error:
                self._write_note("The next board could not be saved", str(error))

    def _finish_reports(self) -> Result:
        context, ended = self.context, self.context.clock()
        summary = self._summarize_run()
        rows = {name: at.isoformat(" ", "seconds") for name, at in (("Start time", context.now), ("End time", ended))}
        self.file.write(f"{summary}\n{render_rows(rows | {'Peak memory': format_size(_peak_memory())})}")
        with self.report_set.file(JSON_FILE) as out:
            json.dump(self._to_json(summary, ended), out, indent=1, ensure_ascii=False)
            out.write("\n")
        with self.report_set.file("result.html") as out:
            began = context.now.astimezone(context.local_time().tzinfo)
            # by the monotonic clock, because the wall clock may have changed
            took = format_elapsed(self.runtime.monotonic() - self.start_time)
            out.write(self.page.render(summary, f"{began:%A}, {began.day} {began:%B %Y, %H:%M} · it took {took}"))
        return Result(join_clauses(summary, context.cluster_note), self._count_results())

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

    def _to_json(self, summary: str, ended: datetime) -> dict[str, object]:
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
            "boards": [report.to_json() for report in self.reports],
            "today": daily_to_json(self.reports, local_day(self.context), with_hints=not self.stop_reason),
            "not_reached": self._unreached_names(),
        }


def _peak_memory() -> int:
    usages = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return max(resource.getrusage(each).ru_maxrss for each in usages) * 1024


Context = PuzzleContext
report_picture, report_animation = draw_result, animate_result


def run_options(_: Options) -> Sequence[str]:
    """Return the keys that may differ for one run."""
    return ("boards", "solutions", "max-solutions", "generate")


def run(options: Options, context: PuzzleContext) -> Result:
    """Answer each board, and write the report. Raises Refused.

    If the run was interrupted, DeadlineExceeded is raised after the report.
    """
    puzzle, boards, model = _load_boards(options)
    return PuzzleBatch(context, options, puzzle, boards, model).run()


def _load_boards(options: Options) -> tuple[Puzzle, dict[str, object], object]:
    """Return the puzzle, the boards by name, and the board that generated ones are like."""
    puzzle = load_puzzle(options.puzzle)
    all_known = not (options.boards or options.generate or options.precompute)
    paths = options.boards or ([Path(name) for name in puzzle.BOARDS] if all_known else [])
    boards = {board_name(where): read_board(puzzle, where, options.rules) for where in paths}
    model = next(iter(boards.values()), None) or read_board(puzzle, Path(next(iter(puzzle.BOARDS))), options.rules)
    return puzzle, boards, model


def plan(options: Options, config: Config, job: Job, progress: Progress) -> Plan:
    """Return what a run would search, and how much memory and disk it would need."""
    puzzle, boards, model = _load_boards(options)
    mode, advice = options.solutions or puzzle.MODES[0], _memory_advice(job.name)
    folder = config.state_dir / local.FOLDER
    tasks = [Task("precompute", None, mode)] if options.precompute else []
    tasks += [Task(name, board, mode) for name, board in boards.items()]
    tasks += [Task(pluralize(options.generate, "new board"), model, mode)] if options.generate else []
    folders = {"Tables and checkpoints": str(folder), "Reports": str(config.reports / job.name)}
    budgets = [MemoryBudget(job.memory, 0, "the limit of the job", advice)] if job.memory else []
    with local.open_runtime(folder, progress, cpu_percent=job.cpu, memory_advice=advice) as runtime:
        runtime.checkpoint_writes = options.checkpoint_writes
        try:
            return plan_tasks(puzzle, tasks, runtime, job.timeout.total_seconds(), folders, budgets)
        except Interrupted:  # only a signal can interrupt this, because the runtime has no deadline
            raise KeyboardInterrupt from None


def _memory_advice(job: str) -> str:
    return f"let job {job} have `memory: {{}}`"
