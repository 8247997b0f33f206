"""Commands for alarms, the sleep timer and announcements, with and without a daemon."""

import contextlib
import json
import os
import re
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.installation import Installation, is_running, wait_until
from tests.test_daemon import running_daemon

JOBS = """
wake: {kind: music, schedule: "45 6 * * *", with: {action: alarm, play: [fip]}}
sleep: {kind: music, with: {action: sleep}}
announce: {kind: music, with: {action: announce}}
"""
# No server listens there: a timer waits for its player for a while, which is enough here.
AWAY = "web: {port: 0}\nstop-grace: 1s\nplayer: {kind: mpd, with: {address: 'localhost:1', fallback-mpd: false}}"


@pytest.fixture
def home(installation: Installation) -> Installation:
    installation.write(JOBS, AWAY)
    return installation


def run_command(home: Installation, *words: str) -> str:
    done = home.run("music", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def refused(home: Installation, status: int, *words: str) -> str:
    done = home.run("music", *words)
    assert (done.returncode, len(done.stderr.strip().splitlines())) == (status, 1), done.stderr
    return done.stderr.strip().removeprefix("pi-appliance: ")


def test_a_sleep_timer_is_set_shown_replaced_and_cancelled(home):
    with running_daemon(home):
        assert run_command(home, "sleep") == "no sleep timer is set"
        assert run_command(home, "sleep", "30m").startswith("the music stops ")
        first = wait_until(lambda: (now := home.json("music", "sleep"))["phase"] == "waiting" and now)
        assert (first["set"], first["job"]) == (True, "sleep")
        assert run_command(home, "sleep", "2h", "--play-out", "album").startswith("the music stops ")
        second = wait_until(lambda: (now := home.json("music", "sleep"))["phase"] == "waiting" and now)
        assert second["ends_at"] > first["ends_at"]
        assert run_command(home, "cancel-sleep") == "the music continues"
        wait_until(lambda: None not in home.outcomes("sleep"))
        assert not home.json("music", "sleep")["set"]
        runs = home.json("jobs", "history", "sleep")
        assert [run["summary"] for run in runs] == ["cancelled; the music continues"] * 2
        assert {run["trigger"] for run in runs} == {"manual"}
    assert refused(home, 1, "cancel-sleep") == "no sleep timer is set"


@pytest.mark.slow
def test_it_survives_the_daemon(home):
    with running_daemon(home) as daemon:
        run_command(home, "sleep", "--at", "04:00")
        before = wait_until(lambda: (now := home.json("music", "sleep"))["phase"] == "waiting" and now)
        daemon.process.kill()
        daemon.process.wait()
    pid = json.loads((home.state / "locks" / "sleep.lock").read_bytes()[:1024])["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_running(pid))
    with running_daemon(home):
        after = wait_until(lambda: (now := home.json("music", "sleep"))["status_text"].startswith("asleep") and now)
        assert (after["ends_at"], after["phase"]) == (before["ends_at"], "waiting")
        run_command(home, "cancel-sleep")
        wait_until(lambda: None not in home.outcomes("sleep"))
        assert not home.json("music", "sleep")["set"]


def test_without_a_daemon_it_runs_in_the_background(home):
    assert run_command(home, "sleep", "30m").startswith("the music stops ")
    wait_until(lambda: home.json("music", "sleep")["phase"] == "waiting")
    run_command(home, "cancel-sleep")
    wait_until(lambda: home.outcomes("sleep") == ["succeeded"])
    assert run_command(home, "sleep") == "no sleep timer is set"
    status, _, errors = home.call("music", "announce", "dinner", "is", "ready")
    assert (status, "MPD at localhost:1 is not reached" in errors) == (75, True)
    assert home.outcomes("announce") == []


def test_concurrent_timers_leave_one(home):
    with running_daemon(home):
        with ThreadPoolExecutor(2) as pool:
            both = [pool.submit(home.run, "music", "sleep", length) for length in ("30m", "40m")]
            assert sum(each.result().returncode == 0 for each in both) >= 1
        wait_until(lambda: home.outcomes("sleep").count(None) == 1)
        assert home.json("music", "sleep")["set"]
        run_command(home, "cancel-sleep")


def test_alarms_are_listed_skipped_and_requested(home):
    assert "up to volume 40 in 5m" in run_command(home, "alarms")
    assert "skipped" in run_command(home, "alarm", "skip")
    assert home.json("music", "alarms")[0]["skipped"]
    assert "skipped" in run_command(home, "alarms")
    assert "skipped" not in run_command(home, "alarm", "unskip", "wake")
    assert re.search(r"once .* 07:15", run_command(home, "alarm", "once", "07:15", "wake"))
    assert len(home.json("music", "alarms")[0]["one_off_rings"]) == 1
    assert "once" not in run_command(home, "alarm", "cancel-once")
    assert refused(home, 1, "alarm", "snooze") == "no alarm is ringing"
    assert refused(home, 1, "alarm", "stop", "wake") == "wake is not ringing"


def test_times_are_those_of_the_configuration_also_on_a_machine_in_another_zone(home, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    text = home.config.read_text("utf-8")
    home.config.write_text(text.replace("time-zone: UTC", "time-zone: America/Lima"), "utf-8")
    for running in (contextlib.nullcontext(), running_daemon(home)):
        with running:
            assert re.search(r"once .* 07:15", run_command(home, "alarm", "once", "07:15", "wake"))


def test_a_ringing_alarm_receives_signals(home):
    with running_daemon(home):
        assert home.run("jobs", "list").returncode == 0
        ringing = home.start("jobs", "run", "wake")
        wait_until(lambda: home.json("music", "alarms")[0]["ringing"])
        assert "ringing" in run_command(home, "alarm", "stop")
        assert "ringing" in run_command(home, "alarm", "stop")  # it waits for a player, to restore its volume
        assert home.run("jobs", "cancel", "wake").returncode == 0
        ringing.communicate(timeout=20)
        assert not home.json("music", "alarms")[0]["ringing"]


@pytest.mark.parametrize(
    ("words", "status", "right"),
    [
        (
            ("sleep", "soon"),
            2,
            "'in' must be a duration such as 90s, 15m, 1h30m or 2d",
        ),
        (("sleep", "--at", "25:00"), 2, "'at' must be a time of day such as 06:45"),
        (("sleep", "30m", "--at", "23:00"), 2, "give only one of 'in' and 'at'"),
        (("sleep", "0m"), 2, "pi-appliance: 0m is not a valid sleep time; write 1m to 24h"),
        (("sleep", "30m", "--play-out", "songs"), 2, "'play_out' must be one of track, album, queue"),
        (("announce",), 2, "nothing to announce; give a text or a source"),
        (("alarm", "skip", "wak"), 2, "no alarm is called 'wak'; did you mean 'wake'?"),
        (("alarm", "once", "7", "wake"), 2, "'at' must be a time of day such as 06:45"),
        (("alarm", "once"), 2, "Missing argument 'AT'"),
    ],
)
def test_invalid_use_is_reported_in_one_line(home, words, status, right):
    returned, _, errors = home.call("music", *words)
    assert right in errors
    assert returned == status
    assert "asks" not in json.dumps(home.json("jobs", "history"))


def test_without_such_a_job_the_needed_configuration_is_shown(installation):
    installation.write("other: {kind: command, with: {run: ['true']}}")
    assert refused(installation, 1, "sleep", "30m") == (
        "no music job has action: sleep; add to appliance.yaml, under jobs:  "
        "sleep: {kind: music, with: {action: sleep}}"
    )
    assert run_command(installation, "alarms").startswith(
        "there are no alarms; add one with: pi-appliance music alarm add 06:45"
    )
    assert refused(installation, 1, "alarm", "skip").startswith("no music job has action: alarm; add to")
