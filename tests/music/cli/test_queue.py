"""Queue commands of `pi-appliance music`, compared with mpc and a real MPD."""

import subprocess
from pathlib import Path

import pytest

from tests.fakes.mpd_server import MpdServer, needs_mpd, running_radio
from tests.installation import PROGRAM
from tests.music.cli.music_program import EINS, NO_SERVER, ONE, ZWEI, MusicCli


@pytest.fixture
def three(three: MpdServer) -> MpdServer:
    """Return the MPD without playlists."""
    for name in three.mpc("lsplaylists").splitlines():
        three.mpc("rm", name)
    return three


@pytest.fixture
def cli(tmp_path: Path, three: MpdServer) -> MusicCli:
    return MusicCli(tmp_path, three.address)


def files(server: MpdServer) -> list[str]:
    return server.mpc("playlist", "-f", "%file%").splitlines()


@needs_mpd
def test_a_track_with_priority_is_played_next_in_random_mode(cli: MusicCli, three: MpdServer) -> None:
    three.mpc("random", "on")
    three.mpc("play", "1")
    assert cli.output("prioritize", "3")
    three.mpc("next")
    assert three.mpc("current", "-f", "%file%").strip() == ONE
    assert "there is no track 9 in the queue; it ends with 3" in cli.music("prioritize", "9").err


@needs_mpd
def test_the_queue_marks_the_current_track_and_counts_from_one(three: MpdServer, cli: MusicCli) -> None:
    three.mpc("play", "2")
    assert [line.split()[0] for line in cli.output("queue").splitlines()[1:]] == ["1", ">", "3"]
    assert cli.output("queue").splitlines()[2].split()[:3] == [">", "2", "Zwei"]
    assert cli.column("FILE", "queue") == files(three)
    assert [track["uri"] for track in cli.values("queue")["items"]] == files(three)
    three.mpc("clear")
    assert cli.output("queue") == "the queue is empty"
    empty = cli.values("queue")
    assert (empty["items"], empty["start"], empty["length"], empty["more"]) == ([], 0, 0, False)


@needs_mpd
def test_a_long_queue_is_paged_or_complete(three: MpdServer, cli: MusicCli) -> None:
    three.mpc("clear")
    three.mpc("add", *[ONE] * 1200)
    first = cli.output("queue").splitlines()
    assert (len(first), first[-1]) == (102, "… 1,100 more; --start 100")
    last = cli.output("queue", "--start", "1150", "--count", "60").splitlines()
    assert (len(last), last[1].split()[0], last[-1].split()[0]) == (51, "1151", "1200")
    assert cli.output("queue", "--start", "1200") == "the list ends before 1200"
    assert len(cli.output("queue", "--all").splitlines()) == 1201
    whole = cli.values("queue", "--all")
    assert (len(whole["items"]), whole["length"], whole["more"]) == (1200, 1200, False)
    part = cli.values("queue", "--start", "1100")
    assert (part["start"], len(part["items"]), part["more"]) == (1100, 100, False)


@needs_mpd
@pytest.mark.parametrize(
    ("words", "says", "queue"),
    [
        (["add", ONE], ["added One, at 4"], [EINS, ZWEI, ONE, ONE]),
        (
            ["add", "Ärzte", ONE],
            ["added Ärzte, 2 tracks from 4 on", "added One, at 6"],
            [EINS, ZWEI, ONE, EINS, ZWEI, ONE],
        ),
        (["add", "artist:Someone"], ["added artist Someone, at 4"], [EINS, ZWEI, ONE, ONE]),
        (["add", "album:Ünï", "--where", "replace"], ["added album Ünï, 2 tracks from 1 on"], [EINS, ZWEI]),
        (["add", "--artist", "Die Ärzte", "--album", "Ünï"], None, [EINS, ZWEI, ONE, EINS, ZWEI]),
        (["add", "search:eins"], None, [EINS, ZWEI, ONE, EINS]),
        (
            ["add", ONE, "album:Ünï", "--where", "next"],
            ["added album Ünï, 2 tracks, next", "added One, next"],
            [EINS, ONE, EINS, ZWEI, ZWEI, ONE],
        ),
        (["add", ONE, "--where", "next"], ["added One, next"], [EINS, ONE, ZWEI, ONE]),
        (["play-now", ONE, EINS], ["playing One, at 1", "added Eins, at 2"], [ONE, EINS]),
    ],
)  # fmt: skip
def test_each_source_is_added_at_its_position(
    three: MpdServer, cli: MusicCli, words: list[str], says: list[str] | None, queue: list[str]
) -> None:
    three.mpc("play", "1")
    lines = cli.output(*words).splitlines()
    assert says is None or lines == says
    assert files(three) == queue
    assert three.mpc("current", "-f", "%file%") == (
        queue[0] if words[0] == "play-now" else three.mpc("current", "-f", "%file%")
    )
    three.mpc("stop")


@needs_mpd
def test_play_now_and_add_with_play_start_playback(three: MpdServer, cli: MusicCli) -> None:
    cli.output("play-now", ONE)
    assert "[playing] #1/1" in three.mpc("status")
    cli.output("add", EINS, "--play")
    assert "[playing] #2/2" in three.mpc("status")
    three.mpc("stop")


@needs_mpd
def test_a_station_is_added_by_its_name_and_keeps_it(tmp_path: Path, three: MpdServer) -> None:
    with running_radio(three.music) as radio:
        cli = MusicCli(tmp_path, three.address, radio=radio)
        assert cli.output("add", "fip jazz") == "added FIP Jazz, at 4"
        assert three.mpc("playlist", "-f", "%file% %title%").splitlines()[3] == f"{radio}/one.wav?jazz FIP Jazz"
        cli.output("add", "station:Rädio Two", "--where", "replace")
        assert three.mpc("playlist", "-f", "%title%") == "Rädio Two"


@needs_mpd
def test_a_playlist_is_added_by_its_name(three: MpdServer, cli: MusicCli) -> None:
    three.mpc("save", "Morning tea")
    assert cli.output("add", "playlist:Morning tea", "--where", "replace").endswith("3 tracks from 1 on")
    assert files(three) == [EINS, ZWEI, ONE]


@needs_mpd
def test_tracks_are_moved(three: MpdServer, cli: MusicCli) -> None:
    assert cli.output("move", "3", "1") == "moved track 3 to 1"
    assert files(three) == [ONE, EINS, ZWEI]
    assert cli.output("move", "1", "2") == "moved track 1 to 2"
    assert files(three) == [EINS, ONE, ZWEI]


@needs_mpd
@pytest.mark.parametrize(
    ("which", "remaining", "says"),
    [
        (["2"], [EINS, ONE], "removed 1 track; 2 left in the queue"),
        (["1", "3"], [ZWEI], "removed 2 tracks; 1 left in the queue"),
        (["1-2"], [ONE], "removed 2 tracks; 1 left in the queue"),
        (["2-"], [EINS], "removed 2 tracks; 1 left in the queue"),
        (["1-3", "2"], [], "removed 3 tracks; 0 left in the queue"),
    ],
)
def test_tracks_are_removed_by_number_and_range(
    three: MpdServer, cli: MusicCli, which: list[str], remaining: list[str], says: str
) -> None:
    assert cli.output("remove", *which) == says
    assert files(three) == remaining


@needs_mpd
def test_many_tracks_are_removed_at_once(three: MpdServer, cli: MusicCli) -> None:
    three.mpc("add", *[ONE] * 1200)
    assert cli.output("remove", "3-1202") == "removed 1200 tracks; 3 left in the queue"
    assert files(three) == [EINS, ZWEI, ONE]


@needs_mpd
def test_shuffle_and_clear(three: MpdServer, cli: MusicCli) -> None:
    three.mpc("add", *[ONE, EINS] * 50)
    before = files(three)
    cli.output("shuffle")
    assert files(three) != before
    assert sorted(files(three)) == sorted(before)
    assert cli.output("clear").startswith("stopped, the queue is empty")
    assert files(three) == []


@needs_mpd
def test_the_queue_is_saved_once_and_replaced_only_with_an_option(three: MpdServer, cli: MusicCli) -> None:
    assert cli.output("save", "Übung 1") == "saved Übung 1, 3 tracks"
    assert three.mpc("playlist", "-f", "%file%", "Übung 1").splitlines() == [EINS, ZWEI, ONE]
    three.mpc("del", "1")
    refused = cli.music("save", "Übung 1")
    assert (refused.status, refused.out, "\n" in refused.err) == (1, "", False)
    assert refused.err.endswith("replace it, or choose another name")
    assert three.mpc("playlist", "-f", "%file%", "Übung 1").splitlines() == [EINS, ZWEI, ONE]
    assert cli.output("save", "Übung 1", "--replace") == "saved Übung 1, 2 tracks"
    assert three.mpc("playlist", "-f", "%file%", "Übung 1").splitlines() == [ZWEI, ONE]


@needs_mpd
@pytest.mark.parametrize(
    ("words", "output"),
    [
        (["add", "nothing.wav"], "the library has no 'nothing.wav'; find it: pi-appliance music search"),
        (["play-now", "Radio Two"], "the library has no 'Radio Two'; did you mean the station 'Rädio Two'?"),
        (["add", "playlist:none"], "none"),
        (["add", "artist:Nobody"], "Nobody"),
        (["move", "9", "1"], "there is no track 9 in the queue; it ends with 3"),
        (["move", "1", "9"], "there is no track 9 in the queue; it ends with 3"),
        (["remove", "2", "4"], "there is no track 4 in the queue; it ends with 3"),
        (["remove", "2-4"], "there is no track 4 in the queue; it ends with 3"),
    ],
)
def test_a_missing_item_is_reported_and_the_queue_stays(
    three: MpdServer, cli: MusicCli, words: list[str], output: str
) -> None:
    result = cli.music(*words)
    assert (result.status, result.out, "\n" in result.err) == (1, "", False)
    assert output in result.err
    assert files(three) == [EINS, ZWEI, ONE]


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (["add"], "nothing is named to play; write a station"),
        (["add", "album:"], "nothing is named to play"),
        (["add", "station:fib"], "no station is called 'fib'; did you mean 'FIP'?"),
        (["add", "x", "--where", "there"], "'where' must be one of end, next, replace"),
        (["move", "1"], "give 'to_number' or 'to'"),
        (["move", "0", "1"], "must be a whole number from"),
        (["remove"], "give 'numbers' or 'ids'"),
        (["remove", "0"], "each a number of the queue: 3, 3-5 or 3-"),
        (["remove", "5-3"], "each a number of the queue: 3, 3-5 or 3-"),
        (["remove", "all"], "each a number of the queue: 3, 3-5 or 3-"),
        (["queue", "--start", "-1"], "must be a whole number from"),
        (["queue", "--count", "many"], "'count' must be a whole number"),
    ],
)
def test_wrong_use_is_one_line_before_the_player_is_asked(tmp_path: Path, words: list[str], output: str) -> None:
    result = MusicCli(tmp_path, NO_SERVER).music(*words)
    assert (result.status, result.out, "\n" in result.err) == (2, "", False)
    assert output in result.err


def test_the_shell_completes_station_names(tmp_path: Path) -> None:
    cli = MusicCli(tmp_path, NO_SERVER)
    typed = {"COMP_WORDS": "pi-appliance music add fip", "COMP_CWORD": "3"}
    environment = cli.environment(
        {"_PI_APPLIANCE_COMPLETE": "bash_complete", "PI_APPLIANCE_CONFIG": str(cli.config), **typed}
    )
    process = subprocess.run(PROGRAM, env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert process.stdout.splitlines() == ["plain,FIP", "plain,FIP Jazz", "plain,FIP Rock"]
