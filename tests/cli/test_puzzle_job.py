"""A puzzle job as it really runs: ended at its deadline or by a person, it leaves a report of what is known by then."""

import json
import signal
from pathlib import Path

import pytest

from tests.house import House, until

# The start is no mirror image of the end, so that nothing saves a look at tens of millions of positions.
LONG = "  XXX\n  XXX\nXXXXXXX\nXXXXXXX\nXXXXXXX\n  XXX\n  XOX\n"
JOB = """\
pegs:
  kind: puzzle
  deadline: {deadline}
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
    (edition,) = (path for path in (house.state / "reports" / "pegs").iterdir() if path.is_dir())
    whole = {path.name for path in edition.iterdir()}
    assert {"result.txt", "result.json", "result.html", "cross.svg"} <= whole
    told: dict[str, object] = json.loads((house.state / "reports" / "pegs" / "result.json").read_text("utf-8"))
    return told


def test_at_its_deadline_it_reports_what_it_knows(house: House) -> None:
    house.write(JOB.format(deadline="4s"))
    assert house.run("jobs", "run", "pegs").returncode == 1
    last = house.last("pegs")
    assert last["outcome"] == "timed-out"
    assert "1 board solved, 1 not reached" in last["summary"]
    told = report(house)
    assert (told["complete"], told["not-reached"]) == (False, ["plus"])


def test_ended_by_a_person_it_does_so_at_once(house: House) -> None:
    house.write(JOB.format(deadline="1h"))
    with house.start("jobs", "run", "pegs") as process:
        until(lambda: any("long: " in run.note for run in house.runs("pegs")), 30)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) != 0
    last = house.last("pegs")
    assert last["outcome"] == "stopped"
    assert last["summary"].startswith("ended by a person; 1 board solved")
    assert report(house)["not-reached"] == ["plus"]


def test_cancelled_from_elsewhere_it_says_so_and_how_far_it_was(house: House) -> None:
    house.write(JOB.format(deadline="1h"))
    with house.start("jobs", "run", "pegs") as process:
        until(lambda: any("long: " in run.note for run in house.runs("pegs")), 30)
        assert house.run("jobs", "cancel", "pegs").returncode == 0
        assert process.wait(10) != 0
    assert house.last("pegs")["summary"].startswith("cancelled by a person; 1 board solved")
