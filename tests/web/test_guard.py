"""The checks before every page: host names, origins, body sizes, and security headers."""

import socket
from itertools import product

import pytest

from pi_appliance.music.model import PlaybackState
from tests.web.served_appliance import ServedAppliance

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


def test_our_own_host_names_are_answered(appliance: ServedAppliance) -> None:
    for host in (*OURS, f"{socket.gethostname()}.local:80", f"{socket.gethostname().upper()}.LAN"):
        assert appliance.request("/", Host=host).status == 200, host


def test_a_foreign_host_name_is_refused(appliance: ServedAppliance) -> None:
    for host, path in product(FOREIGN, ("/", "/health", "/api/v1/state", "/static/style.css")):
        answer = appliance.request(path, Host=host)
        assert answer.status == 421, (host, path)
        assert "does not have that name" in answer.text, (host, path)


FROM_ELSEWHERE = [
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://["},
    {"Origin": "http://127.0.0.1:1"},
    {"Sec_Fetch_Site": "cross-site"},
    {"Sec_Fetch_Site": "same-site"},
]


@pytest.mark.parametrize("path", ["/do/player/pause", "/api/v1/player/pause", "/do/jobs/hello/run", "/sign-in"])
def test_a_form_of_another_site_does_nothing(appliance: ServedAppliance, path: str) -> None:
    for headers in FROM_ELSEWHERE:
        answer = appliance.request(path, "", **headers)
        assert (answer.status, appliance.player.now.playback) == (403, PlaybackState.PLAYING), headers
        assert appliance.request("/api/v1/runs").json == [], headers


def test_our_own_form_is_accepted(appliance: ServedAppliance) -> None:
    answer = appliance.request("/do/player/pause", "", Origin=appliance.origin, Sec_Fetch_Site="same-origin")
    assert (answer.status, answer.headers["location"], appliance.player.now.playback) == (
        303,
        "/",
        PlaybackState.PAUSED,
    )


def test_other_methods_change_nothing(appliance: ServedAppliance) -> None:
    assert appliance.request("/do/player/pause").status == 405
    assert appliance.request("/api/v1/player/pause", method="PUT", Origin="http://evil.example").status == 403
    assert appliance.player.now.playback is PlaybackState.PLAYING


@pytest.mark.parametrize("path", ["/", "/nowhere", "/api/v1/state", "/static/default_page.js", "/health", "/sign-in"])
def test_every_answer_has_strict_security_headers(appliance: ServedAppliance, path: str) -> None:
    headers = appliance.request(path).headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["date"].endswith("GMT")
    assert "server" not in headers


@pytest.mark.parametrize("path", ["/do/player/volume", "/api/v1/player/volume"])
def test_a_long_body_is_refused(appliance: ServedAppliance, path: str) -> None:
    answer = appliance.request(path, "volume=" + "1" * 20_000)
    assert answer.status == 413
    assert appliance.player.now.volume == 40


def test_no_page_has_an_inline_script_or_style(appliance: ServedAppliance) -> None:
    for path in ("/", "/jobs/hello", "/reports", "/nowhere"):
        text = appliance.request(path).text
        assert "style=" not in text
        assert "<style" not in text
        assert " on" not in "".join(part.split(">")[0] for part in text.split("<button")[1:])
        assert text.count("<script") == text.count('<script type="module" src="/static/')


@pytest.mark.parametrize("body", ["volume", "a=1&" * 70 + "a=1", "\x00"])
def test_an_invalid_form_is_reported(appliance: ServedAppliance, body: str) -> None:
    answer = appliance.request("/do/player/volume", body)
    assert (answer.status, "send fields as name=value" in answer.text) == (400, True)
