"""Addresses of this machine cannot be added over the network, unless the owner allows them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.web.served_appliance import ServedAppliance, configuration, served

PLAYER = "/api/v1/player"
ALLOWED = "http://localhost:8000/radio"


@pytest.fixture
def appliance(tmp_path: Path) -> Iterator[ServedAppliance]:
    config = configuration(tmp_path)
    config.write_text(config.read_text("utf-8") + "\nradio: {local-hosts: ['localhost:8000']}\n", "utf-8")
    with served(config) as running:
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
        answer = appliance.ask(path, body)
        assert answer.status == 409, (path, answer.text)
        assert "leads to this machine" in answer.json["error"], path
        assert "local-hosts" in answer.json["error"], path


def test_other_addresses_and_allowed_ones_are_added(appliance: ServedAppliance) -> None:
    sources = [ALLOWED, "http://192.0.2.7:8000/stream"]
    answer = appliance.ask(f"{PLAYER}/queue/add", {"source": sources})
    assert answer.status == 200, answer.text
    station = appliance.ask("/api/v1/stations", {"name": "Mine", "url": ALLOWED, "check": False})
    assert station.status < 300, station.text
