"""Every route requires the password, and no input causes an exception."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Route

from tests.web.served_appliance import ServedAppliance, configuration, serving
from tests.web.test_openapi import JOBS, STATIONS, document

FREE = {"/health", "/sign-in"}  # and /static, and invitations
HALF = "half a character: \ud800"


def routes(appliance: ServedAppliance) -> Iterator[tuple[str, str]]:
    """Yield every method and address, with placeholders filled in."""
    for route in appliance.service.routes:
        assert isinstance(route, Route)
        for method in route.methods or ():
            yield method, re.sub(r"{\w+(:\w+)?}", "1", route.path)


def test_no_route_works_without_the_password(locked: ServedAppliance) -> None:
    before, looked = locked.player.now, 0
    for method, path in routes(locked):
        if path in FREE or path.startswith(("/static/", "/join/")):
            continue
        looked += 1
        answer = locked.request(path, None if method in ("GET", "HEAD") else {}, method=method)
        if path.startswith("/hooks/"):  # its secret takes the place of the password
            assert answer.status == 404, (method, path)
            continue
        if path == "/cluster/join":  # a proof of its code does
            assert answer.status == 403, (method, path)
            continue
        api = path.startswith("/api/") or path in ("/events", "/metrics")
        assert answer.status == (401 if api else 303), (method, path)
        assert api or answer.headers["location"].startswith("/sign-in"), (method, path)
    assert looked > 150
    assert locked.player.now == before


def test_no_changing_route_works_from_other_sites(appliance: ServedAppliance) -> None:
    before = appliance.player.now
    for method, path in routes(appliance):
        if method not in ("GET", "HEAD"):
            assert appliance.request(path, {}, method=method, Origin="http://evil.example").status == 403, (
                method,
                path,
            )
    assert appliance.player.now == before


@pytest.fixture(scope="module")
def endpoints(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    return document(tmp_path_factory.mktemp("rows"))[1]


def test_a_lone_surrogate_is_a_wrong_value_everywhere_and_changes_nothing(tmp_path: Path, endpoints: list[Any]) -> None:
    with serving(configuration(tmp_path, stations=STATIONS, jobs=JOBS)) as appliance:
        for each in endpoints:
            path = re.sub(r"{(\w+)(:\w+)?}", lambda result, each=each: str(each.example[result[1]]), each.path)
            for key in each.body if each.method != "GET" else ():
                names = re.findall(r"{(\w+)", each.path)
                payload = {name: value for name, value in each.example.items() if name not in names}
                answer = appliance.request(f"/api/v1{path}", {**payload, key.name: HALF}, method=each.method)
                assert answer.status == 400, (path, key.name, answer.text)
                assert "must be" in answer.json["error"] or key.name in answer.json["error"]
        for path in ("/player/playlists", "/player/favourites", "/player/partitions", "/stations", "/sleep", "/alarms"):
            assert appliance.request(f"/api/v1{path}").status == 200, path


@pytest.mark.parametrize(
    "body",
    [
        '{"volume": ' + "9" * 10_000 + "}",
        '{"volume": NaN}',
        '{"volume": -Infinity}',
        '{"volume": 1e999}',
        '{"volume": ' + "[" * 8_000,
        '{"volume": ' + '{"a":' * 2_500 + "1" + "}" * 2_501,
        '{"volume": 10, "volume": []}',
        '{"\\ud800": 1}',
        '"volume"',
        "[]",
        "\ufeff[]",
        '{"volume": true}',
    ],
    ids=range(12),
)
def test_invalid_json_or_volumes_are_reported_in_a_sentence(appliance: ServedAppliance, body: str) -> None:
    answer = appliance.request("/api/v1/player/volume", body)
    assert (answer.status, "\n" in answer.json["error"], appliance.player.now.volume) == (400, False, 40)


def test_a_number_of_ten_thousand_digits_is_refused(appliance: ServedAppliance) -> None:
    for path in ("player/outputs", "runs"):
        answer = appliance.request(f"/api/v1/{path}/{'9' * 10_000}", {} if "outputs" in path else None)
        assert (answer.status, answer.json) == (404, {"error": "there is no such address; see docs/web.md"})
