"""Stations of the configured file and of the user, and the streams of lists."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from multiprocessing import get_context
from pathlib import Path

import pytest

from pi_appliance.errors import ConfigError, Refused, Unavailable, UnknownName
from pi_appliance.music.model import Station, Track, Uri, describe_source
from pi_appliance.music.radio import streams
from pi_appliance.music.radio.stations import CUSTOM_FILE, Stations, load_stations
from tests.fakes.loopback import serving

FILE = "# mine\n- {name: FIP, url: 'http://fip.example/live'}\n- {name: Groove, url: 'http://groove.example/live'}\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "stations.yaml"
    path.write_text(FILE)
    return path


@pytest.fixture
def stations(file: Path, tmp_path: Path) -> Stations:
    return Stations(file, tmp_path / "state")


def station(name: str, url: str = "http://new.example/live") -> Station:
    return Station(name=name, url=url)


def names(stations: Stations) -> list[str]:
    return [each.name for each in stations.all()]


def test_an_added_station_is_first_and_the_file_stays_unchanged(stations: Stations, file: Path, tmp_path: Path) -> None:
    station = stations.add(
        Station(name="  Radio  X ", url="http://x.example/", genre="Jazz", country="FR"), check=False
    )
    assert station.name == "Radio X"
    assert names(stations) == ["Radio X", "FIP", "Groove"]
    assert names(Stations(file, tmp_path / "state")) == ["Radio X", "FIP", "Groove"]  # another process
    assert stations.get("radio x") == station
    assert file.read_text() == FILE


def test_a_station_of_the_file_is_edited_removed_and_restored(stations: Stations, file: Path) -> None:
    stations.edit("fip", station("FIP Rock"), check=False)
    stations.remove("GROOVE")
    assert names(stations) == ["FIP Rock"]
    assert [each.name for each in stations.removed()] == ["FIP", "Groove"]
    assert [(each.custom, each.overrides) for each in stations.views()] == [(True, "FIP")]
    assert stations.restore("groove").name == "Groove"
    assert stations.restore("FIP").url == "http://fip.example/live"
    assert names(stations) == ["FIP", "Groove"]
    assert stations.removed() == ()
    with pytest.raises(UnknownName, match="no station that was removed or edited is called 'FIP'"):
        stations.restore("FIP")
    assert file.read_text() == FILE


def test_an_edited_and_removed_station_is_hidden_until_restored(stations: Stations) -> None:
    stations.edit("FIP", station("FIP"), check=False)
    stations.remove("FIP")
    assert names(stations) == ["Groove"]
    stations.restore("FIP")
    assert names(stations) == ["FIP", "Groove"]


def test_names_are_unique_regardless_of_case(stations: Stations) -> None:
    for do in (
        lambda: stations.add(station("fIp"), check=False),
        lambda: stations.edit("Groove", station("FIP"), check=False),
    ):
        with pytest.raises(Refused, match="there is a station 'FIP' already"):
            do()
    stations.edit("Groove", station("GROOVE"), check=False)
    assert names(stations) == ["FIP", "GROOVE"]


def test_an_unknown_name_is_reported_with_the_most_similar(stations: Stations) -> None:
    for do in (lambda: stations.get("Grove"), lambda: stations.remove("Grove")):
        with pytest.raises(UnknownName, match="did you mean 'Groove'"):
            do()


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://a.example/", "groove", "http://", "http://a\nb"])
def test_an_invalid_web_address_is_refused(stations: Stations, url: str) -> None:
    with pytest.raises(Refused):
        stations.add(station("New", url), check=False)
    assert names(stations) == ["FIP", "Groove"]


def test_a_user_station_wins_over_a_later_one_of_the_file(stations: Stations, file: Path) -> None:
    stations.add(station("Later"), check=False)
    file.write_text(FILE + "- {name: later, url: 'http://later.example/'}\n")
    assert names(stations) == ["Later", "FIP", "Groove"]
    assert stations.restore("later").url == "http://later.example/"
    assert names(stations) == ["FIP", "Groove", "later"]


def test_a_damaged_user_file_is_reported_and_not_overwritten(stations: Stations, tmp_path: Path) -> None:
    own = tmp_path / "state" / CUSTOM_FILE
    own.parent.mkdir()
    own.write_text('{"stations": [')
    for do in (stations.all, lambda: stations.add(station("New"), check=False)):
        with pytest.raises(ConfigError, match="the file is damaged"):
            do()
    assert own.read_text() == '{"stations": ['


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "[]",
        '{"stations": [{"name": "A", "url": 5, "genre": "", "country": "", "overrides": ""}], "hidden": [],'
        ' "playlist_urls": []}',
        '{"stations": [{"name": [], "url": "", "genre": "", "country": "", "overrides": ""}], "hidden": [],'
        ' "playlist_urls": []}',
        '{"stations": 5, "hidden": [], "playlist_urls": []}',
        "\xff\xfe",
    ],
    ids=range(6),
)
def test_each_problem_of_the_user_file_is_described(stations: Stations, tmp_path: Path, text: str) -> None:
    own = tmp_path / "state" / CUSTOM_FILE
    own.parent.mkdir()
    own.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError, match="the file is damaged"):
        stations.views()


def _add_many(state: Path, first: int) -> None:
    stations = Stations(None, state)
    for number in range(first, first + 20):
        stations.add(station(f"station {number}"), check=False)


def test_concurrent_processes_lose_no_change(tmp_path: Path) -> None:
    context = get_context("spawn")
    many = [context.Process(target=_add_many, args=(tmp_path, first)) for first in (0, 100, 200)]
    for each in many:
        each.start()
    for each in many:
        each.join(60)
    assert len(Stations(None, tmp_path).all()) == 60


class Web:
    """A server of lists and streams."""

    address = ""

    def __init__(self) -> None:
        self.stopped = threading.Event()
        self.asked: list[str] = []


class _Handler(BaseHTTPRequestHandler):
    state: Web

    def do_GET(self) -> None:
        self.state.asked.append(self.path)
        kind, _, rest = self.path.strip("/").partition("/")
        here = self.state.address
        if kind == "missing":
            self.send_error(404)
        elif kind == "to":
            self.send_response(302)
            self.send_header("Location", rest if "://" in rest else f"{here}/{rest}")
            self.end_headers()
        elif kind in ("drips", "drips.m3u"):
            self._drip(b"" if kind == "drips" else b"HTTP/1.1 200 OK\r\nContent-Type: audio/x-mpegurl\r\n\r\n")
        elif kind == "icy":
            self.wfile.write(b"ICY 200 OK\r\nicy-name: x\r\n\r\n")
        else:
            answers = {
                "stream": ("audio/mpeg", "\xff" * 10),
                "page": ("text/html", "<html>"),
                "a.m3u": ("text/plain", f"#EXTM3U\n{here}/stream\n"),
                "listen": ("audio/x-scpls", f"[playlist]\nFile1={here}/stream\n"),
                "nested.pls": ("audio/x-scpls", f"[playlist]\nFile1={here}/a.m3u\n"),
                "round.m3u": ("audio/x-mpegurl", f"{here}/round.m3u\n"),
                "empty.m3u": ("audio/x-mpegurl", "#EXTM3U\nfile:///etc/passwd\n"),
                "hls.m3u8": ("application/vnd.apple.mpegurl", "#EXTM3U\n#EXT-X-VERSION:3\npart.ts\n"),
                "long.m3u": ("audio/x-mpegurl", "x" * 70_000),
            }
            mime, text = answers[kind]
            self.send_response(200)
            self.send_header("Content-Type", mime)
            self.end_headers()
            self.wfile.write(text.encode("latin-1"))

    def _drip(self, head: bytes) -> None:
        self.wfile.write(head)
        with contextlib.suppress(OSError):
            while not self.state.stopped.wait(0.02):
                self.wfile.write(b"x")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Say nothing."""


@pytest.fixture
def web() -> Iterator[Web]:
    web = Web()
    with serving(web, _Handler):
        yield web


@pytest.mark.parametrize(
    ("path", "leads_to"),
    [
        ("stream", "stream"),
        ("icy", "icy"),
        ("a.m3u", "stream"),
        ("listen", "stream"),
        ("nested.pls", "stream"),
        ("to/a.m3u", "stream"),
        ("hls.m3u8", "hls.m3u8"),
        ("to/to/to/stream", "to/to/to/stream"),
    ],
)
def test_an_address_is_resolved_to_its_stream(web: Web, path: str, leads_to: str) -> None:
    assert streams.resolve_stream(f"{web.address}/{path}") == f"{web.address}/{leads_to}"


def test_an_alarm_resolves_a_stream_in_its_event_loop(web: Web) -> None:
    async def resolve() -> str:
        return streams.resolve_stream(f"{web.address}/a.m3u")

    assert asyncio.run(resolve()) == f"{web.address}/stream"


def test_a_password_in_an_address_is_in_no_message(web: Web) -> None:
    address = web.address.replace("://", "://me:secret@")
    for path in ("missing", "page", "long.m3u", "to/to/to/to/stream"):
        with pytest.raises(Refused) as error:
            streams.resolve_stream(f"{address}/{path}")
        assert "secret" not in str(error.value)
    with pytest.raises(Unavailable) as unreached:
        streams.resolve_stream("http://me:secret@127.0.0.1:9/radio.m3u")
    assert "secret" not in str(unreached.value)
    assert describe_source(Uri(uri=f"{address}/stream")) == f"{web.address}/stream"
    assert Track(uri="http://me:secret@radio.example/").label == "radio.example"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("missing", "answers 404"),
        ("page", "is a web page; give the address of the stream"),
        ("empty.m3u", "without the address of a stream"),
        ("round.m3u", "a playlist of playlists"),
        ("long.m3u", "is too long: more than 65,536 bytes"),
        ("to/file:///etc/passwd", "not a web address"),
        ("to/to/to/to/stream", "redirects more than 3 times"),
    ],
)
def test_an_unresolvable_address_is_refused_or_left_to_the_player(web: Web, path: str, why: str) -> None:
    with pytest.raises(Refused, match=why) as error:
        streams.resolve_stream(f"{web.address}/{path}")
    assert "\n" not in str(error.value)
    assert streams.try_resolve_stream(f"{web.address}/{path}") == f"{web.address}/{path}"


@pytest.mark.parametrize("path", ["drips", "drips.m3u"])
def test_a_slow_server_is_given_up_at_the_timeout(web: Web, path: str) -> None:
    began = time.monotonic()
    with pytest.raises(Unavailable, match="is too slow"):
        streams.resolve_stream(f"{web.address}/{path}", seconds=0.3)
    assert time.monotonic() - began < 3, "each byte began the wait anew"


def test_few_addresses_are_tried_at_once_and_the_rest_are_reported(web: Web) -> None:
    def in_vain() -> None:
        with pytest.raises(Unavailable):
            streams.resolve_stream(f"{web.address}/drips", seconds=1.5)

    tries = [threading.Thread(target=in_vain) for _ in range(3)]
    for each in tries:
        each.start()
    while len(web.asked) < 3:
        threading.Event().wait(0.01)
    with pytest.raises(Unavailable, match="being checked"):
        streams.resolve_stream(f"{web.address}/stream")
    assert streams.try_resolve_stream(f"{web.address}/a.m3u") == f"{web.address}/a.m3u", "the player will find out"
    for each in tries:
        each.join(20)
    assert streams.resolve_stream(f"{web.address}/a.m3u") == f"{web.address}/stream"


def test_an_address_without_a_listener_is_refused(stations: Stations) -> None:
    with pytest.raises(Refused, match="nothing listens there"):
        stations.add(station("Nowhere", "http://127.0.0.1:9/"))
    assert names(stations) == ["FIP", "Groove"]


def test_a_list_is_checked_when_added_and_resolved_again_when_played(web: Web, stations: Stations) -> None:
    for path in ("a.m3u", "listen", "stream"):
        url = f"{web.address}/{path}"
        assert stations.add(station(path, url)).url == url
        web.asked.clear()
        assert stations.resolved(path).url == f"{web.address}/stream"
        assert web.asked == ([] if path == "stream" else [f"/{path}"])


def test_the_bundled_stations_are_well_formed() -> None:
    stations = load_stations(Path(__file__).parents[3] / "config" / "stations.yaml")
    assert len(stations) >= 10
    assert all(station.genre and len(station.country) == 2 for station in stations)
    assert len({station.url for station in stations}) == len(stations)
