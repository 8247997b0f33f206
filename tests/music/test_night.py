"""A night with the real program and a real MPD: all music features at once."""

import asyncio
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest

from pi_appliance.music.alarms import sounds
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.storage.model import Outcome
from pi_appliance.system import clock, files
from tests.fakes.mpd_server import MpdServer, needs_mpd, running_mpd, running_radio
from tests.fakes.radio_server import RadioServer, running_station
from tests.installation import Installation, is_running, wait_until
from tests.test_daemon import running_daemon

pytestmark = [needs_mpd, pytest.mark.slow]  # in virtual time: tests/music/alarms

JOBS = """
wake: {kind: music, with: {action: alarm, play: [PLAY], volume: 40, start-volume: 4, fade: 5s}}
other: {kind: music, with: {action: alarm, play: [one.wav], volume: 30, start-volume: 4, fade: 3s}}
sleep: {kind: music, with: {action: sleep}}
announce: {kind: music, concurrency: queue, with: {action: announce}}
"""
# Is called like espeak-ng, and records the text.
SPEAKER = """#!/bin/sh
printf '%s\\n' "$@" >> {folder}/said.args
cat "$2" >> {folder}/said.text
cp {folder}/voice.wav "$4"
"""
MUSIC = {f"{name}.wav": (name, "", "") for name in ("one", "two", "three")}


@dataclass
class VolumeRecorder:
    """Records time, volume and playback of MPD on its own connection."""

    port: int
    heard: list[tuple[float, int, bool]] = field(default_factory=list)
    over: bool = False

    def listen(self) -> None:
        """Record until stopped; reconnect to a killed MPD."""
        while not self.over:
            with (
                contextlib.suppress(OSError, ValueError),
                socket.create_connection(("127.0.0.1", self.port), 1) as line,
            ):
                line.settimeout(30)
                answers = line.makefile("rb")
                answers.readline()
                while not self.over:
                    self._note(line, answers)
            time.sleep(0.02)

    def _note(self, line: socket.socket, answers) -> None:
        status = dict(each.split(": ", 1) for each in self._ask(line, answers, b"status\n"))
        self.heard.append((time.monotonic(), int(status.get("volume", "0")), status["state"] == "play"))
        self._ask(line, answers, b"idle mixer player message\n")

    @staticmethod
    def _ask(line: socket.socket, answers, command: bytes) -> list[str]:
        line.sendall(command)
        result = []
        while (got := answers.readline()) != b"OK\n":
            if not got:
                raise OSError
            result.append(got.decode().rstrip("\n"))
        return result

    def loud(self, since: float = 0.0) -> list[int]:
        """Return the volumes during playback."""
        return [volume for at, volume, plays in self.heard if plays and at >= since]


class Night(Installation):
    """An installation with its MPD, a recorder of its volume, and actions at once."""

    def __init__(self, folder: Path, server: MpdServer, recorder: VolumeRecorder) -> None:
        super().__init__(folder)
        self.server, self.recorder = server, recorder

    def furnish(self, jobs: str = JOBS, play: str = "one.wav", rest: str = "") -> None:
        player = f"player: {{kind: mpd, with: {{address: '{self.server.address}', fallback-mpd: false}}}}"
        volume = "volume: {start: 20, maximum: 50}"
        self.write(jobs.replace("PLAY", play), f"web: {{port: 0}}\nstop-grace: 5s\n{player}\n{volume}\n{rest}")

    def environment(self, more=None):
        result = super().environment(more)
        return {**result, "PATH": f"{self.folder / 'bin'}:{result['PATH']}"}

    def begin(self, *jobs: str, **given: object) -> None:
        """Start `jobs` now by the daemon, with these keys."""
        with Appliance.open(self.config) as appliance:
            for job in jobs:
                appliance.store.requests.add(job, clock.now(), given, now=clock.now())
            files.wake_daemon(appliance.config.state_dir / files.WAKEUP_FILE)

    def pid(self, job: str) -> int:
        """Return the process id of the active run of `job`."""
        lock = self.state / "locks" / f"{job}.lock"
        return int(json.loads(lock.read_bytes()[:1024].rstrip(b"\0 \n"))["pid"])

    def end_all(self) -> None:
        """End all runs; those of a killed daemon continue without it."""
        for lock in (self.state / "locks").glob("*.lock"):
            with contextlib.suppress(OSError, ValueError, KeyError):
                os.kill(self.pid(lock.stem), signal.SIGKILL)

    def ended(self, job: str, seconds: float = 25) -> dict:
        """Wait until a run of `job` has succeeded and return it."""
        wait_until(lambda: Outcome.SUCCEEDED in self.outcomes(job), seconds)
        return next(run for run in self.json("jobs", "history", job) if run["outcome"] == "succeeded")

    @property
    def volume(self) -> int:
        return self.recorder.heard[-1][1]

    def status(self, form: str = "%state% %songpos% %length%") -> str:
        return self.server.mpc("status", form)


@pytest.fixture
def night(tmp_path: Path) -> Iterator[Night]:
    with running_mpd(tmp_path / "mpd", music=MUSIC, rate=96_000) as server:
        recorder = VolumeRecorder(server.port)
        thread = threading.Thread(target=recorder.listen, daemon=True)
        thread.start()
        made = Night(tmp_path, server, recorder)
        made.furnish()
        voice = sounds.wav_file(sounds.chime()[: sounds.SAMPLE_RATE * 2])
        (tmp_path / "voice.wav").write_bytes(voice)
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "espeak-ng").write_text(SPEAKER.format(folder=tmp_path), "utf-8")
        (tmp_path / "bin" / "espeak-ng").chmod(0o755)
        try:
            yield made
        finally:
            recorder.over = True
            with contextlib.suppress(subprocess.CalledProcessError):  # wakes the recorder
                server.mpc("sendmessage", "any", "over")


def music(night: Night, volume: int = 45) -> None:
    night.server.mpc("add", *MUSIC)
    night.server.mpc("repeat", "on")
    night.server.mpc("volume", str(volume))
    night.server.mpc("play", "2")


def rises(volumes: list[int], step: int) -> bool:
    """Return whether `volumes` never fall and never rise by more than `step`."""
    return all(0 <= later - earlier <= step for earlier, later in pairwise(volumes))


def test_three_announcements_follow_each_other_and_the_music_continues(night: Night) -> None:
    odd = ["-w /tmp/x", 'it\'s "done";\n$(reboot)', "x" * 10_000]
    with running_daemon(night) as daemon:
        wait_until(lambda: "connected" in daemon.output)
        music(night)
        for text in odd:
            night.begin("announce", text=text, volume=30)
        wait_until(lambda: night.outcomes().count(Outcome.SUCCEEDED) == 3, 30)
        assert "broke off" not in daemon.output
    assert (night.folder / "said.text").read_text("utf-8") == "".join(odd)
    assert set(re.findall(r"(?m)^-.*", (night.folder / "said.args").read_text("utf-8"))) == {"-f", "-w"}
    assert night.status("%state% %songpos% %length% %repeat% %single% %volume%") == "playing 2 3 on off  45%"
    assert max(night.recorder.loud()) <= 50


def test_repeated_interruptions_of_an_alarm_cause_no_jump(night: Night) -> None:
    night.furnish(JOBS.replace("fade: 5s", "fade: 7s"))
    began = time.monotonic()
    with running_daemon(night) as daemon:
        wait_until(lambda: night.recorder.heard and night.volume == 20)  # the start volume
        night.begin("wake")
        wait_until(lambda: 8 <= night.volume < 20 and night.status("%state%") == "playing")
        daemon.send_signal(signal.SIGTERM)
        daemon.status()
    assert night.latest_run("wake")["outcome"] == "stopped", night.latest_run("wake")
    with running_daemon(night) as daemon:  # the music has played on
        wait_until(lambda: night.volume > 10)
        night.server.kill()
        night.server.start()
        wait_until(lambda: night.status("%state%") == "playing")
        steps = [later - earlier for earlier, later in pairwise(night.recorder.loud(began))]
        # The step that MPD took just before it was killed may not be known to the alarm, which then repeats it.
        assert (max(steps) <= 6, sum(each for each in steps if each < 0) >= -6) == (True, True), night.recorder.heard
        wait_until(lambda: night.volume > 12)
        daemon.process.kill()
        os.kill(pid := night.pid("wake"), signal.SIGKILL)
        night.server.kill()
        wait_until(lambda: not is_running(pid))
    assert max(night.recorder.loud(began)) < 40
    night.server.start()
    again = time.monotonic()
    with running_daemon(night):
        assert night.ended("wake")["summary"] == "one.wav: the music continues"
        assert night.status() == "playing 1 1"
    loud = night.recorder.loud(again)
    assert (loud[0] <= 20, loud[-1], rises(loud[2:], 12)) == (True, 40, True), loud
    assert [run["outcome"] for run in night.json("jobs", "history", "wake")] == ["succeeded", "abandoned", "stopped"]


def test_of_two_alarms_at_the_same_minute_one_rings_and_a_fading_timer_makes_room(night: Night) -> None:
    with running_daemon(night):
        wait_until(lambda: night.recorder.heard and night.volume == 20)
        music(night)
        assert night.run("music", "sleep", "20s", "--fade", "19s").returncode == 0
        wait_until(lambda: night.volume < 42)
        began = time.monotonic()
        night.begin("wake", "other")
        result = [night.ended(job) for job in ("wake", "other", "sleep")]
    winner = next(run for run in result[:2] if "the music continues" in run["summary"])
    loser = next(run for run in result[:2] if run is not winner)
    assert (winner["details"]["user_took_volume"], loser["summary"]) == (False, "one.wav: another alarm rings now")
    assert result[2]["summary"] == "asleep; an alarm rings now"
    assert night.volume == (40 if winner["job"] == "wake" else 30)
    assert night.status() == "playing 1 1"
    risen = night.recorder.loud(began)
    assert rises(risen[risen.index(4) :], 14), risen


def test_an_announcement_during_an_alarm_is_heard_and_the_alarm_continues(night: Night) -> None:
    with running_daemon(night):
        wait_until(lambda: night.recorder.heard and night.volume == 20)
        night.begin("wake")
        wait_until(lambda: night.volume in range(8, 20) and night.status("%state%") == "playing")
        night.begin("announce", text="breakfast", volume=30)
        assert night.ended("announce")["summary"] == "announced"
        wake = night.ended("wake")
    assert (wake["summary"], wake["details"]["user_took_volume"]) == ("one.wav: the music continues", False)
    assert (night.volume, night.status()) == (40, "playing 1 1")
    assert max(night.recorder.loud()) == 40


def test_a_radio_that_fails_in_the_fade_is_left_to_the_alarm(night: Night) -> None:
    with station() as radio, running_radio(night.folder) as web:
        (night.folder / "one.m3u").write_text(radio.address, "utf-8")
        (night.folder / "stations.yaml").write_text(f"- {{name: One, url: '{web}/one.m3u'}}", "utf-8")
        rest = "stations: stations.yaml\nradio: {silence-timeout: 1s, fallback: [two.wav]}"
        night.furnish(play="one, one.wav", rest=rest)
        with running_daemon(night) as daemon:
            wait_until(lambda: night.recorder.heard and night.volume == 20)
            night.begin("wake")
            wait_until(lambda: night.volume in range(8, 20) and night.status("%state%") == "playing")
            radio.gone = True
            radio.hang_up()
            wake = night.ended("wake")
            assert "broke off" not in daemon.output
    assert wake["summary"].startswith("one.wav: the music continues")
    assert radio.listeners == 1
    assert night.server.mpc("playlist", "-f", "%file%") == "one.wav"
    assert (night.volume, max(night.recorder.loud())) == (40, 40)


@contextlib.contextmanager
def station() -> Iterator[RadioServer]:
    """Yield a web radio in its own thread."""
    result: list[RadioServer] = []
    over = threading.Event()

    async def play() -> None:
        async with running_station() as radio:
            hang_up, loop = radio.hang_up, asyncio.get_running_loop()
            radio.hang_up = lambda: loop.call_soon_threadsafe(hang_up)  # type: ignore[method-assign]
            result.append(radio)
            while not over.is_set():
                await asyncio.sleep(0.05)

    thread = threading.Thread(target=lambda: asyncio.run(play()))
    thread.start()
    try:
        yield wait_until(lambda: result)[0]
    finally:
        over.set()
        thread.join()
