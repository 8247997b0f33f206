"""A complete installation in a temporary folder, with the real program in a process."""

import contextlib
import io
import json
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pi_appliance.__main__ import main
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.storage.model import Outcome, Run
from tests import warm_program
from tests.warm_program import PROGRAM, ROOT, Process

__all__ = ["PROGRAM", "ROOT", "Installation", "catches_sigterm", "in_memory", "is_running", "wait_until"]


class Installation:
    """A configuration, its state folder, and commands that are run with it."""

    program = PROGRAM

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.config = folder / "appliance.yaml"
        self.extra_environment: dict[str, str] = {}

    def write(self, jobs: str, rest: str = "") -> None:
        """Write appliance.yaml with `jobs` under `jobs:` and the further sections in `rest`."""
        indented = "".join(f"  {line}\n" for line in jobs.strip("\n").splitlines())
        head = f"state-dir: {self.state}\ntime-zone: UTC\nclock: {{max-wait-for-sync: 0s}}\n"
        text = f"{head}{rest}\njobs:\n{indented or '  {}'}"
        self.config.write_text(text, "utf-8")

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the environment of the program, without the keys and the configuration of the user."""
        return {**warm_program.base_environment(), **self.extra_environment, **(more or {})}

    def run(self, *words: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command to its end. It must not print a traceback."""
        process = warm_program.run_process(
            [*PROGRAM, *words, "--config", str(self.config)],
            env=self.environment(environment),
            capture_output=True,
            text=True,
        )
        assert "Traceback" not in process.stderr, process.stderr
        return process

    def json(self, *words: str) -> Any:
        """Run a command that must succeed, with `--json`, and return the parsed output."""
        if self.extra_environment or type(self).environment is not Installation.environment:
            process = self.run(*words, "--json")
            assert process.returncode == 0, process.stderr
            return json.loads(process.stdout)
        status, output, errors = self.call(*words, "--json")
        assert status == 0, errors
        return json.loads(output)

    def call(self, *words: str) -> tuple[int, bytes, str]:
        """Run a command in this process, ten times as fast; return its status, its output and its errors."""
        out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
        status = 0
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main([*words, "--config", str(self.config)])
            except SystemExit as error:
                status = int(error.code or 0)
        out.flush()
        buffer = out.buffer
        assert isinstance(buffer, io.BytesIO)
        return status, buffer.getvalue(), err.getvalue()

    def start(self, *words: str, environment: Mapping[str, str] | None = None) -> Process:
        """Start a command and return its process, with its output in a pipe."""
        return Process(
            [*PROGRAM, *words, "--config", str(self.config)],
            env=self.environment({"PYTHONUNBUFFERED": "1", **(environment or {})}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def latest_run(self, job: str) -> dict[str, Any]:
        """Return the newest run of `job`."""
        newest: dict[str, Any] = self.json("jobs", "history", job, "--count", "1")[0]
        return newest

    def runs(self, job: str | None = None) -> list[Run]:
        """Return the runs of one job or of all, newest first, without starting a process."""
        with Appliance.open(self.config) as appliance:
            return appliance.history(job=job)

    def outcomes(self, job: str | None = None) -> list[Outcome | None]:
        """Return the outcomes of the runs of one job or of all, newest first."""
        return [run.outcome for run in self.runs(job)]


def wait_until(condition: Callable[[], Any], seconds: float = 60) -> Any:
    """Wait until `condition()` is true and return its result; fail after `seconds`."""
    deadline = time.monotonic() + seconds
    started = time.thread_time()
    while not (value := condition()):
        assert time.monotonic() < deadline, f"the condition was not met within {seconds} s"
        time.sleep(max(0.02, 4 * (time.thread_time() - started)))  # the awaited program needs the processor
        started = time.thread_time()
    return value


def in_memory() -> "TemporaryDirectory[str]":
    """Return a folder in memory, where flushing to the disk is free."""
    return TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)  # noqa: S108 - made by tempfile


def is_running(pid: int) -> bool:
    """Return whether the process runs; a zombie does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("ascii")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def catches_sigterm(pid: int) -> bool:
    """Return whether the process already handles SIGTERM."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:")).split()[1]
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)
