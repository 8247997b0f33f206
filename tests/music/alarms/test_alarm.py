"""Job kind 'music', alarm: what is heard, second by second, whatever goes wrong."""

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest

from pi_appliance.errors import Unavailable
from pi_appliance.music.alarms.session import Phase
from pi_appliance.music.model import PlaybackState, Station
from pi_appliance.storage.model import PREEMPT
from tests.fakes.timed_player import Sound
from tests.music.alarms.job_runner import FIP, RADIO, Bedroom


@pytest.fixture
def room(tmp_path: Path) -> Bedroom:
    return Bedroom(tmp_path)


def rises(loud: list[tuple[float, int]]) -> bool:
    return all(one <= other for (_, one), (_, other) in pairwise(loud))


def test_it_rises_from_a_whisper_along_the_whole_fade(room):
    result = room.run("alarm", play="FIP", volume=40, fade="5m")
    assert result.summary == "FIP: the music continues"
    assert room.player.did == [f"add {FIP}", "close"]
    assert room.loud[0] == (0.0, 5)
    assert room.loud[-1][1] == 40
    assert 302 <= room.loud[-1][0] <= 305
    assert rises(room.loud)
    # One step at most a second, none of them more than a percent or two, and none twice.
    assert all(later - earlier >= 1 for (earlier, _), (later, _) in pairwise(room.loud[1:]))
    assert all(one < other <= one + 2 for (_, one), (_, other) in pairwise(room.loud[1:]))
    assert room.held is None


def test_the_volume_is_low_before_anything_plays(room):
    room.player.fill("loud.flac")
    room.run("alarm", play="FIP", volume=40, fade="1m")
    assert [volume for _, volume in room.loud][:2] == [60, 5]  # the music that played, and what came instead of it
    assert max(volume for _, volume in room.loud[1:]) == 40


def test_what_the_policy_allows_is_never_passed_and_counts_as_reached(room):
    room.player.most = 20
    result = room.run("alarm", play="FIP", volume=40, fade="1m")
    assert max(volume for _, volume in room.loud) == 20
    assert result.details["user_took_volume"] is False


@pytest.mark.parametrize(
    "sound",
    [Sound(dead="Failed to decode"), Sound(silent=True), Sound(stalls=2.0), Sound(dies=1.0)],
    ids=["dead", "silent", "stalls", "dies"],
)
def test_a_source_that_does_not_sound_gives_way_to_the_next_and_the_fade_begins_there(room, sound):
    room.player.sounds = {FIP: sound}
    result = room.run("alarm", play=["FIP", RADIO], volume=40, fade="1m")
    assert result.details == {"source": RADIO, "heard": True, "user_took_volume": False, "failed_sources": 1}
    assert room.player.did[:2] == [f"add {FIP}", f"add {RADIO}"]
    assert rises(room.loud)
    began = [at for at, volume in room.loud if volume == 5]
    assert room.loud[-1] == (pytest.approx(began[-1] + 62, abs=5), 40)


def test_a_source_that_dies_in_the_fade_gives_way_at_the_same_volume(room):
    room.player.sounds = {FIP: Sound(dies=100.0)}
    room.run("alarm", play=["FIP", RADIO], volume=40, fade="5m")
    assert f"add {RADIO}" in room.player.did
    assert rises(room.loud)
    assert room.loud[-1] == (pytest.approx(303, abs=2), 40)


def test_names_that_are_none_and_playlists_that_are_not_there_are_passed_over(room):
    result = room.run("alarm", play=["station:Nowhere", "playlist:Gone", "FIP"], fade="10s")
    assert result.details["source"] == "FIP"
    assert "no station is called 'Nowhere'" in result.summary
    assert "there is no playlist Gone" in result.summary


def test_without_any_source_the_bundled_sound_goes_on_until_somebody_stops_it(room):
    room.player.sounds = {FIP: Sound(dead="gone")}
    room.say(600, "stop")
    result = room.run("alarm", play="FIP", volume=40, fade="1m")
    assert result.summary.startswith("the built-in sound: stopped on request (failed: FIP: gone")
    assert any(did.startswith("add http://127.0.0.1:") and did.endswith("/chime.wav") for did in room.player.did)
    assert room.player.now.repeat is False
    assert (room.player.now.volume, room.player.now.playback) == (60, PlaybackState.STOPPED)


def test_the_bundled_sound_repeats_and_ends_after_half_an_hour(room):
    room.player.sounds = {FIP: Sound(dead="gone")}
    repeated: list[bool] = []
    room.time.at(60, lambda: repeated.append(room.player.now.repeat))
    room.run("alarm", play="FIP", fade="1m")
    assert repeated == [True]
    assert 1800 <= room.time.steady - 1000 <= 1810
    assert room.player.now.volume == 60


def test_a_hand_on_the_volume_ends_the_fade(room):
    room.time.at(100, lambda: room.player.hand(22))
    result = room.run("alarm", play="FIP", volume=40, fade="5m")
    assert result.summary == "FIP: the user changed the volume; the music continues"
    assert room.player.now.volume == 22
    assert room.time.steady - 1000 < 110


@pytest.mark.parametrize(("button", "word"), [(PlaybackState.PAUSED, "paused"), (PlaybackState.STOPPED, "stopped")])
def test_a_hand_on_a_button_ends_the_alarm(room, button, word):
    room.time.at(100, lambda: room.player.press(button))
    result = room.run("alarm", play=["FIP", RADIO], fade="5m")
    assert result.summary == f"FIP: {word} by the user"
    assert (room.player.now.playback, room.player.now.volume) == (button, 60)
    assert f"add {RADIO}" not in room.player.did


def test_for_a_while_it_plays_then_falls_silent_and_the_volume_is_as_it_was(room):
    result = room.run("alarm", play="FIP", volume=40, fade="1m", duration="30m")
    assert result.summary == "FIP: its duration is over"
    assert (room.player.now.playback, room.player.now.volume) == (PlaybackState.STOPPED, 60)
    assert room.time.steady - 1000 == pytest.approx(1830, abs=5)
    assert room.loud[-1][1] <= 2
    assert max(volume for _, volume in room.loud) == 40


def test_with_for_a_hand_on_the_volume_stands_when_it_is_over(room):
    room.time.at(30, lambda: room.player.hand(25))
    room.run("alarm", play="FIP", volume=40, fade="1m", duration="30m")
    assert (room.player.now.playback, room.player.now.volume) == (PlaybackState.STOPPED, 25)
    assert max(volume for _, volume in room.loud) == 25


def test_a_stream_that_dies_after_the_fade_is_replaced_while_it_plays_for_its_time(room):
    room.player.sounds = {FIP: Sound(dies=900.0)}
    room.run("alarm", play=["FIP", RADIO], volume=40, fade="1m", duration="30m")
    assert f"add {RADIO}" in room.player.did


def test_an_album_shorter_than_the_alarm_begins_anew(room):
    result = room.run("alarm", play="Albums/Blue", volume=40, fade="1m", duration="30m")
    assert result.details["failed_sources"] == 0
    assert room.player.did.count("play") == 9  # of 200 seconds each


def test_snooze_hushes_it_and_it_comes_again_from_the_beginning(room):
    room.say(150, "snooze")
    room.time.at(180, lambda: seen.append((room.player.now.playback, room.player.now.volume)))
    seen: list[object] = []
    room.run("alarm", play="song.flac", volume=40, fade="4m", snooze="9m")
    assert seen == [(PlaybackState.PAUSED, 60)]
    again = [(at, volume) for at, volume in room.loud if at > 650]
    assert again[0] == (pytest.approx(694, abs=3), 5)
    assert again[-1] == (pytest.approx(937, abs=5), 40)
    assert rises(again)


def test_stop_and_snooze_while_it_snoozes(room):
    room.say(10, "snooze")
    room.say(300, "snooze")
    room.say(300 + 500, "stop")
    result = room.run("alarm", play="FIP", fade="1m", snooze="9m")
    assert result.summary == "FIP: stopped during the snooze"
    assert (room.player.now.playback, room.player.now.volume, room.held) == (PlaybackState.STOPPED, 60, None)


def test_stop_ends_it_and_restores_the_volume(room):
    room.say(60, "stop")
    room.run("alarm", play="FIP", fade="5m")
    assert (room.player.now.playback, room.player.now.volume, room.held) == (PlaybackState.STOPPED, 60, None)


def test_a_player_that_comes_back_in_mid_fade_plays_on_where_the_fade_is_by_then(room):
    room.time.at(100, lambda: setattr(room.player, "away", True))
    room.time.at(115, room.player.restart)
    result = room.run("alarm", play="FIP", volume=40, fade="5m")
    assert room.player.did.count(f"add {FIP}") == 2
    assert result.details["user_took_volume"] is False
    assert rises(room.loud)
    assert max(volume for _, volume in room.loud) == 40  # not the 100 that it woke up with
    again = next(volume for at, volume in room.loud if at > 115)
    assert 12 <= again <= 14  # as it would have been without the outage


def test_without_a_player_and_without_a_program_it_fails_in_words_and_is_not_forgotten(room, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    room.player.away = True
    with pytest.raises(Unavailable, match="the player does not answer; this machine: pw-play, paplay"):
        room.run("alarm", play="FIP")
    assert room.time.steady - 1000 == pytest.approx(30, abs=2)
    assert room.held is not None
    room.player.away = False
    assert room.go_on().details["heard"] is True


def test_without_a_player_a_program_of_the_machine_sounds_until_the_player_is_back(room, monkeypatch, tmp_path):
    log = tmp_path / "played"
    program = tmp_path / "aplay"
    program.write_text(f'#!/bin/sh\nfor file; do :; done\n/usr/bin/wc -c < "$file" >> {log}\n', "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    room.player.away = True
    room.time.at(33, lambda: setattr(room.player, "away", False))
    result = room.run("alarm", play="FIP", fade="1m")
    sizes = [int(size) for size in log.read_text("utf-8").split()]
    assert 1 <= len(sizes) <= 5
    assert min(sizes) > 500_000
    assert result.details == {"source": "FIP", "heard": True, "user_took_volume": False, "failed_sources": 0}


def test_a_player_that_is_muted_is_heard(room):
    room.player.fill("loud.flac")
    asyncio.run(room.player.set_mute(True))
    room.run("alarm", play="FIP", volume=40, fade="1m", duration="2m")
    assert room.player.now.muted is False
    assert room.player.now.volume == 60  # as before the mute
    assert max(volume for _, volume in room.loud[1:]) == 40


def test_a_player_without_a_mixer_wakes_too(tmp_path):
    room = Bedroom(tmp_path, volume=None)
    assert room.run("alarm", play="FIP", fade="1m").details["heard"] is True


# Cut off


@pytest.mark.parametrize("cut", [0, 1, 2, 5, 60, 150, 299])
def test_cut_off_in_the_fade_the_next_run_goes_on_where_it_should_be_by_then(room, cut):
    room.cut(cut, "alarm", play="FIP", volume=40, fade="5m")
    room.time.go(30)
    began = len(room.loud)
    before = room.loud[-1][1] if room.loud else 5
    room.go_on()
    assert room.player.did.count(f"add {FIP}") == 1  # the music plays on, and is not begun again
    assert rises(room.loud)
    after = room.loud[began:]
    assert after[0][1] >= before if after else before == 40
    assert room.loud[-1][1] == 40
    assert room.held is None


def test_a_hand_that_turned_it_down_between_two_runs_keeps_the_volume(room):
    room.cut(150, "alarm", play="FIP", volume=40, fade="5m")
    room.player.hand(2)
    assert room.go_on().details["user_took_volume"] is True
    assert room.player.now.volume == 2


def test_a_hand_that_stopped_it_between_two_runs_has_stopped_it(room):
    room.cut(150, "alarm", play="FIP", volume=40, fade="5m")
    room.player.press(PlaybackState.STOPPED)
    room.time.go(20)
    assert room.go_on().summary == "FIP: stopped by the user"
    assert (room.player.now.playback, room.player.now.volume) == (PlaybackState.STOPPED, 60)


def test_after_a_power_cut_the_silent_house_is_woken_from_the_beginning(room):
    room.cut(280, "alarm", play="FIP", volume=40, fade="5m")
    room.reboot(300)
    room.player.restart()
    began = len(room.player.volumes)
    room.go_on()
    after = [(at, volume) for at, volume, plays in room.player.volumes[began:] if plays]
    assert after[0][1] == 5
    assert after[-1][1] == 40
    assert after[-1][0] - after[0][0] == pytest.approx(60, abs=3)
    assert rises(after)


def test_cut_off_while_it_snoozes_it_rings_at_its_time(room):
    room.say(100, "snooze")
    room.cut(300, "alarm", play="FIP", volume=40, fade="2m", snooze="9m")
    room.time.go(60)
    room.cut_again(60)
    room.go_on()
    again = [at for at, _ in room.loud if at > 110]
    assert again[0] == pytest.approx(100 + 4 + 540, abs=4)


def test_cut_off_while_it_falls_silent_it_falls_silent(room):
    room.cut(620, "alarm", play="FIP", volume=40, fade="1m", duration="10m")
    room.time.go(100)
    room.go_on()
    assert (room.player.now.playback, room.player.now.volume, room.held) == (PlaybackState.STOPPED, 60, None)


def test_cut_off_while_the_bundled_sound_plays_it_is_served_again(room):
    room.player.sounds = {FIP: Sound(dead="gone")}
    room.cut(60, "alarm", play="FIP", fade="30s")
    room.say(20, "stop")
    room.go_on()
    served = [did for did in room.player.did if did.endswith("chime.wav")]
    assert len(set(served)) == 2
    assert (room.player.now.repeat, room.player.now.volume) == (False, 60)


def test_what_was_cut_off_long_ago_wakes_nobody_and_the_volume_is_as_it_was(room):
    room.cut(100, "alarm", play="FIP", volume=40, fade="5m")
    room.reboot(8 * 3600)
    room.player.restart(volume=12)
    assert room.go_on().summary == "FIP: interrupted too long ago to ring now"
    assert (room.player.now.volume, room.player.now.playback, room.held) == (60, PlaybackState.STOPPED, None)


def test_what_another_release_has_left_is_let_go(room):
    room.held = '{"session": 1}'
    assert "deleted" in room.go_on().summary
    assert room.held is None


def test_stations_that_cannot_be_read_do_not_silence_what_needs_none(tmp_path):
    room = Bedroom(tmp_path, stations=(Station(name="fip", url=FIP),))
    assert room.run("alarm", play="Fip", fade="10s").details["source"] == "Fip"


class BrokenStations(list[Station]):
    """Stations whose use is a bug."""

    def __iter__(self):
        raise RuntimeError("a bug")


def test_an_unexpected_exception_in_a_source_gives_way_to_the_built_in_sound(tmp_path):
    room = Bedroom(tmp_path, stations=BrokenStations())
    room.say(600, "stop")
    result = room.run("alarm", play="Fip", fade="10s")
    assert result.summary.startswith(
        "the built-in sound: stopped on request (failed: Fip: internal error: RuntimeError"
    )


def test_quiet_hours_that_begin_in_the_fade_are_no_hand_and_when_they_end_it_rises_on(room):
    def quiet() -> None:
        room.player.most = 10
        room.player.hand(13)  # on its way down, as the guard of the volume does that

    room.time.at(200.5, quiet)
    room.time.at(202.5, lambda: room.player.hand(10))
    room.time.at(600, lambda: setattr(room.player, "most", 100))
    result = room.run("alarm", play="FIP", volume=40, fade="5m", duration="20m")
    assert result.details["user_took_volume"] is False
    assert [volume for at, volume in room.loud if 200.5 <= at < 600] in ([13, 10], [13, 10, 10])
    risen = [volume for at, volume in room.loud if 600 <= at < 1190]
    assert (risen[0] <= 13, max(risen)) == (True, 40)
    assert all(0 <= later - earlier <= 3 for earlier, later in pairwise(risen[: risen.index(40)]))


def test_it_makes_room_for_another_alarm_as_if_it_had_not_rung(room):
    room.say(100, PREEMPT)
    result = room.run("alarm", play="FIP", volume=40, fade="5m")
    assert result.summary == "FIP: another alarm rings now"
    assert (room.player.now.playback, room.player.now.volume) == (PlaybackState.STOPPED, 60)


def test_what_rings_already_is_not_touched_by_what_was_to_make_room(room):
    room.cut(100, "alarm", play="FIP", volume=40, fade="5m")
    room.player.did.clear()
    room.words.append(PREEMPT)
    room.go_on()
    assert (room.player.did, room.player.now.playback, room.held) == (["close"], PlaybackState.PLAYING, None)


def test_an_mpd_that_is_back_between_two_looks_plays_the_same_source_again(room):
    room.time.at(100.5, room.player.restart)
    result = room.run("alarm", play=["FIP", RADIO], volume=40, fade="5m")
    assert result.details["source"] == "FIP"
    assert rises(room.loud)


@pytest.mark.parametrize(("word", "then"), [("snooze", Phase.SNOOZING), ("", None)])
def test_a_player_that_goes_away_while_it_falls_silent_keeps_nobody_waiting(room, word, then):
    falls = 100 if word else 600
    room.time.at(falls, lambda: room.words.append(word) if word else None)
    room.time.at(falls + 3.5, lambda: setattr(room.player, "away", True))
    keys = {"play": "FIP", "volume": 40, "fade": "5m", "duration": "10m"}
    if then is None:
        assert room.run("alarm", **keys).summary == "FIP: its duration is over"
    else:
        room.cut(falls + 60, "alarm", **keys)
        assert f'"phase": "{then}"' in room.held
