"""A sleep timer and announcements on a real MPD by the daemon: started, interrupted, resumed."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.mpd_server import MpdServer, make_music, needs_mpd, running_mpd
from tests.installation import Installation, is_running, wait_until
from tests.music.cli.music_program import ONE
from tests.test_daemon import running_daemon

GONG = "gong.wav"
JOBS = """
sleep: {kind: music, with: {action: sleep}}
announce: {kind: music, concurrency: queue, with: {action: announce}}
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[MpdServer]:
    folder = tmp_path / "mpd"
    folder.mkdir()
    with running_mpd(folder) as running:
        make_music(running.music / "gongs", {GONG: ("Gong", "", "")}, seconds=2)
        running.mpc("update", "--wait")
        running.mpc("add", ONE)
        running.mpc("repeat", "on")
        running.mpc("volume", "60")
        running.mpc("play")
        yield running


@pytest.fixture
def home(installation: Installation, server: MpdServer) -> Installation:
    player = f"player: {{kind: mpd, with: {{address: '{server.address}', fallback-mpd: false}}}}"
    installation.write(JOBS, f"web: {{port: 0}}\nstop-grace: 1s\n{player}")
    return installation


def volume(server: MpdServer) -> int:
    return int(server.mpc("volume").partition(":")[2].strip().rstrip("%"))


def is_playing(server: MpdServer) -> bool:
    return "[playing]" in server.mpc("status")


@needs_mpd
def test_the_music_stops_after_a_fade_and_the_volume_is_restored(home, server):
    with running_daemon(home):
        assert home.run("music", "sleep", "6s", "--fade", "3s").returncode == 0
        wait_until(lambda: volume(server) < 55, 20)
        wait_until(lambda: not is_playing(server), 20)
        wait_until(lambda: None not in home.outcomes("sleep"))
        assert not home.json("music", "sleep")["set"]
        assert volume(server) == 60
    assert home.latest_run("sleep")["summary"] == "asleep"


@pytest.mark.slow
@needs_mpd
def test_an_interrupted_fade_continues_after_a_restart(home, server):
    with running_daemon(home) as daemon:
        assert home.run("music", "sleep", "12s", "--fade", "11s").returncode == 0
        wait_until(lambda: volume(server) < 57, 20)
        daemon.process.kill()
        daemon.process.wait()
        pid = json.loads((home.state / "locks" / "sleep.lock").read_bytes()[:1024])["pid"]
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not is_running(pid))
    assert is_playing(server)
    assert volume(server) < 60
    with running_daemon(home):
        wait_until(lambda: not is_playing(server), 30)
        wait_until(lambda: None not in home.outcomes("sleep"))
        assert not home.json("music", "sleep")["set"]
        assert volume(server) == 60
    assert [run["outcome"] for run in home.json("jobs", "history", "sleep")] == ["succeeded", "abandoned"]


@pytest.mark.slow
@needs_mpd
def test_a_cancelled_fade_restores_the_music(home, server):
    with running_daemon(home):
        home.run("music", "sleep", "20s", "--fade", "19s")
        wait_until(lambda: volume(server) < 58, 20)
        assert home.run("music", "cancel-sleep").stdout == "the music continues\n"
        wait_until(lambda: volume(server) == 60)
        wait_until(lambda: None not in home.outcomes("sleep"))
        assert not home.json("music", "sleep")["set"]
    assert is_playing(server)


@pytest.mark.slow
@needs_mpd
def test_the_daemon_makes_an_announcement_and_the_music_continues(home, server):
    with running_daemon(home):
        announced = home.run("music", "announce", "--source", f"gongs/{GONG}", "--wait", "60")
        assert (announced.returncode, announced.stdout) == (0, "announced\n")
        missing = home.run("music", "announce", "--source", "gongs/none.wav", "--wait", "60")
        assert (missing.returncode, "the library has no 'gongs/none.wav'" in missing.stderr) == (1, True)
    assert home.outcomes("announce") == ["failed", "succeeded"]
    assert server.mpc("playlist", "-f", "%file%").split() == [ONE]
    assert volume(server) == 60
