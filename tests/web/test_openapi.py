"""The OpenAPI document is valid and complete, and its examples work as documented."""

import contextlib
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import jsonschema
import pytest

from pi_appliance.app import operations
from pi_appliance.music.api_events import PlayerEvents
from pi_appliance.music.covers import Covers
from pi_appliance.music.model import CoverArt
from pi_appliance.music.player_hub import MusicServices
from pi_appliance.puzzles.puzzle_job import Options, run
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.scheduling.child_runs import ChildRuns
from pi_appliance.system import clock
from pi_appliance.web import openapi
from tests.fakes.context import FakeContext
from tests.music.usb.usb_fixtures import FakeUsbDrives
from tests.web.list_player import ListMusic, ListPlayer
from tests.web.served_appliance import FakeDaemon, ServedAppliance, configuration, job, serving
from tests.web.test_art import draw_picture

STATIONS = '- {name: Groove, url: "http://radio.example/groove"}\n- {name: Quiet, url: "http://q.example/"}\n'
MUSIC = """
  wake: {kind: music, schedule: "45 6 * * *", with: {action: alarm, play: [fip]}}
  sleep: {kind: music, with: {action: sleep}}
  announce: {kind: music, with: {action: announce}}
"""
PUZZLES = "  numbers: {kind: puzzle, with: {puzzle: sudoku}}\n"
TWEETS = """
  tweets: {kind: tweet, with: {lines: tweets.txt, network: show}}
networks:
  show: {kind: preview}
"""
JOBS = job("hello", "print('good morning')") + job("daily", "", "    schedule: '@daily'\n") + MUSIC + PUZZLES + TWEETS
STREAM = "/player/events"


def document(folder: Path) -> tuple[Any, list[Any]]:
    with Appliance.open(configuration(folder)) as appliance:
        daemon = FakeDaemon(appliance, ListMusic(ListPlayer()), ChildRuns(appliance.config.path))
        changes = PlayerEvents(daemon, lambda: 0.0)
        covers = Covers(lambda: daemon.hub, changes)
        endpoints = operations(MusicServices(daemon, clock.now), changes, covers, daemon.authenticator)
        return openapi.document(endpoints, has_password=False), endpoints


@pytest.fixture(scope="module")
def api_document(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return document(tmp_path_factory.mktemp("document"))[0]


@pytest.fixture(scope="module")
def endpoints(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    return document(tmp_path_factory.mktemp("rows"))[1]


@pytest.mark.slow
def test_the_document_is_valid(api_document: Any) -> None:
    from openapi_spec_validator import OpenAPIV31SpecValidator  # noqa: PLC0415 - half a second, for this test alone

    OpenAPIV31SpecValidator(api_document).validate()


def test_the_document_is_served(appliance: ServedAppliance, api_document: Any) -> None:
    assert appliance.request("/api/v1/openapi.json").json == api_document


def test_the_document_asks_for_the_password_if_there_is_one(locked: ServedAppliance, api_document: Any) -> None:
    authorized = locked.request("/api/v1/openapi.json", Authorization="Bearer open sesame").json
    assert authorized["security"] == [{"password": []}]
    assert api_document["security"] == [{"password": []}, {}]


def test_every_route_is_documented(appliance: ServedAppliance, api_document: Any) -> None:
    result = set()
    for route in appliance.service.routes:
        path = getattr(route, "path", "")
        if path.startswith("/api/") and path != "/api/v1/player/{command}":  # it only refuses
            methods = set(getattr(route, "methods", None) or ()) - {"HEAD"}
            result |= {(openapi.plain_path(path.removeprefix("/api/v1")), method.lower()) for method in methods}
    assert result == {(path, method) for path, by_method in api_document["paths"].items() for method in by_method}


def prepare(appliance: ServedAppliance) -> None:
    """Create everything that the examples use."""
    (appliance.daemon.appliance.config.path.parent / "tweets.txt").write_text("One.\nTwo.\n")
    player = appliance.player
    player.saved = {"Evening": list(player.tracks)}
    player.pictures["a.ogg"] = CoverArt(data=draw_picture(), mime="image/png")
    player.rooms.append("garden")
    appliance.daemon.usb_drives = FakeUsbDrives("MUSIC")
    appliance.request("/api/v1/stations/Quiet", method="DELETE")
    appliance.request("/api/v1/jobs/daily/pause", {})
    appliance.request("/api/v1/alarms/skip", {})
    appliance.request("/api/v1/alarms/once", {"at": "06:00"})
    appliance.request("/api/v1/sleep", {"in": "10m"})
    appliance.daemon.appliance.store.requests.save_checkpoint("wake", "ringing", now=clock.now())


def record_runs(appliance: ServedAppliance) -> None:
    """Run two jobs, of which one has a report."""
    reports = appliance.daemon.appliance.config.reports
    run(Options(puzzle="sudoku", boards=[Path("sample")]), FakeContext(reports / "numbers", job="numbers"))
    appliance.request("/api/v1/jobs/hello/run", {})
    appliance.wait_until(lambda: not appliance.daemon.runs.is_running("hello"))


# Operations that this installation cannot do, and their errors.
NOES = {
    ("POST", "/jobs/{name}/cancel"): 409,
    **{("POST", f"/jobs/{{name}}/{x}"): 409 for x in ("skip", "unskip", "dismiss")},
    **{("POST", f"/posts/{{post}}/{x}"): 404 for x in ("resolve", "resend", "drop")},
    ("POST", "/networks/{network}/login"): 409,  # it needs no secrets
    ("POST", "/player/check"): 503,
    ("POST", "/sound/cards/{id}/use"): 404,  # there is no sound card
    ("DELETE", "/alarms/{job}"): 409,  # it rings
    ("POST", "/config/history/{name}"): 404,
    ("POST", "/system/backups/{name}/restore"): 404,
    ("POST", "/cluster/start"): 409,  # the page is for this machine alone
    ("POST", "/cluster/join"): 422,  # the code is cut short
    ("POST", "/system/update"): 409,  # it runs from a clone
    ("POST", "/system/update/check"): 409,
    **{("POST", f"/system/wifi/{x}"): 409 for x in ("join", "forget")},  # there is no NetworkManager
    ("POST", "/system/wifi/hotspot"): 409,  # the page listens on this machine only
    ("DELETE", "/devices/{device}"): 404,
    ("POST", "/invitations"): 409,  # there is no password
}


def test_every_example_works_and_its_answer_matches_the_schema(tmp_path: Path, api_document: Any) -> None:
    paths = {path: by_method for path, by_method in api_document["paths"].items() if path != STREAM}
    reads = [(path, "get", by_method["get"]) for path, by_method in paths.items() if "get" in by_method]
    writes = [(path, *each) for path, by_method in paths.items() for each in by_method.items() if each[0] != "get"]
    assert len(reads) + len(writes) > 50
    checked = jsonschema.Draft202012Validator(api_document)
    with Appliances(tmp_path) as appliances:
        record_runs(appliances.current())
        for path, method, operation in (*reads, *writes):
            try:
                check(appliances.current(), checked, path, method.upper(), operation)
            except AssertionError:  # an earlier request has deleted its subject, or has set a password
                check(appliances.renewed(), checked, path, method.upper(), operation)
        assert appliances.count < 15, "it is the exception"


class Appliances(contextlib.ExitStack):
    """Appliances that are prepared for the examples, one at a time."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder, self.count = folder, 0
        self._current: ServedAppliance | None = None

    def current(self) -> ServedAppliance:
        """Return the appliance of the requests before."""
        return self._current or self.renewed()

    def renewed(self) -> ServedAppliance:
        """Return a new appliance."""
        self.close()
        self.count += 1
        config = configuration(self.folder / str(self.count), jobs=JOBS, stations=STATIONS)
        self._current = self.enter_context(serving(config))
        prepare(self._current)
        return self._current


def check(
    appliance: ServedAppliance, document: jsonschema.Draft202012Validator, path: str, method: str, operation: Any
) -> None:
    asked = {each["name"]: each.get("example") for each in operation["parameters"] if each["in"] == "query"}
    query = urlencode({name: value for name, value in asked.items() if value is not None}, doseq=True)
    named = {each["name"]: each["example"] for each in operation["parameters"] if each["in"] == "path"}
    address = "/api/v1" + re.sub(r"\{(\w+)\}", lambda match: quote(str(named[match[1]])), path)
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if body:
        document.evolve(schema=body["schema"]).validate(body["example"])
    payload = None if method == "GET" else (body["example"] if body else {})
    answer = appliance.request(f"{address}?{query}" if query else address, payload, method=method)
    good = next(status for status in operation["responses"] if status.startswith("2"))
    status = NOES.get((method, path), int(good))
    assert answer.status == status, f"{method} {path}: {answer.text}"
    content = operation["responses"][good]["content"]
    if "application/json" in content:
        schema = (
            content["application/json"]["schema"] if status == int(good) else {"$ref": "#/components/schemas/Error"}
        )
        document.evolve(schema=schema).validate(answer.json)
    else:
        assert answer.headers["content-type"].startswith("image/")


def test_every_object_refuses_unknown_keys(appliance: ServedAppliance, endpoints: list[Any]) -> None:
    for each in endpoints:
        path = "/api/v1" + re.sub(
            r"\{(\w+)(:\w+)?\}", lambda match, each=each: quote(str(each.example[match[1]])), each.path
        )
        for answer in (
            appliance.request(f"{path}?nonsense=1", None if each.method == "GET" else {}, method=each.method),
            *([appliance.request(path, {"nonsense": 1}, method=each.method)] if each.method != "GET" else []),
        ):
            assert (answer.status, "nonsense" in answer.text or "no arguments" in answer.text) == (400, True), each.path
