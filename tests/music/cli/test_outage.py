"""`pi-appliance music` while MPD hangs, dies or returns: one line, nothing repeated."""

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.mpd_server import MpdServer, needs_mpd, running_mpd
from tests.music.cli.music_program import EINS, ONE, MusicCli, run_live

pytestmark = needs_mpd


@pytest.fixture
def server(tmp_path: Path) -> Iterator[MpdServer]:
    with running_mpd(tmp_path / "mpd", more='auto_update "no"') as running:
        running.mpc("add", ONE, EINS)
        yield running


@pytest.mark.slow_variants
@pytest.mark.parametrize("words", ["next", "queue", "artists", "add one.wav", "playlists", "volume 3"])
def test_a_hanging_player_is_reported_within_a_second(cli: MusicCli, server: MpdServer, words: str) -> None:
    server.freeze()
    began = time.monotonic()
    result = cli.music(*words.split())
    assert time.monotonic() - began < 5
    assert (result.status, result.raw) == (75, b"")
    assert result.err.startswith(f"pi-appliance: MPD at {server.address} ")
    assert len(result.err.splitlines()) == 1


def test_a_restarted_player_works_for_the_next_command(cli: MusicCli, server: MpdServer) -> None:
    server.kill()
    done = cli.run("music", "add", ONE)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (75, "", 1)
    server.start()
    assert cli.run("music", "queue").stdout == "the queue is empty\n", "what failed is not done later"
    assert cli.run("music", "add", ONE).stdout == "added One, at 1\n"


def make_many(server: MpdServer, count: int) -> None:
    """Add `count` tracks to the folder "usb", without an MPD update."""
    folder = server.music / "usb"
    folder.mkdir()
    for number in range(count):
        os.link(server.music / ONE, folder / f"{number}.wav")


def test_a_player_that_dies_during_an_update_is_reported_in_one_line(cli: MusicCli, server: MpdServer) -> None:
    make_many(server, 3000)
    with run_live(cli, "update", "usb", "--wait", terminal=True) as update:
        update.wait_for_output(lambda text: "0:00 scanning" in text)
        server.kill()
        assert update.wait() == 75
        assert update.output_text.count("\n") == 1
        assert f"\r\x1b[Kpi-appliance: MPD at {server.address} is not reached" in update.output_text


@pytest.mark.slow
def test_on_a_terminal_an_update_shows_progress(cli: MusicCli, server: MpdServer) -> None:
    make_many(server, 1500)
    with run_live(cli, "update", "usb", "--wait", terminal=True) as update:
        assert update.wait() == 0
        assert update.output_text.endswith("\r\x1b[Kupdated: 1,503 tracks of 8:21:00, 1,500 more than before\r\n")
        counts = [
            int(results.replace(",", ""))
            for results in re.findall(r"scanning, ([\d,]+) tracks so far", update.output_text)
        ]
        assert counts == sorted(counts)
        assert counts
