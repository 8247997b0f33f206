"""Job kind 'music', announce: something is heard, and then everything is as it was."""

from dataclasses import replace
from pathlib import Path

import pytest

from pi_appliance.errors import Refused, Unavailable
from pi_appliance.music.model import Capability, Mode, PlaybackState
from tests.fakes.timed_player import ALL, Sound
from tests.music.alarms.job_runner import FIP, Bedroom

GONG = "gong.wav"


@pytest.fixture
def room(tmp_path: Path) -> Bedroom:
    room = Bedroom(tmp_path, sounds={GONG: Sound(duration=4.0), "one": Sound(duration=300.0)})
    room.player.fill("one", "two", "three", elapsed=100.0)
    return room


def picture(room: Bedroom) -> tuple[object, ...]:
    """Return all that must be as it was, but for the second."""
    player = room.player
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
def test_everything_is_as_it_was(room, modes, play):
    room.player.now = replace(room.player.now, **modes)
    room.player.press(play)
    before = picture(room)
    seconds = room.player._position()
    result = room.run("announce", source=GONG, volume=45)
    assert result.summary == "announced"
    assert picture(room) == before
    if play is not PlaybackState.STOPPED:
        assert room.player._position() == pytest.approx(seconds + 2 * (play is PlaybackState.PLAYING), abs=0.6)
    assert {volume for at, volume in room.loud if 1.5 <= at <= 4.5} <= {0, 45}
    assert room.held is None


def test_the_music_steps_back_first_and_comes_back_afterwards(room):
    room.run("announce", source=GONG, volume=45)
    volumes = [volume for _, volume in room.loud]
    gong = volumes.index(45)
    assert volumes[:gong] == sorted(volumes[:gong], reverse=True)
    back = [volume for at, volume in room.loud if at > 5]
    assert back == sorted(back)
    assert back[-1] == 60


def test_without_a_volume_it_is_as_loud_as_the_music_was(room):
    room.run("announce", source=GONG)
    assert max(volume for _, volume in room.loud) == 60


def test_no_louder_than_is_allowed(room):
    room.player.most = 50
    room.player.hand(50)
    room.player.volumes.clear()
    room.run("announce", source=GONG, volume=90)
    assert max(volume for _, volume in room.loud) == 50


def test_into_an_empty_queue(tmp_path):
    room = Bedroom(tmp_path, sounds={GONG: Sound(duration=4.0)})
    room.run("announce", source=GONG)
    assert (room.player.tracks, room.player.now.playback, room.player.now.volume) == ([], PlaybackState.STOPPED, 60)


def test_a_radio_plays_on(tmp_path):
    room = Bedroom(tmp_path, sounds={GONG: Sound(duration=4.0)})
    room.player.fill(FIP, elapsed=500.0)
    room.run("announce", source=GONG)
    assert (room.player.now.playback, room.player.current, len(room.player.tracks)) == (PlaybackState.PLAYING, 0, 1)


def test_a_sound_that_is_in_the_queue_already_stays_there(room):
    room.player.fill("one", GONG, "three", elapsed=100.0)
    before = picture(room)
    room.run("announce", source=GONG)
    assert picture(room) == before


@pytest.mark.parametrize("sound", [Sound(dead="Failed to decode"), Sound(silent=True)])
def test_what_cannot_be_heard_is_told_and_everything_is_as_it_was(room, sound):
    room.player.sounds[GONG] = sound
    before = picture(room)
    with pytest.raises(Refused, match=r"the announcement was not heard \((Failed to decode|it did not start)\)"):
        room.run("announce", source=GONG)
    assert picture(room) == before
    assert room.held is None


def test_a_radio_is_no_announcement_and_ends_after_a_while(room):
    before = picture(room)
    room.run("announce", source="http://radio/endless")
    assert room.time.steady - 1000 < 125
    assert picture(room) == before


def test_somebody_who_chooses_something_meanwhile_hears_that(room):
    def choose() -> None:
        room.player.current = 2
        room.player.press(PlaybackState.PLAYING)

    room.time.at(3, choose)
    room.run("announce", source=GONG, volume=20)
    assert (room.player.current, room.player.now.playback, room.player.now.volume) == (2, PlaybackState.PLAYING, 60)
    assert len(room.player.tracks) == 3


def test_a_player_that_cannot_take_it_out_again_is_not_asked(room):
    room.player.can = ALL - {Capability.REMOVE}
    with pytest.raises(Refused, match="cannot remove tracks from its queue"):
        room.run("announce", source=GONG)
    assert len(room.player.tracks) == 3


@pytest.mark.parametrize("cut", [0, 0.3, 0.9, 1.1, 1.3, 3, 5.0, 5.4, 5.9])
@pytest.mark.parametrize("play", list(PlaybackState))
def test_cut_off_anywhere_everything_is_put_back_and_nothing_said_again(room, cut, play):
    room.player.now = replace(room.player.now, consume=Mode.ON)
    room.player.press(play)
    before = picture(room)
    try:
        room.cut(cut, "announce", source=GONG, volume=45)
    except AssertionError:  # it takes a second less where nothing plays
        assert play is not PlaybackState.PLAYING
        return
    said = room.player.did.count(f"add {GONG}")
    room.go_on()
    assert room.player.did.count(f"add {GONG}") == said
    assert picture(room) == before
    if play is not PlaybackState.STOPPED:
        assert room.player._position() == pytest.approx(102, abs=2.5)
    assert room.held is None


def test_a_player_that_goes_away_meanwhile_is_put_back_when_it_returns(room):
    room.time.at(3, lambda: setattr(room.player, "away", True))
    room.time.at(14, lambda: setattr(room.player, "away", False))
    before = picture(room)
    with pytest.raises(Unavailable):
        room.run("announce", source=GONG)
    assert picture(room) == before


def test_a_player_that_stays_away_is_put_back_by_a_later_run(room):
    room.time.at(3, lambda: setattr(room.player, "away", True))
    before = picture(room)
    with pytest.raises(Unavailable):
        room.run("announce", source=GONG)
    assert room.held is not None
    room.player.away = False
    room.go_on()
    assert picture(room) == before


def test_where_nothing_can_speak_it_says_what_to_install(room, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        Refused, match="no program that can speak is installed; install one: sudo apt install espeak-ng"
    ):
        room.run("announce", text="Dinner")


def test_what_is_said_is_served_to_the_player_by_the_run(room, monkeypatch, tmp_path):
    program = tmp_path / "espeak-ng"
    program.write_text('#!/bin/sh\nprintf "RIFF" > "$4"\n', "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    room.run("announce", text="Dinner")
    (said,) = [did for did in room.player.did if did.startswith("add ")]
    assert said.startswith("add http://127.0.0.1:")
    assert said.endswith("/announcement.wav")
    assert len(room.player.tracks) == 3
