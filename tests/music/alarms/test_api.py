"""Alarms, the sleep timer and announcements by the API, which wakes the daemon."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pi_appliance.storage.model import Outcome, Trigger
from pi_appliance.storage.run_requests import RunRequest, RunRequestStore
from pi_appliance.system import clock
from tests.web.served_appliance import ServedAppliance, configuration, serving

JOBS = """
  wake: {kind: music, schedule: "45 6 * * *", with: {action: alarm, play: [fip]}}
  sleep: {kind: music, with: {action: sleep}}
  announce: {kind: music, with: {action: announce}}
  daily: {kind: command, schedule: "0 6 * * *", with: {run: ["true"]}}
"""


@pytest.fixture
def appliance(tmp_path: Path) -> Iterator[ServedAppliance]:
    with serving(configuration(tmp_path, jobs=JOBS)) as result:
        yield result


def requests(appliance: ServedAppliance) -> RunRequestStore:
    return appliance.daemon.appliance.store.requests


def test_an_alarm_is_listed_skipped_and_unskipped(appliance):
    (wake,) = appliance.request("/api/v1/alarms").json
    assert (wake["job"], wake["skipped"], wake["description"]) == ("wake", None, "fip; up to volume 40 in 5m")
    (skipped,) = appliance.request("/api/v1/alarms/skip", {}).json
    assert (skipped["skipped"], skipped["next_ring"] > wake["next_ring"]) == (wake["next_ring"], True)
    assert appliance.request("/api/v1/alarms/unskip", {"job": "wake"}).json == [wake]
    assert appliance.daemon.woken == 2
    assert appliance.request("/api/v1/alarms/unskip", {"job": "wake"}).status == 409
    lost = appliance.request("/api/v1/alarms/skip", {"job": "wak"})
    assert (lost.status, lost.json) == (404, {"error": "no alarm is called 'wak'; did you mean 'wake'?"})


def test_it_rings_once_at_a_requested_time(appliance):
    (wake,) = appliance.request("/api/v1/alarms/once", {"at": "07:15", "job": "wake"}).json
    assert [at[14:] for at in wake["one_off_rings"]] == ["15:00Z"]
    (without,) = appliance.request("/api/v1/alarms/once", method="DELETE").json
    assert without["one_off_rings"] == []
    assert appliance.request("/api/v1/alarms/once", {}).status == 400
    assert appliance.request("/api/v1/alarms/once", {"at": "7"}).status == 400


def test_a_signal_reaches_the_ringing_alarm(appliance):
    assert appliance.request("/api/v1/alarms/snooze", {}).json == {"error": "no alarm is ringing"}
    requests(appliance).save_checkpoint("wake", "ringing", now=clock.now())
    assert appliance.request("/api/v1/alarms/snooze", {}).status == 200
    assert requests(appliance).take_signal("wake") == "snooze"
    assert appliance.request("/api/v1/alarms/stop", {"job": "wake"}).json[0]["ringing"]
    assert requests(appliance).take_signal("wake") == "stop"


def test_a_sleep_timer_is_set_shown_and_cancelled(appliance):
    assert appliance.request("/api/v1/sleep").json["set"] is False
    answer = appliance.request("/api/v1/sleep", {"in": "30m", "play_out": "track", "fade": "10s"})
    assert (answer.status, answer.json["set"], answer.json["phase"]) == (202, True, "starting")
    (ask,) = requests(appliance).pending()
    assert ask.arguments == {"in": "30m", "at": None, "play-out": "track", "fade": "10s"}
    assert appliance.daemon.woken == 1
    assert appliance.request("/api/v1/sleep", method="DELETE").json["set"] is False
    assert appliance.request("/api/v1/sleep", method="DELETE").status == 409
    assert requests(appliance).pending() == []


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("sleep", {"in": "soon"}, 400, "'in' must be a duration such as 90s, 15m, 1h30m or 2d"),
        ("sleep", {"in": "3d"}, 422, "3d is not a valid sleep time; write 1m to 24h"),
        ("sleep", {"at": "25:00"}, 400, "'at' must be a time of day such as 06:45"),
        ("sleep", {"play_out": "trak"}, 400, "'play_out' must be one of track, album, queue"),
        ("announce", {}, 422, "nothing to announce"),
        ("announce", {"text": "a", "volume": 101}, 400, "'volume' must be a whole number from 0 to 100"),
    ],
)
def test_invalid_requests_are_reported_and_write_nothing(appliance, path, body, status, message):
    answer = appliance.request(f"/api/v1/{path}", body)
    assert (answer.status, answer.json["error"].startswith(message)) == (status, True), answer.json
    assert requests(appliance).pending() == []


def test_an_announcement_is_taken(appliance):
    answer = appliance.request("/api/v1/announce", {"text": "dinner is ready", "wait": 0})
    assert (answer.status, answer.json["job"], appliance.daemon.woken) == (202, "announce", 1)
    assert requests(appliance).find(answer.json["request"]).arguments == {"text": "dinner is ready", "source": None}
    assert (answer.json["outcome"], answer.json["summary"].partition(";")[0]) == (None, "the announcement starts")


def test_a_text_is_refused_before_the_music_fades_if_nothing_can_speak(appliance, tmp_path, monkeypatch):
    page = appliance.request("/music/alarms").text
    monkeypatch.setenv("PATH", str(tmp_path))
    answer = appliance.request("/api/v1/announce", {"text": "dinner is ready", "wait": 0})
    assert answer.status == 422
    assert "no program that can speak is installed; install one: sudo apt install espeak-ng" in answer.json["error"]
    assert requests(appliance).pending() == []
    assert appliance.request("/api/v1/announce", {"source": "chime", "wait": 0}).status == 202
    warning = "A text cannot be announced: no program that can speak is installed"
    assert (warning in page, warning in appliance.request("/music/alarms").text) == (False, True)


@pytest.mark.parametrize(
    ("outcome", "status"), [(Outcome.SUCCEEDED, 202), (Outcome.FAILED, 409), (Outcome.UNCERTAIN, 502)]
)
def test_the_result_of_an_announcement_is_the_answer(appliance, outcome, status):
    def run(request: RunRequest) -> None:
        store, now = appliance.daemon.appliance.store, clock.now()
        number, _ = store.start_run(
            job=request.job, kind="music", trigger=Trigger.MANUAL, due=request.slot_name, now=now
        )
        store.finish_run(number, outcome, "what happened", now=now)

    appliance.daemon.start_request = run
    answer = appliance.request("/api/v1/announce", {"source": "chime"})
    assert (answer.status, answer.json.get("error") or answer.json["summary"]) == (status, "what happened")


def test_a_player_that_makes_no_sound_cannot_announce(appliance):
    hub = appliance.daemon.hub
    hub.uses_fallback, hub.error = True, "MPD is not reached. Until then the built-in silent player is used"
    answer = appliance.request("/api/v1/announce", {"source": "chime"})
    assert (answer.status, answer.json["error"]) == (503, f"{hub.error}, which cannot announce")
    assert requests(appliance).pending() == []


def test_without_such_jobs_the_needed_configuration_is_shown(tmp_path):
    with serving(configuration(tmp_path, jobs='  daily: {kind: command, with: {run: ["true"]}}\n')) as appliance:
        answer = appliance.request("/api/v1/sleep", {"in": "30m"})
        assert (answer.status, "sleep: {kind: music, with: {action: sleep}}" in answer.json["error"]) == (409, True)
        assert appliance.request("/api/v1/alarms").json == []
