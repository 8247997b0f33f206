"""Job kind `command`."""

import json
import os
import signal
import sys

import pytest

from tests.installation import is_running, wait_until


def write(installation, with_: str, more: str = "") -> None:
    installation.write(f"it:\n  kind: command\n{more}  with: {{{with_}}}")


def run_it(installation, with_: str, more: str = "") -> dict:
    """Run a job and return its row of the history."""
    write(installation, with_, more)
    installation.run("jobs", "run", "it")
    return installation.latest_run("it")


def script(installation, text: bytes, name: str = "mine.sh", mode: int = 0o755) -> None:
    path = installation.folder / name
    path.write_bytes(text)
    path.chmod(mode)


def test_the_summary_has_the_last_line_of_output(installation):
    run = run_it(installation, "run: [sh, -c, 'echo 3 files; echo 41 MB; echo']")
    assert run["summary"] == "sh ended well: 41 MB"
    assert run["details"] == {"status": 0}


def test_the_program_is_told_about_its_run(installation):
    write(installation, 'run: [sh, -c, \'env | grep ^PI_APPLIANCE_ | sort | tr "\\n" " "\']', "  schedule: '@daily'\n")
    installation.run("jobs", "run", "it")
    assert installation.latest_run("it")["summary"].endswith(
        "PI_APPLIANCE_JOB=it PI_APPLIANCE_RUN=1 PI_APPLIANCE_TRIGGER=manual"
    )
    installation.run("jobs", "run", "it", "--trigger", "daemon", "--slot", "2027-03-01T00:00:00Z")
    told = "PI_APPLIANCE_SCHEDULED_FOR=2027-03-01T00:00:00Z PI_APPLIANCE_TRIGGER=daemon"
    assert told in installation.latest_run("it")["summary"]


def test_the_summary_of_a_failure_has_it_too(installation):
    run = run_it(installation, "run: [sh, -c, 'echo no room left >&2; exit 3']")
    assert (run["outcome"], run["summary"]) == ("failed", "sh ended with status 3: no room left")


def test_success_exit_codes_mean_success(installation):
    run = run_it(installation, "run: [sh, -c, 'exit 24'], success-exit-codes: [0, 24]")
    assert (run["outcome"], run["details"]) == ("succeeded", {"status": 24})
    run = run_it(installation, "run: ['true'], success-exit-codes: [24]")
    assert (run["outcome"], run["summary"]) == ("failed", "true ended with status 0")


def test_the_name_of_a_fatal_signal_is_reported(installation):
    assert run_it(installation, "run: [sh, -c, 'kill -SEGV $$']")["summary"] == "sh was ended by SIGSEGV"


def test_a_relative_script_runs_in_the_folder_of_the_configuration(installation):
    script(installation, b"#!/bin/sh\necho $1 in $(pwd)\n")
    assert (
        run_it(installation, "run: [./mine.sh, hello]")["summary"]
        == f"./mine.sh ended well: hello in {installation.folder}"
    )
    (installation.folder / "sub").mkdir()
    run = run_it(installation, "run: [./mine.sh, hello], directory: sub")
    assert run["summary"] == f"./mine.sh ended well: hello in {installation.folder}/sub"


def test_a_program_in_the_home_directory_is_found(installation):
    script(installation, b"#!/bin/sh\necho at home\n")
    write(installation, "run: [~/mine.sh]")
    assert "at home" in installation.run("jobs", "run", "it", environment={"HOME": str(installation.folder)}).stdout


@pytest.mark.parametrize(
    ("text", "mode", "says"),
    [
        (b"#!/bin/sh\n", 0o644, "it may not be executed; run: chmod +x "),
        (b"echo hello\n", 0o755, "it has no #! line; begin it with one such as #!/bin/sh"),
        (b"#!/no/such/shell -e\n", 0o755, "its first line names /no/such/shell, which does not exist"),
        (b"#!/bin/sh\r\necho hello\r\n", 0o755, "its lines end as on Windows; run: sed -i"),
        (b"\x7fELF of another machine", 0o755, "is it made for this machine"),
    ],
)
def test_a_script_that_cannot_be_run_is_reported_with_a_remedy(installation, text, mode, says):
    if mode == 0o644 and os.geteuid() == 0:
        mode = 0o600  # even root cannot execute a file without the permission
    script(installation, text, mode=mode)
    run = run_it(installation, "run: [./mine.sh]")
    assert run["outcome"] == "failed"
    assert run["summary"].startswith("./mine.sh cannot be run: ")
    assert says in run["summary"]


@pytest.mark.parametrize(
    ("with_", "says"),
    [
        ("run: [/no/such]", "/no/such cannot be run: No such file or directory; check `run`"),
        ("run: [~no-such-user/x]", "~no-such-user/x cannot be run: No such file or directory; check `run`"),
        ("run: [nosuchprogram]", "nosuchprogram cannot be run: No such file or directory; check `run`"),
        ("run: [./]", "./ cannot be run: it is a folder"),
        ("run: ['true'], directory: nowhere", "nowhere is not a folder; check `directory`"),
    ],
)
def test_missing_files_are_reported(installation, with_, says):
    assert says in run_it(installation, with_)["summary"]


@pytest.mark.parametrize(
    ("with_", "says"),
    [
        ("run: ['']", "no program is named"),
        ("run: ['true'], success-exit-codes: [256]", "256 is not an exit status"),
        ("run: ['true'], environment: {'': x}", "cannot be a variable"),
    ],
)
def test_invalid_options_are_found_when_the_file_is_checked(installation, with_, says):
    write(installation, with_)
    done = installation.run("config", "check")
    assert done.returncode == 2
    assert says in done.stderr


def test_the_standard_input_comes_from_the_file(installation):
    assert run_it(installation, 'run: [wc, -c], stdin: "grüß\\n"')["summary"] == "wc ended well: 7"
    assert run_it(installation, "run: [wc, -c]")["summary"] == "wc ended well: 0"
    assert run_it(installation, f"run: ['true'], stdin: {'x' * 200_000}")["outcome"] == "succeeded", (
        "it need not read it"
    )


def test_it_gets_its_variables_but_no_secrets(installation):
    (installation.folder / "secrets.env").touch(0o600)
    write(installation, "run: [env], environment: {LEVEL: '2', HOME: /elsewhere}")
    output = installation.run(
        "jobs", "run", "it", environment={"X_ACCESS_TOKEN": "hush", "WEB_PASSWORD": "hush"}
    ).stdout
    assert {"LEVEL=2", "HOME=/elsewhere"} <= set(output.splitlines())
    assert "hush" not in output


def test_it_inherits_neither_ignored_signals_nor_open_files(installation):
    shell = "grep SigIgn /proc/self/status; ls /proc/self/fd | tr '\\n' ' '"
    run_it(installation, f"run: [sh, -c, {json.dumps(shell)}]")
    ignored, numbers = installation.run("jobs", "log", "1").stdout.splitlines()[1:]
    assert not int(ignored.split()[1], 16) & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1), "Python ignores them"
    assert numbers.split() == ["0", "1", "2", "3"], "the fourth is that of ls"


@pytest.mark.slow
def test_the_first_and_last_part_of_long_output_is_kept(installation):
    flood = "import os; w = os.write; w(1, b'begin\\n'); [w(1, bytes(100000)) for _ in range(1000)]; w(1, b'\\nend\\n')"
    run = run_it(installation, f"run: {json.dumps([sys.executable, '-c', flood])}", "  schedule: '@daily'\n")
    assert run["summary"].endswith("ended well: end")
    log = (installation.state / "logs" / "it" / "1.log").read_bytes()
    assert len(log) < 1_001_000
    assert log.startswith(b"begin\n")
    assert log.endswith(b"\nend\n")
    assert "99,000,011 bytes of output omitted" in log.decode()


def test_a_program_that_closes_its_output_is_waited_for(installation):
    assert run_it(installation, "run: [sh, -c, 'exec >&- 2>&-; sleep 0.3; touch done']")["outcome"] == "succeeded"
    assert (installation.folder / "done").exists()


def test_a_program_may_clean_up_at_its_timeout(installation):
    tidy = "trap 'sleep 0.5; echo tidied up; touch tidy; exit 0' TERM; touch up; while :; do sleep 0.05; done"
    run = run_it(installation, f"run: [sh, -c, {json.dumps(tidy)}]", "  timeout: 2s\n")
    assert run["outcome"] == "timed-out"
    assert (installation.folder / "tidy").exists()
    assert "tidied up" in installation.run("jobs", "log", "1").stdout


def test_a_daemon_that_it_starts_ends_with_the_run(installation):
    run_it(
        installation,
        "run: [sh, -c, 'setsid sh -c \"echo \\$\\$ > pid; sleep 60\" & until [ -s pid ]; do sleep 0.05; done']",
    )
    assert not is_running(int((installation.folder / "pid").read_text("ascii")))


def test_a_killed_run_leaves_no_daemon(installation):
    write(installation, "run: [sh, -c, 'setsid sh -c \"trap : TERM; echo \\$\\$ > pid; sleep 60; :\" & sleep 60']")
    with installation.start("jobs", "run", "it") as runner:
        pid = int(wait_until(lambda: (path := installation.folder / "pid").exists() and path.read_text("ascii")))
        runner.kill()
    wait_until(lambda: not is_running(pid))
