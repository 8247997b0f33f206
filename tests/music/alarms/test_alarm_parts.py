"""The parts of music jobs: fades, sound detection, local times, the chime, and options."""

import io
import math
import wave
from array import array
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_appliance.config.loader import load_config
from pi_appliance.errors import ConfigError
from pi_appliance.music.alarms import music_session as _music_session
from pi_appliance.music.alarms import sounds
from pi_appliance.music.alarms.fade import Fade, amplitude, decibels
from pi_appliance.music.alarms.music_session import Checkpoint, Phase, PlaybackPosition, QueueModes
from pi_appliance.music.alarms.playback_monitor import PlaybackMonitor, PlaybackStatus
from pi_appliance.music.alarms.sounds import SoundServer
from pi_appliance.music.model import Mode, PlaybackState, PlayerState, Track
from pi_appliance.scheduling import schedule
from pi_appliance.system.clock import Timestamp
from tests.music.alarms.job_runner import options

NEW_YORK = ZoneInfo("America/New_York")
VOLUMES = st.integers(0, 100)

# Fades


@given(VOLUMES, VOLUMES, st.floats(0, 3600), st.lists(st.floats(-10, 4000), min_size=2))
def test_a_fade_is_monotonic_and_within_its_range(start, end, seconds, times):
    fade = Fade(start=start, end=end, seconds=seconds)
    way = [fade.at(each) for each in sorted(times)]
    assert way == sorted(way, reverse=end < start)
    assert all(min(start, end) <= volume <= max(start, end) for volume in way)
    assert fade.at(seconds) == end
    assert fade.at(-1) == start


@given(st.integers(1, 49), st.integers(51, 100))
def test_a_fade_is_even_in_decibels(start, end):
    half = Fade(start=start, end=end, seconds=100).at(50)
    middle = (decibels(start) + decibels(end)) / 2
    assert decibels(half) <= middle + 1e-6 < decibels(half + 1) + 2e-6


def test_amplitudes_match_the_mixer_of_mpd():
    assert (amplitude(0), amplitude(100)) == (0, 1)
    assert amplitude(50) == pytest.approx((math.exp(50 / 25) - 1) / (54.5981500331 - 1))


# The chime


def test_the_chime_has_the_right_length_does_not_clip_and_ends_softly():
    with wave.open(io.BytesIO(sounds.wav_file(sounds.chime()))) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, sounds.SAMPLE_RATE)
        assert file.getnframes() == sounds.SAMPLE_RATE * sounds.SECONDS
        samples = array("h", file.readframes(file.getnframes()))
    assert 20_000 < max(abs(each) for each in samples) < 32_767
    assert abs(samples[0]) < 10  # no click
    assert max(abs(each) for each in samples[-500:]) < 4000
    assert max(abs(one - other) for one, other in pairwise(samples)) < 8000


def test_a_soft_chime_is_softer():
    loud, soft = (array("h", sounds.chime(each)) for each in (1.0, 0.25))
    assert max(soft) == pytest.approx(max(loud) / 4, abs=2)


def test_it_is_served_under_its_name_with_range_support():
    with SoundServer(b"0123456789", "chime") as served:
        assert served.hosts[0] == "127.0.0.1"
        place = served.serve_at("127.0.0.1")
        assert served.serve_at("127.0.0.1") == place
        with urlopen(place, timeout=5) as answer:
            assert (answer.read(), answer.headers["Content-Type"]) == (b"0123456789", "audio/wav")
        with urlopen(Request(place, headers={"Range": "bytes=3-5"}), timeout=5) as answer:
            assert (answer.status, answer.read()) == (206, b"345")
            assert answer.headers["Content-Range"] == "bytes 3-5/10"
        with urlopen(Request(place, headers={"Range": "bytes=8-"}), timeout=5) as answer:
            assert answer.read() == b"89"
        for nonsense in ("bytes=5-3", "bytes=10-", "bytes=-3", "bytes=" + "9" * 5000 + "-", "bytes=²-", "words=1-2"):
            wish = Request(place, headers={"Range": nonsense.encode().decode("latin-1")})
            with urlopen(wish, timeout=5) as answer:
                assert (answer.status, answer.read()) == (200, b"0123456789")
        with urlopen(Request(place, method="HEAD"), timeout=5) as answer:
            assert (answer.headers["Content-Length"], answer.read()) == ("10", b"")
        with pytest.raises(HTTPError) as other:
            urlopen(place.rsplit("/", 2)[0] + "/chime.wav", timeout=5)
        assert other.value.code == 404
        other.value.close()


# Proof of sound


def state(
    play: PlaybackState = PlaybackState.PLAYING,
    elapsed: float = 0.0,
    *,
    number: int = 1,
    file: bool = False,
    error: str = "",
) -> PlayerState:
    track = Track(uri=f"t{number}", id=number, duration=100.0 if file else None)
    return PlayerState(playback=play, track=track, elapsed=elapsed, error=error)


def classify(looks: list[tuple[float, PlayerState]]) -> list[PlaybackStatus]:
    hearing = PlaybackMonitor(0.0)
    return [hearing.observe(now, each) for now, each in looks]


def test_three_seconds_of_playback_prove_sound():
    statuses = classify([(each, state(elapsed=each)) for each in range(6)])
    assert statuses == [PlaybackStatus.STARTING] * 3 + [PlaybackStatus.SOUND] * 3


def test_a_jump_of_the_elapsed_time_proves_nothing():
    assert (
        classify([(0, state(elapsed=0)), (1, state(elapsed=500)), (2, state(elapsed=500))])[-1]
        is PlaybackStatus.STARTING
    )


def test_playback_without_progress_is_silent_after_twelve_seconds():
    assert classify([(each, state()) for each in range(14)])[11:13] == [
        PlaybackStatus.STARTING,
        PlaybackStatus.SILENCE,
    ]
    looks = [(each, state(elapsed=min(each, 20))) for each in range(40)]
    assert [statuses for statuses in classify(looks) if statuses is PlaybackStatus.SILENCE] == [
        PlaybackStatus.SILENCE
    ] * 8


def test_successive_dead_tracks_are_not_sound():
    assert classify([(each, state(number=each)) for each in range(14)])[-1] is PlaybackStatus.SILENCE


def test_user_input_and_a_failure_are_distinguished():
    plays = [(each, state(elapsed=each)) for each in range(5)]
    assert classify([*plays, (5, state(PlaybackState.PAUSED, 5))])[-1] is PlaybackStatus.PAUSED
    assert classify([*plays, (5, state(PlaybackState.STOPPED))])[-1] is PlaybackStatus.STOPPED
    assert classify([*plays, (5, state(PlaybackState.STOPPED, error="no more"))])[-1] is PlaybackStatus.SILENCE
    assert classify([*plays, (5, state(PlaybackState.PAUSED, error="no sound card"))])[-1] is PlaybackStatus.SILENCE
    assert classify([*plays, (5, PlayerState(playback=PlaybackState.STOPPED))])[-1] is PlaybackStatus.SILENCE
    files = [(each, state(elapsed=each, file=True)) for each in range(5)]
    assert classify([*files, (5, PlayerState(playback=PlaybackState.STOPPED))])[-1] is PlaybackStatus.ENDED


def test_an_old_error_is_not_a_failure():
    plays = [(each, state(elapsed=each, error="track 1 was left out")) for each in range(5)]
    assert (
        classify([*plays, (5, state(PlaybackState.PAUSED, 5, error="track 1 was left out"))])[-1]
        is PlaybackStatus.PAUSED
    )


def test_a_source_that_does_not_start_is_silent_soon():
    looks = [(each, PlayerState(playback=PlaybackState.STOPPED)) for each in range(5)]
    assert classify(looks)[2:4] == [PlaybackStatus.STARTING, PlaybackStatus.SILENCE]


# Times on the wall


@given(st.integers(0, 730 * 86_400), st.integers(0, 23), st.integers(0, 59))
def test_the_next_time_is_within_a_day_and_an_hour(second, hour, minute):
    now = (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=second)).astimezone(NEW_YORK)
    then = schedule.next_time(f"{hour}:{minute:02}", now)
    seconds = schedule.seconds_until(then, now)
    assert -3600 <= seconds <= 25 * 3600
    shown = (now.astimezone(UTC) + timedelta(seconds=seconds)).astimezone(NEW_YORK)
    assert (shown.hour, shown.minute) in {(hour, minute), ((hour + 1) % 24, minute)}


# Checkpoints


def test_a_checkpoint_is_read_again():
    moment = Timestamp(datetime(2027, 3, 1, 7, tzinfo=UTC), 12.5, "boot")
    session = Checkpoint(
        phase=Phase.ANNOUNCING,
        phase_started=moment,
        session_started=moment,
        previous_volume=60,
        modes=QueueModes(repeat=True, random=False, single=Mode.ONCE, consume=Mode.ON),
        player_position=PlaybackPosition(
            play="pause", id=3, position=1, uri="a", elapsed=2.5, is_file=True, queue_length=3
        ),
    )
    job_options = options("alarm", play=["FIP", "one"], fade="3m", duration="1h", snooze="5m", volume=20)
    assert _music_session.load(_music_session.dump(job_options, session)) == (job_options, session)
    asleep = options("sleep", at="23:30", play_out="album")
    assert _music_session.load(_music_session.dump(asleep, session)) == (asleep, session)


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"with": {}, "session": {}}'])
def test_an_invalid_checkpoint_is_refused(text):
    assert _music_session.load(text) is None


# The keys


def config(folder: Path, lines: str) -> Path:
    path = folder / "appliance.yaml"
    path.write_text(f"state-dir: state\njobs:\n  it:\n    kind: music\n    with: {{{lines}}}\n", "utf-8")
    return path


@pytest.mark.parametrize(
    "lines",
    [
        "action: alarm, play: FIP",
        'action: alarm, play: [FIP, "playlist:Morning", Albums/Blue], volume: 30, fade: 10m, duration: 1h',
        "action: sleep",
        "action: sleep, in: 45m, fade: 2m, play-out: album",
        'action: sleep, at: "23:30"',
        "action: volume, volume: 20, fade: 1m",
        "action: stop, fade: 10s",
        "action: announce, text: Dinner, volume: 50",
        "action: announce, source: gong.wav",
    ],
)
def test_valid_keys_are_accepted(tmp_path, lines):
    load_config(config(tmp_path, lines))


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        ("action: alarm", "the alarm has nothing to play; add play: and a station"),
        (
            "action: alarm, play: FIP, in: 5m",
            "in does not belong to action: alarm; its keys are duration, fade,",
        ),
        ("action: alarm, play: FIP, volume: 101", "101 is not a valid volume; write 0 to 100"),
        ("action: alarm, play: FIP, volume: 0, start-volume: 0", "an alarm with volume 0 is silent"),
        ("action: alarm, play: FIP, volume: 10, start-volume: 20", "20 is louder than volume: 10; write less"),
        ("action: alarm, play: FIP, duration: 3m", "the alarm would stop before its fade ends"),
        ("action: alarm, play: FIP, snooze: 10s", "the snooze time is too short"),
        ('action: alarm, play: ["playlist:"]', "nothing is named to play"),
        ('action: sleep, at: "25:00"', "'25:00' is not a valid time of day; write a time such as \"23:30\""),
        ('action: sleep, at: "23:30", in: 5m', "in: already says when the music stops; write either in: or at:"),
        ("action: sleep, volume: 5", "volume does not belong to action: sleep"),
        ("action: sleep, play-out: day", "'day' is not known here"),
        ("action: volume", "the volume is missing"),
        ("action: announce, text: a, source: b", "a job announces one thing; write either text: or source:"),
        ('action: announce, text: " "', "the value is empty"),
    ],
)
def test_invalid_keys_are_reported(tmp_path, lines, wrong):
    with pytest.raises(ConfigError) as problems:
        load_config(config(tmp_path, lines))
    assert wrong in str(problems.value)
    assert len(problems.value.problems) == 1


def test_a_wrong_value_hides_no_key_of_another_action(tmp_path):
    with pytest.raises(ConfigError) as problems:
        load_config(config(tmp_path, "action: alarm, volume: 300, in: 5m, source: x"))
    assert sorted(each.message.partition(";")[0] for each in problems.value.problems) == [
        "300 is not a valid volume",
        "in does not belong to action: alarm",
        "source does not belong to action: alarm",
        "the alarm has nothing to play",
    ]


def test_a_machine_without_a_speech_program_is_a_warning(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert options("announce", text="Dinner").warnings() == [
        (("text",), "no program that can speak is installed", "install one: sudo apt install espeak-ng")
    ]
    assert options("announce").warnings() == options("announce", text="Dinner").warnings(), "it may get a text per run"
    assert options("announce", source="gong.wav").warnings() == []
