"""What stands before every page: foreign names, foreign sites, long bodies, and what browsers are told."""

import socket

import pytest

from pi_appliance.music.model import PlaybackState
from tests.web.served_appliance import World

ANNOUNCED = f"{socket.gethostname().partition('.')[0]}-appliance.local"
OURS = ["localhost", "127.0.0.1:8080", "[::1]:8080", "192.168.1.20:8080", "[fe80::1]", socket.gethostname(), ANNOUNCED]
FOREIGN = [
    "evil.example",
    f"{socket.gethostname()}.evil.example",
    f"{ANNOUNCED}.evil.example",
    f"evil-{ANNOUNCED}",
    "127.0.0.1.evil.example",
    "localhost@evil.example",
    "localhost:99999",
    "",
]


@pytest.mark.parametrize("host", [*OURS, f"{socket.gethostname()}.local:80", f"{socket.gethostname().upper()}.LAN"])
def test_our_own_names_are_answered(world: World, host: str) -> None:
    assert world.ask("/", Host=host).status == 200


@pytest.mark.parametrize("host", FOREIGN)
def test_a_foreign_name_is_refused_before_anything_is_shown(world: World, host: str) -> None:
    for path in ("/", "/health", "/api/v1/state", "/static/style.css"):
        answer = world.ask(path, Host=host)
        assert answer.status == 421
        assert "does not have that name" in answer.text


FROM_ELSEWHERE = [
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://["},
    {"Origin": "http://127.0.0.1:1"},
    {"Sec_Fetch_Site": "cross-site"},
    {"Sec_Fetch_Site": "same-site"},
]


@pytest.mark.parametrize("headers", FROM_ELSEWHERE, ids=str)
@pytest.mark.parametrize("path", ["/do/player/pause", "/api/v1/player/pause", "/do/jobs/hello/run", "/sign-in"])
def test_a_form_on_another_site_does_nothing(world: World, path: str, headers: dict[str, str]) -> None:
    answer = world.ask(path, "", **headers)
    assert (answer.status, world.player.now.playback) == (403, PlaybackState.PLAYING)
    assert world.ask("/api/v1/runs").json == []


def test_our_own_form_is_taken(world: World) -> None:
    answer = world.ask("/do/player/pause", "", Origin=world.origin, Sec_Fetch_Site="same-origin")
    assert (answer.status, answer.headers["location"], world.player.now.playback) == (303, "/", PlaybackState.PAUSED)


def test_other_methods_change_nothing_either(world: World) -> None:
    assert world.ask("/do/player/pause").status == 405
    assert world.ask("/api/v1/player/pause", method="PUT", Origin="http://evil.example").status == 403
    assert world.player.now.playback is PlaybackState.PLAYING


@pytest.mark.parametrize("path", ["/", "/nowhere", "/api/v1/state", "/static/home.js", "/health", "/sign-in"])
def test_every_answer_tells_the_browser_to_be_strict(world: World, path: str) -> None:
    headers = world.ask(path).headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["date"].endswith("GMT")
    assert "server" not in headers


@pytest.mark.parametrize("path", ["/do/player/volume", "/api/v1/player/volume"])
def test_a_long_body_is_refused(world: World, path: str) -> None:
    answer = world.ask(path, "volume=" + "1" * 20_000)
    assert answer.status == 413
    assert world.player.now.volume == 40


def test_no_page_has_a_script_or_a_style_within(world: World) -> None:
    for path in ("/", "/jobs/hello", "/reports", "/nowhere"):
        text = world.ask(path).text
        assert "style=" not in text
        assert "<style" not in text
        assert " on" not in "".join(part.split(">")[0] for part in text.split("<button")[1:])
        assert text.count("<script") == text.count('<script type="module" src="/static/')


@pytest.mark.parametrize("body", ["volume", "a=1&" * 30 + "a=1", "\x00"])
def test_what_is_no_form_is_told(world: World, body: str) -> None:
    answer = world.ask("/do/player/volume", body)
    assert (answer.status, "send fields as name=value" in answer.text) == (400, True)
