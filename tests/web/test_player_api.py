"""The player API over a list player: playback, queue, library, playlists and stations."""

from pathlib import Path
from typing import Any

import pytest

from pi_appliance.music.model import FORMS, Capability, Mode, PlaybackState, ReplayGainMode, Track
from tests.web.list_player import COLTRANE, ListMusic, ListPlayer
from tests.web.served_appliance import ServedAppliance, configuration, serving
from tests.web.test_pages import STATIONS

PLAYER = "/api/v1/player"


def do(appliance: ServedAppliance, path: str, body: Any = None, method: str = "POST") -> Any:
    answer = appliance.request(f"{PLAYER}{path}", {} if body is None else body, method=method)
    assert answer.status < 300, answer.text
    return answer.json


def get_json(appliance: ServedAppliance, path: str) -> Any:
    answer = appliance.request(f"{PLAYER}{path}")
    assert answer.status == 200, answer.text
    return answer.json


def labels(appliance: ServedAppliance) -> list[str]:
    return [track.label for track in appliance.player.tracks]


def test_settings_are_changed_and_shown(appliance: ServedAppliance) -> None:
    assert do(appliance, "/mute", {"on": True})["player"]["muted"] is True
    assert do(appliance, "/crossfade", {"seconds": 5})["player"]["crossfade"] == 5
    assert do(appliance, "/replay-gain", {"gain": "album"})["player"]["replay_gain"] == "album"
    modes = do(appliance, "/modes", {"random": True, "single": "once", "consume": "on"})["player"]
    assert (modes["random"], modes["repeat"], modes["single"], modes["consume"]) == (True, False, "once", "on")
    assert (appliance.player.now.single, appliance.player.now.replay_gain) == (Mode.ONCE, ReplayGainMode.ALBUM)
    assert do(appliance, "/modes", {"random": False})["player"]["single"] == "once"


def test_the_forms_of_the_page_do_the_same(appliance: ServedAppliance) -> None:
    for path, form in (("mute", "on=true"), ("modes", "repeat=true&single=on"), ("crossfade", "seconds=3")):
        assert appliance.request(f"/do/player/{path}", form).status == 303
    now = appliance.player.now
    assert (now.muted, now.repeat, now.single, now.crossfade) == (True, True, Mode.ON, 3)


def test_capabilities_are_listed_and_others_refused_with_a_sentence(appliance: ServedAppliance) -> None:
    assert get_json(appliance, "")["capabilities"] == sorted(each.value for each in Capability)
    appliance.player.can = {Capability.VOLUME}
    assert get_json(appliance, "")["capabilities"] == ["volume"]
    for path, body in (
        ("/seek", {"seconds": 1}),
        ("/mute", {"on": True}),
        ("/crossfade", {"seconds": 1}),
        ("/replay-gain", {"gain": "off"}),
        ("/outputs/0", {"on": False}),
        ("/queue/move", {"id": 1, "to": 0}),
        ("/queue/shuffle", {}),
        ("/queue/save", {"name": "x"}),
        ("/update", {}),
        ("/partitions", {"name": "x"}),
    ):
        answer = appliance.request(f"{PLAYER}{path}", body)
        assert (answer.status, "this player cannot do that" in answer.json["error"]) == (409, True), path
    for path in ("/outputs", "/browse", "/artists", "/playlists", "/favourites", "/partitions", "/art?uri=a.ogg"):
        assert appliance.request(f"{PLAYER}{path}").status == 409, path


def test_seeking_stays_within_the_track(appliance: ServedAppliance) -> None:
    assert do(appliance, "/seek", {"seconds": "+10"})["player"]["elapsed"] == 71.0
    assert do(appliance, "/seek", {"seconds": "-100"})["player"]["elapsed"] == 0.0
    do(appliance, "/stop")
    answer = appliance.request(f"{PLAYER}/seek", {"seconds": "+10"})
    assert (answer.status, "nothing plays" in answer.json["error"]) == (409, True)


def test_a_track_is_played_by_its_id_at_any_position(appliance: ServedAppliance) -> None:
    do(appliance, "/queue/move", {"id": 2, "to": 0})
    assert do(appliance, "/play", {"id": 2})["player"]["track"]["position"] == 0
    assert appliance.request(f"{PLAYER}/play", {"id": 99}).json == {"error": "the track 99 is gone from the queue"}


def test_outputs_are_switched(appliance: ServedAppliance) -> None:
    assert [each["on"] for each in get_json(appliance, "/outputs")] == [True, False]
    assert [each["on"] for each in do(appliance, "/outputs/1", {"on": True})] == [True, True]
    assert appliance.request(f"{PLAYER}/outputs/7", {"on": True}).status == 409


def test_tracks_are_appended_inserted_next_or_replace_the_queue(appliance: ServedAppliance) -> None:
    first = get_json(appliance, "/queue")
    assert do(appliance, "/queue/add", {"uri": "Albums/Kind of Blue/1.ogg"}) == [
        {"name": "Albums/Kind of Blue/1.ogg", "position": 2, "count": 1}
    ]
    assert do(appliance, "/queue/add", {"album": "Kind of Blue", "where": "next"})[0]["position"] == 1
    assert labels(appliance) == ["Blue Train", "So What", "Blue in Green", "Moment's Notice", "So What"]
    assert get_json(appliance, "/queue")["version"] > first["version"]
    assert do(appliance, "/queue/add", {"artist": COLTRANE, "where": "replace", "play": True})[0]["count"] == 2
    assert (labels(appliance), appliance.player.now.playback) == (
        ["Blue Train", "Moment's Notice"],
        PlaybackState.PLAYING,
    )


@pytest.mark.parametrize(
    ("body", "result"),
    [
        ({"source": "album:Kind of Blue"}, ["So What", "Blue in Green"]),
        ({"source": "search:green"}, ["Blue in Green"]),
        ({"source": "playlist:Evening"}, ["Moment's Notice"]),
        ({"source": "groove"}, ["Groove"]),
        ({"source": "Albums/Kind of Blue/1.ogg"}, ["So What"]),
        ({"playlist": "Evening"}, ["Moment's Notice"]),
        ({"uri": "http://x.example/", "title": "X"}, ["X"]),
        ({"artist": "Miles Davis", "search": "what"}, ["So What"]),
    ],
)
def test_sources_are_named_in_many_ways(tmp_path: Path, body: Any, result: list[str]) -> None:
    with serving(configuration(tmp_path, stations=STATIONS)) as appliance:
        appliance.player.saved["Evening"] = [appliance.player.tracks[1]]
        do(appliance, "/queue/add", {**body, "where": "replace"})
        assert labels(appliance) == result


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        ({}, 400, f"nothing is named to play; write {FORMS}"),
        ({"source": ["a.ogg", "album:"]}, 422, f"nothing is named to play; write {FORMS}"),
        ({"album": "a", "title": "b"}, 422, "'title' needs 'uri'"),
        ({"uri": "a.ogg", "where": "nowhere"}, 400, "'where' must be one of end, next, replace"),
        ({"uri": "a.ogg", "play": 1}, 400, "'play' must be true or false"),
        ({"uri": "a\nstop"}, 400, "'uri' must be a line of 1 to 2000 characters"),
        ({"url": "a"}, 400, "add takes no 'url'; did you mean 'uri'?"),
        ({"source": "station:Grove"}, 404, "no station is called 'Grove'; did you mean 'Groove'?"),
        ({"uri": "nothing.ogg"}, 409, "the library has no 'nothing.ogg'; find it: pi-appliance music search"),
    ],
)
def test_an_invalid_source_leaves_the_queue_unchanged(tmp_path: Path, body: Any, status: int, sentence: str) -> None:
    with serving(configuration(tmp_path, stations=STATIONS)) as appliance:
        answer = appliance.request(f"{PLAYER}/queue/add", body)
        assert (answer.status, answer.json) == (status, {"error": sentence})
        assert labels(appliance) == ["Blue Train", "Moment's Notice"]


def test_the_queue_is_moved_thinned_shuffled_saved_and_cleared(appliance: ServedAppliance) -> None:
    do(appliance, "/queue/add", {"album": "Kind of Blue"})
    ids = [track["id"] for track in get_json(appliance, "/queue")["items"]]
    do(appliance, "/queue/move", {"id": ids[3], "to": 0})
    assert labels(appliance)[0] == "Blue in Green"
    assert do(appliance, "/queue/remove", {"ids": [ids[0], ids[2], 999]})["player"]["queue_length"] == 2
    assert labels(appliance) == ["Blue in Green", "Moment's Notice"]
    do(appliance, "/queue/save", {"name": "Evening"})
    answer = appliance.request(f"{PLAYER}/queue/save", {"name": "Evening"})
    assert (answer.status, answer.json) == (409, {"error": "there is a playlist 'Evening' already"})
    do(appliance, "/queue/shuffle")
    do(appliance, "/queue/save", {"name": "Evening", "replace": True})
    assert [each["name"] for each in get_json(appliance, "/playlists/Evening")["items"]] == [
        "Moment's Notice",
        "Blue in Green",
    ]
    assert do(appliance, "/queue/clear")["player"]["queue_length"] == 0


def test_thousands_of_tracks_are_removed_at_once_up_to_a_limit(appliance: ServedAppliance) -> None:
    assert (
        do(appliance, "/queue/remove", {"ids": list(range(2_000_000_000, 2_000_005_000))})["player"]["queue_length"]
        == 2
    )
    for ids in ([], list(range(5001)), [1.5], ["x"], "x", [True]):
        answer = appliance.request(f"{PLAYER}/queue/remove", {"ids": ids})
        assert (answer.status, answer.json["error"].startswith("'ids' must be a list of 1 to 5000, each a")) == (
            400,
            True,
        )
    assert appliance.request(f"{PLAYER}/queue/remove", {"ids": [1] * 60_000}).status == 413


def test_a_long_queue_is_paged(tmp_path: Path) -> None:
    tracks = [Track(uri=f"{number}.ogg", position=number, id=number) for number in range(1200)]
    with serving(configuration(tmp_path), ListMusic(ListPlayer(tracks))) as appliance:
        for start, count, ids in ((0, 500, (0, 499)), (700, 500, (700, 1199)), (1199, 5, (1199, 1199))):
            window = get_json(appliance, f"/queue?start={start}&count={count}")
            assert (window["items"][0]["id"], window["items"][-1]["id"], window["length"]) == (*ids, 1200)
        assert appliance.request(f"{PLAYER}/queue?count=5001").status == 400


def test_the_library_is_listed_by_tag_and_by_folder(appliance: ServedAppliance) -> None:
    def names(path: str) -> list[str]:
        return [each["name"] for each in get_json(appliance, path)["items"]]

    assert names("/artists") == [COLTRANE, "Miles Davis"]
    assert names("/albums?artist=Miles+Davis") == ["Kind of Blue"]
    assert names("/genres") == ["Jazz"]
    assert names("/search?words=BLUE+green") == ["Blue in Green"]
    assert names("/browse") == ["Albums", "Blue Train", "Moment's Notice"]
    assert names("/browse?folder=/Albums/") == ["Kind of Blue"]
    window = get_json(appliance, "/browse?folder=Albums/Kind+of+Blue&start=1&count=1")
    assert (window["start"], window["length"], window["more"]) == (1, 2, False)
    assert window["items"][0]["track"]["title"] == "Blue in Green"
    assert get_json(appliance, "/tracks?count=1")["more"] is True
    assert get_json(appliance, "/stats")["tracks"] == 4
    assert get_json(appliance, "/stats?folder=Albums")["tracks"] == 2
    assert names("/search?words=blue&words=green") == ["Blue in Green"]


def test_an_update_is_started_and_monitored(appliance: ServedAppliance) -> None:
    assert get_json(appliance, "/update") == {"updating": None, "folder": "", "tracks": 4}
    answer = appliance.request(f"{PLAYER}/update", {"folder": "Albums"})
    assert (answer.status, answer.json) == (202, {"updating": 1, "folder": "Albums", "tracks": 2})
    assert appliance.player.updated == ["Albums"]


def test_playlists_are_created_edited_renamed_and_deleted(appliance: ServedAppliance) -> None:
    def names() -> list[str]:
        return [each["name"] for each in get_json(appliance, "/playlists/To%20come?count=500")["items"]]

    do(appliance, "/playlists/To%20come/add", {"artist": "Miles Davis"})
    assert len(do(appliance, "/playlists/To%20come/add", {"uri": "a.ogg"})["items"]) == 3
    do(appliance, "/playlists/To%20come/move", {"position": 2, "to": 0})
    assert names() == ["Blue Train", "So What", "Blue in Green"]
    do(appliance, "/playlists/To%20come/remove", {"positions": [0, 2]})
    assert names() == ["So What"]
    assert do(appliance, "/playlists/To%20come/play")[0]["count"] == 1
    assert (labels(appliance), appliance.player.now.playback) == (["So What"], PlaybackState.PLAYING)
    do(appliance, "/playlists/To%20come/play", {"where": "end"})
    assert labels(appliance) == ["So What", "So What"]
    assert do(appliance, "/playlists/To%20come/rename", {"to": "Done"}) == {"playlist": "Done"}
    assert [each["name"] for each in get_json(appliance, "/playlists")["items"]] == ["Done"]
    do(appliance, "/playlists/Done", method="DELETE")
    for method, path in (("GET", "/playlists/Done"), ("DELETE", "/playlists/Done")):
        assert appliance.request(f"{PLAYER}{path}", method=method).json == {"error": "there is no playlist 'Done'"}


def test_ratings_are_stored_and_favourites_listed(appliance: ServedAppliance) -> None:
    rated = do(appliance, "/rate", {"uri": "a.ogg", "rating": 8})
    assert (rated["track"]["uri"], rated["rating"], rated["favourite"]) == ("a.ogg", 8, False)
    liked = do(appliance, "/like", {"track": "1"})
    assert (liked["track"]["uri"], liked["rating"], liked["favourite"]) == ("a.ogg", 8, True)
    assert do(appliance, "/rate", {"uri": "a.ogg", "rating": 0})["rating"] is None
    assert get_json(appliance, "/ratings?uri=a.ogg&uri=b.ogg") == {"a.ogg": {"rating": None, "favourite": True}}
    assert get_json(appliance, "")["favourite"] is True
    assert [each["name"] for each in get_json(appliance, "/favourites")["items"]] == ["Blue Train"]
    assert do(appliance, "/unlike")["favourite"] is False
    for body in ({"uri": "a.ogg"}, {"uri": "a.ogg", "rating": 11}, {"uri": "a.ogg", "track": "1", "rating": 3}):
        assert appliance.request(f"{PLAYER}/rate", body).status == 400


def test_partitions_are_created_used_and_deleted(appliance: ServedAppliance) -> None:
    assert do(appliance, "/partitions", {"name": "garden"}) == [
        {"name": "default", "current": True},
        {"name": "garden", "current": False},
    ]
    assert do(appliance, "/partitions/garden/use")["player"]["partition"] == "garden"
    assert appliance.request(f"{PLAYER}/partitions/gardn/use", {}).status == 404
    assert do(appliance, "/partitions/garden", method="DELETE") == [{"name": "default", "current": True}]
    assert get_json(appliance, "")["player"]["partition"] == "default"


def test_stations_are_added_edited_removed_and_restored(tmp_path: Path) -> None:
    with serving(configuration(tmp_path, stations=STATIONS)) as appliance:

        def ask(path: str, body: Any = None, method: str = "") -> Any:
            return appliance.request(f"/api/v1/stations{path}", body, method=method)

        def names() -> list[str]:
            return [each["name"] for each in ask("").json]

        new = {"name": "Mine", "url": "http://mine.example/", "check": False}
        assert ask("", new).status == 201
        assert ask("", new).json == {"error": "there is a station 'Mine' already; choose another name, or edit it"}
        assert names() == ["Mine", "Groove", "R&B <1>"]
        assert ask("/groove", {**new, "name": "Groovy"}, "PATCH").json["name"] == "Groovy"
        assert ask("/R%26B%20%3C1%3E", method="DELETE").json == {"removed": "R&B <1>"}
        assert names() == ["Mine", "Groovy"]
        (groovy,) = ask("?start=1&count=1").json
        expected = {"name": "Groovy", "url": "http://mine.example/", "genre": "Jazz", "custom": True}
        assert groovy.items() >= {**expected, "overrides": "Groove"}.items()
        assert [each["name"] for each in ask("/removed").json] == ["Groove", "R&B <1>"]
        assert ask("/Groove/restore", {}).json["url"] == "http://radio.example/groove"
        assert names() == ["Mine", "Groove"]
        assert (
            appliance.request(f"{PLAYER}/play-station", {"station": "mine"}).json["player"]["track"]["title"] == "Mine"
        )
        assert appliance.request(f"{PLAYER}/play-station", {"station": "nobody"}).status == 404
        assert ask("", {"name": "X", "url": "http://127.0.0.1:9/x"}).status == 409
        assert (tmp_path / "stations.yaml").read_text() == STATIONS
        assert "Mine" in appliance.request("/").text
