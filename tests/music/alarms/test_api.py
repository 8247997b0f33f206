"""Alarms, the sleep timer and announcements by the API; the daemon is woken, so that it begins at once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pi_appliance.storage.queues import RunRequestStore
from pi_appliance.system import clock
from tests.web.served_appliance import World, configuration, served

JOBS = """
  wake: {kind: music, schedule: "45 6 * * *", with: {action: alarm, play: [fip]}}
  sleep: {kind: music, with: {action: sleep}}
  announce: {kind: music, with: {action: announce}}
  daily: {kind: command, schedule: "0 6 * * *", with: {run: ["true"]}}
"""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with served(configuration(tmp_path, jobs=JOBS)) as found:
        yield found


def requests(world: World) -> RunRequestStore:
    return world.daemon.appliance.store.requests


def test_an_alarm_is_shown_skipped_and_unskipped(world):
    (wake,) = world.ask("/api/v1/alarms").json
    assert (wake["job"], wake["skipped"], wake["description"]) == ("wake", None, "fip; up to volume 40 in 5m")
    (skipped,) = world.ask("/api/v1/alarms/skip", {}).json
    assert (skipped["skipped"], skipped["next_ring"] > wake["next_ring"]) == (wake["next_ring"], True)
    assert world.ask("/api/v1/alarms/unskip", {"job": "wake"}).json == [wake]
    assert world.daemon.woken == 2
    assert world.ask("/api/v1/alarms/unskip", {"job": "wake"}).status == 409
    lost = world.ask("/api/v1/alarms/skip", {"job": "wak"})
    assert (lost.status, lost.json) == (404, {"error": "no alarm is called 'wak'; did you mean 'wake'?"})


def test_it_rings_once_at_a_time_of_its_own(world):
    (wake,) = world.ask("/api/v1/alarms/once", {"at": "07:15", "job": "wake"}).json
    assert [at[14:] for at in wake["one_off_rings"]] == ["15:00Z"]
    (without,) = world.ask("/api/v1/alarms/once", method="DELETE").json
    assert without["one_off_rings"] == []
    assert world.ask("/api/v1/alarms/once", {}).status == 400
    assert world.ask("/api/v1/alarms/once", {"at": "7"}).status == 400


def test_a_word_reaches_the_alarm_that_rings(world):
    assert world.ask("/api/v1/alarms/snooze", {}).json == {"error": "no alarm is ringing"}
    requests(world).save_checkpoint("wake", "ringing", now=clock.now())
    assert world.ask("/api/v1/alarms/snooze", {}).status == 200
    assert requests(world).take_signal("wake") == "snooze"
    assert world.ask("/api/v1/alarms/stop", {"job": "wake"}).json[0]["ringing"]
    assert requests(world).take_signal("wake") == "stop"


def test_a_sleep_timer_is_set_shown_and_cancelled(world):
    assert world.ask("/api/v1/sleep").json["set"] is False
    answer = world.ask("/api/v1/sleep", {"in": "30m", "play_out": "track", "fade": "10s"})
    assert (answer.status, answer.json["set"], answer.json["phase"]) == (202, True, "starting")
    (ask,) = requests(world).pending()
    assert ask.arguments == {"in": "30m", "at": None, "play-out": "track", "fade": "10s"}
    assert world.daemon.woken == 1
    assert world.ask("/api/v1/sleep", method="DELETE").json["set"] is False
    assert world.ask("/api/v1/sleep", method="DELETE").status == 409
    assert requests(world).pending() == []


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("sleep", {"in": "soon"}, "'in' must be a length of time such as 90s, 15m, 1h30m or 2d"),
        ("sleep", {"in": "3d"}, "3d is not a valid sleep time; write 1m to 24h"),
        ("sleep", {"at": "25:00"}, "sleep cannot run with these options: at: '25:00' is not a valid time of day"),
        (
            "sleep",
            {"play_out": "trak"},
            "sleep cannot run with these options: play-out: 'trak' is not known here; did you mean 'track'?",
        ),
        ("announce", {}, "nothing to announce"),
        ("announce", {"text": "a", "volume": 101}, "'volume' must be a whole number from 0 to 100"),
    ],
)
def test_what_is_wrong_is_told_and_nothing_written(world, path, body, said):
    answer = world.ask(f"/api/v1/{path}", body)
    assert (answer.status, answer.json["error"].startswith(said)) == (400, True), answer.json
    assert requests(world).pending() == []


def test_an_announcement_is_taken(world):
    answer = world.ask("/api/v1/announce", {"text": "dinner is ready"})
    assert (answer.status, answer.json["job"], world.daemon.woken) == (202, "announce", 1)
    assert requests(world).find(answer.json["request"]).arguments == {"text": "dinner is ready", "source": None}


def test_without_such_jobs_what_to_write_is_told(tmp_path):
    with served(configuration(tmp_path, jobs='  daily: {kind: command, with: {run: ["true"]}}\n')) as world:
        answer = world.ask("/api/v1/sleep", {"in": "30m"})
        assert (answer.status, "sleep: {kind: music, with: {action: sleep}}" in answer.json["error"]) == (409, True)
        assert world.ask("/api/v1/alarms").json == []
