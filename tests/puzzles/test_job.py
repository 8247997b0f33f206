"""The job kind `puzzle`: reports, messages, and atomic publication of report sets."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

from pi_appliance.config.loader import load_config
from pi_appliance.errors import ConfigError, DeadlineExceeded, Refused, Unavailable
from pi_appliance.puzzles import Answer, SolveMode, Step, Table, battleship
from pi_appliance.puzzles.board_report import BoardReport, render_precomputed
from pi_appliance.puzzles.peg_solitaire import BOARDS, check
from pi_appliance.puzzles.peg_solitaire.notation import parse_listing
from pi_appliance.puzzles.puzzle_job import Options, run
from pi_appliance.puzzles.result_page import MAX_STEPS, Page, render_player
from pi_appliance.puzzles.runtime import Cache, FileCache, Interrupted, SearchRuntime
from tests.fakes.context import FakeContext

NAMES = tuple(BOARDS)
SMALL = tuple(name for name in NAMES if name not in {"european", "wiegleb", "diamond-41"})  # each takes a second
NIGHT = "2027-03-01_0600"
YAML = """\
state-dir: state
jobs:
  nightly:
    kind: puzzle
    with:
      puzzle: peg-solitaire
"""


def peg(*boards: str | Path, **options: object) -> Options:
    return Options(puzzle="peg-solitaire", boards=[Path(board) for board in boards], **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("names_of_boards", "solved"),
    [(SMALL, 10), pytest.param((), 13, marks=pytest.mark.slow)],  # without names, all known boards
    ids=["the small ones", "all"],
)
def test_known_boards_are_solved_or_proven_to_have_no_solution(
    tmp_path: Path, names_of_boards: tuple[str, ...], solved: int
) -> None:
    result = run(peg(*names_of_boards), FakeContext(tmp_path))
    assert result.summary == f"{solved} boards solved, 1 proven to have no solution"
    assert result.details["solved"] == solved
    assert result.details["no_solution"] == 1
    assert result.details["listed"] == solved
    files = {"result.txt", "result.json", "result.html", *(f"{name}.svg" for name in names_of_boards or NAMES)}
    assert names(tmp_path) == files | {NIGHT}
    assert names(tmp_path / NIGHT) == files


def test_without_names_all_known_boards_are_solved(tmp_path: Path) -> None:
    result = run(Options(puzzle="battleship"), FakeContext(tmp_path))
    assert result.details["solved"] + result.details["no_solution"] == len(battleship.BOARDS)
    assert {f"{name}.svg" for name in battleship.BOARDS} <= names(tmp_path)


def test_the_report_lists_valid_solutions_and_the_start_and_end_time(tmp_path: Path) -> None:
    run(peg("cross", "plus", solutions=SolveMode.ALL), FakeContext(tmp_path))
    text = (tmp_path / "result.txt").read_text("utf-8")
    assert text.startswith("cross\n=====\nStarting Board\n")
    assert re.search(
        r"\n2 boards solved\n"
        r"Start time: 2027-03-01 06:00:00\+00:00\nEnd time: 2027-03-01 06:01:30\+00:00\nPeak memory: \d.*\n$",
        text,
    )
    boards = parse_listing(text, "result.txt", lambda *_: None)
    assert [len(lines) for _, lines in boards] == [4, 32]
    assert all(check(board, line) for board, lines in boards for line in lines)


def test_no_more_solutions_than_the_limit_are_listed(tmp_path: Path) -> None:
    result = run(peg("arrow", solutions=SolveMode.ALL, max_solutions=5), FakeContext(tmp_path))
    assert result.details["listed"] == 5
    assert result.summary == "1 board solved"


def test_a_report_of_one_board_begins_as_the_original_did(tmp_path: Path) -> None:
    run(peg("cross"), FakeContext(tmp_path))
    assert (tmp_path / "result.txt").read_text("utf-8").startswith("Starting Board\n  OOO  \n")


def test_a_goal_limits_the_listed_solutions(tmp_path: Path) -> None:
    result = run(peg("cross", solutions=SolveMode.ALL, rules={"goal": "3,0"}), FakeContext(tmp_path))
    assert result.details["listed"] == 2
    assert "peg-goal" in (tmp_path / "cross.svg").read_text("utf-8")


def test_a_board_drawn_in_a_file_is_solved_under_the_name_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("XXO\n", "utf-8")
    run(peg(tmp_path / "mine.txt"), FakeContext(tmp_path / "reports"))
    assert "Board: 2 pegs in 3 holes\n" in (tmp_path / "reports" / "result.txt").read_text("utf-8")
    assert (tmp_path / "reports" / "mine.svg").exists()


def test_progress_names_the_board_and_grows(tmp_path: Path) -> None:
    context = FakeContext(tmp_path)
    run(peg("pyramid", "arrow", solutions=SolveMode.COUNT), context)
    assert context.progress_reports[0][1].startswith("pyramid")
    assert context.progress_reports[-1][1].startswith("arrow")
    shares = [done for done, _ in context.progress_reports if done is not None]
    assert shares == sorted(shares)
    assert shares[0] < 0.5 <= shares[-1] <= 1


class CutOff(FakeContext):
    """A run that is interrupted at the board `where`."""

    where: str | tuple[str, ...] = "arrow"
    why: Exception = Interrupted("its time is over", "12 of 16 levels are counted")

    @cached_property
    def cache(self) -> Cache:
        """Return the names of the cache."""
        return SearchRuntime().cache

    @contextmanager
    def search_runtime(self, progress: Callable[[float | None, str], None] | None = None) -> Iterator[SearchRuntime]:
        runtime, context = SearchRuntime(), self
        runtime.cache = self.cache

        def reported(part: float | None, note: str) -> None:
            (progress or context.progress)(part, note)
            if context.progress_reports[-1][1].startswith(context.where):
                raise copy(context.why)  # an interrupted part may add to it

        runtime.report_progress = reported  # type: ignore[method-assign]
        yield runtime


def test_an_interrupted_run_reports_partial_results(tmp_path: Path) -> None:
    context = CutOff(tmp_path)
    with pytest.raises(
        DeadlineExceeded,
        match=r"1 board solved.*, 1 not reached\. .* its time is over\. Result for arrow so far: 12 of 16 levels",
    ):
        run(peg("pyramid", "arrow", "cross"), context)
    text = (tmp_path / NIGHT / "result.txt").read_text("utf-8")
    assert text.count("End Solution") == 1
    assert "Board: 17 pegs in 33 holes\nSo far: 12 of 16 levels are counted\n" in text
    assert "Not reached: cross\n" in text
    reported = values(tmp_path)
    assert (reported["complete"], reported["not_reached"]) == (False, ["cross"])
    assert [board["answered"] for board in reported["boards"]] == [True, False]
    assert reported["boards"][1]["partial_result"] == "12 of 16 levels are counted"
    page = (tmp_path / "result.html").read_text("utf-8")
    assert "Not answered yet: 12 of 16 levels are counted." in page


def order(folder: Path) -> list[str]:
    return [board["name"] for board in values(folder)["boards"]]


def test_the_next_run_starts_with_the_boards_not_reached_and_then_resumes(
    tmp_path: Path,
) -> None:
    context = CutOff(tmp_path)
    with pytest.raises(DeadlineExceeded):
        run(peg("pyramid", "arrow", "cross"), context)
    again = FakeContext(tmp_path, state=context.state)
    run(peg("pyramid", "arrow", "cross"), again)
    assert order(tmp_path) == ["cross", "pyramid", "arrow"]
    run(peg("pyramid", "arrow", "cross"), again)
    assert order(tmp_path) == ["pyramid", "arrow", "cross"]


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("endless", "orders"),
    [
        (("arrow",), ["arrow", "plus cross arrow", "plus cross arrow"]),
        (("arrow", "plus"), ["arrow", "plus", "cross arrow", "plus", "cross arrow"]),
        (("cross",), ["arrow plus cross", "arrow plus cross"]),
    ],
)
def test_endless_boards_do_not_starve_the_others(tmp_path: Path, endless: tuple[str, ...], orders: list[str]) -> None:
    context = CutOff(tmp_path)
    context.where = endless
    for expected in orders:
        with pytest.raises(DeadlineExceeded):
            run(peg("arrow", "plus", "cross", solutions=SolveMode.COUNT), context)
        assert " ".join(order(tmp_path)) == expected


@pytest.mark.slow
def test_an_interrupted_listing_has_only_complete_solutions(tmp_path: Path) -> None:
    class Hasty(CutOff):
        where = "pyramid: 1,000 solutions listed"

    with pytest.raises(
        DeadlineExceeded, match=r"Result for pyramid so far: listing was interrupted after 1,000 solutions"
    ):
        run(peg("pyramid", solutions=SolveMode.ALL), Hasty(tmp_path))
    ((_, lines),) = parse_listing((tmp_path / "result.txt").read_text("utf-8"), "result.txt", lambda *_: None)
    assert len(lines) == 1_000


def test_a_fault_keeps_the_previous_reports_and_leaves_no_draft(tmp_path: Path) -> None:
    class Broken(FakeContext):
        def progress(self, done: float | None, note: str = "") -> None:  # noqa: ARG002
            if note.startswith("arrow"):
                raise ZeroDivisionError

    run(peg("cross"), FakeContext(tmp_path))
    before = (tmp_path / "result.txt").read_text("utf-8")
    with pytest.raises(ZeroDivisionError):
        run(peg("pyramid", "plus", "arrow"), Broken(tmp_path))
    assert (tmp_path / "result.txt").read_text("utf-8") == before
    assert names(tmp_path) == {"result.txt", "result.json", "result.html", "cross.svg", NIGHT}


def test_the_newest_report_has_only_the_last_run(tmp_path: Path) -> None:
    run(peg("cross", "plus"), FakeContext(tmp_path))
    run(peg("cross"), FakeContext(tmp_path))
    assert names(tmp_path) == {"result.txt", "result.json", "result.html", "cross.svg", NIGHT, f"{NIGHT}-2"}
    assert "plus.svg" in names(tmp_path / NIGHT)


def test_programs_read_the_same(tmp_path: Path) -> None:
    run(peg("plus", "diamond", solutions=SolveMode.ALL, max_solutions=5), FakeContext(tmp_path, job="pegs"))
    reported = values(tmp_path)
    assert (reported["format"], reported["puzzle"], reported["job"], reported["complete"]) == (
        1,
        "peg-solitaire",
        "pegs",
        True,
    )
    plus, diamond = reported["boards"]
    assert (plus["solved"], plus["count"], plus["listed"], len(plus["solutions"])) == (True, 32, 5, 5)
    assert (diamond["solved"], diamond["proof"], diamond["solutions"]) == (False, "parity", [])


def test_the_page_is_self_contained_and_plays_solutions_without_scripts(tmp_path: Path) -> None:
    run(peg("cross", "plus", "diamond"), FakeContext(tmp_path, job="pegs"))
    page = (tmp_path / "result.html").read_text("utf-8")
    assert "<script" not in page
    assert not re.search(r"(src|href)=\"(?!#|data:)", page), "nothing comes from elsewhere"
    assert page.count('<input type="radio" class="play"') == 2
    assert page.count('<figure class="frame"') == (5 + 1) + (8 + 1)
    assert "No solution, proven by parity" in page
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="#|for=")([^"]+)"', page)) <= set(ids)
    for drawn in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ElementTree.fromstring(drawn)  # noqa: S314 - our own text


def test_without_room_for_the_animation_the_page_shows_the_end(tmp_path: Path) -> None:
    names = [Path(name) for name in ("sample", "seventeen", "uphill", "escargot", "everest")]
    run(Options(puzzle="sudoku", boards=names, solutions=SolveMode.FIRST), FakeContext(tmp_path))
    sections = (tmp_path / "result.html").read_text("utf-8").split("<section")[1:]
    assert [section.count('<p class="line">') for section in sections] == [1] * 5
    assert 'class="play"' in sections[0]
    assert 'class="play"' not in sections[4]
    assert "The page is too large to animate them." in sections[4]
    assert sections[4].count('<div class="picture">') == 2, "the clues and the solution"


def values(folder: Path) -> Any:
    return json.loads((folder / "result.json").read_text("utf-8"))


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.name not in ("shelf", ".newest")}


def test_a_configuration_names_boards_and_files_beside_it(tmp_path: Path) -> None:
    (tmp_path / "boards").mkdir()
    (tmp_path / "boards" / "mine.txt").write_text("XXO\n", "utf-8")
    more = '      boards: [cross, boards/mine.txt]\n      solutions: all\n      rules: {goal: "2,0"}\n'
    (tmp_path / "appliance.yaml").write_text(YAML + more, "utf-8")
    options = load_config(tmp_path / "appliance.yaml").jobs["nightly"].options
    result = run(options, FakeContext(tmp_path / "reports"))
    assert result.details["solved"] == 1  # the cross never ends at 2,0: another class


@pytest.mark.parametrize(
    ("more", "reported"),
    [
        ("      boards: [crss]\n", "appliance.yaml:7:16: no board is called 'crss'; did you mean 'cross'?"),
        ("      boards: [cross, gone.txt]\n", "gone.txt:1:1: cannot be read: No such file or directory"),
        ("      boards: [bad.txt]\n", "bad.txt:2:3: 'Q' is not part of a board"),
        ("      boards: [binary.txt]\n", "binary.txt:1:1: this is not a text file"),
        ("      boards: [cross, cross]\n", "two boards are called 'cross'"),
        ("      max-solutions: 0\n", "appliance.yaml:7:22: 0 is not a valid number of solutions; write 1 or more"),
        ("      solutions: some\n", "appliance.yaml:7:18: 'some' is not known here"),
        ('      rules: {goal: "9,9"}\n', "appliance.yaml:7:21: no hole of this board is called '9,9'"),
        ('      rules: {gaol: "3,3"}\n', "no rule of peg solitaire is called 'gaol'; did you mean 'goal'?"),
        ("      generate: 3\n", "appliance.yaml:7:17: peg-solitaire does not generate boards; leave it out"),
        ("      precompute: true\n", "peg-solitaire has no tables to build; leave it out"),
        ("      keep-reports: 0\n", "appliance.yaml:7:21: 0 is not a valid number of reports; write 1 or more"),
    ],
)
def test_a_wrong_option_is_reported_with_line_and_column(tmp_path: Path, more: str, reported: str) -> None:
    (tmp_path / "bad.txt").write_text("XXO\nXXQ\n", "utf-8")
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "appliance.yaml").write_text(YAML + more, "utf-8")
    with pytest.raises(ConfigError) as caught:
        load_config(tmp_path / "appliance.yaml")
    assert reported in str(caught.value)


def test_a_puzzle_that_does_not_exist_is_answered_with_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "appliance.yaml").write_text(YAML.replace("peg-solitaire", "peg-solitare"), "utf-8")
    with pytest.raises(ConfigError, match=r"6:15: no puzzle is called 'peg-solitare'; did you mean 'peg-solitaire'"):
        load_config(tmp_path / "appliance.yaml")


def test_new_boards_follow_from_the_date_of_the_slot(tmp_path: Path) -> None:
    morning = Options(puzzle="sudoku", generate=2)

    def boards(due: str) -> list[tuple[str, str, str]]:
        result = run(morning, FakeContext(tmp_path, scheduled_for=due))
        assert result.details["generated"] == 2
        return [(board["name"], board["generator"]["seed"], board["board"]) for board in values(tmp_path)["boards"]]

    first = boards("2027-03-01T03:30:00Z")
    assert [(name, seed) for name, seed, _ in first] == [
        ("2027-03-01-1", "20270301001"),
        ("2027-03-01-2", "20270301002"),
    ]
    assert first[0][2] != first[1][2]
    assert boards("2027-03-01T03:30:00Z") == first
    assert boards("2027-03-02T03:30:00Z")[0][2] != first[0][2]
    page = (tmp_path / "result.html").read_text("utf-8")
    assert page.count("<summary>The solution</summary>") == 2, "somebody may want to try before they look"


@pytest.mark.parametrize(("where", "remaining"), [("seven: capture", 1), ("2027-03-01: capture", 0)])
def test_checkpoints_of_generated_boards_are_removed(tmp_path: Path, where: str, remaining: int) -> None:
    context = CutOff(tmp_path)
    context.where = where
    job = Options(puzzle="solitaire-chess", boards=[Path("seven")], generate=1, solutions=SolveMode.COUNT)
    with pytest.raises(DeadlineExceeded):
        run(job, context)
    assert len(list(context.cache.names())) == remaining


def test_an_interrupted_precomputation_is_reported_and_resumed(tmp_path: Path) -> None:
    job = Options(puzzle="rubiks-cube", precompute=True)
    with pytest.raises(DeadlineExceeded, match=r"The tables are not complete yet: its time is over. "):
        run(job, FakeContext(tmp_path, search_seconds=1.0))
    reported = values(tmp_path)
    assert (reported["complete"], reported["precomputed"], reported["boards"]) == (False, None, [])
    assert "Precomputed so far: " in (tmp_path / "result.txt").read_text("utf-8")


def test_a_board_that_exceeds_memory_is_reported_and_the_others_are_solved(tmp_path: Path) -> None:
    class Small(CutOff):
        why: Exception = Refused("a level of positions takes 5GB; give the job more `memory`")

    words = r"^arrow: a level of positions takes 5GB; give the job more `memory`. See the report for all results$"
    with pytest.raises(Refused, match=words):
        run(peg("arrow", "cross", solutions=SolveMode.COUNT), Small(tmp_path))
    arrow, cross = values(tmp_path)["boards"]
    assert (arrow["answered"], cross["count"]) == (False, 4)
    assert "Refused: a level of positions takes 5GB" in (tmp_path / "result.txt").read_text("utf-8")


def unkept(folder: Path, **more: Any) -> FakeContext:
    """Return a context whose cache stores nothing, as on a full card."""
    folder.mkdir(exist_ok=True)
    (folder / "cache").touch()
    return FakeContext(folder, **more)


def test_a_checkpoint_that_cannot_be_saved_is_reported_with_partial_results(tmp_path: Path) -> None:
    class FullCard(CutOff):
        where = "arrow: jump 5 of"

        @cached_property
        def cache(self) -> Cache:
            (self.folder / "cache").touch()
            return FileCache(self.folder / "cache")

    words = r"^1 board solved.*: its time is over. Result for arrow so far: all .* the checkpoint could not be saved: "
    with pytest.raises(DeadlineExceeded, match=words):
        run(peg("cross", "arrow", solutions=SolveMode.COUNT), FullCard(tmp_path))
    cross, cut = values(tmp_path)["boards"]
    assert (cross["count"], cut["answered"]) == (4, False)


@pytest.mark.slow
def test_tables_that_cannot_be_saved_are_used(tmp_path: Path) -> None:
    job = Options(puzzle="rubiks-cube", boards=[Path("scrambled")], rules={"seconds": "0"})
    assert run(job, unkept(tmp_path)).details["solved"] == 1


def test_a_failed_precomputation_is_reported_and_the_boards_are_solved(tmp_path: Path) -> None:
    class Full(CutOff):
        where = "precompute: opening book"
        why: Exception = Unavailable("the card is full")

    job = Options(puzzle="connect-four", boards=[Path("squeeze")], precompute=True)
    with pytest.raises(Refused, match=r"^not precomputed: the card is full. See the report for all results$"):
        run(job, Full(tmp_path))
    assert [board["answered"] for board in values(tmp_path)["boards"]] == [True]
    assert "Not precomputed: the card is full\n" in (tmp_path / "result.txt").read_text("utf-8")
    assert "<p>the card is full.</p>" in (tmp_path / "result.html").read_text("utf-8")


@pytest.mark.slow
def test_a_failed_generation_is_reported_and_the_other_boards_are_solved(tmp_path: Path) -> None:
    job = Options(puzzle="sudoku", boards=[Path("seventeen")], generate=2, rules={"clues": "17"})
    with pytest.raises(Refused, match=r"^not generated: 2027-03-01-1: a grid of 17 clues was not found in 300 tries"):
        run(job, FakeContext(tmp_path))
    assert [board["name"] for board in values(tmp_path)["boards"]] == ["seventeen"]
    text = (tmp_path / "result.txt").read_text("utf-8")
    assert text.count("Not generated: 2027-03-01-") == 2


def test_a_memory_error_during_a_search_is_reported(tmp_path: Path) -> None:
    class Tight(CutOff):
        why: Exception = MemoryError()

    with pytest.raises(Refused, match=r"^arrow: it needs more memory than allowed; "):
        run(peg("arrow", "cross"), Tight(tmp_path))
    assert [board["answered"] for board in values(tmp_path)["boards"]] == [False, True]


@pytest.mark.parametrize("more", [0, 1])
def test_the_page_shows_only_the_first_steps_of_a_very_long_solution(more: int) -> None:
    drawn = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><rect width="9" height="9"/></svg>'
    steps = [Step(f"step {number}", drawn) for number in range(MAX_STEPS + more)]
    puzzle: Any = SimpleNamespace(
        TITLE="Long",
        NODE_UNIT="moves",
        steps=lambda *_: iter(steps),
        render_svg=lambda _: drawn,
        describe=lambda _: "long",
        notate=lambda *_: "a line",
    )
    page = Page(puzzle, "job")
    report = BoardReport(puzzle=puzzle, name="long", board=None, mode=SolveMode.FIRST, answer=Answer(), listed=1)
    report.solutions.append("a line")
    page.add_board(report)
    assert page.render("solved", "").count('class="frame"') == MAX_STEPS
    assert ("Only the first 200 steps are shown." in page.render("solved", "")) == bool(more)


def test_the_parts_of_a_page_are_numbered_in_the_order_of_the_pictures() -> None:
    squares = [f'<rect x="{number}" width="1" height="1" />' for number in range(20)]
    drawings = ("".join(each) for each in (squares, squares[::-1]))
    steps = (Step("", f'<svg viewBox="0 0 20 1">{drawing}</svg>') for drawing in drawings)
    shared = re.findall(r'<g id="p_[0-9a-f]+">(.+?)</g>', render_player(steps, "p").markup)
    assert shared == squares, "any other order may change from one run to the next"


def test_details_end_with_the_kernel_mode_before_the_tables() -> None:
    answer = Answer(details={"kernel": "plain", "god's_number": 11}, tables=[Table("Lengths", ("moves",), [(1,)])])
    assert render_precomputed(answer, 1.5) == (
        "God's number: 11\nKernel: plain\n\nLengths\nmoves\n    1\n\nTime: 1.50 s\n\n"
    )


def test_details_of_the_generator_are_not_repeated(tmp_path: Path) -> None:
    run(Options(puzzle="sudoku", generate=1), FakeContext(tmp_path))
    text, page = ((tmp_path / f"result.{suffix}").read_text("utf-8") for suffix in ("txt", "html"))
    row = next(row for row in text.splitlines() if row.startswith("Generator: "))
    assert row.startswith("Generator: seed 20270301001; tries ")
    assert "solution" not in row
    assert (text.count("Difficulty: "), page.count("<dt>Difficulty</dt>")) == (1, 1)
    assert "<dt>Seed</dt>" in page
    assert "<dt>Solution</dt>" not in page
