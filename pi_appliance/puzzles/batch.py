"""One night of a puzzle job: prepare, answer the boards one after the other, make new ones, and report.

A night that is cut off reports what it knows, and remembers with which board the next one goes on.
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
    """Tells how far the whole is, from how far a part of it is."""

    context: PuzzleContext
    parts: int
    number: int = -1
    name: str = ""
    part: float = 0.0  # of the one in work, as far as it was told
    seconds: Callable[[], float] = lambda: 0.0
    """A steady clock, by which it is told how long the part in work will take."""
    _estimate: Estimate = field(default_factory=lambda: Estimate(lambda: 0.0))

    def next(self, name: str) -> None:
        """Begin with the next part, called NAME."""
        self.number, self.name, self.part = self.number + 1, name, 0.0
        self._estimate = Estimate(self.seconds)
        self.context.progress(self._whole(None), name)

    def tell(self, part: float | None, note: str) -> None:
        """Tell that so much of this PART is done; None: nobody knows."""
        left = self._estimate.remaining(part)
        self.context.progress(self._whole(part), f"{self.name}: {left}{', ' if left else ''}{note}")

    def _whole(self, part: float | None) -> float | None:
        """Return what is done for certain. Of many parts something always is, and it never becomes less."""
        if self.parts == 1:
            return part
        self.part = max(self.part, part or 0.0)
        return (self.number + self.part) / self.parts


def daily_seeds(context: PuzzleContext, many: int) -> dict[str, int]:
    """Return the names and the seeds of so MANY new boards: each day its own, and the same for the same day."""
    day = _scheduled_day(context)
    return {
        f"{day:%Y-%m-%d}" + (f"-{number}" if many > 1 else ""): int(f"{day:%Y%m%d}") * 1_000 + number
        for number in range(1, many + 1)
    }


def _scheduled_day(context: PuzzleContext) -> datetime:
    """Return the day of the slot, or of the run, in the job's time zone."""
    moment = read_slot(context.scheduled_for) or context.now
    return moment.astimezone(context.local_time().tzinfo)


RESULT_FILE = "result.txt"
DEFAULT_MAX_SOLUTIONS = 10_000  # solutions; ten thousand of the longest fill some 20 MB
_MAX_SUMMARIES = 7  # boards whose answers are told where no report can be written
JSON_FORMAT = 1  # of result.json; a reader of one can read what is added, and not what is changed


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPlan:
    """What is to be done."""

    puzzle: Puzzle
    name: str
    boards: Mapping[str, Any]
    mode: SolveMode
    max_solutions: int
    precompute: bool
    generate: int
    keep_reports: int
    """So many editions stay."""
    model: Any
    """What boards that are made are like."""


@dataclass(slots=True)
class PuzzleBatch:
    """The work of one run. What keeps it from being a success stands in `failure` at the end."""

    plan: BatchPlan
    context: PuzzleContext
    edition: ReportSet = field(init=False)
    cache: RecordingCache = field(init=False)
    share: WeightedProgress = field(init=False)
    begun: float = field(init=False)  # by the steady clock
    failure: ApplianceError | None = None
    told: list[BoardReport] = field(default_factory=list)
    prepared: SolveResult | None = None
    seconds: float = 0.0  # that preparing took
    cut_off: str = ""  # why, if it was
    prepared_so_far: str = ""
    left_out: list[str] = field(default_factory=list)
    """What could not be prepared or made, and why."""
    unmade: set[str] = field(default_factory=set)
    seeds: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        plan = self.plan
        self.seeds = daily_seeds(self.context, plan.generate)
        self.share = WeightedProgress(self.context, max(1, plan.precompute + len(plan.boards) + plan.generate))

    def run(self) -> Result:
        """Do it, and report. Interruptions and refusals are in the report, and in `failure`.

        Raises Unavailable, or OutOfTime, if there can be no report.
        """
        try:
            # Also while the report is written and put in its place, a request to end is not the end of the process.
            with self._open_runtime() as runtime, self.context.report_set(self.plan.keep_reports) as self.edition:
                return self._reported(runtime)
        except Unavailable as error:  # the report cannot be written: then the history tells what was found
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
            # The options have refused it of a puzzle that cannot; so with `make` below.
            self.prepared = self.plan.puzzle.precompute(runtime)  # type: ignore[attr-defined]
        except Interrupted as interrupted:
            self.prepared_so_far = format_partial_result(interrupted)
            file.write(render_rows({"Prepared so far": self.prepared_so_far}) + "\n")
            page.prepared(f"Not through yet: {self.prepared_so_far}.", {}, ())
            raise
        except RESOURCE_ERRORS as error:  # what is there already may do for the boards
            self._leave_out("prepared", to_appliance_error(error), page, file)
            return
        self.seconds = runtime.monotonic() - begun
        file.write("Prepared\n========\n" + render_precomputed(self.prepared, self.seconds))
        page.prepared(
            f"Through, in {format_elapsed(self.seconds)}.", format_details(self.prepared.details), self.prepared.tables
        )

    def _leave_out(self, name: str, error: ApplianceError, page: Page, file: IO[str]) -> None:
        """Tell that NAME is not there, because of ERROR, and go on: what else was done is worth a report."""
        self.left_out.append(f"{name}: {error}")
        file.write(render_rows({f"Not {name}": str(error)}) + "\n")
        page.note(f"Not {name}", f"{error}.")

    def _listed(self) -> Iterator[BoardReport]:
        """Yield the boards that are named, beginning with the first that the last night did not come to."""
        for name in self._order():
            self.share.next(name)
            yield BoardReport(name=name, board=self.plan.boards[name], mode=self.plan.mode)

    def _order(self) -> list[str]:
        names, first = list(self.plan.boards), self._recalled()
        at = names.index(first) if first in names else 0
        return names[at:] + names[:at]

    def _made(self, runtime: SearchRuntime, page: Page, file: IO[str]) -> Iterator[BoardReport]:
        """Yield the boards of this date, each as it is made; some may be left out, as there is none like that."""
        for name, seed in self.seeds.items():
            self.share.next(name)
            try:
                made = self.plan.puzzle.generate(seed, self.plan.model, runtime)  # type: ignore[attr-defined]
            except RESOURCE_ERRORS as error:
                self.unmade.add(name)
                self._leave_out(f"made: {name}", to_appliance_error(error), page, file)
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
            if told.made:  # another night makes another one: nobody goes on with this
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
        except (ValueError, AttributeError, Refused):  # damaged: an order is no reason to answer nothing
            return ""

    def _remember(self, page: Page, file: IO[str]) -> None:
        """Keep where the next night begins; nothing is written where nothing was cut off.

        A board that takes all of a night, perhaps each, keeps no other from its turn: what was not reached comes first,
        and it has the rest. If all was reached, the order stays, in which it is the last one.
        """
        left, reached = set(self._left()), not any(told.cut_off for told in self.told)
        first = next((name for name in self._order() if name in left), "" if reached else self._recalled())
        if first != self._recalled():
            try:
                self.context.save_state(json.dumps({"next": first}))
            except Unavailable as error:
                name = "Not remembered where to go on"
                file.write(render_rows({name: str(error)}) + "\n")
                page.note(name, f"{error}.")

    def _report(self, page: Page, file: IO[str]) -> Result:
        """Write what stands at the end, result.json and result.html, and return what the run says of itself."""
        context, ended = self.context, self.context.clock()
        summary = self._summary()
        ends = {
            "Start time": _instant(context.now),
            "End time": _instant(ended),
            "Memory at its peak": format_size(_memory()),
        }
        file.write(f"{summary}\n{render_rows(ends)}")
        with self.edition.file("result.json") as out:
            json.dump(self._values(summary, ended), out, indent=1, ensure_ascii=False)
            out.write("\n")
        with self.edition.file("result.html") as out:
            began = context.now.astimezone(context.local_time().tzinfo)
            took = format_elapsed(self.share.seconds() - self.begun)  # the clock may have been set meanwhile
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
            return f"prepared: {summarize_precomputed(self.prepared)}"
        if self.prepared_so_far:
            return f"not prepared yet: {self.cut_off}; {self.prepared_so_far}"
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
    """Return the bytes that this process, or the largest of its workers, held at most."""
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return max(resource.getrusage(each).ru_maxrss for each in who) * 1024


def _instant(moment: datetime) -> str:
    return moment.isoformat(" ", "seconds")
