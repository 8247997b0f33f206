"""Failures during puzzle jobs: partial results are reported, and other files are left alone."""

import re
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import IO, Any, cast

import pytest

from pi_appliance.errors import DeadlineExceeded, Refused, Unavailable
from pi_appliance.jobs.reports import ReportSet
from pi_appliance.puzzles import Answer, Puzzle, SolveMode, Step
from pi_appliance.puzzles.board_report import BoardReport
from pi_appliance.puzzles.boards import load_puzzle
from pi_appliance.puzzles.peg_solitaire.notation import parse_listing
from pi_appliance.puzzles.puzzle_job import Options, WeightedProgress, run
from pi_appliance.puzzles.result_page import Page
from pi_appliance.puzzles.runtime import Interrupted, SearchRuntime
from tests.fakes.context import FakeContext
from tests.puzzles.test_job import CutOff, peg, values


@pytest.mark.parametrize(
    ("why", "reported"),
    [
        (Refused("a process of the search was killed"), "a process of the search was killed"),
        (MemoryError(), "it needs more memory than allowed; raise the limit or use fewer cores"),
    ],
)
def test_solutions_that_cannot_be_listed_to_their_end_are_reported_as_far_as_they_go(
    tmp_path: Path, why: Exception, reported: str
) -> None:
    context = CutOff(tmp_path)
    context.where, context.why = "pyramid: 100 solutions listed", why
    with pytest.raises(Refused, match=f"^pyramid: {reported}. See the report for all results$"):
        run(peg("pyramid", "cross", solutions=SolveMode.ALL), context)
    pyramid, cross = values(tmp_path)["boards"]
    assert (pyramid["answered"], pyramid["listed"], pyramid["refused"]) == (True, 100, reported)
    assert cross["listed"] == 4
    text = (tmp_path / "result.txt").read_text("utf-8")
    assert [len(lines) for _, lines in parse_listing(text, "result.txt", lambda *_: None)] == [100, 4]
    assert f"; {reported}.</p>" in (tmp_path / "result.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "where", "what"),
    [
        (
            Options(puzzle="connect-four", boards=[Path("squeeze")], precompute=True),
            "precompute: opening",
            "precomputed",
        ),
        (
            Options(puzzle="solitaire-chess", boards=[Path("seven")], generate=1),
            "2027-03-01: searching",
            "generated: 2027-03-01",
        ),
    ],
)
def test_a_memory_error_does_not_end_the_run(tmp_path: Path, options: Options, where: str, what: str) -> None:
    context = CutOff(tmp_path)
    context.where, context.why = where, MemoryError()
    with pytest.raises(Refused, match=f"^not {what}: it needs more memory than allowed; "):
        run(options, context)
    assert [board["answered"] for board in values(tmp_path)["boards"]] == [True]


def test_generated_boards_not_reached_are_listed(tmp_path: Path) -> None:
    context = CutOff(tmp_path)
    context.where, context.why = "2027-03-01-2", Interrupted("its time is over")
    with pytest.raises(
        DeadlineExceeded, match=r"^1 board solved, 2 not reached. The run was interrupted: its time is over$"
    ):
        run(Options(puzzle="solitaire-chess", generate=3), context)
    assert values(tmp_path)["not_reached"] == ["2027-03-01-2", "2027-03-01-3"]


def test_cache_entries_of_another_run_are_not_removed(tmp_path: Path) -> None:
    class Busy(CutOff):
        why: Exception = Interrupted("its time is over")

        def progress(self, done: float | None, note: str = "") -> None:
            super().progress(done, note)
            if note.startswith("2027-03-01: capture"):
                self.cache.save("peg-solitaire/0123456789abcdef", [b"of a job beside this one"])

    context = Busy(tmp_path)
    context.where = "2027-03-01: capture"
    with pytest.raises(DeadlineExceeded):
        run(Options(puzzle="solitaire-chess", generate=1, solutions=SolveMode.COUNT), context)
    assert list(context.cache.names()) == ["peg-solitaire/0123456789abcdef"]


@dataclass
class Forgetful(CutOff):
    """A context whose state is damaged and cannot be written."""

    def load_state(self) -> str | None:
        raise Refused("memory/test.txt cannot be read; move it away to begin anew")

    def save_state(self, text: str) -> None:  # noqa: ARG002 - the shape of a Context
        raise Unavailable("memory/test.txt cannot be written: No space left on device")


def test_an_unusable_cache_hides_no_answer(tmp_path: Path) -> None:
    with pytest.raises(DeadlineExceeded, match="1 board solved"):
        run(peg("pyramid", "arrow", "cross"), Forgetful(tmp_path))
    assert [board["answered"] for board in values(tmp_path)["boards"]] == [True, False]
    text = (tmp_path / "result.txt").read_text("utf-8")
    assert "The next board could not be saved: memory/test.txt cannot be written: No space left on device\n" in text


@dataclass
class FullCard(FakeContext):
    """A context whose card is full when the page is written."""

    file: str = "result.html"

    @contextmanager
    def report_set(self, keep: int) -> Iterator[ReportSet]:
        with super().report_set(keep) as draft:
            yield Filling(draft, self.file)


@dataclass
class Filling:
    """A report set on a full disk."""

    draft: ReportSet
    last: str
    names: list[str] = field(default_factory=list)

    @contextmanager
    def file(self, name: str) -> Iterator[IO[str]]:
        """Open a file as long as there is space."""
        if name == self.last:
            raise Unavailable(f"{name} cannot be written: No space left on device")
        with self.draft.file(name) as file:
            yield file


@pytest.mark.parametrize("name", ["result.html", "diamond.svg"])
def test_results_are_in_the_history_if_the_report_cannot_be_written(tmp_path: Path, name: str) -> None:
    words = (
        rf"^{name} cannot be written: No space left on device\. Results: cross: 4 solutions(; diamond: No solution.*)?$"
    )
    with pytest.raises(Unavailable, match=words):
        run(peg("cross", "diamond", solutions=SolveMode.COUNT), FullCard(tmp_path, file=name))
    assert not (tmp_path / "result.txt").exists()


def test_partial_results_are_in_the_history_if_the_report_cannot_be_written(tmp_path: Path) -> None:
    class Both(CutOff, FullCard):
        why: Exception = Interrupted("its time is over", "12 of 16 levels are counted")

    words = (
        r"^result.html cannot be written: .*\. Results: pyramid: Solved; .*; arrow: Not answered yet: 12 of 16 levels"
    )
    with pytest.raises(DeadlineExceeded, match=words):
        run(peg("pyramid", "arrow", solutions=SolveMode.FIRST), Both(tmp_path))


def test_no_name_of_a_file_spoils_the_report(tmp_path: Path) -> None:
    names = ["Starting Board", "End Solution", "<script>alert(1)<∕script>", "a\"b'&c", "new\nline", "..", "</title>"]
    places = [tmp_path / f"{name.replace('/', '∕')}.txt" for name in names]
    for place in places:
        place.write_text("XXO\n", "utf-8")
    run(peg(*places), FakeContext(tmp_path / "reports"))
    text = (tmp_path / "reports" / "result.txt").read_text("utf-8")
    assert [len(lines) for _, lines in parse_listing(text, "result.txt", lambda *_: None)] == [1] * 7
    page = (tmp_path / "reports" / "result.html").read_text("utf-8")
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert [board["name"] for board in values(tmp_path / "reports")["boards"]][4] == "new?line"


def test_progress_includes_the_remaining_time_if_known(tmp_path: Path) -> None:
    context, moments = FakeContext(tmp_path), iter([0.0, 0.0, 10.0, 10.0])
    share = WeightedProgress(context, 2, seconds=lambda: next(moments))
    share.start_part("many")
    share.report_part(0.0, "0 of 100 grids")
    share.report_part(0.25, "25 of 100 grids")
    share.start_part("cross")
    assert [note for _, note in context.progress_reports] == [
        "many",
        "many: 0 of 100 grids",
        "many: about 30s left, 25 of 100 grids",
        "cross",
    ]


def test_the_duration_is_not_negative_after_a_clock_change(tmp_path: Path) -> None:
    run(peg("cross"), FakeContext(tmp_path, duration=timedelta(hours=-5)))
    page = (tmp_path / "result.html").read_text("utf-8")
    assert re.search(r"it took \d", page)


def test_progress_never_decreases(tmp_path: Path) -> None:
    context = FakeContext(tmp_path)
    two = WeightedProgress(context, 2)
    two.start_part("cross")
    two.report_part(0.5, "half of it")
    two.report_part(None, "50 solutions listed")
    two.start_part("plus")
    one = WeightedProgress(context, 1)
    one.start_part("full")
    one.report_part(0.25, "levels")
    one.report_part(None, "50 solutions listed")
    assert [done for done, _ in context.progress_reports] == [0, 0.25, 0.25, 0.5, None, 0.25, None]


class Counting:
    """A puzzle that counts how often it is asked to draw the steps of a line."""

    def __init__(self, puzzle: Puzzle) -> None:
        self.puzzle, self.drawn = puzzle, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.puzzle, name)

    def steps(self, board: Any, line: Any) -> Iterator[Step]:
        self.drawn += 1
        yield from self.puzzle.steps(board, line)


def test_a_solution_is_rendered_once() -> None:
    puzzle = Counting(load_puzzle("sudoku"))
    page = Page(cast(Puzzle, puzzle), "test")
    board = puzzle.parse(puzzle.BOARDS["everest"], "everest")
    reported = BoardReport(puzzle=cast(Puzzle, puzzle), name="everest", board=board, mode=SolveMode.FIRST)
    reported.search(1, SearchRuntime(), lambda _: None)
    for _ in range(6):
        page.add_board(reported)
    assert "The page is too large to animate" in page.render("", "")
    assert puzzle.drawn == 6


class Heavy(Counting):
    """A puzzle whose answer keeps its runtime alive while it lists and counts."""

    def solve(self, board: Any, mode: SolveMode, runtime: SearchRuntime) -> Answer:
        answer = self.puzzle.solve(board, mode, runtime)
        tables = Tables()
        self.tables = weakref.ref(tables)
        lines = (line for line in answer.solutions if tables)
        return replace(answer, solutions=lines, nodes_searched=lambda: tables.tried)


class Tables:
    """Much memory."""

    tried = 7


def test_a_reported_result_releases_its_memory() -> None:
    puzzle = Heavy(load_puzzle("sudoku"))
    board = puzzle.parse(puzzle.BOARDS["everest"], "everest")
    reported = BoardReport(puzzle=cast(Puzzle, puzzle), name="everest", board=board, mode=SolveMode.FIRST)
    reported.search(1, SearchRuntime(), lambda _: None)
    assert reported.answer
    assert (reported.answer.nodes_searched(), reported.listed) == (7, 1)
    assert puzzle.tables() is None
