"""Run requests and interrupted sessions, with real processes."""

import os
import re
import signal
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.system import clock, files
from pi_appliance.system.runtime_socket import NO_HANDOVER
from tests.installation import ROOT, Installation, is_running, wait_until
from tests.test_daemon import RunningDaemon, running_daemon

KINDS = {"PYTHONPATH": f"{ROOT / 'tests' / 'fakes' / 'plugins'}:{ROOT}"}
QUIET = "web: {port: 0}\nstop-grace: 1m"  # a session is not waited for so long
SESSION = "one:\n  kind: session\n  with: {diary: diary, name: file}"
PLAIN = "one:\n  kind: command\n  with: {run: ['true']}"


class Home(Installation):
    """An installation with the kind `session` and its diary."""

    def environment(self, more=None):
        return super().environment({**KINDS, **(more or {})})

    @property
    def diary(self) -> list[str]:
        path = self.folder / "diary"
        return path.read_text("utf-8").splitlines() if path.exists() else []

    def pid(self) -> int:
        """Return the process id of the latest run that started or resumed."""
        return int(re.findall(r" in (\d+)$", "\n".join(self.diary), re.MULTILINE)[-1])


@pytest.fixture
def home(tmp_path: Path) -> Home:
    new_home = Home(tmp_path)
    new_home.write(SESSION, QUIET)
    return new_home


def open_state(home: Installation) -> Appliance:
    """Open its state; the kind of its job is unknown to this process, so the file is read without it."""
    text = home.config.read_text("utf-8")
    plain = home.folder / "plain.yaml"
    plain.write_text(text.partition("jobs:")[0] + "jobs: {}", "utf-8")
    return Appliance.open(plain)


def request_run(home: Installation, given: dict[str, object], after: timedelta = timedelta(0)) -> int:
    with open_state(home) as appliance:
        number = appliance.store.requests.add("one", clock.now() + after, given, now=clock.now()).id
        files.wake_daemon(appliance.config.state_dir / files.WAKEUP_FILE)
    return number


def send_signal(home: Installation, word: str) -> None:
    with open_state(home) as appliance:
        appliance.store.requests.send_signal("one", word)


def has_checkpoint(home: Installation) -> bool:
    with open_state(home) as appliance:
        return appliance.store.requests.checkpoint("one") is not None


def wait_for_diary(home: Home, count: int) -> list[str]:
    return wait_until(lambda: home.diary if len(home.diary) >= count else None)


def stop(home: Home, daemon: RunningDaemon) -> None:
    """Stop the session, then the daemon."""
    send_signal(home, "stop")
    wait_until(lambda: home.diary[-1] == "ends")
    daemon.send_signal(signal.SIGTERM)
    assert daemon.status() == 0


def test_a_request_starts_at_once_with_its_options_and_receives_signals(home):
    with running_daemon(home) as daemon:
        request_run(home, {"name": "asked", "level": 7})
        wait_for_diary(home, 1)
        send_signal(home, "snooze")
        assert wait_for_diary(home, 2)[1] == "hears snooze"
        stop(home, daemon)
    assert home.diary[0].startswith("begins: asked 7 in")
    run = home.latest_run("one")
    assert (run["scheduled_for"], run["trigger"], run["outcome"], run["summary"]) == (
        *("request:1", "manual", "succeeded"),
        "asked 7 was told to stop",
    )


@pytest.mark.slow
def test_the_next_daemon_resumes_a_session(home):
    with running_daemon(home) as daemon:
        request_run(home, {"name": "asked"})
        wait_for_diary(home, 1)
        daemon.send_signal(signal.SIGTERM)
        assert daemon.status() == 0
    assert (home.latest_run("one")["outcome"], has_checkpoint(home)) == ("stopped", True)
    with running_daemon(home) as daemon:
        assert wait_for_diary(home, 2)[1].startswith("goes on: asked 40 in")
        stop(home, daemon)
    assert (home.latest_run("one")["outcome"], has_checkpoint(home)) == ("succeeded", False)


@pytest.mark.slow
def test_a_session_is_resumed_after_sigkill(home):
    with running_daemon(home) as daemon:
        request_run(home, {})
        wait_for_diary(home, 1)
        pid = home.pid()
        daemon.process.kill()
        daemon.process.wait(60)
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not is_running(pid))
    with running_daemon(home) as daemon:
        assert wait_for_diary(home, 2)[1].startswith("goes on: file 40")
        os.kill(home.pid(), signal.SIGKILL)
        assert wait_for_diary(home, 3)[2].startswith("goes on: file 40")
        stop(home, daemon)
    assert [line.split(":")[0] for line in home.diary] == ["begins", "goes on", "goes on", "ends"]


def test_a_cancelled_session_is_not_resumed(home):
    with running_daemon(home) as daemon:
        request_run(home, {})
        wait_for_diary(home, 1)
        assert home.run("jobs", "cancel", "one").returncode == 0
        wait_until(lambda: home.latest_run("one")["outcome"])
        assert (home.latest_run("one")["summary"], has_checkpoint(home)) == ("cancelled by a person", False)
        request_run(home, {"name": "next"})
        wait_for_diary(home, 2)
        stop(home, daemon)


def test_an_interrupted_session_can_be_cancelled(home):
    with running_daemon(home) as daemon:
        request_run(home, {})
        wait_for_diary(home, 1)
        daemon.send_signal(signal.SIGTERM)
        daemon.status()
    assert home.run("jobs", "cancel", "one").stdout == "run 1 of one was asked to end\n"
    assert not has_checkpoint(home)
    assert home.run("jobs", "cancel", "one").stderr == "pi-appliance: no run of one is active\n"


def test_a_request_runs_once(home):
    number = request_run(home, {})
    with ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(home.run, "jobs", "run", "one", "--slot", f"request:{number}") for _ in range(4)]
        wait_for_diary(home, 1)
        wait_until(lambda: sum(run.done() for run in runs) == 3, 30)
        send_signal(home, "stop")
        statuses = sorted(run.result().returncode for run in runs)
    assert statuses[0] == 0
    assert [line.split(":")[0] for line in home.diary] == ["begins", "ends"]
    assert [run["outcome"] for run in home.json("jobs", "history")].count("succeeded") == 1


def test_invalid_options_of_a_request_are_reported_in_one_line(home):
    number = request_run(home, {"level": 300, "naem": "x"})
    done = home.run("jobs", "run", "one", "--slot", f"request:{number}")
    assert done.returncode == 1
    assert "one cannot run with these options: unknown key 'naem'; did you mean 'name'?" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    gone = home.run("jobs", "run", "one", "--slot", f"request:{number}")
    assert (gone.returncode, gone.stderr) == (2, "pi-appliance: no request of one is called '1'; there are none yet\n")


def test_a_run_that_the_daemon_starts_for_a_withdrawn_request_prints_nothing(home):
    number = request_run(home, {})
    with open_state(home) as appliance:
        assert appliance.store.requests.remove(number)
    started = home.run("jobs", "run", "one", "--slot", f"request:{number}", environment={NO_HANDOVER: "1"})
    assert (started.returncode, started.stderr) == (2, "")


def test_the_session_of_a_removed_job_is_dropped(home):
    with running_daemon(home) as daemon:
        request_run(home, {})
        wait_for_diary(home, 1)
        daemon.send_signal(signal.SIGTERM)
        daemon.status()
    home.write("other:\n  kind: command\n  with: {run: ['true']}", QUIET)
    with running_daemon(home) as daemon:
        wait_until(lambda: "job=one was removed" in daemon.output)
    assert not has_checkpoint(home)


@pytest.mark.slow
def test_a_one_shot_job_pauses_itself_and_is_resumed(home):
    every = "one:\n  kind: session\n  schedule: every 1s\n  with: {diary: diary, one-shot: true}"
    home.write(every, QUIET)
    with running_daemon(home) as daemon:
        wait_for_diary(home, 1)
        daemon.send_signal(signal.SIGTERM)
        daemon.status()
    assert home.json("jobs", "list")[0]["paused"]
    with running_daemon(home) as daemon:
        assert wait_for_diary(home, 2)[1].startswith("goes on: plain 40")
        stop(home, daemon)
    ran = [run for run in home.json("jobs", "history") if run["attempts"]]
    assert [run["outcome"] for run in ran] == ["succeeded", "stopped"]
    assert ran[-1]["summary"] == "ended by a request to stop; it is paused now, because it is one-shot"


def test_cron_skips_the_skipped_slot(installation):
    installation.write("one:\n  kind: command\n  schedule: '@hourly'\n  started-by: cron\n  with: {run: ['true']}")
    assert installation.run("jobs", "skip", "one").stdout.startswith("one will skip its slot of ")
    first, second = installation.json("jobs", "next", "one", "--count", "2")
    assert (first["skipped"], first["selected"], second["skipped"], second["selected"]) == (True, False, False, True)
    assert "skipped by a person" in installation.run("jobs", "next").stdout
    assert "(skipped)" in installation.run("jobs", "list").stdout
    for slot in (first, second):
        assert installation.run("jobs", "run", "one", "--trigger", "cron", "--slot", slot["slot"]).returncode == 0
    runs = installation.json("jobs", "history", "one")
    assert [(run["scheduled_for"], run["outcome"]) for run in runs] == [
        (second["slot"], "succeeded"),
        (first["slot"], "skipped"),
    ]
    assert runs[1]["summary"] == "skipped by a person"
    assert installation.run("jobs", "unskip", "one").returncode == 1


def test_skip_and_unskip_name_the_slot(installation):
    installation.write("one:\n  kind: command\n  schedule: '@hourly'\n  with: {run: ['true']}")
    skipped, unskipped = (
        installation.run("jobs", "skip", "one").stdout,
        installation.run("jobs", "unskip", "one").stdout,
    )
    assert skipped.replace("skip", "use") == unskipped
    installation.write(PLAIN)
    refused = installation.run("jobs", "skip", "one")
    assert (refused.returncode, refused.stderr) == (
        *(1,),
        "pi-appliance: one has no scheduled times, so there is none to skip\n",
    )


def test_waking_without_a_daemon_has_no_effect(tmp_path):
    bell = tmp_path / files.WAKEUP_FILE
    assert not files.wake_daemon(bell)
    bell.write_text(f'{{"run": 0, "pid": {os.getpid()}}}', "ascii")
    assert not files.wake_daemon(bell)
