"""Stop requests and full disks at bad moments: the report is complete, or the previous one stays."""

import resource
import signal
import subprocess
from pathlib import Path

import pytest

from tests.installation import House, until

pytestmark = pytest.mark.faults

CROSS = "pegs:\n  kind: puzzle\n  with: {puzzle: peg-solitaire, boards: [cross], keep-reports: 1}\n"


def reports(house: House) -> Path:
    return house.state / "reports" / "pegs"


def hidden(house: House) -> set[str]:
    return {path.name for path in reports(house).glob(".*")}


def test_a_stop_request_while_the_report_is_published_succeeds(house: House) -> None:
    house.write(CROSS)
    assert house.run("jobs", "run", "pegs").returncode == 0
    newest = reports(house) / ".newest"
    before = newest.readlink()
    for number in range(30_000):  # so that taking it away takes a while
        (reports(house) / before / f"{number}").touch()
    with house.start("jobs", "run", "pegs") as process:
        until(lambda: newest.readlink() != before, 30)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    assert house.last("pegs")["outcome"] == "succeeded"
    assert hidden(house) == {".newest"}


def test_results_are_in_the_history_if_the_disk_is_full(house: House) -> None:
    house.write("pegs:\n  kind: puzzle\n  with: {puzzle: peg-solitaire, boards: [cross, arrow], solutions: all}\n")
    assert house.run("jobs", "run", "pegs").returncode == 0
    before = (reports(house) / "result.txt").read_bytes()
    small = 1_000_000

    def starve() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (small, small))

    words = [*house.program, "jobs", "run", "pegs", "--config", str(house.config)]
    done = subprocess.run(
        words, env=house.environment(), preexec_fn=starve, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 75, done.stderr
    assert "Traceback" not in done.stderr
    said = house.last("pegs")["summary"]
    assert said.startswith(f"{reports(house)}/result.txt cannot be written: File too large; ")
    assert said.endswith("Results: cross: 4 solutions; arrow: 3,884,200 solutions")
    assert (reports(house) / "result.txt").read_bytes() == before
    assert hidden(house) == {".newest"}
