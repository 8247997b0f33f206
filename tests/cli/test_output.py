"""Output to full disks, old terminals and closed pipes causes no traceback."""

import fcntl
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from pi_appliance.cli.program import COMMANDS
from pi_appliance.operations import DAEMON_MODULE, operations_in
from tests.installation import ROOT, Installation, wait_until


def shell(
    installation: Installation, words: str, more: str, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess:
    """Run `pi-appliance` with `words` in a shell that applies `more` to its output."""
    program = " ".join(f"'{word}'" for word in installation.program)
    return subprocess.run(
        ["sh", "-c", f"{program} {words} --config '{installation.config}' {more}"],
        env=installation.environment(environment),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


@pytest.fixture
def failed_job(installation: Installation) -> Installation:
    installation.write("hello:\n  kind: command\n  with: {run: [/no/such/grüße…]}")
    installation.run("jobs", "run", "hello")
    return installation


@pytest.mark.slow_variants
@pytest.mark.parametrize("words", ["jobs list", "jobs history", "jobs log 1"])
def test_a_full_disk_is_reported_in_one_line(failed_job, words):
    done = shell(failed_job, words, "> /dev/full")
    assert done.returncode == 1
    assert done.stderr == "pi-appliance: No space left on device; check the rights, and the free space\n"


@pytest.mark.slow_variants
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_output_causes_no_traceback(failed_job, closed):
    assert shell(failed_job, "jobs list", closed).returncode == 0


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    "environment",
    [{"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "latin-1"}, {"LC_ALL": "C"}, {"LC_ALL": "POSIX"}],
)
@pytest.mark.parametrize("words", ["jobs list", "jobs log 1"])
def test_unencodable_characters_are_printed_as_question_marks(failed_job, words, environment):
    done = shell(failed_job, words, "", environment)
    assert done.returncode == 0, done.stderr
    assert "/no/such/gr" in done.stdout


def unread(pipe):
    """Return the number of unread bytes in `pipe`."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_ctrl_c_is_reported_in_one_line_at_any_time(installation):
    process = subprocess.Popen(
        [*installation.program, "puzzle", "show", "peg-solitaire", "--board", "-"],
        env=installation.environment(),
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        process.stdin.write(b"X\n" * 40_000)  # more than a pipe holds: it is through when the program reads
        wait_until(lambda: " S " in Path(f"/proc/{process.pid}/stat").read_text("utf-8") and unread(process.stdin) == 0)
        process.send_signal(signal.SIGINT)
        assert process.stderr.read().strip() == b"pi-appliance: stopped"
        assert process.wait(10) == 130


def test_the_list_of_commands_agrees_with_the_operations():
    operations = {each.command: each.summary for each in operations_in(DAEMON_MODULE) if each.command}
    assert operations.items() <= {name: summary for name, (_, summary) in COMMANDS.items()}.items()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("class Options:\n    def che", "expected '(' (cut_off.py, line 2)"),
        ("import a_library_that_is_gone", "No module named 'a_library_that_is_gone'"),
    ],
)
def test_a_damaged_module_is_reported_in_one_line(installation, tmp_path, content, reason):
    folder = tmp_path / "plugins"
    (folder / "cut_off-1.0.dist-info").mkdir(parents=True)
    (folder / "cut_off-1.0.dist-info" / "METADATA").write_text("Name: cut-off\nVersion: 1.0\n", "utf-8")
    entry = "[pi_appliance.plugins]\njobs.cut-off = cut_off\n"
    (folder / "cut_off-1.0.dist-info" / "entry_points.txt").write_text(entry, "utf-8")
    (folder / "cut_off.py").write_text(content, "utf-8")
    installation.extra_environment["PYTHONPATH"] = f"{folder}:{ROOT}"
    installation.write("one: {kind: cut-off}")
    done = installation.run("jobs", "run", "one")
    assert done.returncode == 1
    assert done.stderr.startswith(f"pi-appliance: a module cannot be loaded: {reason}; this installation is damaged")
    assert done.stderr.count("\n") == 1
