"""kill -9 of the daemon, of runs and of their programs at random times: no slot is lost or runs twice.

The daily tests kill 4 times, `deploy/test.sh --all` 25 times. For more, and for other times:

    PI_APPLIANCE_KILLS=500 PI_APPLIANCE_SEED=7 pytest -s tests/scheduling/test_kills.py
"""

import contextlib
import json
import os
import signal
import time
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import pytest

from pi_appliance.storage.history import Store
from pi_appliance.system import files
from tests.installation import PROGRAM, Installation, catches_sigterm, wait_until
from tests.warm_program import Process

KILLS = int(os.environ.get("PI_APPLIANCE_KILLS", "25"))
SEED = int(os.environ.get("PI_APPLIANCE_SEED", "2026"))
WAITING = timedelta(seconds=6)  # runs that still waited when the daemon was stopped start after its next start
LONG_JOBS = 3
START = {"succeeded", "failed", "stopped", "abandoned"}


def jobs(installation: Installation) -> str:
    """Return jobs of every kind. Each run stores the run number and slot of its lock."""

    def job(name: str, when: str, then: str = "true") -> str:
        # `read` is built in: a subshell could be the process that is killed, and the line empty.
        shell = f'read -r lock < "$1"; printf "%.1024s\\n" "$lock" >> "$2"; {then}'
        words = [
            "sh",
            "-c",
            shell,
            "sh",
            str(installation.state / "locks" / f"{name}.lock"),
            str(installation.folder / "marks"),
        ]
        return f"{name}:\n  kind: command\n  {when}\n  with: {json.dumps({'run': words})}\n"

    return "".join(
        (
            job("quick", "schedule: every 1s"),
            job("in-turn", "schedule: every 2s\n  concurrency: queue", "sleep 1"),
            job("made-up-for", "schedule: every 1s\n  catch-up: {max-age: 1h, max-runs: 3}"),
            job("every-minute", "schedule: '* * * * *'"),
            job("slow", "schedule: every 3s\n  concurrency: replace", "sleep 9 & wait"),
            job("next", "depends-on: [quick]"),
            *(
                job(f"long-{number}", "schedule: every 2s\n  priority: urgent", "sleep 20 & wait")
                for number in range(LONG_JOBS)
            ),
        )
    )


def _is_kind(words: str, kind: str) -> bool:
    # The arguments of a supervisor contain those of its program.
    return words.startswith(kind) if kind == "sh -c" else kind in words


class Victims:
    """A daemon that is restarted after each kill, and its processes."""

    def __init__(self, installation: Installation, random: Random) -> None:
        self._installation, self._random = installation, random
        self.killed: Counter[str] = Counter()
        self.output_file = (installation.folder / "said").open("ab")
        self.start()

    def start(self) -> None:
        """Start the daemon."""
        words = [*PROGRAM, "up", "--config", str(self._installation.config)]
        self.daemon = Process(
            words, env=self._installation.environment(), stdout=self.output_file, stderr=self.output_file
        )

    def kill(self) -> None:
        """Kill the daemon, a run, its supervisor, its program, or any of a long run, in turn."""
        kinds = ("daemon", "jobs run", "system.process_tree", "sh -c", "long")
        kind = kinds[sum(self.killed.values()) % 5]
        if kind != "daemon" and (result := self._find(kind)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._random.choice(result), signal.SIGKILL)
                self.killed[kind] += 1
                return
        self.daemon.kill()
        self.daemon.wait(60)
        self.killed["daemon"] += 1
        self.start()

    def _find(self, kind: str) -> list[int]:
        """Return the processes of one kind. Those of long runs are spared until their runner is small."""
        processes = self.processes()
        if kind != "long":
            return [pid for pid, words in processes.items() if _is_kind(words, kind) and "long-" not in words]
        names = [f"long-{number}" for number in range(LONG_JOBS)]
        runners = " ".join(words for words in processes.values() if "long_run" in words)
        small = [name for name in names if f" {name} " in runners]
        return [pid for pid, words in processes.items() if any(name in words for name in small)]

    def processes(self) -> dict[int, str]:
        """Return all processes except the daemon whose arguments name this appliance's folder."""
        result = {}
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                words = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                if str(self._installation.folder) in words and int(path.parent.name) != self.daemon.pid:
                    result[int(path.parent.name)] = words
        return result

    def end(self) -> None:
        """Run the daemon for a while, then stop it cleanly."""
        wait_until(lambda: catches_sigterm(self.daemon.pid), 60)  # on a busy machine it takes long to begin
        time.sleep(3)
        self.daemon.terminate()
        assert self.daemon.wait(60) == 0
        self.output_file.close()


@pytest.mark.timeout(600 + 5 * KILLS)
@pytest.mark.parametrize("kills", [4, pytest.param(KILLS, marks=pytest.mark.faults)])
def test_kills_lose_no_slot_and_repeat_none(installation, kills):
    installation.write(jobs(installation), "web: {port: 0}\nstop-grace: 0s\nmax-concurrent-runs: 3")
    random = Random(SEED)
    victims = Victims(installation, random)
    try:
        for number in range(kills):
            time.sleep(random.uniform(0.05, 1.0))
            victims.kill()
            if number % 50 == 49:
                print(f"{number + 1} kills: {dict(victims.killed)}")  # noqa: T201 - for the long run
        victims.end()
        # No orphan. A long run takes 20 s. While a process executes another program, it shows no
        # arguments for some milliseconds, but still holds its lock.
        wait_until(lambda: not victims.processes() and not held_locks(installation), 45)
    finally:
        victims.daemon.kill()
        victims.daemon.wait(60)
        victims.output_file.close()
    assert "Traceback" not in (installation.folder / "said").read_text("utf-8")
    check(installation)
    print(f"seed {SEED}: kills {dict(victims.killed)}; {summarize_outcomes(installation)}")  # noqa: T201


def check(installation: Installation) -> None:
    """Check that the history is intact and complete, no slot started twice, and no lock is held."""
    runs = {run["id"]: run for run in installation.json("jobs", "history", "--count", "10000")}
    with Store(installation.state / "history.db") as store:
        store.ensure_intact()
    assert not list(installation.state.glob("*.damaged-*"))
    assert {run["outcome"] for run in runs.values()} <= {*START, "skipped", "misfired"}
    starts = [json.loads(line) for line in (installation.folder / "marks").read_text("utf-8").splitlines()]
    times = Counter((runs[start["run"]]["job"], start["due"]) for start in starts)
    twice = [each for each, count in times.items() if count > 1]
    assert not twice, f"ran twice: {twice}"
    began = Counter((run["job"], run["scheduled_for"]) for run in runs.values() if run["outcome"] in START)
    assert max(began.values()) == 1, f"began twice: {began.most_common(3)}"
    for start in starts:
        run = runs[start["run"]]
        assert (run["scheduled_for"], run["outcome"] in START) == (start["due"], True), run
    slots = installation.json("jobs", "history", "--slots", "--count", "10000")
    newest = max(datetime.fromisoformat(slot["slot"]) for slot in slots if slot["outcome"] in START)
    accounted = f"{newest - WAITING:%Y-%m-%dT%H:%M:%SZ}"
    holes = [slot for slot in slots if slot["run"] is None and slot["slot"] < accounted]
    assert not holes, f"nothing is known of {holes[:5]}"


def held_locks(installation: Installation) -> list[str]:
    return [path.name for path in (installation.state / "locks").glob("*.lock") if files.is_locked(path)]


def summarize_outcomes(installation: Installation) -> str:
    runs = installation.json("jobs", "history", "--count", "10000")
    return f"{len(runs)} rows: {dict(Counter(run['outcome'] for run in runs))}"
