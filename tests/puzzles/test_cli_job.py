"""Puzzle jobs in real processes: a timeout or a stop request leaves a report of partial results."""

import json
import signal
from pathlib import Path

import pytest

from tests.installation import Installation, wait_until

# The start is no mirror image of the end, so that nothing saves a look at tens of millions of positions.
LONG = "  XXX\n  XXX\nXXXXXXX\nXXXXXXX\nXXXXXXX\n  XXX\n  XOX\n"
JOB = """\
pegs:
  kind: puzzle
  timeout: {deadline}
  with:
    puzzle: peg-solitaire
    boards: [cross, long.txt, plus]
    solutions: count
    rules: {{positions: all}}
"""


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    (tmp_path / "long.txt").write_text(LONG, "utf-8")
    return Installation(tmp_path)


def report(installation: Installation) -> dict[str, object]:
    (report_set,) = (path for path in (installation.state / "reports" / "pegs").glob("2*") if path.is_dir())
    whole = {path.name for path in report_set.iterdir()}
    assert {"result.txt", "result.json", "result.html", "cross.svg"} <= whole
    reported: dict[str, object] = json.loads(
        (installation.state / "reports" / "pegs" / "result.json").read_text("utf-8")
    )
    return reported


@pytest.mark.slow
def test_the_timeout_ends_a_run_with_a_report(installation: Installation) -> None:
    installation.write(JOB.format(deadline="4s"))
    assert installation.run("jobs", "run", "pegs").returncode == 1
    last = installation.latest_run("pegs")
    assert last["outcome"] == "timed-out"
    assert "1 board solved, 1 not reached. The run was interrupted: its time is over. " in last["summary"]
    reported = report(installation)
    assert (reported["complete"], reported["not_reached"]) == (False, ["plus"])


def test_ctrl_c_ends_a_run_at_once_with_a_report(installation: Installation) -> None:
    installation.write(JOB.format(deadline="1h"))
    with installation.start("jobs", "run", "pegs") as process:
        wait_until(lambda: any("long: " in run.status_text for run in installation.runs("pegs")), 30)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) != 0
    last = installation.latest_run("pegs")
    assert last["outcome"] == "stopped"
    assert last["summary"].startswith("ended by a person; 1 board solved")
    assert report(installation)["not_reached"] == ["plus"]


def test_a_cancelled_run_reports_its_progress(installation: Installation) -> None:
    installation.write(JOB.format(deadline="1h"))
    with installation.start("jobs", "run", "pegs") as process:
        wait_until(lambda: any("long: " in run.status_text for run in installation.runs("pegs")), 30)
        assert installation.run("jobs", "cancel", "pegs").returncode == 0
        assert process.wait(10) != 0
    assert installation.latest_run("pegs")["summary"].startswith("cancelled by a person; 1 board solved")


def test_a_board_in_a_file_needs_as_little_memory_as_a_known_one(installation: Installation) -> None:
    (installation.folder / "mine.txt").write_text("XXO\n", "utf-8")
    keys = "{puzzle: peg-solitaire, boards: [mine.txt]}"
    installation.write(f"pegs:\n  kind: puzzle\n  memory: 80MB\n  with: {keys}")
    done = installation.run("jobs", "run", "pegs")
    assert done.returncode == 0, done.stdout


def test_a_file_of_many_boards_is_read_only_by_its_run(installation: Installation) -> None:
    grids = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79\n" * 2_000
    (installation.folder / "many.txt").write_text(f"{grids}no grid\n", "utf-8")
    installation.write("many:\n  kind: puzzle\n  with: {puzzle: sudoku, boards: [many.txt], solutions: count}")
    assert installation.run("config", "check").returncode == 0
    assert installation.run("jobs", "run", "many").returncode != 0
    assert "many.txt:2001:" in installation.latest_run("many")["summary"]
