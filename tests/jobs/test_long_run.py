"""A long run: the small runner takes over, and everything still works."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from pi_appliance.storage.run_log import MAX_LOG_BYTES, read_log
from pi_appliance.system import files
from pi_appliance.system.process_tree import descendants
from pi_appliance.system.runtime_socket import NO_HANDOVER
from tests.installation import Installation, is_running, wait_until
from tests.warm_program import Process

pytestmark = pytest.mark.slow
GO = "until [ -e go ]; do sleep 0.1; done"
PROGRAMS = {
    "speaks": f"echo before; {GO}; echo meanwhile; until [ -e end ]; do sleep 0.1; done; echo after",
    "silent": f"{GO}; echo after; exit 3",
    "floods": f"echo begin; {GO}; head -c 3000000 /dev/zero; echo end",
    "cancelled": "echo before; trap 'echo tidied up; exit 0' TERM; while :; do sleep 0.1; done",
    "timed": "while :; do sleep 0.1; done",
    "unguarded": "setsid sh -c 'echo $$ > unguarded.pid; sleep 600' & wait",
    "orphaned": "setsid sh -c 'trap : TERM; echo $$ > orphaned.pid; sleep 600; :' & wait",
}


@pytest.fixture(scope="module")
def long_runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Installation, dict[str, Process]]]:
    """Yield an installation and its long runs, all started at once, when their runners are small."""
    installation = Installation(tmp_path_factory.mktemp("house"))
    job = '{0}:\n  kind: command\n  timeout: {1}\n  with: {{run: [sh, -c, "{2}"]}}\n'
    jobs = [job.format(name, "40s" if name == "timed" else "1h", text) for name, text in PROGRAMS.items()]
    installation.write("".join(jobs))
    runs = {name: installation.start("jobs", "run", name, environment={NO_HANDOVER: "1"}) for name in PROGRAMS}
    try:
        wait_until(lambda: all(is_small(run) for run in runs.values()))
        yield installation, runs
    finally:
        for run in runs.values():
            run.kill()
            run.wait(60)
            assert run.stdout is not None
            run.stdout.close()


def is_small(run: Process) -> bool:
    return b"import main" in Path(f"/proc/{run.pid}/cmdline").read_bytes()


def supervisor_of(run: Process) -> int:
    (supervisor,) = {each.pid for each in descendants(run.pid) if each.parent == run.pid}
    return supervisor


def log_of(installation: Installation, job: str) -> str:
    (path,) = (installation.state / "logs" / job).glob("*.log")
    return read_log(path)


def test_the_small_runner_holds_the_lock_and_writes_the_log(long_runs):
    installation, runs = long_runs
    assert is_small(runs["speaks"])
    assert files.is_locked(installation.state / "locks" / "speaks.lock")
    assert installation.latest_run("speaks")["outcome"] is None
    (installation.folder / "go").touch()
    wait_until(lambda: log_of(installation, "speaks") == "before\nmeanwhile\n")
    assert is_small(runs["speaks"])
    installation.write("other:\n  kind: command\n  with: {run: ['true']}\n")  # the run keeps its own configuration
    (installation.folder / "end").touch()
    assert runs["speaks"].wait(60) == 0
    assert log_of(installation, "speaks") == "before\nmeanwhile\nafter\n"
    ended = installation.latest_run("speaks")
    assert (ended["outcome"], ended["summary"], ended["attempts"]) == ("succeeded", "sh ended well: after", 1)
    assert ended["details"] == {"status": 0}


def test_the_first_output_comes_late(long_runs):
    installation, runs = long_runs
    (installation.folder / "go").touch()
    assert runs["silent"].wait(60) == 1
    ended = installation.latest_run("silent")
    assert (ended["outcome"], ended["summary"]) == ("failed", "sh ended with status 3: after")
    assert log_of(installation, "silent") == "after\n"
    assert runs["silent"].stdout.read().startswith("silent: failed in "), "cron mails it"


def test_a_long_output_keeps_its_first_and_last_part(long_runs):
    installation, runs = long_runs
    (installation.folder / "go").touch()
    assert runs["floods"].wait(60) == 0
    log = log_of(installation, "floods")
    assert len(log) < MAX_LOG_BYTES + 1000
    assert log.startswith("begin\n\0")
    assert log.endswith("\0end\n")
    assert f"{3_000_010 - MAX_LOG_BYTES:,} bytes of output omitted" in log


def test_it_is_cancelled(long_runs):
    installation, runs = long_runs
    assert files.request_stop(
        installation.state / "locks" / "cancelled.lock",
        installation.latest_run("cancelled")["id"],
        "cancelled by a person",
    )
    assert runs["cancelled"].wait(60) == 1
    ended = installation.latest_run("cancelled")
    assert (ended["outcome"], ended["summary"]) == ("stopped", "cancelled by a person")
    log = log_of(installation, "cancelled")
    assert log.startswith("before\n")
    assert log.endswith("tidied up\n"), "the program has time to end"


def test_it_ends_at_its_timeout(long_runs):
    installation, runs = long_runs
    assert runs["timed"].wait(60) == 1
    ended = installation.latest_run("timed")
    assert (ended["outcome"], ended["summary"]) == ("timed-out", "ended after its timeout of 40s")


def pid_in(path: Path) -> int:
    return int(wait_until(lambda: path.exists() and path.read_text("ascii")))


def test_a_killed_supervisor_leaves_no_orphan(long_runs):
    installation, runs = long_runs
    orphan = pid_in(installation.folder / "unguarded.pid")
    os.kill(supervisor_of(runs["unguarded"]), signal.SIGKILL)
    assert runs["unguarded"].wait(60) == 1
    assert not is_running(orphan)
    ended = installation.latest_run("unguarded")
    assert ended["outcome"] == "failed"
    assert "by signal 9" in ended["summary"]


def test_a_killed_small_runner_leaves_no_orphan(long_runs):
    installation, runs = long_runs
    orphan = pid_in(installation.folder / "orphaned.pid")
    assert is_small(runs["orphaned"])
    runs["orphaned"].kill()
    wait_until(lambda: not is_running(orphan))
    wait_until(lambda: installation.latest_run("orphaned")["outcome"] == "abandoned")
