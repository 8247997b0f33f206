"""A process that is forked by a helper is like one that Python starts."""

import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.installation import PROGRAM, Installation, is_running, wait_until
from tests.warm_program import IS_COLD, ROOT, Process, run_process

HELLO = "hello:\n  kind: command\n  with: {run: [sh, -c, 'echo $GREETING; exec sleep 60']}"


def outcome(words: list[str], **options: Any) -> tuple[int, str, str]:
    """Return the exit status, the output and the errors of a command."""
    done = run_process([*PROGRAM, *words], capture_output=True, text=True, **options)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    "words",
    [["version"], [], ["no-such-command"], ["jobs", "list"], ["puzzle", "show", "peg-solitaire", "--board", "-"]],
)
def test_output_and_exit_status_are_those_of_a_cold_start(installation: Installation, words: list[str]) -> None:
    installation.write(HELLO)
    environment = installation.environment()
    # A variable that only a starting Python reads prevents the fork.
    cold = outcome(words, env={**environment, "PYTHONNODEBUGRANGES": "1"}, cwd=installation.folder, input="x")
    assert outcome(words, env=environment, cwd=installation.folder, input="x") == cold


def test_a_signal_ends_it_and_is_its_exit_status(installation: Installation) -> None:
    installation.write("", "web: {port: 0}")
    process = installation.start("up")
    try:
        wait_until(lambda: "http" in process.stdout.readline())
        assert process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.01)
    finally:
        process.kill()
        process.communicate(timeout=30)
    assert (process.returncode, process.poll(), is_running(process.pid)) == (-signal.SIGKILL, -signal.SIGKILL, False)


def test_it_has_its_own_environment_folder_and_session(installation: Installation) -> None:
    installation.write(HELLO)
    words = [*PROGRAM, "jobs", "run", "hello", "--config", installation.config.name]
    environment = installation.environment({"GREETING": "good evening"})
    with Process(
        words, env=environment, cwd=installation.folder, start_new_session=True, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "good evening\n"
        assert os.getsid(process.pid) == process.pid
        assert Path(f"/proc/{process.pid}/cwd").readlink() == installation.folder
        process.send_signal(signal.SIGINT)
    assert process.returncode == 1
    assert installation.latest_run("hello")["outcome"] == "stopped"


@pytest.mark.skipif(IS_COLD, reason="each process starts Python")
def test_it_is_forked_and_has_nothing_of_the_helper(installation: Installation) -> None:
    words, pipe = [*PROGRAM, "puzzle", "show", "peg-solitaire", "--board", "-"], subprocess.PIPE
    with (
        Process(words, env=installation.environment(), stdin=pipe, stdout=pipe, stderr=pipe) as first,
        Process(words, env=installation.environment(), stdin=pipe, stdout=pipe, stderr=pipe) as second,
    ):
        for process in (first, second):
            folder = Path(f"/proc/{process.pid}")
            wait_until(lambda folder=folder: len(list((folder / "fd").iterdir())) == 3)
            assert all("pipe:" in str(path.readlink()) for path in (folder / "fd").iterdir())
            assert (is_forked(folder.name), parent_of(folder.name)) == (True, str(os.getpid()))


@pytest.mark.skipif(IS_COLD, reason="each process starts Python")
def test_the_process_of_a_job_is_forked_and_a_child_of_its_run(installation: Installation) -> None:
    installation.extra_environment["PYTHONPATH"] = f"{ROOT / 'tests' / 'fakes' / 'plugins'}:{ROOT}"
    installation.write("one:\n  kind: session\n  with: {diary: diary, name: file}")
    diary = installation.folder / "diary"
    with installation.start("jobs", "run", "one") as run:
        try:
            wait_until(lambda: diary.exists() and diary.read_text("utf-8").endswith("\n"))
            worker = re.findall(r" in (\d+)$", diary.read_text("utf-8"), re.MULTILINE)[0]
            supervisor = parent_of(worker)
            assert (is_forked(worker), is_forked(supervisor), parent_of(supervisor)) == (True, True, str(run.pid))
        finally:
            run.terminate()


def is_forked(pid: str) -> bool:
    return "tests.warm_program" in Path(f"/proc/{pid}/cmdline").read_text("utf-8")


def parent_of(pid: str) -> str:
    return re.findall(r"^PPid:\t(\d+)$", Path(f"/proc/{pid}/status").read_text("utf-8"), re.MULTILINE)[0]
