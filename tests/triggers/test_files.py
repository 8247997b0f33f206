"""A file that was written starts a job: once it is closed, whether its folder is there or not."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pi_appliance.storage.model import Outcome, Trigger
from tests.installation import Installation, wait_until
from tests.test_daemon import QUIET, RunningDaemon, running_daemon

JOBS = """\
inbox:
  kind: command
  triggers: {{file: {{path: ['{folder}/in box/*.csv', '{folder}/later/deep/go'], debounce: 0s}}}}
  with: {{run: ['true']}}
slow:
  kind: command
  triggers: {{file: {{path: '{folder}/in box/*.txt', debounce: 1s}}}}
  with: {{run: ['true']}}
"""


@pytest.fixture
def daemon(installation: Installation) -> Iterator[RunningDaemon]:
    (installation.folder / "in box").mkdir()
    (installation.folder / "in box/old.csv").touch()
    installation.write(JOBS.format(folder=installation.folder), QUIET)
    with running_daemon(installation) as daemon:
        wait_until(lambda: inotify_watches(daemon) == 2)  # the folder, and the nearest one of the other
        yield daemon


def inotify_watches(daemon: RunningDaemon) -> int:
    files = Path(f"/proc/{daemon.process.pid}/fdinfo").iterdir()
    return sum(file.read_text().count("inotify wd:") for file in files if file.exists())


def count_runs(installation: Installation, job: str, runs: int) -> list[Outcome | None]:
    """Wait until `count` runs of `job` have ended, and return their outcomes."""
    wait_until(lambda: len(installation.outcomes(job)) == runs and None not in installation.outcomes(job))
    return installation.outcomes(job)


def test_files_start_jobs(installation: Installation, daemon: RunningDaemon) -> None:
    box = installation.folder / "in box"
    with (box / "one.csv").open("w") as file:
        file.write("half")
        file.flush()
        (box / ".hidden.csv").write_text("no")
        (box / "one.tmp").write_text("moved")
        (box / "other.pdf").write_text("no")
        (box / "first.txt").write_text("a")
        (box / "second.txt").write_text("b")
        count_runs(installation, "slow", 1)  # one run for two files that were written together
        assert installation.runs("inbox") == []  # it is still open
    assert count_runs(installation, "inbox", 1) == [Outcome.SUCCEEDED]
    assert installation.runs("inbox")[0].trigger is Trigger.FILE
    (box / "one.tmp").rename(box / "two.csv")
    count_runs(installation, "inbox", 2)
    later = installation.folder / "later"
    staged = installation.folder / "staged"
    (staged / "deep").mkdir(parents=True)
    (staged / "deep/go").touch()
    staged.rename(later)  # a complete tree appears, like that of a drive
    count_runs(installation, "inbox", 3)
    (later / "deep/go").unlink()
    (later / "deep").rmdir()
    (later / "deep").mkdir()
    (later / "deep/go").touch()
    count_runs(installation, "inbox", 4)
    assert len(installation.outcomes("slow")) == 1
    listed = installation.json("jobs", "triggers")
    assert [(each["job"], each["trigger"], each["problem"]) for each in listed] == [
        ("inbox", "file", ""),
        ("slow", "file", ""),
    ]


def test_a_file_that_is_written_when_a_run_begins_starts_another_run(installation: Installation) -> None:
    box = installation.folder / "box"
    box.mkdir()
    program = 'cd "$0"; [ -e 2.csv ] || touch 2.csv'  # the first run writes at once, the second finds it
    installation.write(
        f"inbox:\n  kind: command\n  concurrency: queue\n  triggers: {{file: {{path: '{box}/*.csv', debounce: 0s}}}}\n"
        f"  with: {{run: [sh, -c, '{program}', '{box}']}}\n",
        QUIET,
    )
    with running_daemon(installation) as daemon:
        wait_until(lambda: inotify_watches(daemon) == 1)
        (box / "1.csv").touch()
        assert count_runs(installation, "inbox", 2) == [Outcome.SUCCEEDED] * 2


def test_a_changed_configuration_is_used(installation: Installation, daemon: RunningDaemon) -> None:
    installation.write(JOBS.format(folder=installation.folder).replace("*.csv", "*.xml"), QUIET)
    assert installation.run("reload").returncode == 0
    wait_until(lambda: inotify_watches(daemon) == 2 and "was read again" in daemon.output)
    (installation.folder / "in box/new.csv").touch()
    (installation.folder / "in box/new.xml").touch()
    count_runs(installation, "inbox", 1)
    (installation.folder / "in box/just before.txt").touch()  # the job waits a second for more files
    installation.write(JOBS.format(folder=installation.folder).replace("later", "afterwards"), QUIET)
    assert installation.run("reload").returncode == 0
    count_runs(installation, "slow", 1)
    installation.write("inbox: {kind: command, with: {run: ['true']}}", QUIET)
    assert installation.run("reload").returncode == 0
    wait_until(lambda: inotify_watches(daemon) == 0)


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("inbox/*.csv", "'inbox/*.csv' does not say in which folder it is; write the whole path"),
        ("/srv/*/a", "'/srv/*/a' has a pattern in the name of a folder; name the folder"),
    ],
)
def test_a_path_that_cannot_be_watched_is_refused(installation: Installation, path: str, problem: str) -> None:
    installation.write(f"inbox: {{kind: command, triggers: {{file: {{path: '{path}'}}}}, with: {{run: ['true']}}}}")
    checked = installation.run("config", "check")
    assert checked.returncode == 2
    assert problem in checked.stderr
