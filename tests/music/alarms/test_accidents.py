"""Music jobs with random accidents: the volume stays within its limit and is restored."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from pi_appliance.errors import Unavailable
from pi_appliance.music.model import PlaybackState
from tests.examples import examples
from tests.fakes.timed_player import RunKilled, Sound
from tests.music.alarms.job_runner import FIP, RADIO, JobRunner

MOST = 50  # the maximum of the policy
TARGET = 40

SOUNDS = st.builds(
    Sound,
    error=st.sampled_from(["", "", "Failed to decode"]),
    silent=st.booleans(),
    stalls_after=st.none() | st.floats(0, 400),
    ends_after=st.none() | st.floats(0, 400),
)
ACCIDENTS = st.lists(
    st.tuples(
        st.floats(0, 900),
        st.sampled_from(["away", "back", "restart", "cut", "reboot", "snooze", "clock"]),
        st.floats(0, 120),
    ),
    max_size=8,
)


def happen(runner: JobRunner, what: str, how_much: float) -> None:
    match what:
        case "away":
            runner.player.is_unreachable = True
        case "back":
            runner.player.is_unreachable = False
        case "restart":
            runner.player.restart(volume=MOST)
        case "cut":
            raise RunKilled
        case "reboot":
            runner.player.restart(volume=MOST)
            runner.reboot(how_much)
            raise RunKilled
        case "snooze":
            runner.words.append("snooze")
        case "clock":
            runner.time.wall = runner.time.wall.replace(year=2031)


def lived_through(runner: JobRunner, accidents: list[tuple[float, str, float]], run: Callable[[], object]) -> None:
    """Run the job, and resume it as the daemon does until it is finished."""
    for at, what, how_much in accidents:
        runner.time.at(at, lambda what=what, how_much=how_much: happen(runner, what, how_much))
    for turn in range(40):
        if turn == 20:  # every fault ends at some time
            runner.player.is_unreachable, runner.time.events = False, []
        try:
            run() if turn == 0 else runner.go_on()
        except (RunKilled, Unavailable):
            runner.time.advance(1) if not runner.time.events else None
        if runner.held is None:
            return
    raise AssertionError("it never came to an end")


def job_runner(sounds: dict[str, Sound]) -> JobRunner:
    runner = JobRunner(Path(tempfile.gettempdir()), sounds=sounds, volume=MOST)
    runner.player.max_volume = MOST
    return runner


@settings(deadline=None, max_examples=examples(60))
@given(SOUNDS, SOUNDS, ACCIDENTS)
def test_random_accidents_of_an_alarm_with_an_end(first, second, accidents):
    runner = job_runner({FIP: first, RADIO: second})
    keys = {"play": ["FIP", RADIO], "volume": TARGET, "fade": "3m", "duration": "5m", "snooze": "2m"}
    back = (2400.0, "back", 0.0)  # within an hour
    lived_through(runner, [*accidents, back], lambda: runner.run("alarm", **keys))
    # Never louder than configured: a restarted player plays nothing before its volume is lowered.
    assert all(volume <= TARGET for _, volume, plays in runner.player.volumes if plays)
    state = runner.player.now
    assert state.volume == MOST or state.playback is PlaybackState.STOPPED


@settings(deadline=None, max_examples=examples(60))
@given(SOUNDS, ACCIDENTS, st.lists(st.tuples(st.floats(0, 400), st.integers(0, MOST)), max_size=3))
def test_random_accidents_of_an_alarm_with_user_input(sound, accidents, hands):
    runner = job_runner({FIP: sound})
    turned = [TARGET]
    for at, volume in hands:

        def turn(volume: int = volume) -> None:
            if runner.player.now.playback is PlaybackState.PLAYING and not runner.player.is_unreachable:
                runner.player.change_volume(volume)
                turned.append(volume)

        runner.time.at(at, turn)
    lived_through(runner, accidents, lambda: runner.run("alarm", play="FIP", volume=TARGET, fade="3m", duration="5m"))
    assert all(volume <= max(turned) for _, volume, plays in runner.player.volumes if plays)


@settings(deadline=None, max_examples=examples(60))
@given(ACCIDENTS)
def test_random_accidents_of_a_sleep_timer(accidents):
    runner = job_runner({})
    runner.player.fill(FIP)
    lived_through(runner, accidents, lambda: runner.run("sleep", in_="10m", fade="2m"))
    played = [volume for _, volume, plays in runner.player.volumes if plays]
    assert max(played) <= MOST
    assert runner.player.now.volume == MOST or runner.player.now.playback is PlaybackState.PLAYING
