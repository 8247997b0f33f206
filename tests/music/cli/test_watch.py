"""`pi-appliance music watch` in its own process, in a pipe and on a terminal."""

import json
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from mutagen.wave import WAVE

from tests.fakes.mpd_server import MpdServer, needs_mpd, running_mpd
from tests.installation import PROGRAM
from tests.music.cli.music_program import EINS, ONE, MusicCli, run_live
from tests.warm_program import Process

pytestmark = needs_mpd


@pytest.fixture
def server(tmp_path: Path) -> Iterator[MpdServer]:
    with running_mpd(tmp_path / "mpd") as running:
        running.mpc("add", ONE, EINS)
        yield running


def hang_up(port: int, times: int) -> None:
    """Close `count` connections to `port`."""
    with socket.create_server(("127.0.0.1", port)) as sock:
        sock.settimeout(15)
        for _ in range(times):
            sock.accept()[0].close()


def test_each_change_is_a_line_and_ctrl_c_ends_the_command_cleanly(cli: MusicCli, server: MpdServer) -> None:
    with run_live(cli, "watch") as watch:
        assert watch.wait_for_line("[") == "[connected] stopped, 2 in the queue, volume 100%"
        server.mpc("volume", "40")
        assert watch.wait_for_line("[volume]") == "[volume] stopped, 2 in the queue, volume 40%"
        server.mpc("play", "2")
        assert watch.wait_for_line("[").startswith("[player] playing: Die Ärzte - Eins, 2 of 2, 0:00/0:20, volume 40%")
        server.mpc("pause")
        assert watch.wait_for_line("[player] paused").endswith("volume 40%")
        server.mpc("random", "on")
        assert watch.wait_for_line("[modes]").endswith(", random")
        server.mpc("clear")
        assert "the queue is empty" in watch.wait_for_line("[player, queue]")
        assert watch.end() == 0


def test_with_json_each_change_is_an_object(cli: MusicCli, server: MpdServer) -> None:
    with run_live(cli, "watch", "--json") as watch:
        first = json.loads(watch.wait_for_line("{"))
        assert (first["changed"], first["player"]["queue_length"]) == (["connection"], 2)
        server.mpc("volume", "33")
        second = json.loads(watch.wait_for_line("{"))
        assert (second["changed"], second["player"]["volume"]) == (["mixer"], 33)
        assert watch.end() == 0


@pytest.mark.slow_variants
@pytest.mark.parametrize("words", [[], ["--json"]])
def test_a_killed_player_is_reported_once_and_awaited(cli: MusicCli, server: MpdServer, words: list[str]) -> None:
    lost, back = ('{"lost"', '{"changed": ["connection"]') if words else ("[lost]", "[connected]")
    with run_live(cli, "watch", *words) as watch:
        watch.wait_for_line(back)
        server.kill()
        assert server.address in watch.wait_for_line(lost)
        hang_up(server.port, 3)
        server.start()
        text = watch.wait_for_output(lambda text: text if back in text and text.endswith("\n") else "")
        assert text.count("\n") == 1, "between lost and back nothing is said"
        server.mpc("volume", "20")
        assert "20" in watch.wait_for_line("[volume]" if not words else '{"changed": ["mixer"]')
        assert watch.end() == 0


def test_ctrl_c_ends_the_command_cleanly_during_an_outage(cli: MusicCli, server: MpdServer) -> None:
    with run_live(cli, "watch") as watch:
        watch.wait_for_line("[connected]")
        server.kill()
        watch.wait_for_line("[lost]")
        assert watch.end() == 0


def test_on_a_terminal_one_line_is_updated_in_place(cli: MusicCli, server: MpdServer) -> None:
    server.mpc("play", "2")
    with run_live(cli, "watch", terminal=True) as watch:
        watch.wait_for_output(lambda text: "[connected] playing: Die Ärzte - Eins, 2 of 2" in text)
        drawn = watch.wait_for_output(
            lambda text: re.findall(r"\r\x1b\[K(\[connected\] playing: [^\r]*, 0:0[2-9]/0:20)", text)
        )
        assert drawn, "time runs while nothing changes"
        server.mpc("volume", "55")
        watch.wait_for_output(lambda text: "\r\x1b[K[volume] playing" in text and "volume 55%" in text)
        assert "\n" not in watch.output_text
        server.kill()
        watch.wait_for_output(lambda text: "\r\x1b[K[lost] " in text)
        assert watch.end() == 0
        assert watch.wait_for_output(lambda text: text.endswith("\r\n") and text)


def test_a_closed_pipe_causes_no_traceback(cli: MusicCli, server: MpdServer) -> None:
    command = [*PROGRAM, "music", "watch", "--config", str(cli.config)]
    with Process(command, env=cli.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watch:
        assert watch.stdout is not None
        assert watch.stderr is not None
        watch.stdout.readline()
        watch.stdout.close()
        server.mpc("volume", "20")
        watch.wait(timeout=15)
        assert watch.stderr.read() == ""


def test_track_names_cannot_move_the_cursor(cli: MusicCli, server: MpdServer) -> None:
    name = "a\x1b[2Jb\tc.wav"
    shutil.copy(server.music / ONE, server.music / name)
    WAVE(server.music / name).delete()  # without a title, a file is called by its name
    server.mpc("update", "--wait")
    server.mpc("clear")
    with run_live(cli, "watch") as watch:
        watch.wait_for_line("[connected]")
        server.mpc("add", name)
        server.mpc("play")
        text = watch.wait_for_line("[player")
    shown = (text, cli.output("status"), cli.output("queue"), cli.output("browse"), cli.output("art", "1"))
    assert all("a [2Jb c.wav" in each for each in shown)
    assert "\x1b" not in "".join(shown)
