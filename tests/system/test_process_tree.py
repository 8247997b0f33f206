"""The guard between a runner and its run: no process outlives the run."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pi_appliance.system import process
from tests.installation import ROOT, is_running, wait_until

# A classic daemon: forked twice, in its own session. It writes its process id into a file when it runs.
DAEMON = """
import os, signal, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        if "deaf" in sys.argv:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with open(sys.argv[1] + ".new", "w") as file:
            file.write(str(os.getpid()))
        os.rename(sys.argv[1] + ".new", sys.argv[1])
        time.sleep(60)
    os._exit(0)
os.wait()
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
"""
# A runner that supervises a program. It suspends it as soon as the file of the first argument exists.
RUNNER = """
import os, sys
from pathlib import Path
import pytest

from pi_appliance.system import process
ready = Path(sys.argv[1])
hold = process.Suspend(lambda: "hot" if ready.is_file() and ready.read_bytes() else "", interval=0.05)
with process.StopSignal().catch_signals() as stop:
    boot = "from pi_appliance.system.process_tree import main; import sys; main(sys.argv[1:])"
    guard = [sys.executable, "-c", boot, str(os.getpid()), "/", "{fd}", "0", "{}"]
    quiet = lambda _: None
    process.run_child(guard + sys.argv[2:], stop=stop, seconds=60, on_output=quiet, on_line=print, suspend=hold)
"""


def guarded(*words: str | Path) -> list[str]:
    boot = "from pi_appliance.system.process_tree import main; import sys; main(sys.argv[1:])"
    return [sys.executable, "-c", boot, str(os.getpid()), "/", "{fd}", "0", "{}", *map(str, words)]


def watched(
    words: list[str], seconds: float = 30, hold: process.Suspend | None = None
) -> tuple[process.ProcessResult, list[bytes]]:
    output: list[bytes] = []
    with process.StopSignal().catch_signals() as stop:
        ended = process.run_child(
            words, stop=stop, seconds=seconds, on_output=lambda _: None, on_line=output.append, suspend=hold
        )
    return ended, output


@contextmanager
def runner(*words: str | Path, hold: Path = Path("/nothing")) -> Iterator[subprocess.Popen[bytes]]:
    words = (sys.executable, "-c", RUNNER, hold, *words)
    with subprocess.Popen([*map(str, words)], env={**os.environ, "PYTHONPATH": str(ROOT)}) as started:
        try:
            yield started
        finally:
            started.kill()


def number_in(path: Path) -> int:
    return int(wait_until(lambda: path.exists() and path.read_text("ascii")))


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0]


def test_the_supervisor_of_a_program_imports_little():
    code = "import sys; sys.path.insert(0, '.'); import pi_appliance.system.process_tree; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert not {"pathlib", "dataclasses", "json", "subprocess", "re", "site"} & set(done.stdout.split())


def test_the_exit_status_of_a_program_is_reported():
    assert watched(guarded("sh", "-c", "exit 7")) == (process.ProcessResult(7), [b'{"status": 7}'])
    assert watched(guarded("sh", "-c", "kill -SEGV $$")) == (
        process.ProcessResult(-signal.SIGSEGV),
        [b'{"status": -11}'],
    )


def test_the_reason_for_a_failed_start_is_reported():
    ended, (output, *_) = watched(guarded("/no/such/program"))
    assert (ended, output) == (process.ProcessResult(127), b'{"errno": 2}')


def test_a_daemon_left_by_a_run_ends_with_it(tmp_path):
    ended, _ = watched(guarded(sys.executable, "-c", DAEMON, tmp_path / "pid"))
    assert ended == process.ProcessResult(0)
    assert not is_running(number_in(tmp_path / "pid"))


@pytest.mark.slow
def test_a_daemon_that_ignores_signals_is_killed(tmp_path):
    ended, _ = watched(guarded(sys.executable, "-c", DAEMON, tmp_path / "pid", "deaf"))
    assert ended == process.ProcessResult(0)
    assert not is_running(number_in(tmp_path / "pid"))


def test_the_deadline_also_ends_processes_outside_the_group(tmp_path):
    ended, _ = watched(guarded("sh", "-c", f"setsid sh -c 'echo $$ > {tmp_path}/pid; sleep 60' & sleep 60"), 2)
    assert ended.timed_out
    assert not is_running(number_in(tmp_path / "pid"))


def test_a_program_gets_time_to_exit_cleanly(tmp_path):
    script = f"trap 'sleep 0.5; touch {tmp_path}/tidy; exit 3' TERM; touch {tmp_path}/up; while :; do sleep 0.05; done"
    ended, _ = watched(guarded("sh", "-c", script), 1)
    assert ended == process.ProcessResult(3, timed_out=True)
    assert (tmp_path / "tidy").exists()


def test_a_killed_runner_leaves_no_process(tmp_path):
    script = f'"$0" -c "$1" {tmp_path}/pid deaf; trap "" TERM HUP; echo $$ > {tmp_path}/sh; sleep 60'
    with runner("sh", "-c", script, sys.executable, DAEMON) as killed:
        pids = [number_in(tmp_path / "pid"), number_in(tmp_path / "sh")]
        killed.kill()
    wait_until(lambda: not any(is_running(pid) for pid in pids))


def test_a_killed_guard_leaves_no_process(tmp_path):
    ended, _ = watched(
        guarded("sh", "-c", f'"$0" -c "$1" {tmp_path}/pid deaf; kill -KILL $PPID; sleep 60', sys.executable, DAEMON)
    )
    assert ended == process.ProcessResult(-signal.SIGKILL)
    assert not is_running(number_in(tmp_path / "pid"))


def test_a_suspended_run_stops_all_its_processes(tmp_path):
    states, looks = [], list[str]()

    def why() -> str:
        """Report "hot" three times when the daemon runs, then let the program finish."""
        if not (tmp_path / "pid").exists():
            return ""
        states.append(state(number_in(tmp_path / "pid")))
        if len(states) > 3:
            (tmp_path / "go").touch()
        return "hot" if len(states) <= 3 else ""

    script = f'"$0" -c "$1" {tmp_path}/pid; until [ -e {tmp_path}/go ]; do sleep 0.05; done'
    hold = process.Suspend(why, looks.append, interval=0.1)
    ended, _ = watched(guarded("sh", "-c", script, sys.executable, DAEMON), 30, hold)
    assert ended.status == 0
    assert states[1:4] == ["T", "T", "T"]
    assert looks == ["hot", "hot", "hot", ""]
    assert 0.3 <= ended.suspended_seconds < 3


def test_suspended_time_does_not_count_towards_the_deadline():
    looks = iter(["hot"])
    hold = process.Suspend(lambda: next(looks, ""), interval=1.0)
    ended, _ = watched(guarded("sleep", "1.2"), 1.5, hold)  # held after 1 s, for 1 s; then there is half a second left
    assert (ended.status, ended.timed_out) == (0, False)
    ended, _ = watched(guarded("sleep", "60"), 0.5, process.Suspend(lambda: "", interval=0.1))
    assert ended.timed_out


def test_a_suspended_run_receives_the_request_to_end(tmp_path):
    script = f"trap 'touch {tmp_path}/heard; exit 0' TERM; echo $$ > {tmp_path}/sh; while :; do sleep 0.05; done"
    with runner("sh", "-c", script, hold=tmp_path / "sh") as asked:
        pid = number_in(tmp_path / "sh")
        wait_until(lambda: state(pid) == "T")
        asked.terminate()
        asked.wait(20)
    assert (tmp_path / "heard").exists()
    assert not is_running(pid)


def test_a_runner_killed_while_suspended_leaves_no_process(tmp_path):
    with runner("sh", "-c", f"echo $$ > {tmp_path}/sh; sleep 60; true", hold=tmp_path / "sh") as killed:
        pid = number_in(tmp_path / "sh")
        wait_until(lambda: state(pid) == "T")
        killed.kill()
    wait_until(lambda: not is_running(pid))
