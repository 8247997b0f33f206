"""Job kind 'music' among accidents of any kind: never louder than allowed, and the volume is put back in the end."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from pi_appliance.errors import Unavailable
from pi_appliance.music.model import PlaybackState
from tests.fakes.timed_player import CutOff, Sound
from tests.music.alarms.job_runner import FIP, RADIO, Bedroom

MOST = 50  # what the policy allows
TARGET = 40

SOUNDS = st.builds(
    Sound,
    dead=st.sampled_from(["", "", "Failed to decode"]),
    silent=st.booleans(),
    stalls=st.none() | st.floats(0, 400),
    dies=st.none() | st.floats(0, 400),
)
ACCIDENTS = st.lists(
    st.tuples(
        st.floats(0, 900),
        st.sampled_from(["away", "back", "restart", "cut", "reboot", "snooze", "clock"]),
        st.floats(0, 120),
    ),
    max_size=8,
)


def happen(room: Bedroom, what: str, how_much: float) -> None:
    match what:
        case "away":
            room.player.away = True
        case "back":
            room.player.away = False
        case "restart":
            room.player.restart(volume=MOST)
        case "cut":
            raise CutOff
        case "reboot":
            room.player.restart(volume=MOST)
            room.reboot(how_much)
            raise CutOff
        case "snooze":
            room.words.append("snooze")
        case "clock":
            room.time.wall = room.time.wall.replace(year=2031)


def lived_through(room: Bedroom, accidents: list[tuple[float, str, float]], run: Callable[[], object]) -> None:
    """Run the job, and go on with it as the daemon does, until it is through."""
    for at, what, how_much in accidents:
        room.time.at(at, lambda what=what, how_much=how_much: happen(room, what, how_much))
    for turn in range(40):
        if turn == 20:  # what is broken is mended one day
            room.player.away, room.time.events = False, []
        try:
            run() if turn == 0 else room.go_on()
        except (CutOff, Unavailable):
            room.time.go(1) if not room.time.events else None
        if room.held is None:
            return
    raise AssertionError("it never came to an end")


def bedroom(sounds: dict[str, Sound]) -> Bedroom:
    room = Bedroom(Path(tempfile.gettempdir()), sounds=sounds, volume=MOST)
    room.player.most = MOST
    return room


@settings(deadline=None, max_examples=60)
@given(SOUNDS, SOUNDS, ACCIDENTS)
def test_an_alarm_with_an_end(first, second, accidents):
    room = bedroom({FIP: first, RADIO: second})
    keys = {"play": ["FIP", RADIO], "volume": TARGET, "fade": "3m", "duration": "5m", "snooze": "2m"}
    lived_through(room, accidents, lambda: room.run("alarm", **keys))
    # No more than wanted, whatever the player did by itself: a restarted one plays nothing before it is turned down.
    assert all(volume <= TARGET for _, volume, plays in room.player.volumes if plays)
    state = room.player.now
    # A player that goes away during the last fade, and stays away, is given up after half a minute.
    assert state.volume == MOST or state.playback is PlaybackState.STOPPED or room.player.away


@settings(deadline=None, max_examples=60)
@given(SOUNDS, ACCIDENTS, st.lists(st.tuples(st.floats(0, 400), st.integers(0, MOST)), max_size=3))
def test_an_alarm_and_hands(sound, accidents, hands):
    room = bedroom({FIP: sound})
    turned = [TARGET]
    for at, volume in hands:

        def turn(volume: int = volume) -> None:
            if room.player.now.playback is PlaybackState.PLAYING and not room.player.away:
                room.player.hand(volume)
                turned.append(volume)

        room.time.at(at, turn)
    lived_through(room, accidents, lambda: room.run("alarm", play="FIP", volume=TARGET, fade="3m", duration="5m"))
    assert all(volume <= max(turned) for _, volume, plays in room.player.volumes if plays)


@settings(deadline=None, max_examples=60)
@given(ACCIDENTS)
def test_a_sleep(accidents):
    room = bedroom({})
    room.player.fill(FIP)
    lived_through(room, accidents, lambda: room.run("sleep", in_="10m", fade="2m"))
    played = [volume for _, volume, plays in room.player.volumes if plays]
    assert max(played) <= MOST
    assert room.player.now.volume == MOST or room.player.now.playback is PlaybackState.PLAYING
