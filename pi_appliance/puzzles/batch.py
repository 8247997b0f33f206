"""One run of a puzzle job: precompute tables, answer boards, generate new ones, and write the reports.

An interrupted run reports its partial results and saves which board the next run starts with.
"""

import contextlib
import json
import resource
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, islice
from typing import IO, Any

from pi_appliance.config.units import format_size
from pi_appliance.errors import ApplianceError, DeadlineExceeded, Refused, Unavailable
from pi_appliance.jobs.context import JobContext, read_slot
from pi_appliance.jobs.reports import ReportSet
from pi_appliance.puzzles import Puzzle, SolveMode, SolveResult, pluralize
from pi_appliance.puzzles.page import Page
from pi_appliance.puzzles.rendering import format_details, render_rows
from pi_appliance.puzzles.report import (
    RESOURCE_ERRORS,
    BoardReport,
    answer_board,
    answer_to_json,
    format_elapsed,
    format_partial_result,
    render_precomputed,
    report_to_json,
    summarize,
    summarize_precomputed,
    to_appliance_error,
)
from pi_appliance.puzzles.runtime import cache, local
from pi_appliance.puzzles.runtime.cache import RecordingCache
from pi_appliance.puzzles.runtime.interface import Interrupted, SearchRuntime
from pi_appliance.puzzles.runtime.local import Estimate
from pi_appliance.storage.model import Result


class PuzzleContext(JobContext):
    """The context of a run that may search for a long time."""

    def search_runtime(
        self, progress: Callable[[float | None, str], None] | None = None
    ) -> AbstractContextManager[SearchRuntime]:
        """Create the runtime of a long search for a `with` block. A request to end the run interrupts the search.

        Args:
            progress: receives the progress of the search instead of `self.progress`.

        """
        folder = self.config.state_dir / local.FOLDER
        deadline = self.parameters.deadline
        cache.FileCache(folder).sweep()
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
    seconds: Callable[[], float] = lambda: 0.0
    """A monotonic clock for the estimate of the current part."""
    _estimate: Estimate = field(default_factory=lambda: Estimate(lambda: 0.0))

    def next(self, name: str) -> None:
        """Start the next part."""
        self.number, self.name, self.part = self.number + 1, name, 0.0
        self._estimate = Estimate(self.seconds)
        self.context.progress(self._whole(None), name)

    def tell(self, part: float | None, note: str) -> None:
        """Report the progress of the current part, None if unknown."""
        left = self._estimate.remaining(part)
        self.context.progress(self._whole(part), f"{self.name}: {left}{', ' if left else ''}{note}")

    def _whole(self, part: float | None) -> float | None:
        """Return the progress of the run, which never decreases."""
        if self.parts == 1:
            return part
        self.part = max(self.part, part or 0.0)
        return (self.number + self.part) / self.parts


def daily_seeds(context: PuzzleContext, many: int) -> dict[str, int]:
    """Return names and seeds of new boards: different for each day, but reproducible."""
    day = _scheduled_day(context)
    return {
        f"{day:%Y-%m-%d}" + (f"-{number}" if many > 1 else ""): int(f"{day:%Y%m%d}") * 1_000 + number
        for number in range(1, many + 1)
    }


def _scheduled_day(context: PuzzleContext) -> datetime:
    """Return the day of the slot, or of the run, in the time zone of the job."""
    moment = read_slot(context.scheduled_for) or context.now
    return moment.astimezone(context.local_time().tzinfo)


RESULT_FILE = "result.txt"
DEFAULT_MAX_SOLUTIONS = 10_000  # solutions; the longest take some 20 MB
_MAX_SUMMARIES = 7  # boards in the error message if no report can be written
JSON_FORMAT = 1  # version of result.json; increase it for incompatible changes


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPlan:
    """The options of a run, with boards loaded."""

    puzzle: Puzzle
    name: str
    boards: Mapping[str, Any]
    mode: SolveMode
    max_solutions: int
    precompute: bool
    generate: int
    keep_reports: int
    """The number of report sets to keep."""
    model: Any
    """The board that generated ones are like."""


@dataclass(slots=True)
class PuzzleBatch:
    """The work of one run. `failure` is the error to raise at the end, if any."""

    plan: BatchPlan
    context: PuzzleContext
    edition: ReportSet = field(init=False)
    cache: RecordingCache = field(init=False)
    share: WeightedProgress = field(init=False)
    begun: float = field(init=False)  # monotonic seconds
    failure: ApplianceError | None = None
    told: list[BoardReport] = field(default_factory=list)
    prepared: SolveResult | None = None
    seconds: float = 0.0  # time of precomputing
    cut_off: str = ""  # reason of an interruption
    prepared_so_far: str = ""
    left_out: list[str] = field(default_factory=list)
    """Tables and boards that could not be built, with the reasons."""
    unmade: set[str] = field(default_factory=set)
    seeds: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        plan = self.plan
        self.seeds = daily_seeds(self.context, plan.generate)
        self.share = WeightedProgress(self.context, max(1, plan.precompute + len(plan.boards) + plan.generate))

    def run(self) -> Result:
        """Do the work and write the reports; interruptions and refusals are reported and stored in `failure`.

        Raises:
            Unavailable: the reports cannot be written.
            DeadlineExceeded: as above, and the run was interrupted.

        """
        try:
            # The runtime stays open while the reports are written, so that a signal cannot kill the process.
            with self._open_runtime() as runtime, self.context.report_set(self.plan.keep_reports) as self.edition:
                return self._reported(runtime)
        except Unavailable as error:  # without reports, the history has the results
            known = (each for each in self.told if each.answer or each.cut_off)
            found = (f"; {told.name}: {summarize(told).rstrip('.')}" for told in known)
            words = "".join((str(error), *islice(found, _MAX_SUMMARIES)))
            raise (DeadlineExceeded(words) if self.cut_off else Unavailable(words)) from None

    @contextlib.contextmanager
    def _open_runtime(self) -> Iterator[SearchRuntime]:
        with self.context.search_runtime(self.share.tell) as runtime:
            runtime.cache = self.cache = RecordingCache(runtime.cache)
            self.share.seconds, self.begun = runtime.monotonic, runtime.monotonic()
            yield runtime

    def _reported(self, runtime: SearchRuntime) -> Result:
        page = Page(self.plan.puzzle, self.context.job)
        with self.edition.file(RESULT_FILE) as file:
            try:
                self._prepare(runtime, page, file)
                for told in chain(self._listed(), self._made(runtime, page, file)):
                    self._answer(told, runtime, page, file)
            except Interrupted as interrupted:
                self.cut_off = interrupted.reason
            self._not_reached(file)
            self._remember(page, file)
            return self._report(page, file)

    def _prepare(self, runtime: SearchRuntime, page: Page, file: IO[str]) -> None:
        if not self.plan.precompute:
            return
        self.share.next("precompute")
        begun = runtime.monotonic()
        try:
            # The options were checked: the puzzle has the function. The same holds for `generate` below.
            self.prepared = self.plan.puzzle.precompute(runtime)  # type: ignore[attr-defined]
        except Interrupted as interrupted:
            self.prepared_so_far = format_partial_result(interrupted)
            file.write(render_rows({"Precomputed so far": self.prepared_so_far}) + "\n")
            page.add_precomputed(f"Not complete yet: {self.prepared_so_far}.", {}, ())
            raise
        except RESOURCE_ERRORS as error:  # existing tables may suffice
            self._leave_out("precomputed", to_appliance_error(error), page, file)
            return
        self.seconds = runtime.monotonic() - begun
        file.write("Precomputed\n===========\n" + render_precomputed(self.prepared, self.seconds))
        page.add_precomputed(
            f"Complete, in {format_elapsed(self.seconds)}.", format_details(self.prepared.details), self.prepared.tables
        )

    def _leave_out(self, name: str, error: ApplianceError, page: Page, file: IO[str]) -> None:
        """Report that something could not be built, and continue."""
        self.left_out.append(f"{name}: {error}")
        file.write(render_rows({f"Not {name}": str(error)}) + "\n")
        page.add_note(f"Not {name}", f"{error}.")

    def _listed(self) -> Iterator[BoardReport]:
        """Yield the configured boards, starting with the first one that the last run did not reach."""
        for name in self._order():
            self.share.next(name)
            yield BoardReport(name=name, board=self.plan.boards[name], mode=self.plan.mode)

    def _order(self) -> list[str]:
        names, first = list(self.plan.boards), self._recalled()
        at = names.index(first) if first in names else 0
        return names[at:] + names[:at]

    def _made(self, runtime: SearchRuntime, page: Page, file: IO[str]) -> Iterator[BoardReport]:
        """Yield the generated boards of this date, except those that cannot be generated."""
        for name, seed in self.seeds.items():
            self.share.next(name)
            try:
                made = self.plan.puzzle.generate(seed, self.plan.model, runtime)  # type: ignore[attr-defined]
            except RESOURCE_ERRORS as error:
                self.unmade.add(name)
                self._leave_out(f"generated: {name}", to_appliance_error(error), page, file)
                continue
            yield BoardReport(
                name=name, board=made.board, mode=self.plan.mode, made={"seed": str(seed), **made.details}
            )

    def _answer(self, told: BoardReport, runtime: SearchRuntime, page: Page, file: IO[str]) -> None:
        self.told.append(told)
        if len(self.plan.boards) + self.plan.generate + self.plan.precompute > 1:
            file.write(f"{told.name}\n{'=' * len(told.name)}\n")
        self._draw(f"{told.name}.svg", self.plan.puzzle.render_svg(told.board))
        self.cache.start_board()
        try:
            answer_board(self.plan.puzzle, told, self.plan.max_solutions, runtime, file.write)
        finally:
            page.add(told)
            if told.made:  # the next run generates another board
                self.cache.remove_board_entries()
        for name, drawn in (told.answer.pictures if told.answer else {}).items():
            self._draw(f"{told.name}-{name}.svg", drawn)

    def _draw(self, name: str, picture: str) -> None:
        with self.edition.file(name) as file:
            file.write(picture)

    def _not_reached(self, file: IO[str]) -> None:
        left = self._left()
        if left:
            file.write(f"Not reached: {', '.join(left)}\n\n")

    def _left(self) -> list[str]:
        reached = {told.name for told in self.told} | self.unmade
        return [name for name in (*self.plan.boards, *self.seeds) if name not in reached]

    def _recalled(self) -> str:
        try:
            return str(json.loads(self.context.load_state() or "{}").get("next", ""))
        except (ValueError, AttributeError, Refused):  # a damaged state only loses the order
            return ""

    def _remember(self, page: Page, file: IO[str]) -> None:
        """Save the board that the next run starts with, if it changed.

        A board that takes a whole run must not starve the others: boards not reached come first next time. If all were
        reached, the order stays.
        """
        left, reached = set(self._left()), not any(told.cut_off for told in self.told)
        first = next((name for name in self._order() if name in left), "" if reached else self._recalled())
        if first != self._recalled():
            try:
                self.context.save_state(json.dumps({"next": first}))
            except Unavailable as error:
                name = "The next board could not be saved"
                file.write(render_rows({name: str(error)}) + "\n")
                page.add_note(name, f"{error}.")

    def _report(self, page: Page, file: IO[str]) -> Result:
        """Write the end of result.txt, result.json and result.html; return the result of the run."""
        context, ended = self.context, self.context.clock()
        summary = self._summary()
        ends = {
            "Start time": _instant(context.now),
            "End time": _instant(ended),
            "Peak memory": format_size(_memory()),
        }
        file.write(f"{summary}\n{render_rows(ends)}")
        with self.edition.file("result.json") as out:
            json.dump(self._values(summary, ended), out, indent=1, ensure_ascii=False)
            out.write("\n")
        with self.edition.file("result.html") as out:
            began = context.now.astimezone(context.local_time().tzinfo)
            took = format_elapsed(self.share.seconds() - self.begun)  # the wall clock may have been changed
            times = f"{began:%A}, {began.day} {began:%B %Y, %H:%M} · it took {took}"
            out.write(page.render(summary, times))
        self._fail(summary)
        return Result(summary, self._facts())

    def _fail(self, summary: str) -> None:
        wrong = [f"{told.name}: {told.refused}" for told in self.told if told.refused]
        wrong += [f"not {each}" for each in self.left_out]
        if self.cut_off:
            self.failure = DeadlineExceeded(summary)
        elif wrong:
            self.failure = Refused(f"{wrong[0]}; the report has the rest")

    def _summary(self) -> str:
        if self.prepared is not None and not self.told and not self.cut_off:
            return f"precomputed: {summarize_precomputed(self.prepared)}"
        if self.prepared_so_far:
            return f"not precomputed yet: {self.cut_off}; {self.prepared_so_far}"
        solved, proven = (sum(bool(getattr(told, how)) for told in self.told) for how in ("solved", "proven"))
        words = f"{pluralize(solved, 'board')} solved" + (f", {proven} proven to have no solution" if proven else "")
        if not self.cut_off:
            return words
        open_ones = [told for told in self.told if told.cut_off]
        detail = f"; {open_ones[-1].name}: {open_ones[-1].cut_off}" if open_ones else ""
        left = f", {len(self._left())} not reached" if self._left() else ""
        return f"{words}{left}: {self.cut_off}{detail}"

    def _facts(self) -> dict[str, str | int | float | bool | None]:
        made = {"made": sum(bool(told.made) for told in self.told)} if self.plan.generate else {}
        return {
            "solved": sum(told.solved for told in self.told),
            "no-solution": sum(told.proven for told in self.told),
            "listed": sum(told.listed.number for told in self.told),
            "tried": sum(told.answer.nodes_searched() for told in self.told if told.answer),
            **made,
        }

    def _values(self, summary: str, ended: datetime) -> dict[str, Any]:
        return {
            "format": JSON_FORMAT,
            "puzzle": self.plan.name,
            "title": self.plan.puzzle.TITLE,
            "job": self.context.job,
            "started": self.context.now.isoformat(timespec="seconds"),
            "ended": ended.isoformat(timespec="seconds"),
            "complete": not self.cut_off,
            "summary": summary,
            "peak_memory": _memory(),
            "precomputed": answer_to_json(self.prepared) if self.prepared else None,
            "boards": [report_to_json(self.plan.puzzle, told) for told in self.told],
            "not_reached": self._left(),
        }


def _memory() -> int:
    """Return the peak memory of this process or its largest worker, in bytes."""
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return max(resource.getrusage(each).ru_maxrss for each in who) * 1024


def _instant(moment: datetime) -> str:
    return moment.isoformat(" ", "seconds")
