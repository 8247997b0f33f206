"""The actions sleep, stop and volume of the job kind `music`."""

from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from pi_appliance.errors import Refused, Unavailable
from pi_appliance.music.model import PlaybackState
from tests.fakes.timed_player import Sound
from tests.music.alarms.job_runner import FIP, JobRunner

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.fixture
def runner(tmp_path: Path) -> JobRunner:
    runner = JobRunner(tmp_path)
    runner.player.fill(FIP)
    return runner


def falls(loud: list[tuple[float, int]]) -> bool:
    return all(one >= other for (_, one), (_, other) in pairwise(loud))


def asleep_at(runner: JobRunner) -> float:
    """Return the seconds from the start to silence."""
    return next(at for at, _, plays in runner.player.volumes if at > 1000.0 and not plays) - 1000


def test_it_stops_at_its_time_and_restores_the_volume(runner):
    result = runner.run("sleep", in_="30m", fade="1m")
    assert result.summary == "asleep"
    assert asleep_at(runner) == pytest.approx(1800, abs=1)
    fall = [(at, volume) for at, volume in runner.loud if volume < 60]
    assert fall[0][0] == pytest.approx(1740, abs=3)
    assert fall[-1][1] <= 1
    assert falls(runner.loud)
    assert (runner.player.now.playback, runner.player.now.volume, runner.held) == (PlaybackState.STOPPED, 60, None)
    assert (None, "asleep in 12 min") in runner.notes


def test_a_file_is_paused_for_later(runner):
    runner.player.sounds["book.mp3"] = Sound(duration=20_000.0)
    runner.player.fill("book.mp3", elapsed=100.0)
    runner.run("sleep", in_="10m", fade="1m")
    assert runner.player.now.playback is PlaybackState.PAUSED
    assert runner.player._elapsed == pytest.approx(700, abs=2)


def test_the_default_is_half_an_hour(runner):
    runner.run("sleep")
    assert asleep_at(runner) == pytest.approx(1800, abs=1)


@pytest.mark.parametrize(
    ("now", "at", "hours"),
    [
        (datetime(2027, 3, 1, 22, 0, tzinfo=BERLIN), "23:30", 1.5),
        (datetime(2027, 3, 1, 23, 0, tzinfo=BERLIN), "0:30", 1.5),
        (datetime(2027, 3, 28, 1, 0, tzinfo=BERLIN), "3:30", 1.5),  # an hour is left out
        (datetime(2027, 10, 31, 1, 0, tzinfo=BERLIN), "3:30", 3.5),  # an hour comes twice
        (datetime(2027, 3, 28, 1, 0, tzinfo=BERLIN), "2:30", 1.5),  # a time that is left out
    ],
)
def test_a_time_of_day_ignores_clock_changes_in_between(tmp_path, now, at, hours):
    runner = JobRunner(tmp_path, wall=now.astimezone(UTC), zone=BERLIN)
    runner.player.fill(FIP)
    runner.run("sleep", at=at, fade="1m")
    assert asleep_at(runner) == pytest.approx(hours * 3600, abs=2)


def test_a_clock_step_matters_only_for_a_time_of_day(runner):
    step = datetime(2027, 3, 1, 9, 0, tzinfo=UTC)
    runner.time.at(600, lambda: setattr(runner.time, "wall", step))
    runner.run("sleep", at="10:00", fade="1m")  # it is 7:00
    assert asleep_at(runner) == pytest.approx(600 + 3600, abs=3)

    runner.player.fill(FIP)
    began = runner.time.monotonic_time
    runner.time.at(600, lambda: setattr(runner.time, "wall", datetime(2030, 1, 1, tzinfo=UTC)))
    runner.run("sleep", in_="30m", fade="1m")
    assert runner.time.monotonic_time - began == pytest.approx(1800, abs=2)


def test_at_the_end_of_the_track_the_fade_ends_with_it(runner):
    runner.player.fill("one.flac", "two.flac", elapsed=50.0)
    runner.run("sleep", play_out="track", fade="30s")
    assert asleep_at(runner) == pytest.approx(149.5, abs=0.6)
    assert {volume for at, volume in runner.loud if at < 118} == {60}
    assert (runner.player.now.playback, runner.player.current) == (PlaybackState.PAUSED, 0)


def test_it_ends_at_the_end_of_the_album(runner):
    runner.player.sounds = {name: Sound(duration=100.0, album=name[0]) for name in ("a1", "a2", "b1")}
    runner.player.fill("a1", "a2", "b1")
    runner.run("sleep", play_out="album", fade="20s")
    assert asleep_at(runner) == pytest.approx(199.5, abs=1)
    assert runner.player.current == 1


def test_it_ends_at_the_end_of_the_queue(runner):
    runner.player.fill("one.flac", "two.flac", "three.flac")
    runner.run("sleep", in_="5m", play_out="queue", fade="20s")
    assert asleep_at(runner) == pytest.approx(599.5, abs=1)


def test_a_radio_ends_at_once(runner):
    runner.run("sleep", in_="5m", play_out="track", fade="1m")
    assert asleep_at(runner) == pytest.approx(360, abs=3)


def test_skipping_the_last_track_is_followed(runner):
    runner.player.fill("one.flac", "two.flac")
    runner.time.at(20, lambda: setattr(runner.player, "current", 1))
    runner.run("sleep", play_out="track", fade="20s")
    assert asleep_at(runner) == pytest.approx(21, abs=2)


def test_a_louder_volume_of_the_user_cancels_it(runner):
    runner.time.at(1770, lambda: runner.player.change_volume(50))
    result = runner.run("sleep", in_="30m", fade="1m")
    assert result.summary == "the user raised the volume; the music continues"
    assert (runner.player.now.playback, runner.player.now.volume, runner.held) == (PlaybackState.PLAYING, 50, None)


def test_a_lower_volume_of_the_user_is_followed(runner):
    runner.time.at(1741.5, lambda: runner.player.change_volume(10))
    runner.run("sleep", in_="30m", fade="1m")
    assert falls(runner.loud)
    assert (runner.player.now.playback, runner.player.now.volume) == (PlaybackState.STOPPED, 60)


def test_a_volume_change_before_the_fade_is_ignored(runner):
    runner.time.at(600, lambda: runner.player.change_volume(30))
    runner.run("sleep", in_="30m", fade="1m")
    assert (runner.player.now.playback, runner.player.now.volume) == (PlaybackState.STOPPED, 30)


@pytest.mark.parametrize("seconds", [600, 1770])
def test_it_can_be_cancelled(runner, seconds):
    runner.say(seconds, "stop")
    assert runner.run("sleep", in_="30m", fade="1m").summary == "cancelled; the music continues"
    assert (runner.player.now.playback, runner.player.now.volume, runner.held) == (PlaybackState.PLAYING, 60, None)


def test_nothing_is_changed_when_nothing_plays(runner):
    runner.player.change_playback(PlaybackState.STOPPED)
    assert runner.run("sleep", in_="10m").summary == "nothing was playing"
    assert runner.player.now.volume == 60


@pytest.mark.parametrize("cut", [0, 600, 1739, 1741, 1760, 1799])
def test_an_interrupted_timer_ends_on_time(runner, cut):
    runner.kill_after(cut, "sleep", in_="30m", fade="1m")
    runner.time.advance(0.4)
    runner.go_on()
    assert asleep_at(runner) == pytest.approx(1800, abs=2)
    assert falls(runner.loud)
    assert (runner.player.now.playback, runner.player.now.volume, runner.held) == (PlaybackState.STOPPED, 60, None)


@pytest.mark.parametrize("cut", [600, 1760])
def test_a_timer_that_expired_during_an_interruption_ends_at_once(runner, cut):
    runner.kill_after(cut, "sleep", in_="30m", fade="1m")
    runner.time.advance(1800)
    went = runner.time.monotonic_time
    runner.go_on()
    assert runner.time.monotonic_time - went < 5
    assert (runner.player.now.playback, runner.player.now.volume, runner.held) == (PlaybackState.STOPPED, 60, None)


def test_hours_later_the_music_is_left_alone_and_never_gets_louder(runner):
    runner.kill_after(1790, "sleep", in_="30m", fade="1m")
    runner.reboot(8 * 3600)
    low = runner.player.now.volume
    assert runner.go_on().summary == "interrupted too long ago; the music continues"
    assert (runner.player.now.playback, runner.player.now.volume, runner.held) == (PlaybackState.PLAYING, low, None)


def test_a_player_outage_does_not_delay_it(runner):
    runner.time.at(1745, lambda: setattr(runner.player, "is_unreachable", True))
    runner.time.at(1760, lambda: setattr(runner.player, "is_unreachable", False))
    runner.run("sleep", in_="30m", fade="1m")
    assert asleep_at(runner) == pytest.approx(1800, abs=2)
    assert runner.player.now.volume == 60


# stop and volume


def test_stop_fades_out_and_restores_the_volume(runner):
    runner.player.fill("song.flac")
    result = runner.run("stop", fade="20s")
    assert result.summary == "stopped"
    assert asleep_at(runner) == pytest.approx(20, abs=1)
    assert (runner.player.now.playback, runner.player.now.volume) == (PlaybackState.STOPPED, 60)


def test_stop_without_a_fade_is_immediate(runner):
    runner.run("stop")
    assert runner.time.monotonic_time == 1000
    assert runner.player.now.playback is PlaybackState.STOPPED


def test_a_volume_is_set_at_once_or_within_a_duration(runner):
    assert runner.run("volume", volume=30).summary == "volume 30"
    assert runner.time.monotonic_time == 1000
    result = runner.run("volume", volume=50, fade="1m")
    assert result.summary == "volume 50"
    assert runner.loud[-1] == (pytest.approx(60, abs=1), 50)
    assert runner.held is None


def test_a_limited_volume_is_reported(runner):
    runner.player.max_volume = 45
    assert runner.run("volume", volume=70).summary == "volume 45, not 70: the volume is limited"


def test_user_input_ends_a_volume_fade(runner):
    runner.time.at(30, lambda: runner.player.change_volume(35))
    assert runner.run("volume", volume=10, fade="1m").summary == "the user changed the volume to 35"


@pytest.mark.parametrize("cut", [0, 5, 30, 59])
def test_a_volume_fade_is_resumed_where_it_should_be(runner, cut):
    runner.kill_after(cut, "volume", volume=10, fade="1m")
    runner.time.advance(10)
    assert runner.go_on().summary == "volume 10"
    assert falls(runner.loud)
    assert runner.held is None


def test_without_a_mixer_or_a_player_it_fails(tmp_path):
    with pytest.raises(Refused, match="no volume to set"):
        JobRunner(tmp_path, volume=None).run("volume", volume=30)
    runner = JobRunner(tmp_path)
    runner.player.is_unreachable = True
    with pytest.raises(Unavailable):
        runner.run("volume", volume=30)
    assert runner.held is None
