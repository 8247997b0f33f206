"""Puzzle jobs in real processes: a timeout or a stop request leaves a report of partial results."""

import json
import signal
from pathlib import Path

import pytest

from tests.installation import House, until

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
def house(tmp_path: Path) -> House:
    (tmp_path / "long.txt").write_text(LONG, "utf-8")
    return House(tmp_path)


def report(house: House) -> dict[str, object]:
    (edition,) = (path for path in (house.state / "reports" / "pegs").glob("2*") if path.is_dir())
    whole = {path.name for path in edition.iterdir()}
    assert {"result.txt", "result.json", "result.html", "cross.svg"} <= whole
    told: dict[str, object] = json.loads((house.state / "reports" / "pegs" / "result.json").read_text("utf-8"))
    return told


def test_the_timeout_ends_a_run_with_a_report(house: House) -> None:
    house.write(JOB.format(deadline="4s"))
    assert house.run("jobs", "run", "pegs").returncode == 1
    last = house.last("pegs")
    assert last["outcome"] == "timed-out"
    assert "1 board solved, 1 not reached. The run was interrupted: its time is over. " in last["summary"]
    told = report(house)
    assert (told["complete"], told["not_reached"]) == (False, ["plus"])


def test_ctrl_c_ends_a_run_at_once_with_a_report(house: House) -> None:
    house.write(JOB.format(deadline="1h"))
    with house.start("jobs", "run", "pegs") as process:
        until(lambda: any("long: " in run.status_text for run in house.runs("pegs")), 30)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) != 0
    last = house.last("pegs")
    assert last["outcome"] == "stopped"
    assert last["summary"].startswith("ended by a person; 1 board solved")
    assert report(house)["not_reached"] == ["plus"]


def test_a_cancelled_run_reports_its_progress(house: House) -> None:
    house.write(JOB.format(deadline="1h"))
    with house.start("jobs", "run", "pegs") as process:
        until(lambda: any("long: " in run.status_text for run in house.runs("pegs")), 30)
        assert house.run("jobs", "cancel", "pegs").returncode == 0
        assert process.wait(10) != 0
    assert house.last("pegs")["summary"].startswith("cancelled by a person; 1 board solved")


def test_a_board_in_a_file_needs_no_more_memory_than_one_that_is_known(house: House) -> None:
    (house.folder / "mine.txt").write_text("XXO\n", "utf-8")
    keys = "{puzzle: peg-solitaire, boards: [mine.txt]}"
    house.write(f"pegs:\n  kind: puzzle\n  memory: 80MB\n  with: {keys}")
    done = house.run("jobs", "run", "pegs")
    assert done.returncode == 0, done.stdout


def test_a_file_of_many_boards_is_read_by_its_run_and_not_by_every_command(house: House) -> None:
    grids = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79\n" * 50_000
    (house.folder / "many.txt").write_text(f"{grids}no grid\n", "utf-8")
    house.write("many:\n  kind: puzzle\n  with: {puzzle: sudoku, boards: [many.txt], solutions: count}")
    assert house.run("config", "check").returncode == 0
    assert house.run("jobs", "run", "many").returncode != 0
    assert "many.txt:50001:" in house.last("many")["summary"]
