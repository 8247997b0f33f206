"""Playback commands of `pi-appliance music`, compared with mpc and a real MPD."""

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from pi_appliance.cli.program import OperationGroup
from pi_appliance.music.mpd import fallback_mpd
from pi_appliance.music.player_hub import FALLBACK_DIR
from pi_appliance.operations import MODULES
from tests.fakes.mpd_server import MpdServer, free_port, needs_mpd
from tests.installation import PROGRAM
from tests.music.cli.music_program import NO_SERVER, ZWEI, MusicCli


@pytest.fixture
def cli(tmp_path: Path, three: MpdServer) -> MusicCli:
    return MusicCli(tmp_path, three.address)


@pytest.fixture
def empty_room(tmp_path: Path) -> MusicCli:
    """Return an installation with an unreachable player."""
    return MusicCli(tmp_path, NO_SERVER)


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
    ],
)
def test_each_command_prints_one_line_and_mpc_agrees(
    three: MpdServer, cli: MusicCli, words: str, before: list[str], says: str, mpc_says: str
) -> None:
    for command in before:
        three.mpc(*command.split())
    assert cli.output(*words.split()).startswith(says)
    assert mpc_says in three.mpc("status")


@needs_mpd
def test_status_is_one_line_with_details_or_json(three: MpdServer, cli: MusicCli) -> None:
    assert cli.output("status") == "stopped, 3 in the queue, volume 100%"
    three.mpc("play", "2")
    three.mpc("pause")
    first, *more = cli.output("status").splitlines()
    assert first.startswith('paused: Die Ärzte - Zwei — 二 "q" \\b, 2 of 3')
    assert more[0].split() == ["album", "Ünï"]
    assert more[1] == f"  file       {ZWEI}"
    state = cli.values("status")["player"]
    assert (state["play"], state["volume"], state["queue_length"]) == ("pause", 100, 3)
    assert (state["track"]["uri"], state["track"]["position"]) == (ZWEI, 1)


@needs_mpd
def test_mute_silences_it_and_unmute_restores_the_volume(three: MpdServer, cli: MusicCli) -> None:
    three.mpc("volume", "60")
    assert cli.output("mute").endswith("muted")
    assert "volume:  0%" in three.mpc("status")
    assert "muted" not in cli.output("unmute")
    assert "volume: 60%" in three.mpc("status")


@needs_mpd
@pytest.mark.parametrize(
    ("words", "output"),
    [
        ("play 4", "there is no track 4 in the queue; it ends with 3"),
        ("next", "Not playing"),
        ("previous", "Not playing"),
        ("seek 3", "Not playing"),
    ],
)
def test_a_refusal_exits_1_with_one_line(cli: MusicCli, words: str, output: str) -> None:
    result = cli.music(*words.split())
    assert (result.status, result.out) == (1, "")
    assert result.err.startswith("pi-appliance: ")
    assert output in result.err
    assert "\n" not in result.err


@pytest.mark.parametrize(
    ("words", "output"),
    [
        ("volume 101", "music volume: 'volume' must be a volume from 0 to 100, or a change such as +5 or -5"),
        ("volume +-5", "'volume' must be a volume"),
        ("volume loud", "'volume' must be a volume"),
        ("volume 9999999999999", "'volume' must be a volume"),
        ("seek later", "'seconds' must be seconds or a time such as 1:30"),
        ("seek 1:2:3:4", "'seconds' must be"),
        ("seek 1:75", "'seconds' must be"),
        ("play three", "'number' must be a whole number from 1"),
        ("play 0", "'number' must be a whole number from 1"),
        ("play --loud", "'number' must be a whole number"),
        ("dance", "no command is called 'dance'"),
        ("playlists dance", "no command is called 'dance'; known: add"),
    ],
)
def test_wrong_use_exits_2_with_one_line_before_the_player_is_asked(
    empty_room: MusicCli, words: str, output: str
) -> None:
    result = empty_room.music(*words.split())
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith("pi-appliance music")
    assert output in result.err
    assert "\n" not in result.err


@pytest.mark.parametrize(
    "words",
    [
        "status", "play", "next", "volume 3", "add one.wav", "play-station fip", "queue", "remove 1", "artists",
        "search x", "playlists", "favourites", "outputs", "partitions", "capabilities", "art", "stats", "update --wait",
        "watch",
    ],
)  # fmt: skip
def test_an_unreachable_player_exits_75_with_one_line(tmp_path: Path, words: str) -> None:
    address = f"127.0.0.1:{free_port()}"
    result = MusicCli(tmp_path, address).music(*words.split())
    assert (result.status, result.out) == (75, "")
    assert result.err.startswith(f"pi-appliance: MPD at {address} is not reached: nothing listens there; start it")
    assert "\n" not in result.err


@needs_mpd
def test_each_command_mentions_that_only_the_private_mpd_was_changed(tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    cli = MusicCli(tmp_path, address, fallback_mpd=True)

    async def scenario() -> None:
        async with fallback_mpd.run_private_mpd(tmp_path / "state" / FALLBACK_DIR, None):
            for words in (["status"], ["volume", "30"]):
                result = await asyncio.to_thread(cli.music, *words)
                assert result.status == 0
                assert result.err == "the configured MPD is not reached; this is the built-in silent player"
                assert "\n" not in result.out

    asyncio.run(scenario())


music = OperationGroup("music", "", MODULES["music"], "pi_appliance.music.cli")


def list_commands(group: click.Group, *path: str) -> Iterator[tuple[str, ...]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        each = group.get_command(context, name)
        if isinstance(each, click.Group):
            yield from list_commands(each, *path, name)
        else:
            yield (*path, name)


def test_every_command_lists_its_exit_statuses(empty_room: MusicCli) -> None:
    commands = list(list_commands(music))
    assert len(commands) > 50
    for words in commands:
        result = empty_room.music(*words, "--help")
        assert result.status == 0
        assert re.search(r"Exit status:\n(.*\n)*? +75  ", result.out)


@pytest.mark.parametrize("words", [["--help"], ["music", "--help"], ["music", "queue", "--help"]])
def test_help_imports_neither_asyncio_nor_a_player(empty_room: MusicCli, words: list[str]) -> None:
    command = [sys.executable, "-X", "importtime", *PROGRAM[1:], *words]
    surroundings = empty_room.environment()
    done = subprocess.run(command, env=surroundings, capture_output=True, text=True, check=True, timeout=60)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "pi_appliance.cli.program" in loaded
    assert loaded.isdisjoint({"asyncio", "mpd", "pi_appliance.music.player_hub"})
