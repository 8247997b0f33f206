"""A whole appliance in a folder of its own, run as a person runs it: the real program in a real process."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.storage.model import Outcome, Run

ROOT = Path(__file__).parents[1]
PROGRAM = (sys.executable, "-m", "pi_appliance")


class House:
    """One configuration, its state, and commands run against it."""

    program = PROGRAM

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.config = folder / "appliance.yaml"
        self.extra_environment: dict[str, str] = {}

    def write(self, jobs: str, rest: str = "") -> None:
        """Write appliance.yaml: JOBS is what stands under `jobs:`, REST are further sections."""
        indented = "".join(f"  {line}\n" for line in jobs.strip("\n").splitlines())
        head = f"state-dir: {self.state}\ntime-zone: UTC\nclock: {{max-wait-for-sync: 0s}}\n"
        text = f"{head}{rest}\njobs:\n{indented or '  {}'}"
        self.config.write_text(text, "utf-8")

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return what the program sees; nothing of the owner's keys or configuration."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "XDG_RUNTIME_DIR") if name in os.environ}
        return {**kept, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error", **self.extra_environment, **(more or {})}

    def run(self, *words: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run `pi-appliance WORDS --config …` to its end. Its output must hold no traceback."""
        done = subprocess.run(
            [*PROGRAM, *words, "--config", str(self.config)],
            env=self.environment(environment),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def json(self, *words: str) -> Any:
        """Run a command that must succeed and return what it printed as JSON."""
        done = self.run(*words, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def start(self, *words: str, environment: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        """Start `pi-appliance WORDS --config …` and return its process, with its output in a pipe."""
        return subprocess.Popen(
            [*PROGRAM, *words, "--config", str(self.config)],
            env=self.environment({"PYTHONUNBUFFERED": "1", **(environment or {})}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def last(self, job: str) -> dict[str, Any]:
        """Return the newest run of JOB."""
        newest: dict[str, Any] = self.json("jobs", "history", job, "--count", "1")[0]
        return newest

    def runs(self, job: str | None = None) -> list[Run]:
        """Return the runs of JOB or of all, the newest first, as `jobs history` finds them. For `until`: no process."""
        with Appliance.open(self.config) as appliance:
            return appliance.history(job=job)

    def outcomes(self, job: str | None = None) -> list[Outcome | None]:
        """Return how the runs of JOB or of all ended, the newest first. For `until`: no process."""
        return [run.outcome for run in self.runs(job)]


def until(true: Callable[[], Any], seconds: float = 10) -> Any:
    """Wait until TRUE() is true and return what it returned; fail after SECONDS. A look costs next to nothing."""
    deadline = time.monotonic() + seconds
    while not (value := true()):
        assert time.monotonic() < deadline, f"did not come true within {seconds} s"
        time.sleep(0.02)
    return value


def in_memory() -> "TemporaryDirectory[str]":
    """Return a folder in memory, where thousands of flushes to the disk cost nothing."""
    return TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)  # noqa: S108 - made by tempfile


def alive(pid: int) -> bool:
    """Say whether the process PID runs (a zombie does not)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("ascii")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
