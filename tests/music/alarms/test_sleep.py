"""Job kind 'music', sleep, stop and volume: when it becomes silent, and that all is as it was."""

from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from pi_appliance.errors import Refused, Unavailable
from pi_appliance.music.model import PlaybackState
from tests.fakes.timed_player import Sound
from tests.music.alarms.job_runner import FIP, Bedroom

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.fixture
def room(tmp_path: Path) -> Bedroom:
    room = Bedroom(tmp_path)
    room.player.fill(FIP)
    return room


def falls(loud: list[tuple[float, int]]) -> bool:
    return all(one >= other for (_, one), (_, other) in pairwise(loud))


def asleep_at(room: Bedroom) -> float:
    """Return when it became silent, in seconds since the beginning."""
    return next(at for at, _, plays in room.player.volumes if at > 1000.0 and not plays) - 1000


def test_it_stops_soon_when_the_time_is_over_and_the_volume_is_as_it_was(room):
    result = room.run("sleep", in_="30m", fade="1m")
    assert result.summary == "asleep"
    assert asleep_at(room) == pytest.approx(1800, abs=1)
    fall = [(at, volume) for at, volume in room.loud if volume < 60]
    assert fall[0][0] == pytest.approx(1740, abs=3)
    assert fall[-1][1] <= 1
    assert falls(room.loud)
    assert (room.player.now.playback, room.player.now.volume, room.held) == (PlaybackState.STOPPED, 60, None)
    assert (None, "asleep in 12 min") in room.notes


def test_a_file_is_paused_so_that_it_can_go_on(room):
    room.player.sounds["book.mp3"] = Sound(duration=20_000.0)
    room.player.fill("book.mp3", elapsed=100.0)
    room.run("sleep", in_="10m", fade="1m")
    assert room.player.now.playback is PlaybackState.PAUSED
    assert room.player._elapsed == pytest.approx(700, abs=2)


def test_half_an_hour_where_nothing_is_said(room):
    room.run("sleep")
    assert asleep_at(room) == pytest.approx(1800, abs=1)


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
def test_at_a_time_of_the_day_whatever_the_clocks_do(tmp_path, now, at, hours):
    room = Bedroom(tmp_path, wall=now.astimezone(UTC), zone=BERLIN)
    room.player.fill(FIP)
    room.run("sleep", at=at, fade="1m")
    assert asleep_at(room) == pytest.approx(hours * 3600, abs=2)


def test_a_step_of_the_clock_is_noticed_where_a_time_was_said_and_nowhere_else(room):
    step = datetime(2027, 3, 1, 9, 0, tzinfo=UTC)
    room.time.at(600, lambda: setattr(room.time, "wall", step))
    room.run("sleep", at="10:00", fade="1m")  # it is 7:00
    assert asleep_at(room) == pytest.approx(600 + 3600, abs=3)

    room.player.fill(FIP)
    began = room.time.steady
    room.time.at(600, lambda: setattr(room.time, "wall", datetime(2030, 1, 1, tzinfo=UTC)))
    room.run("sleep", in_="30m", fade="1m")
    assert room.time.steady - began == pytest.approx(1800, abs=2)


def test_at_the_end_of_the_track_the_fade_ends_with_it(room):
    room.player.fill("one.flac", "two.flac", elapsed=50.0)
    room.run("sleep", play_out="track", fade="30s")
    assert asleep_at(room) == pytest.approx(149.5, abs=0.6)
    assert {volume for at, volume in room.loud if at < 118} == {60}
    assert (room.player.now.playback, room.player.current) == (PlaybackState.PAUSED, 0)


def test_at_the_end_of_the_album(room):
    room.player.sounds = {name: Sound(duration=100.0, album=name[0]) for name in ("a1", "a2", "b1")}
    room.player.fill("a1", "a2", "b1")
    room.run("sleep", play_out="album", fade="20s")
    assert asleep_at(room) == pytest.approx(199.5, abs=1)
    assert room.player.current == 1


def test_at_the_end_of_the_queue(room):
    room.player.fill("one.flac", "two.flac", "three.flac")
    room.run("sleep", in_="5m", play_out="queue", fade="20s")
    assert asleep_at(room) == pytest.approx(599.5, abs=1)


def test_the_end_of_a_radio_is_now(room):
    room.run("sleep", in_="5m", play_out="track", fade="1m")
    assert asleep_at(room) == pytest.approx(360, abs=3)


def test_somebody_skips_the_track_that_was_to_be_the_last(room):
    room.player.fill("one.flac", "two.flac")
    room.time.at(20, lambda: setattr(room.player, "current", 1))
    room.run("sleep", play_out="track", fade="20s")
    assert asleep_at(room) == pytest.approx(21, abs=2)


def test_a_hand_that_makes_it_louder_is_awake(room):
    room.time.at(1770, lambda: room.player.hand(50))
    result = room.run("sleep", in_="30m", fade="1m")
    assert result.summary == "the user raised the volume; the music continues"
    assert (room.player.now.playback, room.player.now.volume, room.held) == (PlaybackState.PLAYING, 50, None)


def test_a_hand_that_makes_it_more_silent_is_followed(room):
    room.time.at(1741.5, lambda: room.player.hand(10))
    room.run("sleep", in_="30m", fade="1m")
    assert falls(room.loud)
    assert (room.player.now.playback, room.player.now.volume) == (PlaybackState.STOPPED, 60)


def test_a_turn_of_the_volume_before_the_fade_is_nobodys_business(room):
    room.time.at(600, lambda: room.player.hand(30))
    room.run("sleep", in_="30m", fade="1m")
    assert (room.player.now.playback, room.player.now.volume) == (PlaybackState.STOPPED, 30)


@pytest.mark.parametrize("seconds", [600, 1770])
def test_it_can_be_cancelled(room, seconds):
    room.say(seconds, "stop")
    assert room.run("sleep", in_="30m", fade="1m").summary == "cancelled; the music continues"
    assert (room.player.now.playback, room.player.now.volume, room.held) == (PlaybackState.PLAYING, 60, None)


def test_where_nothing_plays_nothing_is_touched(room):
    room.player.press(PlaybackState.STOPPED)
    assert room.run("sleep", in_="10m").summary == "nothing was playing"
    assert room.player.now.volume == 60


@pytest.mark.parametrize("cut", [0, 600, 1739, 1741, 1760, 1799])
def test_cut_off_anywhere_it_sleeps_at_its_time(room, cut):
    room.cut(cut, "sleep", in_="30m", fade="1m")
    room.time.go(0.4)
    room.go_on()
    assert asleep_at(room) == pytest.approx(1800, abs=2)
    assert falls(room.loud)
    assert (room.player.now.playback, room.player.now.volume, room.held) == (PlaybackState.STOPPED, 60, None)


@pytest.mark.parametrize("cut", [600, 1760])
def test_a_time_that_passed_meanwhile_ends_it_at_once(room, cut):
    room.cut(cut, "sleep", in_="30m", fade="1m")
    room.time.go(1800)
    went = room.time.steady
    room.go_on()
    assert room.time.steady - went < 5
    assert (room.player.now.playback, room.player.now.volume, room.held) == (PlaybackState.STOPPED, 60, None)


def test_after_hours_the_music_is_left_alone_and_nothing_gets_louder(room):
    room.cut(1790, "sleep", in_="30m", fade="1m")
    room.reboot(8 * 3600)
    low = room.player.now.volume
    assert room.go_on().summary == "interrupted too long ago; the music continues"
    assert (room.player.now.playback, room.player.now.volume, room.held) == (PlaybackState.PLAYING, low, None)


def test_a_player_that_goes_away_for_a_while_sleeps_at_its_time(room):
    room.time.at(1745, lambda: setattr(room.player, "away", True))
    room.time.at(1760, lambda: setattr(room.player, "away", False))
    room.run("sleep", in_="30m", fade="1m")
    assert asleep_at(room) == pytest.approx(1800, abs=2)
    assert room.player.now.volume == 60


# stop and volume


def test_stop_stops_after_its_fade_and_restores_the_volume(room):
    room.player.fill("song.flac")
    result = room.run("stop", fade="20s")
    assert result.summary == "stopped"
    assert asleep_at(room) == pytest.approx(20, abs=1)
    assert (room.player.now.playback, room.player.now.volume) == (PlaybackState.STOPPED, 60)


def test_stop_stops_at_once(room):
    room.run("stop")
    assert room.time.steady == 1000
    assert room.player.now.playback is PlaybackState.STOPPED


def test_the_volume_at_once_and_within_a_while(room):
    assert room.run("volume", volume=30).summary == "volume 30"
    assert room.time.steady == 1000
    result = room.run("volume", volume=50, fade="1m")
    assert result.summary == "volume 50"
    assert room.loud[-1] == (pytest.approx(60, abs=1), 50)
    assert room.held is None


def test_the_volume_within_the_policy_says_so(room):
    room.player.most = 45
    assert room.run("volume", volume=70).summary == "volume 45, not 70: the volume is limited"


def test_a_hand_ends_the_way_to_a_volume(room):
    room.time.at(30, lambda: room.player.hand(35))
    assert room.run("volume", volume=10, fade="1m").summary == "the user changed the volume to 35"


@pytest.mark.parametrize("cut", [0, 5, 30, 59])
def test_the_way_to_a_volume_goes_on_where_it_should_be(room, cut):
    room.cut(cut, "volume", volume=10, fade="1m")
    room.time.go(10)
    assert room.go_on().summary == "volume 10"
    assert falls(room.loud)
    assert room.held is None


def test_no_mixer_no_player(tmp_path):
    with pytest.raises(Refused, match="no volume to set"):
        Bedroom(tmp_path, volume=None).run("volume", volume=30)
    room = Bedroom(tmp_path)
    room.player.away = True
    with pytest.raises(Unavailable):
        room.run("volume", volume=30)
    assert room.held is None
