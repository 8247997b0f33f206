"""Announcements of the job kind `music`: they are played, and everything is restored."""

from dataclasses import replace
from pathlib import Path

import pytest

from pi_appliance.errors import Refused, Unavailable
from pi_appliance.music.model import Capability, Mode, PlaybackState
from tests.fakes.timed_player import ALL, Sound
from tests.music.alarms.job_runner import FIP, JobRunner

GONG = "gong.wav"


@pytest.fixture
def runner(tmp_path: Path) -> JobRunner:
    runner = JobRunner(tmp_path, sounds={GONG: Sound(duration=4.0), "one": Sound(duration=300.0)})
    runner.player.fill("one", "two", "three", elapsed=100.0)
    return runner


def picture(runner: JobRunner) -> tuple[object, ...]:
    """Return all that must be restored, except the second."""
    player = runner.player
    modes = (player.now.repeat, player.now.random, player.now.single, player.now.consume)
    return [each.id for each in player.tracks], player.current, player.now.playback, player.now.volume, modes


MODES = [
    {},
    {"repeat": True},
    {"random": True},
    {"single": Mode.ON, "repeat": True},
    {"single": Mode.ONCE},
    {"consume": Mode.ON},
    {"consume": Mode.ONCE, "repeat": True, "random": True},
]


@pytest.mark.parametrize("modes", MODES, ids=str)
@pytest.mark.parametrize("play", list(PlaybackState))
def test_everything_is_restored(runner, modes, play):
    runner.player.now = replace(runner.player.now, **modes)
    runner.player.change_playback(play)
    before = picture(runner)
    seconds = runner.player._position()
    result = runner.run("announce", source=GONG, volume=45)
    assert result.summary == "announced"
    assert picture(runner) == before
    if play is not PlaybackState.STOPPED:
        assert runner.player._position() == pytest.approx(seconds + 2 * (play is PlaybackState.PLAYING), abs=0.6)
    assert {volume for at, volume in runner.loud if 1.5 <= at <= 4.5} <= {0, 45}
    assert runner.held is None


def test_the_music_fades_out_first_and_comes_back_afterwards(runner):
    runner.run("announce", source=GONG, volume=45)
    volumes = [volume for _, volume in runner.loud]
    gong = volumes.index(45)
    assert volumes[:gong] == sorted(volumes[:gong], reverse=True)
    back = [volume for at, volume in runner.loud if at > 5]
    assert back == sorted(back)
    assert back[-1] == 60


def test_without_a_volume_it_is_as_loud_as_the_music(runner):
    runner.run("announce", source=GONG)
    assert max(volume for _, volume in runner.loud) == 60


def test_it_is_no_louder_than_allowed(runner):
    runner.player.max_volume = 50
    runner.player.change_volume(50)
    runner.player.volumes.clear()
    runner.run("announce", source=GONG, volume=90)
    assert max(volume for _, volume in runner.loud) == 50


def test_an_announcement_works_with_an_empty_queue(tmp_path):
    runner = JobRunner(tmp_path, sounds={GONG: Sound(duration=4.0)})
    runner.run("announce", source=GONG)
    assert (runner.player.tracks, runner.player.now.playback, runner.player.now.volume) == (
        [],
        PlaybackState.STOPPED,
        60,
    )


def test_a_radio_keeps_playing(tmp_path):
    runner = JobRunner(tmp_path, sounds={GONG: Sound(duration=4.0)})
    runner.player.fill(FIP, elapsed=500.0)
    runner.run("announce", source=GONG)
    assert (runner.player.now.playback, runner.player.current, len(runner.player.tracks)) == (
        PlaybackState.PLAYING,
        0,
        1,
    )


def test_a_sound_already_in_the_queue_stays(runner):
    runner.player.fill("one", GONG, "three", elapsed=100.0)
    before = picture(runner)
    runner.run("announce", source=GONG)
    assert picture(runner) == before


@pytest.mark.parametrize("sound", [Sound(error="Failed to decode"), Sound(silent=True)])
def test_a_failed_announcement_is_reported_and_everything_restored(runner, sound):
    runner.player.sounds[GONG] = sound
    before = picture(runner)
    with pytest.raises(Refused, match=r"the announcement was not heard \((Failed to decode|it did not start)\)"):
        runner.run("announce", source=GONG)
    assert picture(runner) == before
    assert runner.held is None


def test_a_radio_is_not_an_announcement_and_ends_after_a_limit(runner):
    before = picture(runner)
    runner.run("announce", source="http://radio/endless")
    assert runner.time.monotonic_time - 1000 < 125
    assert picture(runner) == before


def test_a_choice_of_the_user_in_between_stays(runner):
    def choose() -> None:
        runner.player.current = 2
        runner.player.change_playback(PlaybackState.PLAYING)

    runner.time.at(3, choose)
    runner.run("announce", source=GONG, volume=20)
    assert (runner.player.current, runner.player.now.playback, runner.player.now.volume) == (
        2,
        PlaybackState.PLAYING,
        60,
    )
    assert len(runner.player.tracks) == 3


def test_a_player_that_cannot_remove_tracks_is_refused(runner):
    runner.player.supported = ALL - {Capability.REMOVE}
    with pytest.raises(Refused, match="cannot remove tracks from its queue"):
        runner.run("announce", source=GONG)
    assert len(runner.player.tracks) == 3


@pytest.mark.parametrize("cut", [0, 0.3, 0.9, 1.1, 1.3, 3, 5.0, 5.4, 5.9])
@pytest.mark.parametrize("play", list(PlaybackState))
def test_after_an_interruption_everything_is_restored(runner, cut, play):
    runner.player.now = replace(runner.player.now, consume=Mode.ON)
    runner.player.change_playback(play)
    before = picture(runner)
    try:
        runner.kill_after(cut, "announce", source=GONG, volume=45)
    except AssertionError:  # it takes a second less where nothing plays
        assert play is not PlaybackState.PLAYING
        return
    gong_count = runner.player.commands.count(f"add {GONG}")
    runner.go_on()
    assert runner.player.commands.count(f"add {GONG}") == gong_count
    assert picture(runner) == before
    if play is not PlaybackState.STOPPED:
        assert runner.player._position() == pytest.approx(102, abs=2.5)
    assert runner.held is None


def test_after_a_player_outage_everything_is_restored(runner):
    runner.time.at(3, lambda: setattr(runner.player, "is_unreachable", True))
    runner.time.at(14, lambda: setattr(runner.player, "is_unreachable", False))
    before = picture(runner)
    with pytest.raises(Unavailable):
        runner.run("announce", source=GONG)
    assert picture(runner) == before


def test_a_later_run_restores_a_player_that_stayed_away(runner):
    runner.time.at(3, lambda: setattr(runner.player, "is_unreachable", True))
    before = picture(runner)
    with pytest.raises(Unavailable):
        runner.run("announce", source=GONG)
    assert runner.held is not None
    runner.player.is_unreachable = False
    runner.go_on()
    assert picture(runner) == before


def test_without_a_speech_program_the_package_to_install_is_named(runner, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        Refused, match="no program that can speak is installed; install one: sudo apt install espeak-ng"
    ):
        runner.run("announce", text="Dinner")


def test_the_speech_is_served_to_the_player_by_the_run(runner, monkeypatch, tmp_path):
    program = tmp_path / "espeak-ng"
    program.write_text('#!/bin/sh\nprintf "RIFF" > "$4"\n', "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    runner.run("announce", text="Dinner")
    (added,) = [did for did in runner.player.commands if did.startswith("add ")]
    assert added.startswith("add http://127.0.0.1:")
    assert added.endswith("/announcement.wav")
    assert len(runner.player.tracks) == 3
