"""The fake Volumio with pyvolumio, the client of Home Assistant for the real one."""

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest
from pyvolumio import CannotConnectError, Volumio

from tests.fakes.http_recorder import http_recorder
from tests.fakes.volumio_box import Box
from tests.fakes.volumio_library import MORNING, PICTURE, SONGS, Library
from tests.fakes.volumio_server import VolumioServer
from tests.installation import wait_until
from tests.music.volumio.volumio_helpers import Clock, clock, server

T = TypeVar("T")
__all__ = ["clock", "server"]


def call_player(server: VolumioServer, question: Callable[[Volumio], Awaitable[T]]) -> T:
    async def call() -> T:
        client = Volumio("127.0.0.1", server.port)
        try:
            return await question(client)
        finally:
            await client.close()

    return asyncio.run(call())


def fetch(
    server: VolumioServer, path: str, method: str = "GET", data: Any = None, kind: str = "application/json"
) -> Any:
    """Return the answer to one request: JSON, else text or bytes."""
    body = None if data is None else json.dumps(data).encode()
    request = urllib.request.Request(f"http://{server.address}{path}", body, {"Content-Type": kind}, method=method)
    with urllib.request.urlopen(request, timeout=5) as answer:
        raw = answer.read()
        return json.loads(raw) if answer.headers.get_content_type() == "application/json" else raw


def test_the_client_uses_every_feature_of_the_fake(server: VolumioServer, clock: Clock) -> None:
    async def all_of_it(client: Volumio) -> None:
        assert (await client.get_system_version())["hardware"] == "pi"
        assert (await client.get_system_info())["name"] == "Volumio"
        assert await client.get_playlists() == list(server.box.library.playlists)
        await client.play_playlist(MORNING)
        clock.now += 30
        state = await client.get_state()
        assert (state["status"], state["title"], state["seek"], state["duration"]) == ("play", "One", 30_000, 100)
        assert [item["name"] for item in (await client.get_queue())["queue"]] == ["One", "Alone"]
        await client.next()
        assert (await client.get_state())["position"] == 1
        await client.previous()
        await client.pause()
        assert (await client.get_state())["status"] == "pause"
        await client.play()
        await client.stop()
        assert (await client.get_state())["status"] == "stop"
        await client.set_volume_level(30)
        await client.volume_up()
        await client.volume_down()
        await client.mute()
        state = await client.get_state()
        assert (state["volume"], state["mute"]) == (30, True)
        await client.unmute()
        await client.set_shuffle(True)
        server.box.single = True
        await client.repeatAll(True)
        state = await client.get_state()
        assert (state["random"], state["repeat"], state["repeatSingle"], state["mute"]) == (True, True, False, False)
        await client.clear_playlist()
        assert (await client.get_queue())["queue"] == []
        top = await client.browse()
        assert "music-library" in [source["uri"] for source in top["lists"]]
        (albums,) = (await client.browse("albums://"))["lists"]
        assert [item["title"] for item in albums["items"]] == ["Ünï", "Blue", "Solo"]
        await client.replace_and_play(albums["items"][1])
        assert (await client.get_state())["title"] == "One"
        assert client.canonic_url((await client.get_state())["albumart"]).startswith(
            f"http://{server.address}/albumart"
        )

    call_player(server, all_of_it)
    assert server.count("GET commands/clearQueue") == 1


def test_the_client_notices_when_volumio_disappears_and_returns(server: VolumioServer) -> None:
    server.kill()
    with pytest.raises(CannotConnectError):
        call_player(server, lambda client: client.get_state())
    server.start()
    assert call_player(server, lambda client: client.get_state())["status"] == "stop"


def test_an_empty_volumio_has_another_state_format(server: VolumioServer) -> None:
    state = fetch(server, "/api/v1/getState")
    assert not {"trackType", "stream", "volatile"} & state.keys()
    assert (state["Streaming"], state["albumart"], state["service"]) == (False, "/albumart", "mpd")
    assert (state["random"], state["repeat"]) == (None, None)
    call_player(server, lambda client: client.play_playlist(MORNING))
    state = fetch(server, "/api/getState")  # the router mounts itself
    assert (state["stream"], state["trackType"], state["volatile"]) == ("mp3", "mp3", False)


def test_success_is_reported_regardless_of_the_result(server: VolumioServer) -> None:
    for command in ("play", "play&N=9", "next", "playplaylist&name=none", "volume&volume=loud"):
        answer = fetch(server, f"/api/v1/commands/?cmd={command}")
        assert answer["response"] == f"{command.partition('&')[0]} Success"
    assert fetch(server, "/api/v1/commands?cmd=dance") == {"Error": "command not recognized"}
    assert server.box.state()["status"] == "stop"


def test_a_post_must_be_json_and_an_unknown_song_is_ignored(server: VolumioServer) -> None:
    one = {"uri": "music-library/USB/Blue/one.mp3", "service": "mpd"}
    refused = fetch(server, "/api/v1/addToQueue", "POST", one, "text/plain")
    assert refused == {"error": "Request type must be application/json"}
    nothing = {"uri": "music-library/USB/none.mp3"}
    assert fetch(server, "/api/v1/addToQueue", "POST", nothing) == {"response": "success"}
    assert server.box.queue == []
    assert fetch(server, "/api/v1/addToQueue", "POST", {"uri": "artists://None"}) == {"error": {}}
    for _ in range(2):  # items at the end of the queue are not added again
        assert fetch(server, "/api/v1/addToQueue", "POST", [one]) == {"response": "success"}
    assert [item["uri"] for item in server.box.queue] == ["mnt/USB/Blue/one.mp3"]
    fetch(server, "/api/v1/addPlay", "POST", {"uri": "genres://Rock", "service": "mpd"})
    assert (len(server.box.queue), server.box.position) == (3, 1)
    fetch(server, "/api/v1/replaceAndPlay", "POST", {"list": [one, {"uri": "music-library/NAS"}], "index": 1})
    assert (server.box.state()["title"], len(server.box.queue)) == ("Alone", 2)
    fetch(server, "/api/v1/replaceAndPlay", "POST", {"uri": f"playlists/{MORNING}", "title": MORNING})
    assert [item["name"] for item in server.box.queue] == ["One", "Alone"]


def test_toggle_stops_the_radio_and_pauses_a_track(server: VolumioServer) -> None:
    radio = {"uri": "http://127.0.0.1:9/fm", "service": "webradio", "title": "FM"}
    fetch(server, "/api/v1/replaceAndPlay", "POST", radio)
    state = fetch(server, "/api/v1/getState")
    assert (state["trackType"], state["stream"], state["duration"], state["title"]) == ("webradio", "webradio", 0, "FM")
    fetch(server, "/api/v1/commands/?cmd=toggle")
    assert server.box.status == "stop"
    call_player(server, lambda client: client.play_playlist(MORNING))
    fetch(server, "/api/v1/commands/?cmd=toggle")
    assert server.box.status == "pause"


def test_the_clock_advances_from_track_to_track(server: VolumioServer, clock: Clock) -> None:
    call_player(server, lambda client: client.play_playlist(MORNING))
    fetch(server, "/api/v1/commands?cmd=seek&position=90")
    clock.now += 12
    state = fetch(server, "/api/v1/getState")
    assert (state["title"], state["seek"]) == ("Alone", 2_000)
    fetch(server, "/api/v1/commands?cmd=seek&position=plus")
    assert fetch(server, "/api/v1/getState")["seek"] == 12_000
    clock.now += 60
    assert fetch(server, "/api/v1/getState")["status"] == "stop"


def test_other_routes_answer_as_listed(server: VolumioServer) -> None:
    assert fetch(server, "/api/v1/ping") == b"pong"
    stats = fetch(server, "/api/v1/collectionstats")
    assert stats == {"artists": 3, "albums": 3, "songs": len(SONGS), "playtime": "0:11:20"}
    (zone,) = fetch(server, "/api/v1/getzones")["zones"]
    assert zone["isSelf"]
    result = fetch(server, "/api/v1/search?query=one")["navigation"]
    assert result["isSearchResult"]
    assert [item["title"] for part in result["lists"] for item in part["items"]] == ["One", "Alone"]
    assert fetch(server, "/api/v1/search") == {"error": "No search query provided"}
    assert fetch(server, "/api/v1/browse?uri=nowhere") == {"error": "No Result"}
    assert fetch(server, "/api/v1/pluginEndpoint")["success"] is False
    assert fetch(server, "/albumart?web=AC%2FDC/Blue/large&path=%2Fmnt%2FUSB%2FBlue") == PICTURE
    with pytest.raises(urllib.error.HTTPError, match="404"):
        fetch(server, "/api/v1/favourites")


def test_push_addresses_are_notified_and_forgotten(server: VolumioServer) -> None:
    path = "/api/v1/pushNotificationUrls"
    with http_recorder() as recorder:
        url = {"url": f"http://{recorder.address}/heard"}
        assert fetch(server, path) == b"[]", "text, while there is none"
        assert fetch(server, path, "POST", url) == {"success": True}
        assert fetch(server, path, "POST", url) == {"error": "URL already present"}
        assert fetch(server, path) == [url["url"]]
        call_player(server, lambda client: client.set_volume_level(12))
        wait_until(lambda: recorder.requests)
        assert (recorder.requests[0].json["item"], recorder.requests[0].json["data"]["volume"]) == ("state", 12)
        assert fetch(server, path, "DELETE", url) == {"success": True}
        assert fetch(server, path, "DELETE", url) == {"error": "No such URL is present"}
        fetch(server, path, "POST", url)
        server.kill()
        server.start()
        assert fetch(server, path) == b"[]"
        assert server.box.volume == 12, "that is on its card"


def test_the_fake_works_without_a_socket(clock: Clock) -> None:
    pushes: list[str] = []
    box = Box(Library(), clock)
    box.push = lambda item, _data: pushes.append(item)
    box.play_playlist(MORNING)
    assert "queue" in pushes
    clock.now += 101
    assert box.state()["position"] == 1
