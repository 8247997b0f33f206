"""The job kind 'puzzle': what it writes, what it says, and that half a report is never seen."""

from pathlib import Path

import pytest

from pi_appliance.config.load import load
from pi_appliance.errors import ConfigError, OutOfTime
from pi_appliance.jobs.puzzle import Options, Solutions, run
from pi_appliance.puzzles.peg_solitaire import check, parse_listing
from tests.fakes.context import FolderContext

NAMES = ["full", "cross", "plus", "fireplace", "pyramid", "arrow", "diamond"]
YAML = """\
state: state
jobs:
  nightly:
    kind: puzzle
    with:
      puzzle: peg-solitaire
"""


def peg(*boards: str | Path, **options: object) -> Options:
    return Options(puzzle="peg-solitaire", boards=[Path(board) for board in boards], **options)  # type: ignore[arg-type]


def test_all_known_boards_are_solved_or_proven_to_have_no_solution(tmp_path: Path) -> None:
    result = run(Options(puzzle="peg-solitaire"), FolderContext(tmp_path))
    assert result.summary == "6 boards solved, 1 proven to have no solution"
    assert result.facts["solved"] == 6
    assert result.facts["no-solution"] == 1
    assert result.facts["listed"] == 6
    assert {path.name for path in tmp_path.iterdir()} == {"result.txt", *(f"{name}.svg" for name in NAMES)}


def test_the_report_lists_lines_that_pass_the_check_between_the_times_it_began_and_ended(tmp_path: Path) -> None:
    run(peg("cross", "plus", solutions=Solutions.ALL), FolderContext(tmp_path))
    text = (tmp_path / "result.txt").read_text("utf-8")
    assert text.startswith("cross\n=====\nStarting Board\n")
    assert text.endswith(
        "\n2 boards solved, 0 proven to have no solution\n"
        "Start time: 2027-03-01 06:00:00+00:00\nEnd time: 2027-03-01 06:01:30+00:00\n"
    )
    boards = parse_listing(text, "result.txt", lambda *_: None)
    assert [len(lines) for _, lines in boards] == [4, 32]
    assert all(check(board, line) for board, lines in boards for line in lines)


def test_no_more_solutions_than_the_limit_are_listed(tmp_path: Path) -> None:
    result = run(peg("arrow", solutions=Solutions.ALL, limit=5), FolderContext(tmp_path))
    assert result.facts["listed"] == 5
    assert result.summary == "1 board solved, 0 proven to have no solution"


def test_a_report_of_one_board_begins_as_the_original_did(tmp_path: Path) -> None:
    run(peg("cross"), FolderContext(tmp_path))
    assert (tmp_path / "result.txt").read_text("utf-8").startswith("Starting Board\n  OOO  \n")


def test_a_goal_narrows_what_is_listed(tmp_path: Path) -> None:
    result = run(peg("cross", solutions=Solutions.ALL, goal="3,0"), FolderContext(tmp_path))
    assert result.facts["listed"] == 2
    assert "peg-goal" in (tmp_path / "cross.svg").read_text("utf-8")


def test_a_board_drawn_in_a_file_is_solved_under_the_name_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("XXO\n", "utf-8")
    run(peg(tmp_path / "mine.txt"), FolderContext(tmp_path / "reports"))
    assert "Board: 2 pegs in 3 holes\n" in (tmp_path / "reports" / "result.txt").read_text("utf-8")
    assert (tmp_path / "reports" / "mine.svg").exists()


def test_progress_names_the_board_and_grows(tmp_path: Path) -> None:
    context = FolderContext(tmp_path)
    run(peg("pyramid", "arrow"), context)
    assert context.told[0][1].startswith("pyramid: ")
    assert context.told[-1][1].startswith("arrow: ")
    shares = [done for done, _ in context.told if done is not None]
    assert shares == sorted(shares)
    assert set(shares) == {0, 0.5}


def test_a_run_that_is_ended_leaves_the_report_of_the_last_time(tmp_path: Path) -> None:
    class Ended(FolderContext):
        def progress(self, done: float | None, note: str = "") -> None:  # noqa: ARG002 - as the port has it
            if note.startswith("arrow"):
                assert (tmp_path / "result.txt").read_text("utf-8") == before, "half a report is never seen"
                raise OutOfTime("the deadline passed")

    run(peg("cross"), FolderContext(tmp_path))
    before = (tmp_path / "result.txt").read_text("utf-8")
    with pytest.raises(OutOfTime):
        run(peg("pyramid", "arrow"), Ended(tmp_path))
    assert (tmp_path / "result.txt").read_text("utf-8") == before
    assert {path.name for path in tmp_path.iterdir()} == {"result.txt", "cross.svg"}


def test_a_configuration_names_boards_and_files_beside_it(tmp_path: Path) -> None:
    (tmp_path / "boards").mkdir()
    (tmp_path / "boards" / "mine.txt").write_text("XXO\n", "utf-8")
    more = '      boards: [cross, boards/mine.txt]\n      solutions: all\n      goal: "2,0"\n'
    (tmp_path / "appliance.yaml").write_text(YAML + more, "utf-8")
    options = load(tmp_path / "appliance.yaml").jobs["nightly"].with_
    result = run(options, FolderContext(tmp_path / "reports"))
    assert result.facts["solved"] == 1  # the cross never ends at 2,0: another class


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("      boards: [crss]\n", "appliance.yaml:7:16: no board is called 'crss'; did you mean 'cross'?"),
        ("      boards: [cross, gone.txt]\n", "gone.txt:1:1: cannot be read: No such file or directory"),
        ("      boards: [bad.txt]\n", "bad.txt:2:3: 'Q' is no part of a board"),
        ("      boards: [binary.txt]\n", "binary.txt:1:1: this is not a text file"),
        ("      boards: [cross, cross]\n", "two boards are called 'cross'"),
        ("      limit: 0\n", "appliance.yaml:7:14: 0 solutions cannot be listed; use 1 or more"),
        ("      solutions: some\n", "appliance.yaml:7:18: 'some' is not known here"),
        ('      boards: [cross]\n      goal: "9,9"\n', "appliance.yaml:8:13: no hole of this board is called '9,9'"),
    ],
)
def test_a_wrong_option_is_told_with_its_place(tmp_path: Path, more: str, told: str) -> None:
    (tmp_path / "bad.txt").write_text("XXO\nXXQ\n", "utf-8")
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "appliance.yaml").write_text(YAML + more, "utf-8")
    with pytest.raises(ConfigError) as caught:
        load(tmp_path / "appliance.yaml")
    assert told in str(caught.value)


def test_a_puzzle_that_does_not_exist_is_answered_with_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "appliance.yaml").write_text(YAML.replace("peg-solitaire", "peg-solitare"), "utf-8")
    with pytest.raises(ConfigError, match=r"6:15: no puzzle is called 'peg-solitare'; did you mean 'peg-solitaire'"):
        load(tmp_path / "appliance.yaml")
