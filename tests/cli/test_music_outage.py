"""pi-appliance music while MPD hangs, dies or comes back: told within seconds, in one line, and nothing done twice."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.music_room import EINS, ONE, Room
from tests.fakes.mpd_server import MpdServer, needs_mpd, running_mpd

pytestmark = needs_mpd


@pytest.fixture
def server(tmp_path: Path) -> Iterator[MpdServer]:
    with running_mpd(tmp_path / "mpd") as running:
        running.mpc("add", ONE, EINS)
        yield running


@pytest.fixture
def room(tmp_path: Path, server: MpdServer) -> Room:
    return Room(tmp_path, server.address)


@pytest.mark.parametrize("words", ["next", "queue", "artists", "add one.wav", "playlists", "volume 3"])
def test_a_player_that_hangs_is_told_within_a_second_or_so(room: Room, server: MpdServer, words: str) -> None:
    server.freeze()
    began = time.monotonic()
    done = room.run("music", *words.split())
    assert time.monotonic() - began < 5  # the start of the program included
    assert (done.returncode, done.stdout) == (75, "")
    assert done.stderr.startswith(f"pi-appliance: MPD at {server.address} ")
    assert done.stderr.count("\n") == 1


def test_a_player_that_was_killed_is_there_again_for_the_next_command(room: Room, server: MpdServer) -> None:
    server.kill()
    done = room.run("music", "add", ONE)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (75, "", 1)
    server.start()
    assert room.run("music", "queue").stdout == "the queue is empty\n", "what failed is not done later"
    assert room.run("music", "add", ONE).stdout == "added One, at 1\n"
