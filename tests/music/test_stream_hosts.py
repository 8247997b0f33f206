"""Addresses of this machine cannot be added over the network, unless the owner allows them."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.web.served_appliance import ServedAppliance, configuration, serving

PLAYER = "/api/v1/player"
ALLOWED = "http://localhost:8000/radio"


@pytest.fixture
def appliance(tmp_path: Path) -> Iterator[ServedAppliance]:
    config = configuration(tmp_path)
    config.write_text(config.read_text("utf-8") + "\nradio: {local-hosts: ['localhost:8000']}\n", "utf-8")
    with serving(config) as running:
        yield running


@pytest.mark.parametrize(
    "uri",
    [
        "http://127.0.0.1:8080/api/v1/status",
        "http://localhost/",
        "http://user:pw@localhost:8000@127.0.0.1/",
        "http://2130706433/",  # the same number, as curl reads it, too
        "http://127.1/",
        "http://[::1]:6600/",
        "http://[::ffff:127.0.0.1]/",
        "http://0.0.0.0/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[fe80::1]/",
        "smb://127.0.0.1/share/song.mp3",
        "http://localhost:8001/",
    ],
)
def test_an_address_of_this_machine_is_refused_from_the_network(uri: str, appliance: ServedAppliance) -> None:
    requests = (
        (f"{PLAYER}/queue/add", {"source": [uri]}),
        (f"{PLAYER}/queue/add", {"uri": uri, "title": "A song"}),
        (f"{PLAYER}/play-now", {"source": [uri]}),
        ("/api/v1/stations", {"name": "Mine", "url": uri, "check": False}),
        ("/api/v1/alarms", {"time": "07:00", "play": [uri]}),
    )
    for path, body in requests:
        answer = appliance.request(path, body)
        assert answer.status == 409, (path, answer.text)
        assert "leads to this machine" in answer.json["error"], path
        assert "local-hosts" in answer.json["error"], path


@pytest.mark.parametrize("is_redirect", [False, True])
def test_a_list_or_a_redirect_that_leads_to_this_machine_is_refused(
    appliance: ServedAppliance, is_redirect: bool
) -> None:
    asked = list[str]()

    class Elsewhere(BaseHTTPRequestHandler):
        """An allowed server, and one on another port that is not allowed."""

        def log_message(self, *_: object) -> None:
            """Print nothing."""

        def do_GET(self) -> None:
            asked.append(self.headers["Host"])
            self.send_response(302 if is_redirect else 200)
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/inside")  # type: ignore[attr-defined]
            self.send_header("Content-Type", "audio/x-mpegurl")
            self.end_headers()
            self.wfile.write(b"http://169.254.169.254/latest\n")

    server = ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}).start()
    place = f"localhost:{server.server_port}"
    try:
        appliance.daemon.appliance.config.radio.local_hosts.append(place)
        uri = f"http://{place}/list.m3u"
        for path, body in (
            ("/api/v1/stations", {"name": "Mine", "url": uri}),
            (f"{PLAYER}/queue/add", {"source": [uri]}),
            ("/api/v1/stations", {"name": "Unchecked", "url": uri, "check": False}),
            (f"{PLAYER}/play-station", {"station": "Unchecked"}),
            (f"{PLAYER}/queue/add", {"source": ["Unchecked"]}),
        ):
            answer = appliance.request(path, body)
            if body.get("check") is False:
                assert answer.status < 300
            else:
                assert answer.status == 409, (path, answer.text)
                assert "leads to this machine" in answer.json["error"]
        assert set(asked) == {place}, "no other server was asked"
    finally:
        server.shutdown()
        server.server_close()


def test_other_addresses_and_allowed_ones_are_added(appliance: ServedAppliance) -> None:
    sources = [ALLOWED, "http://192.0.2.7:8000/stream"]
    answer = appliance.request(f"{PLAYER}/queue/add", {"source": sources})
    assert answer.status == 200, answer.text
    station = appliance.request("/api/v1/stations", {"name": "Mine", "url": ALLOWED, "check": False})
    assert station.status < 300, station.text
