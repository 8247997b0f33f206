"""Station commands of `pi-appliance music`, with a real MPD and a web radio on loopback."""

import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.loopback import serving
from tests.fakes.mpd_server import MpdServer, make_music, needs_mpd, running_mpd
from tests.music.cli.music_program import NO_SERVER, MusicCli


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MpdServer]:
    with running_mpd(tmp_path_factory.mktemp("mpd")) as running:
        yield running


class Radio:
    """A web radio that streams the files of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.address, self.stopped = folder, "", threading.Event()


class Stream(SimpleHTTPRequestHandler):
    """The request handler of the radio."""

    state: Radio

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments, directory=str(self.state.folder))

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - as http.server names it
        pass


@pytest.fixture
def radio(tmp_path: Path) -> Iterator[str]:
    """Return the address of a web radio that also has a list of streams."""
    radio = Radio(make_music(tmp_path / "radio"))
    with serving(radio, Stream):
        (radio.folder / "list.m3u").write_text(f"#EXTM3U\n{radio.address}/one.wav?of-a-list\n", "utf-8")
        yield radio.address


@pytest.fixture
def cli(tmp_path: Path) -> MusicCli:
    """Return an installation with an unreachable player, which stations do not need."""
    return MusicCli(tmp_path, NO_SERVER)


@needs_mpd
@pytest.mark.parametrize(
    ("name", "station"),
    [("RÄDIO two", "two Rädio Two"), ("two", "two Rädio Two"), ("fip", "fip FIP"), ("jazz", "jazz FIP Jazz")],
)
def test_a_station_is_played_by_its_name_or_a_part_of_it(
    server: MpdServer, radio: str, tmp_path: Path, name: str, station: str
) -> None:
    out = MusicCli(tmp_path, server.address, radio=radio).output("play-station", name)
    assert f": {station.partition(' ')[2]}, 1 of 1" in out
    assert server.mpc("playlist", "-f", "%file% %title%") == f"{radio}/one.wav?{station}"
    server.mpc("stop")


@needs_mpd
def test_a_playlist_of_streams_is_resolved_before_it_is_played(server: MpdServer, radio: str, tmp_path: Path) -> None:
    cli = MusicCli(tmp_path, server.address, radio=radio)
    assert cli.output("stations", "add", "Listed", f"{radio}/list.m3u") == "added Listed"
    cli.output("play-station", "listed")
    assert server.mpc("playlist", "-f", "%file% %title%") == f"{radio}/one.wav?of-a-list Listed"
    cli.output("play-now", f"{radio}/list.m3u")
    assert server.mpc("playlist", "-f", "%file%") == f"{radio}/one.wav?of-a-list"
    server.mpc("stop")


def test_stations_are_listed_without_a_player(cli: MusicCli) -> None:
    assert cli.output("stations") == cli.output("stations", "list")
    assert cli.column("NAME", "stations") == ["Rädio Two", "FIP", "FIP Jazz", "FIP Rock"]
    fip = {"name": "FIP", "url": "http://127.0.0.1:9/one.wav?fip", "genre": "", "custom": False, "overrides": ""}
    assert cli.values("stations")[1].items() >= fip.items()


def test_stations_are_added_edited_removed_and_restored(cli: MusicCli, radio: str) -> None:
    assert (
        cli.output("stations", "add", "Mine", f"{radio}/one.wav", "--genre", "jazz", "--country", "CH") == "added Mine"
    )
    mine = {"name": "Mine", "url": f"{radio}/one.wav", "genre": "jazz", "country": "CH", "custom": True}
    assert cli.values("stations")[0].items() >= {**mine, "overrides": ""}.items()
    assert cli.output("stations", "edit", "mine", "--name", "Ours", "--genre", "") == "changed Ours"
    assert (cli.values("stations")[0]["name"], cli.values("stations")[0]["genre"]) == ("Ours", "")
    assert cli.output("stations", "edit", "FIP", "--url", "http://other.invalid/", "--no-check") == "changed FIP"
    assert {each["name"]: each["url"] for each in cli.values("stations")}["FIP"] == "http://other.invalid/"
    assert cli.output("stations", "restore", "FIP") == "restored FIP"
    assert cli.output("stations", "remove", "fip rock") == "removed fip rock"
    assert cli.output("stations", "remove", "Ours") == "removed Ours"
    assert cli.column("NAME", "stations") == ["Rädio Two", "FIP", "FIP Jazz"]
    assert cli.output("stations", "restore", "FIP Rock") == "restored FIP Rock"


@pytest.mark.parametrize(
    ("words", "status", "output"),
    [
        (["add", "FIP", "http://127.0.0.1:9/"], 1, "127.0.0.1:9"),
        (["add", "FIP", "http://127.0.0.1:9/", "--no-check"], 1, "there is a station 'FIP' already"),
        (["add", "Mine", "ftp://example.org/"], 1, "'ftp://example.org/' is not a web address"),
        (["add", "Mine"], 2, "Missing argument 'URL'"),
        (["edit", "FIP"], 2, "give 'name', 'url', 'genre'"),
        (["edit", "FIB", "--genre", "x"], 2, "did you mean 'FIP'?"),
        (["remove", "FIB"], 2, "did you mean 'FIP'?"),
        (["restore", "FIP"], 2, "no station that was removed or edited is called 'FIP'"),
    ],
)
def test_invalid_use_is_reported_in_one_line(cli: MusicCli, words: list[str], status: int, output: str) -> None:
    result = cli.music("stations", *words)
    assert (result.status, result.out) == (status, "")
    assert output in result.err
    assert cli.column("NAME", "stations") == ["Rädio Two", "FIP", "FIP Jazz", "FIP Rock"]


@pytest.mark.parametrize(("name", "nearest"), [("radio two", "Rädio Two"), ("fip roc k", "FIP Rock")])
def test_an_unknown_station_is_reported_with_the_most_similar_name(cli: MusicCli, name: str, nearest: str) -> None:
    result = cli.music("play-station", name)
    assert (result.status, result.err) == (2, f"pi-appliance: no station is called {name!r}; did you mean {nearest!r}?")


def test_an_ambiguous_part_is_reported_with_all_matches(cli: MusicCli) -> None:
    result = cli.music("play-station", "fi")
    assert result.status == 1
    assert result.err.endswith("3 stations have 'fi' in their name: FIP, FIP Jazz, FIP Rock; say more of it")
