"""Alarms of the job kind `music`, second by second, with all failures."""

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest

from pi_appliance.errors import Refused, Unavailable
from pi_appliance.music.alarms.music_session import Checkpoint, Phase, dump
from pi_appliance.music.model import PlaybackState, Station
from pi_appliance.storage.model import PREEMPT
from tests.fakes.timed_player import Sound
from tests.music.alarms.job_runner import FIP, RADIO, JobRunner, options


@pytest.fixture
def runner(tmp_path: Path) -> JobRunner:
    return JobRunner(tmp_path)


def rises(loud: list[tuple[float, int]]) -> bool:
    return all(one <= other for (_, one), (_, other) in pairwise(loud))


def test_the_volume_rises_from_low_along_the_whole_fade(runner):
    result = runner.run("alarm", play="FIP", volume=40, fade="5m")
    assert result.summary == "FIP: the music continues"
    assert runner.player.commands == [f"add {FIP}", "close"]
    assert runner.loud[0] == (0.0, 5)
    assert runner.loud[-1][1] == 40
    assert 302 <= runner.loud[-1][0] <= 305
    assert rises(runner.loud)
    # At most one step per second, each of one or two percent, and no volume twice.
    assert all(later - earlier >= 1 for (earlier, _), (later, _) in pairwise(runner.loud[1:]))
    assert all(one < other <= one + 2 for (_, one), (_, other) in pairwise(runner.loud[1:]))
    assert runner.held is None


def test_the_volume_is_low_before_anything_plays(runner):
    runner.player.fill("loud.flac")
    runner.run("alarm", play="FIP", volume=40, fade="1m")
    assert [volume for _, volume in runner.loud][:2] == [60, 5]  # the music that played, and its replacement
    assert max(volume for _, volume in runner.loud[1:]) == 40


def test_the_volume_limit_is_never_exceeded_and_counts_as_reached(runner):
    runner.player.max_volume = 20
    result = runner.run("alarm", play="FIP", volume=40, fade="1m")
    assert max(volume for _, volume in runner.loud) == 20
    assert result.details["user_took_volume"] is False


@pytest.mark.parametrize(
    "sound",
    [Sound(error="Failed to decode"), Sound(silent=True), Sound(stalls_after=2.0), Sound(ends_after=1.0)],
    ids=["dead", "silent", "stalls", "dies"],
)
def test_a_silent_source_is_replaced_by_the_next_and_the_fade_starts_there(runner, sound):
    runner.player.sounds = {FIP: sound}
    result = runner.run("alarm", play=["FIP", RADIO], volume=40, fade="1m")
    assert result.details == {"source": RADIO, "heard": True, "user_took_volume": False, "failed_sources": 1}
    assert runner.player.commands[:2] == [f"add {FIP}", f"add {RADIO}"]
    assert rises(runner.loud)
    began = [at for at, volume in runner.loud if volume == 5]
    assert runner.loud[-1] == (pytest.approx(began[-1] + 62, abs=5), 40)


def test_a_source_that_fails_in_the_fade_is_replaced_at_the_same_volume(runner):
    runner.player.sounds = {FIP: Sound(ends_after=100.0)}
    runner.run("alarm", play=["FIP", RADIO], volume=40, fade="5m")
    assert f"add {RADIO}" in runner.player.commands
    assert rises(runner.loud)
    assert runner.loud[-1] == (pytest.approx(303, abs=2), 40)


def test_unknown_names_and_missing_playlists_are_passed_over(runner):
    result = runner.run("alarm", play=["station:Nowhere", "playlist:Gone", "FIP"], fade="10s")
    assert result.details["source"] == "FIP"
    assert "no station is called 'Nowhere'" in result.summary
    assert "there is no playlist Gone" in result.summary


def test_without_a_working_source_the_bundled_sound_plays_until_stopped(runner):
    runner.player.sounds = {FIP: Sound(error="gone")}
    runner.say(600, "stop")
    result = runner.run("alarm", play="FIP", volume=40, fade="1m")
    assert result.summary.startswith("the built-in sound: stopped on request (failed: FIP: gone")
    assert any(did.startswith("add http://127.0.0.1:") and did.endswith("/chime.wav") for did in runner.player.commands)
    assert runner.player.now.repeat is False
    assert (runner.player.now.volume, runner.player.now.playback) == (60, PlaybackState.STOPPED)


def test_the_bundled_sound_repeats_and_ends_after_half_an_hour(runner):
    runner.player.sounds = {FIP: Sound(error="gone")}
    repeated: list[bool] = []
    runner.time.at(60, lambda: repeated.append(runner.player.now.repeat))
    runner.run("alarm", play="FIP", fade="1m")
    assert repeated == [True]
    assert 1800 <= runner.time.monotonic_time - 1000 <= 1810
    assert runner.player.now.volume == 60


def test_a_volume_change_of_the_user_ends_the_fade(runner):
    runner.time.at(100, lambda: runner.player.change_volume(22))
    result = runner.run("alarm", play="FIP", volume=40, fade="5m")
    assert result.summary == "FIP: the user changed the volume; the music continues"
    assert runner.player.now.volume == 22
    assert runner.time.monotonic_time - 1000 < 110


@pytest.mark.parametrize(("button", "word"), [(PlaybackState.PAUSED, "paused"), (PlaybackState.STOPPED, "stopped")])
def test_a_button_of_the_user_ends_the_alarm(runner, button, word):
    runner.time.at(100, lambda: runner.player.change_playback(button))
    result = runner.run("alarm", play=["FIP", RADIO], fade="5m")
    assert result.summary == f"FIP: {word} by the user"
    assert (runner.player.now.playback, runner.player.now.volume) == (button, 60)
    assert f"add {RADIO}" not in runner.player.commands


def test_an_alarm_with_a_duration_ends_silently_and_restores_the_volume(runner):
    result = runner.run("alarm", play="FIP", volume=40, fade="1m", duration="30m")
    assert result.summary == "FIP: its duration is over"
    assert (runner.player.now.playback, runner.player.now.volume) == (PlaybackState.STOPPED, 60)
    assert runner.time.monotonic_time - 1000 == pytest.approx(1830, abs=5)
    assert runner.loud[-1][1] <= 2
    assert max(volume for _, volume in runner.loud) == 40


def test_with_a_duration_a_volume_change_of_the_user_stays(runner):
    runner.time.at(30, lambda: runner.player.change_volume(25))
    runner.run("alarm", play="FIP", volume=40, fade="1m", duration="30m")
    assert (runner.player.now.playback, runner.player.now.volume) == (PlaybackState.STOPPED, 25)
    assert max(volume for _, volume in runner.loud) == 25


def test_a_stream_that_fails_after_the_fade_is_replaced_within_the_duration(runner):
    runner.player.sounds = {FIP: Sound(ends_after=900.0)}
    runner.run("alarm", play=["FIP", RADIO], volume=40, fade="1m", duration="30m")
    assert f"add {RADIO}" in runner.player.commands


def test_an_album_shorter_than_the_alarm_repeats(runner):
    result = runner.run("alarm", play="Albums/Blue", volume=40, fade="1m", duration="30m")
    assert result.details["failed_sources"] == 0
    assert runner.player.commands.count("play") == 9  # of 200 seconds each


def test_snooze_silences_it_and_it_starts_again_from_the_beginning(runner):
    runner.say(150, "snooze")
    runner.time.at(180, lambda: states.append((runner.player.now.playback, runner.player.now.volume)))
    states: list[object] = []
    runner.run("alarm", play="song.flac", volume=40, fade="4m", snooze="9m")
    assert states == [(PlaybackState.PAUSED, 60)]
    again = [(at, volume) for at, volume in runner.loud if at > 650]
    assert again[0] == (pytest.approx(694, abs=3), 5)
    assert again[-1] == (pytest.approx(937, abs=5), 40)
    assert rises(again)


def test_stop_and_snooze_work_during_a_snooze(runner):
    runner.say(10, "snooze")
    runner.say(300, "snooze")
    runner.say(300 + 500, "stop")
    result = runner.run("alarm", play="FIP", fade="1m", snooze="9m")
    assert result.summary == "FIP: stopped during the snooze"
    assert (runner.player.now.playback, runner.player.now.volume, runner.held) == (PlaybackState.STOPPED, 60, None)


@pytest.mark.parametrize("seconds_left", [100, 296], ids=["in the middle", "at the last step"])
def test_an_announcement_that_begins_within_a_step_of_the_volume_is_not_taken_for_the_user(runner, seconds_left):
    volumes = []

    def begin() -> None:
        started = runner.time.timestamp()
        announcement = Checkpoint(phase=Phase.ANNOUNCING, phase_started=started, session_started=started)
        runner.other_checkpoints["announce"] = dump(options("announce", text="dinner"), announcement)
        volumes.extend(volume for _, volume in runner.loud)

    def end() -> None:
        before = [volume for volume in volumes if volume < volumes[-1]][-1]
        runner.player.change_volume(before)
        runner.other_checkpoints.clear()

    runner.time.at(seconds_left, begin)
    runner.time.at(seconds_left + 3, end)
    result = runner.run("alarm", play="FIP", volume=40, fade="5m")
    assert result.details["user_took_volume"] is False
    assert runner.loud[-1][1] == 40


def test_stop_ends_it_and_restores_the_volume(runner):
    runner.say(60, "stop")
    runner.run("alarm", play="FIP", fade="5m")
    assert (runner.player.now.playback, runner.player.now.volume, runner.held) == (PlaybackState.STOPPED, 60, None)


def test_after_a_player_outage_the_fade_continues_where_it_should_be(runner):
    runner.time.at(100, lambda: setattr(runner.player, "is_unreachable", True))
    runner.time.at(115, runner.player.restart)
    result = runner.run("alarm", play="FIP", volume=40, fade="5m")
    assert runner.player.commands.count(f"add {FIP}") == 2
    assert result.details["user_took_volume"] is False
    assert rises(runner.loud)
    assert max(volume for _, volume in runner.loud) == 40  # not the 100 that it woke up with
    again = next(volume for at, volume in runner.loud if at > 115)
    assert 12 <= again <= 14  # as it would have been without the outage


def test_without_a_player_and_a_program_it_fails_with_a_reason_and_is_kept(runner, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    runner.player.is_unreachable = True
    with pytest.raises(Unavailable, match="the player does not answer; this machine cannot ring either: pw-play, pa"):
        runner.run("alarm", play="FIP")
    assert runner.time.monotonic_time - 1000 == pytest.approx(30, abs=2)
    assert runner.held is not None
    runner.player.is_unreachable = False
    assert runner.go_on().details["heard"] is True


def test_without_a_player_a_program_sounds_until_the_player_is_back(runner, monkeypatch, tmp_path):
    log = tmp_path / "played"
    program = tmp_path / "aplay"
    program.write_text(f'#!/bin/sh\nfor file; do :; done\n/usr/bin/wc -c < "$file" >> {log}\n', "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    runner.player.is_unreachable = True
    runner.time.at(45, lambda: setattr(runner.player, "is_unreachable", False))
    result = runner.run("alarm", play="FIP", fade="1m")
    sizes = [int(size) for size in log.read_text("utf-8").split()]
    assert 10 <= len(sizes) <= 16
    assert 9 <= runner.loud[0][1] <= 13  # where the fade of the chime was, not at the start again
    assert rises(runner.loud)
    assert min(sizes) > 500_000
    assert result.details == {"source": "FIP", "heard": True, "user_took_volume": False, "failed_sources": 0}


def test_a_muted_player_is_unmuted(runner):
    runner.player.fill("loud.flac")
    asyncio.run(runner.player.set_mute(True))
    runner.run("alarm", play="FIP", volume=40, fade="1m", duration="2m")
    assert runner.player.now.muted is False
    assert runner.player.now.volume == 60  # as before the mute
    assert max(volume for _, volume in runner.loud[1:]) == 40


def test_a_player_without_a_mixer_works_too(tmp_path):
    runner = JobRunner(tmp_path, volume=None)
    assert runner.run("alarm", play="FIP", fade="1m").details["heard"] is True


# Cut off


@pytest.mark.parametrize("cut", [0, 1, 2, 5, 60, 150, 299])
def test_an_interrupted_fade_is_resumed_where_it_should_be(runner, cut):
    runner.kill_after(cut, "alarm", play="FIP", volume=40, fade="5m")
    runner.time.advance(30)
    began = len(runner.loud)
    before = runner.loud[-1][1] if runner.loud else 5
    runner.go_on()
    assert runner.player.commands.count(f"add {FIP}") == 1  # the music plays on, and is not begun again
    assert rises(runner.loud)
    after = runner.loud[began:]
    assert after[0][1] >= before if after else before == 40
    assert runner.loud[-1][1] == 40
    assert runner.held is None


def test_a_volume_lowered_between_two_runs_stays(runner):
    runner.kill_after(150, "alarm", play="FIP", volume=40, fade="5m")
    runner.player.change_volume(2)
    assert runner.go_on().details["user_took_volume"] is True
    assert runner.player.now.volume == 2


def test_an_alarm_stopped_between_two_runs_stays_stopped(runner):
    runner.kill_after(150, "alarm", play="FIP", volume=40, fade="5m")
    runner.player.change_playback(PlaybackState.STOPPED)
    runner.time.advance(20)
    assert runner.go_on().summary == "FIP: stopped by the user"
    assert (runner.player.now.playback, runner.player.now.volume) == (PlaybackState.STOPPED, 60)


def test_after_a_power_cut_the_alarm_starts_from_the_beginning(runner):
    runner.kill_after(280, "alarm", play="FIP", volume=40, fade="5m")
    runner.reboot(300)
    runner.player.restart()
    began = len(runner.player.volumes)
    runner.go_on()
    after = [(at, volume) for at, volume, plays in runner.player.volumes[began:] if plays]
    assert after[0][1] == 5
    assert after[-1][1] == 40
    assert after[-1][0] - after[0][0] == pytest.approx(60, abs=3)
    assert rises(after)


def test_an_interrupted_snooze_rings_on_time(runner):
    runner.say(100, "snooze")
    runner.kill_after(300, "alarm", play="FIP", volume=40, fade="2m", snooze="9m")
    runner.time.advance(60)
    runner.kill_again_after(60)
    runner.go_on()
    again = [at for at, _ in runner.loud if at > 110]
    assert again[0] == pytest.approx(100 + 4 + 540, abs=4)


def test_an_interrupted_fade_out_continues(runner):
    runner.kill_after(620, "alarm", play="FIP", volume=40, fade="1m", duration="10m")
    runner.time.advance(100)
    runner.go_on()
    assert (runner.player.now.playback, runner.player.now.volume, runner.held) == (PlaybackState.STOPPED, 60, None)


def test_an_interrupted_bundled_sound_is_served_again(runner):
    runner.player.sounds = {FIP: Sound(error="gone")}
    runner.kill_after(60, "alarm", play="FIP", fade="30s")
    runner.say(20, "stop")
    runner.go_on()
    served = [did for did in runner.player.commands if did.endswith("chime.wav")]
    assert len(set(served)) == 2
    assert (runner.player.now.repeat, runner.player.now.volume) == (False, 60)


def test_an_old_interrupted_alarm_stays_silent_and_the_volume_is_restored(runner):
    runner.kill_after(100, "alarm", play="FIP", volume=40, fade="5m")
    runner.reboot(8 * 3600)
    runner.player.restart(volume=12)
    assert runner.go_on().summary == "FIP: interrupted too long ago to ring now"
    assert (runner.player.now.volume, runner.player.now.playback, runner.held) == (60, PlaybackState.STOPPED, None)


@pytest.mark.parametrize(
    "text", ['{"session": 1}', '{"with": null, "session": {}}', '{"with": {"play": 1}, "session": {}}']
)
def test_a_checkpoint_of_another_release_is_dropped(runner, text):
    runner.held = text
    assert "deleted" in runner.go_on().summary
    assert runner.held is None


def test_unreadable_stations_do_not_affect_other_sources(tmp_path):
    runner = JobRunner(tmp_path, stations=(Station(name="fip", url=FIP),))
    assert runner.run("alarm", play="Fip", fade="10s").details["source"] == "Fip"


class BrokenStations(list[Exception]):
    """Stations that fail with their exception."""

    def __iter__(self):
        raise self[0]


@pytest.mark.parametrize(
    ("error", "shown"),
    [(RuntimeError("a bug"), "internal error: RuntimeError: a bug"), (Unavailable("the disk"), "the disk")],
)
def test_an_exception_in_a_source_falls_back_to_the_bundled_sound(tmp_path, error, shown):
    runner = JobRunner(tmp_path, stations=BrokenStations([error]))
    runner.say(600, "stop")
    result = runner.run("alarm", play="Fip", fade="10s")
    assert result.summary == f"the built-in sound: stopped on request (failed: Fip: {shown})"


def test_quiet_hours_during_the_fade_are_not_user_input_and_the_fade_continues_after(runner):
    def quiet() -> None:
        runner.player.max_volume = 10
        runner.player.change_volume(13)  # on its way down, as the guard of the volume does that

    runner.time.at(200.5, quiet)
    runner.time.at(202.5, lambda: runner.player.change_volume(10))
    runner.time.at(600, lambda: setattr(runner.player, "max_volume", 100))
    result = runner.run("alarm", play="FIP", volume=40, fade="5m", duration="20m")
    assert result.details["user_took_volume"] is False
    assert [volume for at, volume in runner.loud if 200.5 <= at < 600] in ([13, 10], [13, 10, 10])
    risen = [volume for at, volume in runner.loud if 600 <= at < 1190]
    assert (risen[0] <= 13, max(risen)) == (True, 40)
    assert all(0 <= later - earlier <= 3 for earlier, later in pairwise(risen[: risen.index(40)]))


def test_it_makes_room_for_another_alarm_without_a_trace(runner):
    runner.say(100, PREEMPT)
    result = runner.run("alarm", play="FIP", volume=40, fade="5m")
    assert result.summary == "FIP: another alarm rings now"
    assert (runner.player.now.playback, runner.player.now.volume) == (PlaybackState.STOPPED, 60)


def test_an_alarm_that_rings_is_not_changed_by_the_one_that_made_room(runner):
    runner.kill_after(100, "alarm", play="FIP", volume=40, fade="5m")
    runner.player.commands.clear()
    runner.words.append(PREEMPT)
    runner.go_on()
    assert (runner.player.commands, runner.player.now.playback, runner.held) == (["close"], PlaybackState.PLAYING, None)


def test_after_a_short_mpd_outage_the_same_source_plays_again(runner):
    runner.time.at(100.5, runner.player.restart)
    result = runner.run("alarm", play=["FIP", RADIO], volume=40, fade="5m")
    assert result.details["source"] == "FIP"
    assert rises(runner.loud)


@pytest.mark.parametrize("fault", [Refused("wrong password"), RuntimeError("a bug")])
def test_a_player_that_only_refuses_or_fails_is_replaced_like_a_missing_one(runner, monkeypatch, tmp_path, fault):
    monkeypatch.setenv("PATH", str(tmp_path))
    runner.player.fault = fault
    with pytest.raises(Unavailable, match=f"the alarm is silent: .*{fault}; this machine cannot ring either: pw-play"):
        runner.run("alarm", play="FIP")
    runner.player.fault = None
    assert runner.go_on().details["heard"] is True


@pytest.mark.parametrize("stopped", [False, True])
def test_a_player_lost_at_the_end_is_restored_when_it_is_back(runner, stopped):
    if stopped:
        runner.say(603.5, "stop")
    runner.time.at(603.4, lambda: setattr(runner.player, "is_unreachable", True))
    runner.time.at(2000, lambda: setattr(runner.player, "is_unreachable", False))
    keys = {"play": "FIP", "volume": 40, "fade": "5m", "duration": "10m"}
    runner.kill_after(1200, "alarm", **keys)  # a restart of the appliance does not ring it again
    runner.go_on()
    assert (runner.player.now.playback, runner.player.now.volume) == (PlaybackState.STOPPED, 60)
    assert 2000 <= runner.time.monotonic_time - 1000 < 2005


@pytest.mark.parametrize(("word", "then"), [("snooze", Phase.SNOOZING), ("", None)])
def test_a_player_lost_during_the_fade_out_delays_nothing(runner, word, then):
    falls = 100 if word else 600
    runner.time.at(falls, lambda: runner.words.append(word) if word else None)
    runner.time.at(falls + 3.5, lambda: setattr(runner.player, "is_unreachable", True))
    keys = {"play": "FIP", "volume": 40, "fade": "5m", "duration": "10m"}
    if then is None:
        assert runner.run("alarm", **keys).summary == "FIP: its duration is over"
    else:
        runner.kill_after(falls + 60, "alarm", **keys)
        assert f'"phase": "{then}"' in runner.held
