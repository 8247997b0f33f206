"""Runs that persons ask for and sessions that are cut off, with real processes: each once, each to its end."""

import os
import re
import signal
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.system import clock, locks
from tests.installation import ROOT, Installation, is_running, wait_until
from tests.test_daemon import Up, up

KINDS = {"PYTHONPATH": f"{ROOT / 'tests' / 'fakes' / 'plugins'}:{ROOT}"}
QUIET = "web: {port: 0}\nstop-grace: 1m"  # a session is not waited for so long
SESSION = "one:\n  kind: session\n  with: {diary: diary, name: file}"
PLAIN = "one:\n  kind: command\n  with: {run: ['true']}"


class Home(Installation):
    """An installation that knows the kind `session`, and reads its diary."""

    def environment(self, more=None):
        return super().environment({**KINDS, **(more or {})})

    @property
    def diary(self) -> list[str]:
        path = self.folder / "diary"
        return path.read_text("utf-8").splitlines() if path.exists() else []

    def pid(self) -> int:
        """Return the process of the last run that began or went on."""
        return int(re.findall(r" in (\d+)$", "\n".join(self.diary), re.MULTILINE)[-1])


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.write(SESSION, QUIET)
    return made


def opened(home: Installation) -> Appliance:
    """Open its state; the kind of its job is unknown to this process, so the file is read without it."""
    text = home.config.read_text("utf-8")
    plain = home.folder / "plain.yaml"
    plain.write_text(text.partition("jobs:")[0] + "jobs: {}", "utf-8")
    return Appliance.open(plain)


def ask(home: Installation, given: dict[str, object], after: timedelta = timedelta(0)) -> int:
    with opened(home) as appliance:
        number = appliance.store.requests.add("one", clock.now() + after, given, now=clock.now()).id
        locks.wake_daemon(appliance.config.state_dir / locks.WAKEUP_FILE)
    return number


def say(home: Installation, word: str) -> None:
    with opened(home) as appliance:
        appliance.store.requests.send_signal("one", word)


def held(home: Installation) -> bool:
    with opened(home) as appliance:
        return appliance.store.requests.checkpoint("one") is not None


def began(home: Home, count: int) -> list[str]:
    return wait_until(lambda: home.diary if len(home.diary) >= count else None)


def stop(home: Home, daemon: Up) -> None:
    """Let the session end, and the daemon after it."""
    say(home, "stop")
    wait_until(lambda: home.diary[-1] == "ends")
    daemon.hears(signal.SIGTERM)
    assert daemon.status() == 0


def test_an_ask_begins_at_once_with_its_own_keys_and_hears_what_is_said(home):
    with up(home) as daemon:
        ask(home, {"name": "asked", "level": 7})
        began(home, 1)
        say(home, "snooze")
        assert began(home, 2)[1] == "hears snooze"
        stop(home, daemon)
    assert home.diary[0].startswith("begins: asked 7 in")
    run = home.last("one")
    assert (run["scheduled_for"], run["trigger"], run["outcome"], run["summary"]) == (
        *("request:1", "daemon", "succeeded"),
        "asked 7 was told to stop",
    )


def test_a_daemon_that_is_stopped_leaves_its_session_to_the_next_one(home):
    with up(home) as daemon:
        ask(home, {"name": "asked"})
        began(home, 1)
        daemon.hears(signal.SIGTERM)
        assert daemon.status() == 0
    assert (home.last("one")["outcome"], held(home)) == ("stopped", True)
    with up(home) as daemon:
        assert began(home, 2)[1].startswith("goes on: asked 40 in")
        stop(home, daemon)
    assert (home.last("one")["outcome"], held(home)) == ("succeeded", False)


def test_after_kill_nine_of_all_it_goes_on_once_the_daemon_is_back(home):
    with up(home) as daemon:
        ask(home, {})
        began(home, 1)
        pid = home.pid()
        daemon.process.kill()
        daemon.process.wait()
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not is_running(pid))
    with up(home) as daemon:
        assert began(home, 2)[1].startswith("goes on: file 40")
        os.kill(home.pid(), signal.SIGKILL)
        assert began(home, 3)[2].startswith("goes on: file 40")
        stop(home, daemon)
    assert [line.split(":")[0] for line in home.diary] == ["begins", "goes on", "goes on", "ends"]


def test_a_run_that_a_person_ends_is_not_gone_on_with(home):
    with up(home) as daemon:
        ask(home, {})
        began(home, 1)
        assert home.run("jobs", "cancel", "one").returncode == 0
        wait_until(lambda: home.last("one")["outcome"])
        assert (home.last("one")["summary"], held(home)) == ("cancelled by a person", False)
        ask(home, {"name": "next"})
        began(home, 2)
        stop(home, daemon)


def test_a_session_that_was_cut_off_is_ended_for_good_by_a_person(home):
    with up(home) as daemon:
        ask(home, {})
        began(home, 1)
        daemon.hears(signal.SIGTERM)
        daemon.status()
    assert home.run("jobs", "cancel", "one").stdout == "run 1 of one was asked to end\n"
    assert not held(home)
    assert home.run("jobs", "cancel", "one").stderr == "pi-appliance: no run of one is active\n"


def test_two_that_want_the_same_ask_run_it_once(home):
    number = ask(home, {})
    with ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(home.run, "jobs", "run", "one", "--slot", f"request:{number}") for _ in range(4)]
        began(home, 1)
        wait_until(lambda: sum(run.done() for run in runs) == 3, 30)
        say(home, "stop")
        statuses = sorted(run.result().returncode for run in runs)
    assert statuses[0] == 0
    assert [line.split(":")[0] for line in home.diary] == ["begins", "ends"]
    assert [run["outcome"] for run in home.json("jobs", "history")].count("succeeded") == 1


def test_what_the_kind_does_not_take_is_told_in_one_line(home):
    number = ask(home, {"level": 300, "naem": "x"})
    done = home.run("jobs", "run", "one", "--slot", f"request:{number}")
    assert done.returncode == 1
    assert "one cannot run with these options: unknown key 'naem'; did you mean 'name'?" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    gone = home.run("jobs", "run", "one", "--slot", f"request:{number}")
    assert (gone.returncode, gone.stderr) == (2, "pi-appliance: no request of one is called '1'; there are none yet\n")


def test_a_session_of_a_job_that_is_gone_from_the_file_is_dropped(home):
    with up(home) as daemon:
        ask(home, {})
        began(home, 1)
        daemon.hears(signal.SIGTERM)
        daemon.status()
    home.write("other:\n  kind: command\n  with: {run: ['true']}", QUIET)
    with up(home) as daemon:
        wait_until(lambda: "job=one was removed" in daemon.said)
    assert not held(home)


def test_a_job_to_be_used_once_pauses_itself_and_rings_on_after_a_restart_all_the_same(home):
    every = "one:\n  kind: session\n  schedule: every 1s\n  with: {diary: diary, one-shot: true}"
    home.write(every, QUIET)
    with up(home) as daemon:
        began(home, 1)
        daemon.hears(signal.SIGTERM)
        daemon.status()
    assert home.json("jobs", "list")[0]["paused"]
    with up(home) as daemon:
        assert began(home, 2)[1].startswith("goes on: plain 40")
        stop(home, daemon)
    ran = [run for run in home.json("jobs", "history") if run["attempts"]]
    assert [run["outcome"] for run in ran] == ["succeeded", "stopped"]
    assert ran[-1]["summary"] == "ended by a request to stop; it is paused now, because it is one-shot"


def test_cron_finds_the_slot_skipped(installation):
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


def test_to_skip_and_to_unskip_is_told(installation):
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


def test_nobody_is_rung_at_where_no_daemon_is(tmp_path):
    bell = tmp_path / locks.WAKEUP_FILE
    assert not locks.wake_daemon(bell)
    bell.write_text(f'{{"run": 0, "pid": {os.getpid()}}}', "ascii")
    assert not locks.wake_daemon(bell)
