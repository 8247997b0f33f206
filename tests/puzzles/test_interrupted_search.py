"""Long searches end in time, report partial results, and leave no processes."""

import os
import pty
import select
import signal
import subprocess
import time
from pathlib import Path

import pytest

from pi_appliance.system.process import descendants
from tests.installation import PROGRAM, Installation, is_running, wait_until

BOOK = "book:\n  kind: puzzle\n  {keys}\n  with: {{puzzle: connect-four, precompute: true}}"


def process_ids(process: subprocess.Popen[str]) -> set[int]:
    """Return the processes of a run: its guard, itself, and its workers where there is more than one core."""
    return {each.pid for each in descendants(process.pid)}


@pytest.mark.slow
def test_the_timeout_ends_a_search_with_a_checkpoint(installation: Installation) -> None:
    installation.write(BOOK.format(keys="timeout: 5s"))
    done = installation.run("jobs", "run", "book")
    assert done.returncode == 1
    run = installation.latest_run("book")
    assert run["outcome"] == "timed-out"
    assert run["summary"].startswith("ended after its timeout of 5s; ")
    assert "the opening book has" in run["summary"]
    checkpoints = list((installation.state / "puzzles" / "connect-four").iterdir())
    assert [path.suffix for path in checkpoints] == [".cache"], "whole, and no half of another"
    assert not any("connect-four" in line for line in commands()), "nobody is left"


def test_sigterm_ends_a_search_within_seconds(installation: Installation) -> None:
    installation.write(BOOK.format(keys="timeout: 10m"))
    process = installation.start("jobs", "run", "book")
    wait_until(lambda: (installation.state / "puzzles" / "connect-four").is_dir() or len(process_ids(process)) > 2, 20)
    there = process_ids(process)
    begun = time.monotonic()
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=10)
    assert time.monotonic() - begun < 4
    assert installation.latest_run("book")["outcome"] == "stopped", output
    assert not any(map(is_running, there))


def test_ctrl_c_in_a_terminal_ends_all_workers_within_seconds(installation: Installation) -> None:
    installation.write("")
    terminal, side = pty.openpty()
    # Like a shell: it has its own terminal, where Ctrl-C reaches all its processes.
    words = ["setsid", "--ctty", *PROGRAM, "puzzle", "solve", "connect-four", "--board", "empty"]
    words += ["--config", str(installation.config)]
    with subprocess.Popen(words, stdin=side, stdout=side, stderr=side, env=installation.environment()) as process:
        os.close(side)
        first = wait_until(lambda: drained(terminal), 20)  # of its progress
        there = process_ids(process)
        begun = time.monotonic()
        os.write(terminal, b"\x03")
        output = drained(terminal, 8)
        assert process.wait(8) == 130, first + output
    os.close(terminal)
    assert time.monotonic() - begun < 3
    assert b"Traceback" not in output
    assert b"pi-appliance: stopped" in output
    assert not any(map(is_running, there))


def drained(terminal: int, seconds: float = 0) -> bytes:
    """Return the output so far, or until it ends or `seconds` have passed."""
    result, end = b"", time.monotonic() + seconds
    while select.select([terminal], [], [], max(0.0, end - time.monotonic()))[0]:
        try:
            result += os.read(terminal, 65_536)
        except OSError:  # it has ended
            break
    return result


def commands() -> list[str]:
    """Return the command lines of all processes below this one."""
    places = (Path(f"/proc/{each.pid}/cmdline") for each in descendants(os.getpid()))
    return [path.read_bytes().decode().replace("\0", " ") for path in places if path.exists()]
