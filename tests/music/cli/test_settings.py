"""Settings commands of `pi-appliance music`, compared with mpc."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pi_appliance.music.model import Capability
from tests.fakes.mpd_server import MpdServer, needs_mpd, running_mpd
from tests.music.cli.music_program import NO_SERVER, ONE, MusicCli


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MpdServer]:
    with running_mpd(tmp_path_factory.mktemp("mpd"), outputs=["silence", "Küche"]) as running:
        yield running


@needs_mpd
@pytest.mark.parametrize(
    ("words", "says", "mpc_says"),
    [
        ("repeat on", "repeat", "repeat: on"),
        ("repeat off", "", "repeat: off"),
        ("random on", "random", "random: on"),
        ("random off", "", "random: off"),
        ("single on", "single", "single: on"),
        ("single once", "single once", "single: once"),
        ("single off", "", "single: off"),
        ("consume on", "consume", "consume: on"),
        ("consume off", "", "consume: off"),
    ],
)
def test_modes_are_set_and_shown(server: MpdServer, cli: MusicCli, words: str, says: str, mpc_says: str) -> None:
    mode, _, value = words.partition(" ")
    for each in ("repeat", "random", "single", "consume"):
        server.mpc(each, "on" if each == mode and value == "off" else "off")
    assert cli.output(*words.split()).endswith(f", {says}" if says else "%")
    assert mpc_says in server.mpc("status")
    assert cli.output(mode) == words


@needs_mpd
def test_crossfade_and_replay_gain_are_set_and_shown(server: MpdServer, cli: MusicCli) -> None:
    assert cli.output("crossfade", "5").endswith("crossfade 5 s")
    assert server.mpc("crossfade") == "crossfade: 5"
    assert cli.output("crossfade") == "crossfade 5 s"
    cli.output("crossfade", "0")
    assert cli.output("replay-gain", "album").endswith("replay gain by album")
    assert server.mpc("replaygain") == "replay_gain_mode: album"
    assert cli.output("replay-gain") == "replay gain album"
    cli.output("replay-gain", "off")
    assert cli.values("status")["player"]["replay_gain"] == "off"


@needs_mpd
def test_the_capabilities_of_the_player_are_listed(cli: MusicCli) -> None:
    can = {each["capability"]: each["supported"] for each in cli.values("capabilities")}
    assert set(can) == {str(each) for each in Capability}
    assert can["seek"] is True
    names = cli.column("CAPABILITY", "capabilities")
    shown = dict(zip(names, cli.column("SUPPORTED", "capabilities"), strict=True))
    assert shown == {name: "yes" if has else "no" for name, has in can.items()}


@needs_mpd
def test_favourites_of_a_player_without_ratings_are_stored_by_the_appliance(server: MpdServer, cli: MusicCli) -> None:
    assert "stickers" not in server.folder.joinpath("mpd.conf").read_text("utf-8")
    assert cli.output("like", ONE) == "one.wav is a favourite"
    cli.output("rate", "9", ONE)
    assert [row.split()[0] for row in cli.output("favourites").splitlines()[1:]] == ["9"]
    assert cli.column("FILE", "favourites") == [ONE]
    cli.output("unlike", ONE)
    assert cli.output("favourites").startswith("there are no favourites yet")


@needs_mpd
def test_outputs_are_switched_by_name_or_number(server: MpdServer, cli: MusicCli) -> None:
    assert cli.column("NAME", "outputs") == cli.column("NAME", "outputs", "list") == ["silence", "Küche"]
    assert cli.column("ON", "outputs", "off", "küche") == ["yes", "no"]
    assert "(Küche) is disabled" in server.mpc("outputs")
    assert cli.column("ON", "outputs", "on", "2") == ["yes", "yes"]
    assert "(Küche) is enabled" in server.mpc("outputs")
    assert [(each["name"], each["on"]) for each in cli.values("outputs")] == [("silence", True), ("Küche", True)]
    result = cli.music("outputs", "on", "Kuche")
    assert (result.status, result.err) == (2, "pi-appliance: no output is called 'Kuche'; did you mean 'Küche'?")
    assert cli.music("outputs", "off", "3").status == 2


@needs_mpd
def test_partitions_have_their_own_queue_and_outputs(server: MpdServer, cli: MusicCli) -> None:
    assert cli.column("NAME", "partitions") == ["default"]
    assert cli.output("partitions", "new", "bath") == "created the partition bath"
    assert cli.output("partitions", "use", "bath") == "the partition bath is used now"
    assert [line.split() for line in cli.output("partitions").splitlines()[1:]] == [["default"], [">", "bath"]]
    cli.output("add", ONE)
    assert cli.output("queue").count("one.wav") == 1
    assert server.mpc("playlist") == "", "the other partition has a queue of its own"
    assert cli.output("partitions", "move-output", "Küche") == "moved Küche into the partition in use"
    assert "Küche" in cli.column("NAME", "outputs")
    refused = cli.music("partitions", "delete", "bath")
    assert (refused.status, "\n" in refused.err) == (1, False)
    cli.output("partitions", "move-output", "Küche", "--to", "default")
    cli.output("partitions", "use", "default")
    assert cli.output("queue") == "the queue is empty"
    cli.output("partitions", "use", "bath")
    assert cli.output("partitions", "delete", "bath") == "deleted the partition bath"
    assert cli.values("partitions") == [{"name": "default", "current": True}]
    assert cli.output("queue") == "the queue is empty", "the commands are back in default"


@needs_mpd
def test_a_missing_partition_is_reported_with_the_remedy(server: MpdServer, cli: MusicCli) -> None:
    cli.output("partitions", "new", "attic")
    cli.output("partitions", "use", "attic")
    server.kill()
    server.start()
    result = cli.music("status")
    assert (result.status, "\n" in result.err) == (1, False)
    assert result.err.endswith("use another one: pi-appliance music partitions use default")
    cli.output("partitions", "use", "default")
    cli.output("status")


@needs_mpd
def test_the_volume_is_limited_by_the_policy(tmp_path: Path, server: MpdServer) -> None:
    cli = MusicCli(tmp_path, server.address, rest="volume: {maximum: 60}")
    assert cli.output("volume", "90") == "volume 60%, the maximum that is allowed now"
    assert "volume: 60%" in server.mpc("status")
    assert cli.output("volume", "60") == "volume 60%"


@pytest.mark.parametrize(
    ("words", "output"),
    [
        ("repeat maybe", "'repeat' must be on or off"),
        ("single twice", "'single' must be one of off, on, once"),
        ("crossfade 61", "'seconds' must be a whole number from 0 to 60"),
        ("crossfade -1", "'seconds' must be a whole number from 0 to 60"),
        ("replay-gain loud", "'gain' must be one of off, track, album, auto"),
        ("outputs on", "Missing argument"),
        ("partitions new", "Missing argument"),
    ],
)
def test_wrong_use_is_one_line_before_the_player_is_asked(tmp_path: Path, words: str, output: str) -> None:
    result = MusicCli(tmp_path, NO_SERVER).music(*words.split())
    assert (result.status, result.out, "\n" in result.err) == (2, "", False)
    assert output in result.err


@needs_mpd
def test_check_says_whether_a_player_answers(server: MpdServer, cli: MusicCli) -> None:
    answers = f"{server.address} answers; the volume can be set; output: silence, Küche"
    assert cli.output("check") == answers
    assert cli.output("check", "--kind", "mpd", "--address", server.address) == answers
    refused = cli.music("check", "--address", NO_SERVER)
    assert (refused.status, NO_SERVER in refused.err, len(refused.err.splitlines())) == (75, True, 1)
