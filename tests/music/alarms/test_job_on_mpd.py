"""The job kind `music` on a real MPD: a dead stream, the bundled sound, announcements."""

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pi_appliance.errors import Refused
from pi_appliance.music.alarms import music_job, sounds
from pi_appliance.music.model import PlayerState
from pi_appliance.music.mpd import player as mpd
from pi_appliance.music.player import Player
from pi_appliance.storage.model import Result
from pi_appliance.system.clock import Timestamp
from tests.fakes.context import FakeContext
from tests.fakes.mpd_server import MpdServer, free_port, needs_mpd, running_mpd
from tests.music.alarms.job_runner import options

pytestmark = needs_mpd


@pytest.fixture
def server(tmp_path: Path) -> Iterator[MpdServer]:
    with running_mpd(tmp_path / "mpd") as running:
        running.mpc("volume", "60")
        yield running


@dataclass
class RealTime(FakeContext):
    """A context with real clocks. `saw` is the state of the player at each sleep."""

    address: str = ""
    until: Callable[[list[PlayerState]], bool] = lambda _: False
    saw: list[PlayerState] = field(default_factory=list)

    def player(self) -> Player:
        return mpd.connect(mpd.Options(address=self.address), {})

    def timestamp(self) -> Timestamp:
        return Timestamp(datetime.now(UTC), time.monotonic(), "boot")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(min(seconds, 0.5))
        player = self.player()
        self.saw.append(await player.state())
        await player.close()

    def next_signal(self) -> str:
        return "stop" if self.until(self.saw) else ""


def run(server: MpdServer, folder: Path, job_options: music_job.Options, **keys: object) -> tuple[Result, RealTime]:
    context = RealTime(folder, address=server.address, **keys)  # type: ignore[arg-type] # its own fields
    return music_job.run(job_options, context), context


def test_a_dead_stream_is_replaced_by_the_next_source(server, tmp_path):
    dead = f"http://127.0.0.1:{free_port()}/radio"
    result, context = run(server, tmp_path, options("alarm", play=[dead, "one.wav"], volume=30, fade="1s"))
    assert result.details["source"] == "one.wav"
    assert f"(failed: {dead}: nothing listens there)" in result.summary
    assert server.mpc("current", "-f", "%file%") == "one.wav"
    assert "volume: 30%" in server.mpc("status")
    assert all(state.volume <= 30 for state in context.saw)
    assert context.checkpoint is None


@pytest.mark.slow
def test_the_bundled_sound_plays_from_the_server_of_the_run(server, tmp_path):
    def advanced(saw: list[PlayerState]) -> bool:
        return any((state.elapsed or 0) >= 6 for state in saw)

    dead = f"http://127.0.0.1:{free_port()}/radio"
    began = time.monotonic()
    result, context = run(server, tmp_path, options("alarm", play=dead, volume=20, fade="1s"), until=advanced)
    assert result.details == {
        "source": "the built-in sound",
        "heard": True,
        "user_took_volume": False,
        "failed_sources": 1,
    }
    assert time.monotonic() - began < 30
    playing = [state for state in context.saw if state.track is not None and state.track.uri.endswith("/chime.wav")]
    assert playing
    assert all(state.repeat for state in playing[1:])
    status = server.mpc("status")
    assert "volume: 60%" in status
    assert "repeat: off" in status
    assert "[playing]" not in status


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("play", "mode"),
    [("play", "consume"), ("play", "repeat"), ("play", "random"), ("pause", "consume"), ("stop", "single")],
)
def test_an_announcement_restores_everything(server, tmp_path, mode, play):
    server.mpc("add", "Ärzte/eins.wav", "one.wav", "Ärzte/zwei — 二.wav")
    server.mpc("play", "2")
    server.mpc("pause")  # MPD 0.23 may hang if it has to seek while it begins to play
    server.mpc("seek", "0:05")
    begun = time.monotonic()
    if play != "pause":
        server.mpc(play)
    server.mpc(mode, "on")
    before = server.mpc("status", "%state% %songpos% %volume% %repeat% %random% %single% %consume%")
    queue = server.mpc("playlist", "-f", "%id% %file%")
    gong = tmp_path / "mpd" / "music" / "gong.wav"
    gong.write_bytes(short_sound())
    server.mpc("update", "--wait")
    result, context = run(server, tmp_path, options("announce", source="gong.wav", volume=35))
    assert result.summary == "announced"
    assert any(state.volume == 35 and state.track and state.track.uri == "gong.wav" for state in context.saw)
    assert server.mpc("status", "%state% %songpos% %volume% %repeat% %random% %single% %consume%") == before
    assert server.mpc("playlist", "-f", "%id% %file%") == queue
    if play != "stop":
        minutes, seconds = server.mpc("status", "%currenttime%").split(":")
        most = 6 + time.monotonic() - begun  # it plays on, before and after the announcement
        assert 5 <= int(minutes) * 60 + int(seconds) <= most if play == "play" else seconds == "05"
    assert context.checkpoint is None


def test_a_text_is_spoken_by_the_speech_program(server, tmp_path):
    server.mpc("add", "one.wav")
    try:
        result, context = run(server, tmp_path, options("announce", text="Tea -- is; $(ready)", volume=35))
    except Refused as refused:
        pytest.skip(str(refused))
    assert result.summary == "announced"
    assert any(state.track and state.track.uri.endswith("/announcement.wav") for state in context.saw)
    assert server.mpc("playlist", "-f", "%file%") == "one.wav"


def test_a_sleep_timer_pauses_a_file_and_restores_the_volume(server, tmp_path):
    server.mpc("add", "one.wav")
    server.mpc("play")
    result, context = run(server, tmp_path, options("sleep", in_="3s", fade="3s"))
    assert result.summary == "asleep"
    assert "[paused]" in server.mpc("status")
    assert "volume: 60%" in server.mpc("status")
    volumes = [state.volume or 0 for state in context.saw]
    assert volumes == sorted(volumes, reverse=True)
    assert volumes[-1] < 30


def short_sound() -> bytes:
    """Return a second and a half of the chime, as WAV."""
    return sounds.wav_file(sounds.chime()[: sounds.SAMPLE_RATE * 3])
