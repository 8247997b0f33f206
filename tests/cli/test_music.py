"""pi-appliance music, through the program's own door, beside mpc and a real MPD."""

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pi_appliance.__main__ import main
from pi_appliance.cli.music import command as music
from pi_appliance.engine.hub import FOLDER
from pi_appliance.system import private_mpd
from tests.fakes.mpd_server import MpdServer, free_port, needs_mpd, running_mpd, running_radio

EINS, ZWEI, ONE = "Ärzte/eins.wav", "Ärzte/zwei — 二.wav", "one.wav"
STATIONS = """\
- {name: Rädio Two, url: "RADIO/one.wav?two", genre: talk, country: GB}
- {name: FIP, url: "RADIO/one.wav?fip"}
- {name: FIP Jazz, url: "RADIO/one.wav?jazz"}
- {name: FIP Rock, url: "RADIO/one.wav?rock"}
"""
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MpdServer]:
    with running_mpd(tmp_path_factory.mktemp("mpd")) as running:
        yield running


@pytest.fixture
def three(server: MpdServer) -> MpdServer:
    """Return the MPD with three tracks in its queue, stopped."""
    server.mpc("clear")
    server.mpc("random", "off")
    server.mpc("volume", "100")
    server.mpc("add", EINS, ZWEI, ONE)
    return server


@pytest.fixture
def run(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs `pi-appliance music …` and returns status, output and errors."""
    capsys: pytest.CaptureFixture[str] = request.getfixturevalue("capsys")

    def ran(
        *arguments: str, address: str = "", radio: str = "http://127.0.0.1:9", stand_in: str = "false"
    ) -> tuple[int, str, str]:
        if not address:
            address = request.getfixturevalue("server").address
        (tmp_path / "stations.yaml").write_text(STATIONS.replace("RADIO", radio), "utf-8")
        (tmp_path / "appliance.yaml").write_text(
            "state: state\nstations: stations.yaml\n"
            f"player: {{kind: mpd, with: {{address: '{address}', stand-in: {stand_in}}}}}\n"
        )
        monkeypatch.setenv("PI_APPLIANCE_CONFIG", str(tmp_path / "appliance.yaml"))
        monkeypatch.setattr(sys, "argv", ["pi-appliance", "music", *arguments])
        status = 0
        try:
            main()
        except SystemExit as ended:
            status = int(ended.code or 0)
        said = capsys.readouterr()
        return status, said.out.rstrip("\n"), said.err.rstrip("\n")

    return ran


@needs_mpd
@pytest.mark.parametrize(
    ("words", "before", "says", "mpc_says"),
    [
        ("play", [], "playing: Die Ärzte - Eins, 1 of 3, 0:00/0:20, volume 100%", "[playing] #1/3"),
        ("play 2", [], 'playing: Die Ärzte - Zwei — 二 "q" \\b, 2 of 3, 0:00/0:20, volume 100%', "[playing] #2/3"),
        ("pause", ["play 3"], "paused: Someone - One, 3 of 3, 0:00/0:20, volume 100%", "[paused]  #3/3"),
        ("toggle", ["play 3"], "paused: Someone - One, 3 of 3, 0:00/0:20, volume 100%", "[paused]  #3/3"),
        ("next", ["play 2"], "playing: Someone - One, 3 of 3, 0:00/0:20, volume 100%", "[playing] #3/3"),
        ("previous", ["play 2"], "playing: Die Ärzte - Eins, 1 of 3, 0:00/0:20, volume 100%", "[playing] #1/3"),
        ("stop", ["play 3"], "stopped: Someone - One, 3 of 3, volume 100%", "volume:100%"),
        ("clear", ["play 3", "random on"], "stopped, the queue is empty, volume 100%, random", "volume:100%"),
        ("seek 0:12", ["play 3", "pause"], "paused: Someone - One, 3 of 3, 0:12/0:20, volume 100%", "0:12/0:20"),
        ("seek 12", ["play 3", "pause"], "paused: Someone - One, 3 of 3, 0:12/0:20, volume 100%", "0:12/0:20"),
        ("seek +5", ["play 3", "pause", "seek 0:04"], "paused: Someone - One, 3 of 3, 0:09/0:20", "0:09/0:20"),
        ("seek -2", ["play 3", "pause", "seek 0:04"], "paused: Someone - One, 3 of 3, 0:02/0:20", "0:02/0:20"),
        ("seek -9", ["play 3", "pause", "seek 0:04"], "paused: Someone - One, 3 of 3, 0:00/0:20", "0:00/0:20"),
        ("volume", ["volume 41"], "volume 41%", "volume: 41%"),
        ("volume 30", [], "volume 30%", "volume: 30%"),
        ("volume +7", ["volume 30"], "volume 37%", "volume: 37%"),
        ("volume -7", ["volume 30"], "volume 23%", "volume: 23%"),
        ("volume +50", ["volume 90"], "volume 100%", "volume:100%"),
        ("volume -50", ["volume 20"], "volume 0%", "volume:  0%"),
        ("volume +500", ["volume 90"], "volume 100%", "volume:100%"),
        ("volume -500", ["volume 20"], "volume 0%", "volume:  0%"),
        (f"add {ONE} Ärzte", [], "added One\nadded Ärzte", "volume:100%"),
    ],
)
def test_each_button_says_one_line_and_mpc_agrees(
    three: MpdServer, run: Run, words: str, before: list[str], says: str, mpc_says: str
) -> None:
    for command in before:
        three.mpc(*command.split())
    status, out, err = run(*words.split())
    assert (status, err) == (0, "")
    assert out.startswith(says)
    assert mpc_says in three.mpc("status")


@needs_mpd
def test_status_is_one_line_or_json(three: MpdServer, run: Run) -> None:
    assert run("status") == (0, "stopped, 3 in the queue, volume 100%", "")
    three.mpc("play", "2")
    three.mpc("pause")
    status, out, _ = run("status", "--json")
    state = json.loads(out)
    assert status == 0
    assert (state["play"], state["volume"], state["queue_length"]) == ("pause", 100, 3)
    assert (state["track"]["uri"], state["track"]["position"]) == (ZWEI, 1)


@needs_mpd
def test_the_queue_marks_the_current_track_and_counts_from_one(three: MpdServer, run: Run) -> None:
    three.mpc("play", "2")
    status, out, _ = run("queue")
    assert status == 0
    assert [line.split()[0] for line in out.splitlines()[1:]] == ["1", ">", "3"]
    assert out.splitlines()[2].split()[:3] == [">", "2", "Zwei"]
    assert [track["uri"] for track in json.loads(run("queue", "--json")[1])] == [EINS, ZWEI, ONE]
    three.mpc("clear")
    assert run("queue")[1] == "the queue is empty"


@needs_mpd
def test_a_long_queue_is_listed_to_its_end(three: MpdServer, run: Run) -> None:
    three.mpc("clear")
    three.mpc("add", *[ONE] * 700)
    assert len(run("queue")[1].splitlines()) == 701
    assert len(json.loads(run("queue", "--json")[1])) == 700


@needs_mpd
@pytest.mark.parametrize(
    ("name", "station"),
    [("RÄDIO two", "two Rädio Two"), ("two", "two Rädio Two"), ("fip", "fip FIP"), ("jazz", "jazz FIP Jazz")],
)
def test_a_station_is_played_by_its_name_or_a_part_of_it(three: MpdServer, run: Run, name: str, station: str) -> None:
    with running_radio(three.music) as radio:
        status, out, _ = run("play-station", *name.split(), radio=radio)
        assert status == 0
        assert f": {station.partition(' ')[2]}, 1 of 1" in out
        assert three.mpc("playlist", "-f", "%file% %title%") == f"{radio}/one.wav?{station}"
        three.mpc("stop")


def test_stations_are_listed_without_any_player(run: Run) -> None:
    nowhere = f"127.0.0.1:{free_port()}"
    status, out, _ = run("stations", address=nowhere)
    assert (status, out.splitlines()[0].split()) == (0, ["NAME", "GENRE", "COUNTRY", "URL"])
    assert out.splitlines()[1].split() == ["Rädio", "Two", "talk", "GB", "http://127.0.0.1:9/one.wav?two"]
    assert json.loads(run("stations", "--json", address=nowhere)[1])[1] == {
        "name": "FIP", "url": "http://127.0.0.1:9/one.wav?fip", "genre": "", "country": ""
    }  # fmt: skip


@pytest.mark.parametrize(("name", "nearest"), [("radio two", "Rädio Two"), ("fip roc k", "FIP Rock")])
def test_an_unknown_station_gets_the_nearest_name(run: Run, name: str, nearest: str) -> None:
    status, _, err = run("play-station", *name.split(), address="127.0.0.1:1")
    assert (status, err) == (2, f"pi-appliance: no station is called {name!r}; did you mean {nearest!r}?")


def test_a_part_of_several_names_gets_all_of_them(run: Run) -> None:
    status, _, err = run("play-station", "fi", address="127.0.0.1:1")
    assert status == 2
    assert err.endswith("3 stations have 'fi' in their name: FIP, FIP Jazz, FIP Rock; say more of it")


@needs_mpd
@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("play 4", "there is no track 4 in the queue; it ends with 3"),
        ("next", "MPD says: Not playing; play the queue or a station first"),
        ("previous", "MPD says: Not playing; play the queue or a station first"),
        ("seek 3", "MPD says: Not playing; play the queue or a station first"),
        ("add nothing.wav", "the library has no 'nothing.wav'; MPD says: No such directory"),
    ],
)
def test_what_is_refused_ends_with_1_and_one_line(three: MpdServer, run: Run, words: str, told: str) -> None:
    assert run(*words.split()) == (1, "", f"pi-appliance: {told}")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("volume 101", "'101' is no volume; write 0 to 100"),
        ("volume +-5", "'+-5' is no volume"),
        ("volume loud", "'loud' is no volume"),
        ("volume 9999999999999", "is no volume"),
        ("seek later", "'later' is no time; write seconds or m:ss such as 1:30"),
        ("seek 1:2:3:4", "is no time"),
        ("play 0", "0 is not in the range x>=1"),
        ("add", "Missing argument 'URI...'"),
        ("dance", "No such command 'dance'"),
    ],
)
def test_wrong_use_ends_with_2_before_the_player_is_asked(run: Run, words: str, told: str) -> None:
    status, out, err = run(*words.split(), address="127.0.0.1:1")
    assert (status, out) == (2, "")
    assert told in err


@pytest.mark.parametrize("words", ["status", "play", "next", "volume 3", "add one.wav", "play-station fip"])
def test_a_player_that_is_not_reached_ends_with_75_and_one_line(run: Run, words: str) -> None:
    address = f"127.0.0.1:{free_port()}"
    status, out, err = run(*words.split(), address=address)
    assert (status, out) == (75, "")
    assert err.startswith(f"pi-appliance: MPD at {address} is not reached: nothing listens there; start it")
    assert "\n" not in err


@needs_mpd
def test_each_button_says_in_one_short_line_that_it_moves_only_the_stand_in(run: Run, tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"

    async def scene() -> None:
        async with private_mpd.running(tmp_path / "state" / FOLDER, None):
            for words in (["status"], ["volume", "30"]):
                status, out, err = await asyncio.to_thread(run, *words, address=address, stand_in="true")
                assert (status, err) == (0, f"MPD at {address} is not reached; this is the silent stand-in")
                assert "\n" not in out

    asyncio.run(scene())


def test_every_button_tells_its_exit_statuses(run: Run) -> None:
    for button in music.commands:
        status, out, _ = run(button, "--help", address="127.0.0.1:1")
        assert status == 0
        assert "75  the player is not reached" in out
