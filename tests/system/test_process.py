"""Watching a child process: enforced deadlines of any length."""

import signal
import subprocess
import sys
import time
from datetime import timedelta

import pytest

from pi_appliance.system import process


def watched(words: list[str], seconds: float, on_output=lambda _: None) -> process.ProcessResult:
    with process.StopSignal().catch_signals() as stop:
        return process.run_child(words, stop=stop, seconds=seconds, on_output=on_output, on_line=lambda _: None)


def test_a_fast_printing_program_still_has_a_deadline():
    give_up = time.monotonic() + 4

    def slow_reader(_: bytes) -> None:
        time.sleep(0.002)  # time enough for `yes` to fill the pipe again
        assert time.monotonic() < give_up, "the deadline was missed"

    assert watched(["yes"], 0.5, slow_reader).timed_out


def test_an_escaped_process_that_prints_does_not_delay_the_end():
    begun = time.monotonic()
    read = []
    ended = watched(["sh", "-c", "setsid yes & sleep 0.2"], 5, lambda chunk: (read.append(chunk), time.sleep(0.002)))
    assert ended == process.ProcessResult(0)
    assert read
    assert time.monotonic() - begun < 3


@pytest.mark.parametrize("days", [25, 1_000_000])
def test_a_deadline_may_exceed_the_limit_of_the_kernel(days):
    assert watched(["true"], timedelta(days=days).total_seconds()) == process.ProcessResult(0)


def test_a_wait_may_exceed_the_limit_of_the_kernel():
    with process.StopSignal().catch_signals() as stop:
        stopper = subprocess.Popen([sys.executable, "-c", "import os, signal; os.kill(os.getppid(), signal.SIGTERM)"])
        assert stop.wait(timedelta(days=400).total_seconds())
        assert stop.signal == signal.SIGTERM
        stopper.wait()
