"""How long `jobs run` takes for a slot that the chance leaves out: `python -m tests.benchmarks.skip [--runs 21]`."""

import argparse
import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from tests.house import PROGRAM, House

PLAIN_BOT = Path(__file__).with_name("plain_bot.py")
JOB = """
tweets:
  kind: tweet
  schedule: "*/15 * * * *"
  chance: 1/1000000
  grace: 1h
  runs-by: cron
  with: {lines: tweets.txt, network: preview}
"""


class Ways:
    """The programs that are compared, each with what makes it ready for one more run."""

    def __init__(self, folder: Path) -> None:
        self.house = House(folder)
        (folder / "tweets.txt").write_text("hello\n", "utf-8")
        self.house.write(JOB, "networks: {preview: {kind: preview}}")
        moment = datetime.now(UTC)
        before = moment.replace(minute=moment.minute // 15 * 15, second=0) - timedelta(minutes=15)
        due = before.strftime("%Y-%m-%dT%H:%M:%SZ")
        assert self.house.run("jobs", "run", "tweets", "--by", "cron", "--due", due).returncode == 0
        shutil.copytree(self.house.state, folder / "ready")

    def all(self) -> dict[str, tuple[Sequence[str], Callable[[], None]]]:
        """Return by name what to run, and what to do before each time."""
        skip = (*PROGRAM, "jobs", "run", "tweets", "--by", "cron", "--config", str(self.house.config))
        return {
            "`python -c pass`": ((sys.executable, "-c", "pass"), lambda: None),
            "`jobs run` of a slot left out": (skip, lambda: self._as_before(foreseen=True)),
            "the same, the long way": (skip, lambda: self._as_before(foreseen=False)),
            "a script that imports tweepy first": (
                (sys.executable, str(PLAIN_BOT), str(self.house.folder / "tweets.txt")),
                lambda: None,
            ),
        }

    def _as_before(self, *, foreseen: bool) -> None:
        """Let the slot before be the last one that was told."""
        for name in ("history.db", "coming/tweets"):
            shutil.copy(self.house.folder / "ready" / name, self.house.state / name)
        if not foreseen:
            (self.house.state / "coming" / "tweets").unlink()

    def last_was_skipped(self) -> bool:
        """Say whether the newest run is a skip by chance."""
        return bool(self.house.last("tweets")["summary"].startswith("by chance"))


def measure(runs: int) -> dict[str, tuple[float, float]]:
    """Return for each way the median of the time on the clock and of the processor's, in seconds. One core for all."""
    with _one_core(), tempfile.TemporaryDirectory() as folder:
        ways = Ways(Path(folder))
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in ways.all()}
        for _ in range(runs + 1):  # the first time round all comes from the disk, and does not count
            for name, (argv, prepare) in ways.all().items():
                prepare()
                taken[name].append(_timed(argv, ways.house.environment()))
                assert "jobs" not in argv or ways.last_was_skipped()
    return {
        name: (statistics.median(each[0] for each in times[1:]), statistics.median(each[1] for each in times[1:]))
        for name, times in taken.items()
    }


@contextlib.contextmanager
def _one_core() -> Iterator[None]:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _timed(argv: Sequence[str], environment: dict[str, str]) -> tuple[float, float]:
    begin, before = time.perf_counter(), getrusage(RUSAGE_CHILDREN)
    subprocess.run(argv, env=environment, check=True)
    end, after = time.perf_counter(), getrusage(RUSAGE_CHILDREN)
    return end - begin, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=21, help="how often each is run")
    found = measure(parser.parse_args(argv).runs)
    bare = next(iter(found.values()))
    print("| | ms | times bare Python | ms of the processor | times bare Python |\n| --- | --: | --: | --: | --: |")
    for name, (wall, cpu) in found.items():
        print(
            f"| {name} | {wall * 1e3:.0f} | {wall / bare[0]:.1f} | {cpu * 1e3:.0f} | {cpu / max(bare[1], 1e-9):.1f} |"
        )


if __name__ == "__main__":
    main()
