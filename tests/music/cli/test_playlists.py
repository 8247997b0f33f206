"""Playlist commands of `pi-appliance music`, compared with mpc and a real MPD."""

from pathlib import Path

import pytest

from tests.fakes.mpd_server import MpdServer, needs_mpd
from tests.music.cli.music_program import EINS, NO_SERVER, ONE, ZWEI, MusicCli


@pytest.fixture
def tea(server: MpdServer) -> MpdServer:
    """Return the MPD with one playlist, "Tea time", of three tracks, and an empty queue."""
    for name in server.mpc("lsplaylists").splitlines():
        server.mpc("rm", name)
    server.mpc("clear")
    server.mpc("add", EINS, ZWEI, ONE)
    server.mpc("save", "Tea time")
    server.mpc("clear")
    return server


@pytest.fixture
def cli(tmp_path: Path, tea: MpdServer) -> MusicCli:
    return MusicCli(tmp_path, tea.address)


def files(server: MpdServer, name: str = "Tea time") -> list[str]:
    return server.mpc("playlist", "-f", "%file%", name).splitlines()


@needs_mpd
def test_playlists_are_listed_with_and_without_the_subcommand(tea: MpdServer, cli: MusicCli) -> None:
    assert cli.column("NAME", "playlists") == cli.column("NAME", "playlists", "list") == ["Tea time"]
    assert [each["name"] for each in cli.values("playlists")["items"]] == ["Tea time"]
    tea.mpc("rm", "Tea time")
    assert cli.output("playlists").startswith("there are no playlists")
    assert cli.values("playlists", "list")["items"] == []


@needs_mpd
def test_a_playlist_is_shown_and_played(tea: MpdServer, cli: MusicCli) -> None:
    assert cli.column("FILE", "playlists", "show", "Tea time") == files(tea)
    assert cli.column("N", "playlists", "show", "Tea time") == ["1", "2", "3"]
    assert "… 1 more; --start 2" in cli.output("playlists", "show", "Tea time", "--count", "2")
    assert cli.values("playlists", "show", "Tea time", "--start", "2")["items"][0]["track"]["uri"] == ONE
    assert cli.output("playlists", "play", "Tea time").endswith("Tea time, 3 tracks from 1 on")
    assert "[playing] #1/3" in tea.mpc("status")
    tea.mpc("stop")


@needs_mpd
def test_a_playlist_is_edited(tea: MpdServer, cli: MusicCli) -> None:
    assert cli.output("playlists", "add", "Tea time", ONE, "album:Ünï") == ("added to Tea time, which has 6 now")
    assert files(tea) == [EINS, ZWEI, ONE, ONE, EINS, ZWEI]
    assert cli.output("playlists", "remove", "Tea time", "2", "4") == "removed 2 entries from Tea time, which has 4 now"
    assert files(tea) == [EINS, ONE, EINS, ZWEI]
    assert cli.output("playlists", "move", "Tea time", "4", "1") == "moved 4 to 1 in Tea time"
    assert files(tea) == [ZWEI, EINS, ONE, EINS]
    assert cli.output("playlists", "rename", "Tea time", "Köffie") == "Tea time is now Köffie"
    assert tea.mpc("lsplaylists") == "Köffie"
    assert cli.output("playlists", "delete", "Köffie") == "deleted Köffie"
    assert tea.mpc("lsplaylists") == ""


@needs_mpd
def test_adding_to_a_playlist_creates_it(tea: MpdServer, cli: MusicCli) -> None:
    cli.output("playlists", "add", "New", "--artist", "Someone")
    assert files(tea, "New") == [ONE]


@needs_mpd
@pytest.mark.parametrize(
    ("words", "output"),
    [
        (["show", "None"], "there is no playlist called 'None'; known: Tea time"),
        (["delete", "Tee time"], "there is no playlist called 'Tee time'; did you mean 'Tea time'?"),
        (["rename", "Tea time", "a/b"], "a name has no / and no line break"),
        (["play", "None"], "None"),
        (["delete", "None"], "None"),
        (["rename", "None", "Other"], "None"),
        (["remove", "Tea time", "1", "9"], "there is no entry 9 in the playlist 'Tea time'"),
        (["move", "Tea time", "9", "1"], "there is no entry 9 in the playlist 'Tea time'"),
        (["add", "Tea time", "nothing.wav"], "nothing.wav"),
    ],
)
def test_a_missing_item_is_reported_and_the_list_stays(
    tea: MpdServer, cli: MusicCli, words: list[str], output: str
) -> None:
    result = cli.music("playlists", *words)
    assert (result.status, result.out, "\n" in result.err) == (1, "", False)
    assert output in result.err
    assert files(tea) == [EINS, ZWEI, ONE]


@pytest.mark.parametrize("words", [["remove", "Tea"], ["move", "Tea", "0", "1"], ["add", "Tea"], ["rename", "Tea"]])
def test_wrong_use_is_one_line_before_the_player_is_asked(tmp_path: Path, words: list[str]) -> None:
    result = MusicCli(tmp_path, NO_SERVER).music("playlists", *words)
    assert (result.status, result.out, "\n" in result.err) == (2, "", False)
    assert result.err.startswith("pi-appliance")
