"""The command line as a client of the running daemon, over its unix socket."""

import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import UnixStreamServer
from threading import Thread
from typing import ClassVar

import pytest

from pi_appliance import __version__
from pi_appliance.storage.model import Outcome, Trigger
from pi_appliance.system import runtime_socket
from tests.installation import PROGRAM, ROOT, Installation, wait_until
from tests.warm_program import Process, run_process

JOBS = """
never: {kind: command, schedule: "* * * * *", chance: 1/1000000, started-by: cron, with: {run: [echo, never]}}
broken: {kind: command, schedule: "* * * * *", started-by: cron, with: {run: [sh, -c, "echo oh; exit 3"]}}
greeting: {kind: command, with: {run: [sh, -c, "echo hello $GREETING; sleep 1; echo grüß dich"]}}
long: {kind: command, with: {run: [sh, -c, "echo begun; sleep 60"]}}
"""


@contextmanager
def running(installation: Installation) -> Iterator[Process]:
    """Run the daemon of `installation` for the block."""
    process = installation.start("up")
    try:
        wait_until(lambda: installation.run("status").returncode == 0, 30)
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)


@pytest.fixture
def appliance(installation: Installation, monkeypatch: pytest.MonkeyPatch, short_dir: Path) -> Iterator[Installation]:
    """Run a daemon whose socket is in a separate folder."""
    installation.extra_environment["XDG_RUNTIME_DIR"] = str(short_dir)
    installation.write(JOBS, "web: {port: 0}\nplayer: {kind: mpd, with: {address: localhost:1}}")
    with running(installation):
        yield installation


def run_in_folder(
    installation: Installation, *words: str, folder: Path = Path("/")
) -> subprocess.CompletedProcess[str]:
    """Run a command without `--config` in `folder`."""
    command, environment = [*PROGRAM, *words], installation.environment()
    return run_process(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)


def cron(installation: Installation, job: str) -> subprocess.CompletedProcess[str]:
    """Run the cron entry of `job`."""
    words = runtime_socket.cron_arguments(job, str(installation.config))
    return run_process(
        [*PROGRAM, *words], env=installation.environment(), capture_output=True, text=True, timeout=60, check=False
    )


def test_without_a_daemon_status_says_how_to_start_one(installation: Installation) -> None:
    installation.write("")
    done = installation.run("status")
    assert done.returncode == 75
    assert "the appliance is not running; start it with" in done.stderr


def test_the_running_daemon_is_found_from_any_folder(appliance: Installation) -> None:
    done = run_in_folder(appliance, "status", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["config"] == str(appliance.config)
    assert "page: http://127.0.0.1:" in run_in_folder(appliance, "logs").stdout


def test_commands_in_another_folder_address_the_running_daemon(appliance: Installation) -> None:
    for words in ("jobs list", "jobs plan", "tweets list", "config check", "doctor"):
        done = run_in_folder(appliance, *words.split())
        assert done.returncode in (0, 1), (words, done.stderr)
        assert f"configuration of the running appliance: {appliance.config}\n" in done.stderr, words
        assert "Traceback" not in done.stderr, words
        if words == "config check":
            assert done.stdout.startswith(f"{appliance.config}: 4 jobs")


def test_a_named_configuration_is_preferred_to_the_running_daemon(appliance: Installation, tmp_path: Path) -> None:
    other = Installation(tmp_path)
    other.write("")
    appliance.extra_environment["PI_APPLIANCE_CONFIG"] = str(other.config)
    done = run_in_folder(appliance, "config", "check")
    assert done.stdout.startswith(f"{other.config}: 0 jobs")
    assert "running appliance" not in done.stderr


def test_the_configuration_of_this_folder_is_not_named(appliance: Installation) -> None:
    done = run_in_folder(appliance, "jobs", "list", folder=appliance.folder)
    assert done.returncode == 0
    assert "running appliance" not in done.stderr


def test_another_config_addresses_another_appliance(appliance: Installation, tmp_path: Path) -> None:
    other = Installation(tmp_path)
    other.write("")
    other.extra_environment = appliance.extra_environment
    assert other.run("status").returncode == 75


class _OtherCode(BaseHTTPRequestHandler):
    """A daemon that runs other code than the command, so that its answers lack keys."""

    status: ClassVar[dict[str, str]]

    def do_GET(self) -> None:
        content = json.dumps(self.status).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Print nothing. The client has no address to print."""


@pytest.fixture
def other_code(installation: Installation, short_dir: Path) -> Iterator[Installation]:
    """Run a daemon with other code in place of one with this code."""
    installation.write(
        "tweets: {kind: tweet, with: {lines: tweets.txt, network: preview}}", "networks: {preview: {kind: preview}}"
    )
    installation.extra_environment["XDG_RUNTIME_DIR"] = str(short_dir)
    folder = short_dir / "pi-appliance"
    folder.mkdir()
    with UnixStreamServer(str(folder / runtime_socket.socket_name(str(installation.config))), _OtherCode) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield installation
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    "words", ["tweets add hello", "music play-station fip", "jobs run tweets", "jobs cancel tweets"]
)
def test_an_answer_of_another_version_without_an_expected_key_is_explained(
    other_code: Installation, words: str
) -> None:
    _OtherCode.status = {"version": "0.0.9"}
    done = other_code.run(*words.split())
    assert done.returncode == 1
    assert done.stderr.startswith(
        "pi-appliance: the running appliance is version 0.0.9, and this program 0.1.0; restart it"
    )
    assert done.stderr.count("\n") == 1


def test_the_version_is_compared_with_that_of_the_running_appliance(other_code: Installation, short_dir: Path) -> None:
    socket_file = short_dir / "pi-appliance" / runtime_socket.socket_name(str(other_code.config))
    default = socket_file.with_name(runtime_socket.DEFAULT_NAME)
    default.symlink_to(socket_file)
    _OtherCode.status = {"version": "0.0.9"}
    shown = run_in_folder(other_code, "version").stdout
    assert shown == f"pi-appliance {__version__}\nrunning: 0.0.9; restart it to use this version\n"
    result = json.loads(run_in_folder(other_code, "version", "--json").stdout)
    assert result == {"version": __version__, "running": "0.0.9"}
    default.unlink()
    assert run_in_folder(other_code, "version").stdout == f"pi-appliance {__version__}\n"
    assert json.loads(run_in_folder(other_code, "version", "--json").stdout)["running"] is None


def test_an_answer_of_older_code_with_the_same_version_is_explained(other_code: Installation) -> None:
    _OtherCode.status = {"version": __version__, "started_at": "2001-01-01T00:00:00Z"}
    done = other_code.run("tweets", "add", "hello")
    assert done.returncode == 1
    assert done.stderr.startswith(
        "pi-appliance: this program was changed after the running appliance was started; restart it"
    )


def test_reload_reports_every_problem_and_keeps_the_configuration(appliance: Installation) -> None:
    good = appliance.config.read_text("utf-8")
    appliance.config.write_text(good.replace("kind: command", "kind: comand"), "utf-8")
    done = appliance.run("reload")
    assert done.returncode == 2
    assert done.stderr.count("no kind of job is called 'comand'") == 4
    appliance.config.write_text(good.replace("never:", "seldom:"), "utf-8")
    assert appliance.run("reload").returncode == 0
    wait_until(lambda: "seldom" in {each["job"] for each in appliance.json("jobs", "list")})


def test_a_slot_that_cron_starts_is_skipped_by_the_daemon(appliance: Installation) -> None:
    done = cron(appliance, "never")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    run = appliance.runs("never")[0]
    assert (run.outcome, run.trigger, run.summary) == (Outcome.SKIPPED, Trigger.CRON, "by chance (1/1000000)")


def test_a_run_that_cron_starts_is_run_by_the_daemon_and_trouble_is_printed(appliance: Installation) -> None:
    done = cron(appliance, "broken")
    assert done.returncode == 1
    assert "broken: failed" in done.stderr
    assert "pi-appliance jobs log" in done.stderr
    assert appliance.outcomes("broken") == [Outcome.FAILED]


def test_an_unknown_job_in_a_cron_entry_is_an_error(appliance: Installation) -> None:
    done = cron(appliance, "brokn")
    assert (done.returncode, done.stderr) == (2, "pi-appliance: no job is called 'brokn'; did you mean 'broken'?\n")


def test_a_second_daemon_on_the_same_state_is_refused(appliance: Installation, tmp_path: Path) -> None:
    status = appliance.json("status")
    expected = (
        f"another daemon (process {status['pid']}, {status['addresses'][0]}) uses {appliance.state}; stop it first"
    )
    twin = Installation(tmp_path)
    twin.config.write_text(appliance.config.read_text("utf-8"), "utf-8")
    slots = len(appliance.json("jobs", "history"))
    for each in (appliance, twin):
        done = each.run("up")
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert expected in done.stderr
    assert len(appliance.json("jobs", "history")) == slots


def test_the_reload_of_the_unit_fails_with_the_problems_of_a_wrong_file(appliance: Installation) -> None:
    unit = (ROOT / "systemd" / "pi-appliance.service").read_text("utf-8")
    start, reload = (re.search(rf"^Exec{each}=(.*)", unit, re.MULTILINE)[1].split() for each in ("Start", "Reload"))
    assert (reload[0], reload[-2:]) == (start[0], start[-2:])
    assert appliance.run(*reload[1:-2]).returncode == 0
    with appliance.config.open("a") as file:
        file.write("\nbogus: 1\n")
    done = appliance.run(*reload[1:-2])
    assert done.returncode == 2
    assert "unknown key 'bogus'" in done.stderr


def test_the_socket_is_for_the_owner_and_the_group(appliance: Installation) -> None:
    folder = Path(appliance.extra_environment["XDG_RUNTIME_DIR"], "pi-appliance")
    path = (folder / "api.sock").resolve()
    assert path.stat().st_mode & 0o777 == 0o660
    assert folder.stat().st_mode & 0o007 == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes somebody else")
def test_a_stranger_is_not_answered_even_if_the_folder_lets_him_in(appliance: Installation) -> None:
    folder = Path(appliance.extra_environment["XDG_RUNTIME_DIR"], "pi-appliance")
    path = (folder / "api.sock").resolve()
    for place in (folder.parent, folder):
        place.chmod(0o755)
    path.chmod(0o666)
    script = (
        "import os, socket, sys; os.setgid(65534); os.setuid(65534)\n"
        "line = socket.socket(socket.AF_UNIX); line.connect(sys.argv[1])\n"
        "line.sendall(b'GET /api/v1/status HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n')\n"
        "print(line.recv(100))"
    )
    done = subprocess.run(["python3", "-c", script, str(path)], capture_output=True, text=True, timeout=20, check=False)
    assert "200" not in done.stdout


def test_a_socket_that_a_killed_daemon_left_is_replaced(appliance: Installation) -> None:
    folder = Path(appliance.extra_environment["XDG_RUNTIME_DIR"], "pi-appliance")
    dead = folder / "dead.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(dead))
    assert appliance.run("status").returncode == 0


def test_a_completion_script_is_printed(installation: Installation) -> None:
    done = subprocess.run(
        [*PROGRAM, "completion", "bash"], env=installation.environment(), capture_output=True, text=True, check=True
    )
    assert "_PI_APPLIANCE_COMPLETE=bash_complete" in done.stdout


def test_the_daemon_runs_a_job_and_the_command_shows_its_output(appliance: Installation) -> None:
    environment = {"GREETING": "you"}
    done = appliance.run("jobs", "run", "greeting", environment=environment)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[:2] == ["hello", "grüß dich"], "it has the environment of the daemon"
    assert lines[2].startswith("greeting: succeeded in ")
    run = appliance.json("jobs", "run", "greeting")
    assert (run["id"], run["outcome"], run["trigger"], "log" in run) == (2, "succeeded", "manual", False)


def test_a_failed_run_of_the_daemon_has_the_same_exit_status(appliance: Installation) -> None:
    done = appliance.run("jobs", "run", "broken")
    assert (done.returncode, done.stdout) == (1, "oh\n")
    assert "broken: failed in " in done.stderr
    assert done.stderr.endswith("; see: pi-appliance jobs log 1\n")
    assert appliance.run("jobs", "run", "brokn").returncode == 2


@pytest.mark.slow_variants
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_cancels_the_run_of_the_daemon(appliance: Installation, number: int) -> None:
    command = appliance.start("jobs", "run", "long")
    wait_until(lambda: "begun" in appliance.run("jobs", "log", "1").stdout, 30)
    second = appliance.run("jobs", "run", "long")
    assert (second.returncode, "skipped: " in second.stdout) == (0, True)
    command.send_signal(number)
    output, _ = command.communicate(timeout=30)
    assert command.returncode == 1
    assert "stopped in " in output
    assert "cancelled by a person" in output


SAME = ("list", "next", "history", "history --slots", "explain broken", "log 1", "reports",
        "simulate never --from 2027-03-28 --to 2027-03-28 --limit 3")  # fmt: skip


def test_the_daemon_and_the_command_give_the_same_result(appliance: Installation) -> None:
    appliance.run("jobs", "run", "broken")
    alone = Installation(appliance.folder)
    alone.extra_environment["XDG_RUNTIME_DIR"] = str(appliance.folder)  # there is no socket
    for words in (("jobs", *each.split()) for each in SAME):
        wait_until(lambda words=words: appliance.json(*words) == alone.json(*words), 30)  # type: ignore[misc]
