"""Stop requests and full disks at bad moments: the report is complete, or the previous one stays."""

import resource
import signal
import subprocess
from pathlib import Path

import pytest

from tests.installation import Installation, wait_until

pytestmark = pytest.mark.faults

CROSS = "pegs:\n  kind: puzzle\n  with: {puzzle: peg-solitaire, boards: [cross], keep-reports: 1}\n"


def reports(installation: Installation) -> Path:
    return installation.state / "reports" / "pegs"


def hidden(installation: Installation) -> set[str]:
    return {path.name for path in reports(installation).glob(".*")}


def test_a_stop_request_while_the_report_is_published_succeeds(installation: Installation) -> None:
    installation.write(CROSS)
    assert installation.run("jobs", "run", "pegs").returncode == 0
    newest = reports(installation) / ".newest"
    before = newest.readlink()
    for number in range(4_000):  # so that taking it away takes a while
        (reports(installation) / before / f"{number}").touch()
    with installation.start("jobs", "run", "pegs") as process:
        wait_until(lambda: newest.readlink() != before, 30)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    assert installation.latest_run("pegs")["outcome"] == "succeeded"
    assert hidden(installation) == {".newest"}


def test_results_are_in_the_history_if_the_disk_is_full(installation: Installation) -> None:
    installation.write(
        "pegs:\n  kind: puzzle\n  with:\n"
        "    {puzzle: peg-solitaire, boards: [cross, arrow], solutions: all, max-solutions: 1500}\n"
    )
    assert installation.run("jobs", "run", "pegs").returncode == 0
    before = (reports(installation) / "result.txt").read_bytes()
    small = 1_000_000

    def starve() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (small, small))

    words = [*installation.program, "jobs", "run", "pegs", "--config", str(installation.config)]
    done = subprocess.run(
        words,
        env=installation.environment(),
        preexec_fn=starve,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 75, done.stderr
    assert "Traceback" not in done.stderr
    summary = installation.latest_run("pegs")["summary"]
    assert summary.startswith(f"{reports(installation)}/result.txt cannot be written: File too large; ")
    assert summary.endswith("Results: cross: 4 solutions; arrow: 3,884,200 solutions")
    assert (reports(installation) / "result.txt").read_bytes() == before
    assert hidden(installation) == {".newest"}
