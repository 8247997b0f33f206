"""`pi-appliance up`: start, signals, invalid reloads, and sudden death."""

import contextlib
import http.client
import json
import re
import signal
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from pi_appliance.daemon import RESTART_STATUS
from tests.installation import Installation, is_running, wait_until
from tests.warm_program import Process

QUIET = "web: {port: 0}"
TICK = "tick:\n  kind: command\n  schedule: every 1s\n  with: {run: ['true']}"


class RunningDaemon:
    """A running daemon and its output so far."""

    def __init__(self, process: Process, output: Path) -> None:
        self.process, self._output_path = process, output

    @property
    def output(self) -> str:
        return self._output_path.read_text("utf-8")

    def send_signal(self, number: int) -> None:
        self.process.send_signal(number)

    def status(self) -> int:
        """Wait until it has ended and return its exit status."""
        return self.process.wait(30)

    @property
    def page(self) -> str:
        """Return the address of its page."""
        return str(wait_until(lambda: self.pages)[0])

    @property
    def pages(self) -> list[str]:
        """Return every address of its page so far."""
        return re.findall(r"http://127\.0\.0\.1:\d+", self.output)


@contextlib.contextmanager
def running_daemon(installation: Installation, environment: Mapping[str, str] | None = None) -> Iterator[RunningDaemon]:
    """Start the daemon, wait until it is ready, and end it after the block."""
    output = installation.folder / "said"
    with output.open("wb") as file:
        process = Process(
            [*installation.program, "up", "-v", "--config", str(installation.config)],
            env=installation.environment({"PYTHONUNBUFFERED": "1", **(environment or {})}),
            stdout=file,
            stderr=file,
            text=True,
        )
    daemon = RunningDaemon(process, output)
    try:
        wait_until(lambda: "next:" in daemon.output or "no job waits" in daemon.output or process.poll() is not None)
        yield daemon
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(60)


def test_it_reports_the_page_and_the_next_slot_and_stops_cleanly(installation):
    installation.write("daily:\n  kind: command\n  schedule: '@daily'\n  with: {run: ['true']}", QUIET)
    with running_daemon(installation) as daemon:
        with urllib.request.urlopen(f"{daemon.page}/health", timeout=5) as answer:
            assert answer.status == 200
        assert re.search(r"next: daily at \w{3} \d{4}-\d\d-\d\d 00:00", daemon.output)
        daemon.send_signal(signal.SIGINT)
        assert daemon.status() == 0
    assert daemon.output.endswith("stopping\nstopped\n")
    assert "Traceback" not in daemon.output


def test_it_runs_each_slot_once(installation):
    installation.write(TICK, QUIET)
    with running_daemon(installation):
        wait_until(lambda: len([outcome for outcome in installation.outcomes() if outcome]) >= 3)
    runs = installation.json("jobs", "history")
    assert {run["outcome"] for run in runs} <= {"succeeded", "skipped", "abandoned", None}
    assert len({run["scheduled_for"] for run in runs}) == len(runs)
    assert {run["trigger"] for run in runs} == {"daemon"}


def test_a_new_configuration_is_adopted_and_an_invalid_one_reported(installation):
    installation.write("old:\n  kind: command\n  with: {run: ['true']}", QUIET)
    with running_daemon(installation) as daemon:
        installation.write("old:\n  kind: nonsense", QUIET)
        daemon.send_signal(signal.SIGHUP)
        wait_until(lambda: "no kind of job is called 'nonsense'" in daemon.output)
        assert "the last good one stays in use" in daemon.output
        installation.write(TICK, QUIET)
        daemon.send_signal(signal.SIGHUP)
        wait_until(lambda: "configuration was read again" in daemon.output)
        wait_until(lambda: "succeeded" in installation.outcomes("tick"))
        daemon.send_signal(signal.SIGTERM)
        assert daemon.status() == 0


@pytest.mark.parametrize(("grace", "outcome"), [("30s", "succeeded"), ("0s", "stopped")])
def test_a_stop_waits_for_runs_within_the_grace_and_then_stops_them(installation, grace, outcome):
    begun = installation.folder / "begun"
    program = ["sh", "-c", "touch begun; sleep 1.5"]
    job = f"slow:\n  kind: command\n  schedule: '@reboot'\n  with: {{directory: ., run: {program}}}"
    installation.write(job, f"{QUIET}\nstop-grace: {grace}")
    with running_daemon(installation) as daemon:
        wait_until(begun.exists)
        daemon.send_signal(signal.SIGTERM)
        assert daemon.status() == 0
    assert installation.outcomes("slow") == [outcome]


def test_a_stopping_daemon_starts_nothing(installation):
    program = "{directory: ., run: [sh, -c, 'touch begun; sleep 3.2']}"
    slow = f"slow:\n  kind: command\n  schedule: '@reboot'\n  with: {program}"
    installation.write(f"{TICK}\n{slow}", f"{QUIET}\nstop-grace: 30s")
    with running_daemon(installation) as daemon:
        wait_until((installation.folder / "begun").exists)
        daemon.send_signal(signal.SIGTERM)
        wait_until(lambda: "stopping" in daemon.output)
        started = daemon.output.count("job=tick by=")
        assert daemon.status() == 0
    assert daemon.output.count("job=tick by=") == started
    assert installation.outcomes("slow") == ["succeeded"]


def test_invalid_secrets_at_a_reload_are_reported_and_the_daemon_continues(installation):
    installation.write(TICK, QUIET)
    with running_daemon(installation) as daemon:
        (installation.folder / "secrets.env").write_text("WEB_PASSWORD=open sesame", "ascii")
        (installation.folder / "secrets.env").chmod(0o644)
        daemon.send_signal(signal.SIGHUP)
        wait_until(lambda: "can be read by others" in daemon.output)
        (installation.folder / "secrets.env").chmod(0o600)
        daemon.send_signal(signal.SIGHUP)
        wait_until(lambda: "configuration was read again" in daemon.output)
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"{wait_until(lambda: daemon.pages[1:])[0]}/api/v1/state", timeout=5)
        daemon.send_signal(signal.SIGTERM)
        assert daemon.status() == 0


def test_no_request_is_refused_while_the_page_restarts(installation):
    installation.write(TICK, QUIET)
    with running_daemon(installation) as daemon:
        for number in range(4):
            installation.write(TICK, f"{QUIET}\ndiscovery: {str(bool(number % 2)).lower()}")
            daemon.send_signal(signal.SIGHUP)
            while len(daemon.pages) < number + 2:
                with contextlib.suppress(ConnectionResetError, http.client.RemoteDisconnected):  # it was being answered
                    urllib.request.urlopen(f"{daemon.page}/health", timeout=10).close()
        assert len(set(daemon.pages)) == 1
        daemon.send_signal(signal.SIGTERM)
        assert daemon.status() == 0


def test_a_page_that_failed_to_restart_is_retried_at_the_next_reload(installation):
    installation.write(TICK, QUIET)
    with running_daemon(installation) as daemon:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            installation.write(TICK, f"web: {{port: {taken.getsockname()[1]}}}")
            daemon.send_signal(signal.SIGHUP)
            wait_until(lambda: "another program listens there" in daemon.output)
        daemon.send_signal(signal.SIGHUP)
        page = wait_until(lambda: daemon.pages[1:])[0]
        with urllib.request.urlopen(f"{page}/health", timeout=5) as answer:
            assert answer.status == 200


def test_after_a_kill_the_history_is_intact_and_no_slot_repeats(installation):
    installation.write(TICK, QUIET)
    for _ in range(2):
        with running_daemon(installation) as daemon:
            before = len(installation.runs())
            wait_until(lambda before=before: len(installation.runs()) > before)
            daemon.send_signal(signal.SIGKILL)
            daemon.status()
    wait_until(lambda: None not in installation.outcomes("tick"))
    runs = installation.json("jobs", "history", "--count", "99")
    assert len({run["scheduled_for"] for run in runs}) == len(runs)


def test_the_runs_of_a_killed_daemon_finish(installation):
    begun = installation.folder / "begun"
    program = ["sh", "-c", "echo $PPID > begun; sleep 1"]
    installation.write(
        f"slow:\n  kind: command\n  schedule: '@reboot'\n  with: {{directory: ., run: {program}}}", QUIET
    )
    with running_daemon(installation) as daemon:
        child = int(wait_until(lambda: begun.exists() and begun.read_text("ascii").strip()))
        daemon.send_signal(signal.SIGKILL)
        daemon.status()
        assert is_running(child)
    wait_until(lambda: installation.outcomes("slow") == ["succeeded"])


def test_waiting_runs_are_shown_cancelled_and_survive_a_kill(installation):
    wait = json.dumps(["sh", "-c", "until [ -e go-on ]; do sleep 0.1; done"])
    jobs = "".join(
        f"{name}: {{kind: command, schedule: '@reboot', with: {{run: {wait}}}}}\n"
        for name in ("first", "second", "third")
    )
    installation.write(jobs + "manual: {kind: command, with: {run: ['true']}}", f"{QUIET}\nmax-concurrent-runs: 1")
    with running_daemon(installation) as daemon:
        wait_until(lambda: installation.outcomes("first") == [None])
        with urllib.request.urlopen(f"{daemon.page}/api/v1/jobs", timeout=5) as answer:
            assert [job["waiting"] for job in json.load(answer)] == [False, True, True, False]
        with urllib.request.urlopen(f"{daemon.page}/jobs/second", timeout=5) as answer:
            assert "A run waits for other runs to end." in answer.read().decode()
        post(daemon, "/jobs/manual/run")
        assert post(daemon, "/jobs/second/cancel")["cancelled"] == installation.runs("second")[0].id
        assert installation.outcomes("second") == ["stopped"]
        daemon.send_signal(signal.SIGKILL)
        daemon.status()
    with running_daemon(installation) as daemon:
        assert installation.outcomes("third") == [], "the first run has survived, with its place"
        (installation.folder / "go-on").touch()
        wait_until(lambda: installation.outcomes("third") == ["succeeded"])
    assert [installation.outcomes(name) for name in ("first", "second")] == [["succeeded"], ["stopped"]]


def test_systemd_is_notified_of_ready_watchdog_and_stopping(installation):
    installation.write(TICK, QUIET)
    address = installation.folder / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(str(address))
        receiver.settimeout(10)
        with running_daemon(installation, {"NOTIFY_SOCKET": str(address), "WATCHDOG_USEC": "60000000"}) as daemon:
            messages = [receiver.recv(4096).decode()]
            while not any(message.startswith("WATCHDOG=1") for message in messages):
                messages.append(receiver.recv(4096).decode())
            daemon.send_signal(signal.SIGTERM)
            daemon.status()
            while not messages[-1].startswith("STOPPING=1"):
                messages.append(receiver.recv(4096).decode())
    assert any(message.startswith("READY=1\nSTATUS=next: tick at") for message in messages)


def post(daemon: RunningDaemon, path: str) -> Any:
    request = urllib.request.Request(f"{daemon.page}/api/v1{path}", b"{}", method="POST")
    with urllib.request.urlopen(request, timeout=5) as answer:
        return json.load(answer)


def test_a_restart_on_request_starts_the_same_process_again_with_the_grace_for_runs(installation):
    program = ["sh", "-c", "echo $PPID > begun; sleep 1; echo done > ended"]
    installation.write(f"slow:\n  kind: command\n  with: {{directory: ., run: {program}}}", QUIET)
    with running_daemon(installation) as daemon:
        post(daemon, "/jobs/slow/run")
        wait_until((installation.folder / "begun").exists)
        (run,) = post(daemon, "/system/restart")["running"]
        assert run == "slow (run 1)"
        wait_until(lambda: daemon.pages[1:])
        assert (installation.folder / "ended").exists(), "the run had its grace"
        wait_until(lambda: installation.run("status").returncode == 0)
        assert installation.json("status")["pid"] == daemon.process.pid
        assert "restarting on request" in daemon.output
        daemon.send_signal(signal.SIGTERM)
        assert daemon.status() == 0


def test_as_a_service_a_restart_ends_it_with_the_status_on_which_systemd_starts_it_again(installation):
    installation.write(TICK, QUIET)
    with running_daemon(installation, {"NOTIFY_SOCKET": str(installation.folder / "nobody")}) as daemon:
        post(daemon, "/system/restart")
        assert daemon.status() == RESTART_STATUS


def test_the_log_has_warnings_of_all_modules_and_no_secret(installation):
    secrets = installation.folder / "secrets.env"
    secrets.write_text("MY_TOKEN=radio.example.invalid\n")
    secrets.chmod(0o600)
    installation.write("", f"{QUIET}\nplayer: {{kind: mpd, with: {{address: 'radio.example.invalid:6600'}}}}")
    with running_daemon(installation):
        wait_until(lambda: "[redacted]" in installation.run("logs", "--problems").stdout)
        assert "radio.example" not in installation.run("logs").stdout
        assert "no job waits for its time" in installation.run("logs").stdout
        assert "no job waits for its time" not in installation.run("logs", "--problems").stdout


def test_an_address_in_use_is_one_line_and_leaves_nothing(installation):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        installation.write(TICK, f"web: {{port: {taken.getsockname()[1]}}}")
        done = installation.run("up")
    assert done.returncode == 1
    assert str(taken.getsockname()[1] if taken.fileno() >= 0 else "") in done.stderr
    assert done.stderr.count("\n") == 1


def test_without_any_mpd_everything_else_works(installation):
    installation.write(TICK, f"{QUIET}\nplayer: {{kind: mpd, with: {{address: '127.0.0.1:9'}}}}")
    empty = installation.folder / "bin"
    empty.mkdir()
    (empty / "true").symlink_to("/bin/true")
    with running_daemon(installation, {"PATH": str(empty)}) as daemon:
        with urllib.request.urlopen(f"{daemon.page}/", timeout=5) as answer:
            assert "mpd" in answer.read().decode().lower()
        wait_until(lambda: "succeeded" in installation.outcomes("tick"))
        daemon.send_signal(signal.SIGTERM)
        assert daemon.status() == 0


def test_no_process_is_left_after_a_stop(installation):
    installation.write(TICK, f"{QUIET}\nplayer: {{kind: mpd, with: {{address: '127.0.0.1:9'}}}}")
    with running_daemon(installation) as daemon:
        wait_until(
            lambda: "the built-in silent player is used" in daemon.output or "mpd is not installed" in daemon.output
        )
        daemon.send_signal(signal.SIGTERM)
        daemon.status()

    def ours() -> list[str]:
        result = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                words = path.read_bytes().decode(errors="replace")
                if str(installation.folder) in words:
                    result.append(words)
        return result

    wait_until(lambda: not ours())
