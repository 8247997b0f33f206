"""The JSON API: results, actions and refusals."""

from pathlib import Path
from typing import Any

import pytest

from pi_appliance.errors import Unavailable
from pi_appliance.music.model import PlaybackState
from tests.web.list_player import ListMusic
from tests.web.served_appliance import ServedAppliance, configuration, job, serving
from tests.web.test_pages import STATIONS, report


def test_the_state_has_the_player_and_the_jobs(appliance: ServedAppliance) -> None:
    state = appliance.request("/api/v1/state").json
    assert state["player"]["play"] == "play"
    assert state["player"]["track"]["title"] == "Blue Train"
    assert (state["player"]["elapsed"], state["player"]["volume"], state["player"]["queue_length"]) == (61.0, 40, 2)
    assert (state["error"], state["fallback"]) == ("", False)
    assert appliance.request("/api/v1/jobs").json == [{**each, "problem": None} for each in state["jobs"]]
    nothing = dict.fromkeys(("started_by", "chance", "paused", "next", "next_used", "running", "last"))
    assert state["jobs"] == [
        {"job": "hello", "kind": "command", "depends_on": [], "failing": False, "waiting": False, **nothing}
    ]


def test_commands_answer_with_the_new_state(appliance: ServedAppliance) -> None:
    def ask(command: str, body: Any = None) -> Any:
        return appliance.request(f"/api/v1/player/{command}", {} if body is None else body).json["player"]

    assert ask("pause")["play"] == "pause"
    assert ask("play")["play"] == "play"
    assert ask("play", {"position": 1})["track"]["title"] == "Moment's Notice"
    assert ask("next")["track"]["title"] == "Blue Train"
    assert ask("previous")["track"]["position"] == 1
    assert ask("volume", {"volume": 55})["volume"] == 55
    assert ask("volume", {"volume": "-5"})["volume"] == 50
    assert ask("volume")["volume"] == 50
    assert ask("seek", {"seconds": 12.5})["elapsed"] == 12.5
    assert ask("toggle")["play"] == "pause"
    assert ask("stop")["play"] == "stop"


def test_a_station_is_played_by_name(tmp_path: Path) -> None:
    with serving(configuration(tmp_path, stations=STATIONS)) as appliance:
        assert [each["name"] for each in appliance.request("/api/v1/stations").json] == ["Groove", "R&B <1>"]
        assert appliance.request("/api/v1/player/play-station", {"station": "Groove"}).json["player"]["track"][
            "uri"
        ] == ("http://radio.example/groove")
        answer = appliance.request("/api/v1/player/play-station", {"station": "Grove"})
        assert answer.status == 404
        assert answer.json == {"error": "no station is called 'Grove'; did you mean 'Groove'?"}


def test_the_queue_is_paged(appliance: ServedAppliance) -> None:
    window = appliance.request("/api/v1/player/queue?start=1&count=1").json
    assert (window["start"], window["length"], [each["id"] for each in window["items"]]) == (1, 2, [2])


VOLUME = "'volume' must be a volume from 0 to 100, or a change such as +5 or -5"
SECONDS = "'seconds' must be seconds or a time such as 1:30, or a step such as +10 or -0:30"
WRONG = [
    ("/api/v1/player/volume", {"volume": 101}, 400, VOLUME),
    ("/api/v1/player/volume", {"volume": True}, 400, VOLUME),
    ("/api/v1/player/volume", {"volume": "loud"}, 400, VOLUME),
    ("/api/v1/player/volume", {"volume": [1]}, 400, VOLUME),
    ("/api/v1/player/volume", {"volum": 5}, 400, "volume takes no 'volum'; did you mean 'volume'?"),
    ("/api/v1/player/seek", {}, 400, f"{SECONDS}, and it is missing"),
    ("/api/v1/player/seek", {"seconds": "nan"}, 400, SECONDS),
    ("/api/v1/player/pause", {"now": 1}, 400, "pause takes no arguments"),
    ("/api/v1/player/pause", [], 400, 'the body is not a JSON object; send an object such as {"volume": 40}'),
    ("/api/v1/player/pause", "{", 400, 'the body is not JSON; send an object such as {"volume": 40}'),
    ("/api/v1/player/play", {"position": 9}, 409, "there is nothing at position 9; the queue holds 2"),
    ("/api/v1/player/paus", {}, 404, "there is no such address; did you mean '/player/pause'?"),
    ("/api/v1/jobs/helo/run", {}, 404, "no job is called 'helo'; did you mean 'hello'?"),
    ("/api/v1/jobs/hello/run", {"rm": "-rf"}, 400, "run takes no 'rm'; known: as_scheduled, name, resume, slot, with"),
    ("/api/v1/runs?count=0", None, 400, "'count' must be a whole number from 1 to 10000"),
    ("/api/v1/runs?job=helo", None, 404, "no job is called 'helo'; did you mean 'hello'?"),
    ("/api/v1/runs?jobs=hello", None, 400, "runs takes no 'jobs'; did you mean 'job'?"),
    ("/api/v1/runs/7", None, 404, "no run is called '7'; there are none yet"),
    ("/api/v1/player/queue?start=-1", None, 400, "'start' must be a whole number from 0 to 10000000"),
    ("/api/v1/nothing", None, 404, "there is no such address; see docs/web.md"),
]


@pytest.mark.parametrize(("path", "body", "status", "sentence"), WRONG, ids=lambda each: str(each)[:40])
def test_every_refusal_is_one_sentence_and_a_status(
    appliance: ServedAppliance, path: str, body: Any, status: int, sentence: str
) -> None:
    answer = appliance.request(path, body)
    assert (answer.status, answer.json) == (status, {"error": sentence})
    assert (appliance.player.now.volume, appliance.player.now.playback) == (40, PlaybackState.PLAYING)


def test_an_unreachable_player_is_503(tmp_path: Path) -> None:
    with serving(configuration(tmp_path), ListMusic(None, "MPD does not answer")) as appliance:
        for path, body in (("/api/v1/player/play", {}), ("/api/v1/player/queue", None)):
            answer = appliance.request(path, body)
            assert (answer.status, answer.json) == (503, {"error": "MPD does not answer"})
        assert appliance.request("/api/v1/player").json == {
            "player": None,
            "capabilities": [],
            "error": "MPD does not answer",
            "status_text": "",
            "fallback": False,
            "rating": None,
            "favourite": False,
        }


def test_a_player_without_a_mixer_is_reported(appliance: ServedAppliance) -> None:
    appliance.call_in_loop(lambda: appliance.player.set_state(volume=None))
    answer = appliance.request("/api/v1/player/volume", {"volume": "+5"})
    assert (answer.status, "no volume to change" in answer.json["error"]) == (409, True)


def test_a_player_lost_during_a_command_is_503(appliance: ServedAppliance) -> None:
    def lose(names: frozenset[str]) -> None:
        raise Unavailable("the player hung up")

    appliance.player.on_change = lose
    assert appliance.request("/api/v1/player/pause", {}).status == 503


def test_a_run_is_started_and_reported(appliance: ServedAppliance) -> None:
    answer = appliance.request("/api/v1/jobs/hello/run", {})
    assert (answer.status, answer.json) == (202, {"job": "hello", "run": 1})
    runs = appliance.wait_until(
        lambda: [run for run in appliance.request("/api/v1/runs?job=hello").json if run["outcome"]]
    )
    assert (runs[0]["outcome"], runs[0]["trigger"], runs[0]["id"]) == ("succeeded", "manual", 1)
    assert appliance.request("/api/v1/runs/1").json["log"] == "good morning\n"
    assert appliance.request("/api/v1/runs?before=1").json == []


def test_the_reports_are_listed(appliance: ServedAppliance) -> None:
    report(appliance, "hello/x.txt", "four")
    (result,) = appliance.request("/api/v1/reports").json
    assert (result["job"], result["file"], result["bytes"]) == ("hello", "x.txt", 4)


def test_an_unused_slot_shows_the_next_used_one(tmp_path: Path) -> None:
    jobs = job("often", "", "    schedule: '*/5 * * * *'\n    chance: 1/8\n")
    with serving(configuration(tmp_path, jobs=jobs)) as appliance:
        (often,) = appliance.request("/api/v1/jobs").json
        assert often["next_used"] >= often["next"]["slot"]
        assert (often["next_used"] == often["next"]["slot"]) is often["next"]["selected"]


def test_an_exception_is_500_without_details(appliance: ServedAppliance, caplog: pytest.LogCaptureFixture) -> None:
    def break_down(names: frozenset[str]) -> None:
        raise ZeroDivisionError("insides")

    appliance.player.on_change = break_down
    answer = appliance.request("/api/v1/player/pause", {})
    assert (answer.status, "insides" in answer.text) == (500, False)
    assert appliance.wait_until(lambda: "ZeroDivisionError: insides" in caplog.text)
