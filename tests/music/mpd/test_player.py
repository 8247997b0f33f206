"""The MPD player and mpc on a real MPD: each sees the changes of the other."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from pi_appliance.errors import Refused
from pi_appliance.music.model import Capability, Mode, PlaybackState, ReplayGainMode
from pi_appliance.music.player import Player
from pi_appliance.music.player_settings import SETTINGS
from tests.fakes.mpd_server import SECONDS, MpdServer, needs_mpd, running_mpd
from tests.installation import wait_until
from tests.music.mpd.mpd_helpers import ONE, ZWEI, call_player

pytestmark = needs_mpd


def test_the_state_matches_mpc(three: MpdServer) -> None:
    for arguments in (
        ["play", "2"],
        ["volume", "35"],
        ["pause"],  # MPD 0.23 may hang if it has to seek while it begins to play
        ["seek", "0:07"],
        ["random", "on"],
        ["consume", "on"],
    ):
        three.mpc(*arguments)
    state = call_player(three, lambda player: player.state())
    assert (state.playback, state.volume, state.queue_length) == (PlaybackState.PAUSED, 35, 3)
    assert (state.random, state.repeat, state.single, state.consume) == (True, False, Mode.OFF, Mode.ON)
    assert state.track is not None
    assert (state.track.uri, state.track.position, state.track.duration) == (ZWEI, 1, SECONDS)
    assert state.elapsed == pytest.approx(7, abs=1)


def test_titles_keep_all_characters(three: MpdServer) -> None:
    three.mpc("play", "2")
    track = call_player(three, lambda player: player.state()).track
    assert track is not None
    assert (track.title, track.artist, track.album) == ('Zwei — 二 "q" \\b', "Die Ärzte", "Ünï")
    assert track.label == three.mpc("current", "-f", "%title%")


def test_a_stopped_player_with_an_empty_queue_has_no_track(three: MpdServer) -> None:
    three.mpc("clear")
    state = call_player(three, lambda player: player.state())
    assert (state.playback, state.track, state.elapsed, state.queue_length) == (PlaybackState.STOPPED, None, None, 0)


@pytest.mark.parametrize(
    ("button", "before", "says"),
    [
        (lambda player: player.play(2), [], "[playing] #3/3"),
        (lambda player: player.play(), [], "[playing] #1/3"),
        (lambda player: player.play(), ["play 2", "pause"], "[playing] #2/3"),
        (lambda player: player.pause(), ["play 2"], "[paused]  #2/3"),
        (lambda player: player.toggle(), ["play 2"], "[paused]  #2/3"),
        (lambda player: player.toggle(), ["play 2", "pause"], "[playing] #2/3"),
        (lambda player: player.toggle(), [], "[playing] #1/3"),
        (lambda player: player.next(), ["play 2"], "[playing] #3/3"),
        (lambda player: player.previous(), ["play 2"], "[playing] #1/3"),
        (lambda player: player.seek(7.0), ["play 2", "pause"], "0:07/0:20"),
        (lambda player: player.seek(-3), ["play 2", "pause", "seek 0:09"], "0:00/0:20"),
        (lambda player: player.set_volume(42), [], "volume: 42%"),
        (lambda player: player.set_volume(0), [], "volume:  0%"),
    ],
)
def test_mpc_sees_each_command(
    three: MpdServer, button: Callable[[Player], Awaitable[None]], before: list[str], says: str
) -> None:
    for command in before:
        three.mpc(*command.split())
    call_player(three, button)
    assert says in three.mpc("status")


def test_a_station_that_never_answers_does_not_hang_mpd(three: MpdServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        three.mpc("clear")
        three.mpc("add", f"http://127.0.0.1:{silent.getsockname()[1]}/live", ONE)
        station = int(three.mpc("playlist", "-f", "%id%").splitlines()[0])
        for button, says in [
            (lambda player: player.play(0), "[playing] #1/2"),
            (lambda player: player.play_id(station), "[playing] #1/2"),
            (lambda player: player.previous(), "[playing] #1/2"),
            (lambda player: player.next(), "[playing] #2/2"),
        ]:
            call_player(three, lambda player: player.play(0))
            call_player(three, button)
            assert says in three.mpc("status")
        call_player(three, lambda player: player.play(0))
        with pytest.raises(Refused, match="no place to seek"):
            call_player(three, lambda player: player.seek(7.0))
        three.mpc("clear")


def test_pausing_a_stopped_player_does_nothing(three: MpdServer) -> None:
    before = three.mpc("status")
    call_player(three, lambda player: player.pause())
    assert three.mpc("status") == before


def test_stop_and_clear_silence_and_empty_the_player(three: MpdServer) -> None:
    three.mpc("play", "2")
    call_player(three, lambda player: player.stop())
    assert "[playing]" not in three.mpc("status")
    call_player(three, lambda player: player.clear_queue())
    assert three.mpc("playlist") == ""


def test_playing_a_missing_position_is_refused_and_counts_from_one(three: MpdServer) -> None:
    with pytest.raises(Refused, match="there is no track 4 in the queue; it ends with 3"):
        call_player(three, lambda player: player.play(3))
    three.mpc("clear")
    for button in (lambda player: player.play(), lambda player: player.toggle()):
        with pytest.raises(Refused, match="the queue is empty"):
            call_player(three, button)


def test_a_refusal_of_mpd_is_shown_in_its_words(three: MpdServer) -> None:
    with pytest.raises(Refused, match=r"^MPD says: Not playing; play the queue or a station first$"):
        call_player(three, lambda player: player.next())
    with pytest.raises(Refused, match=r"^MPD says: Number too large: 300$"):
        call_player(three, lambda player: player.set_volume(300))


def test_the_state_has_the_other_fields_too(three: MpdServer) -> None:
    for arguments in (["crossfade", "4"], ["replaygain", "album"], ["single", "once"], ["play", "1"]):
        three.mpc(*arguments)
    wait_until(
        lambda: call_player(three, lambda player: player.state()).audio_format
    )  # known once it has decoded a little
    state = call_player(three, lambda player: player.state())
    assert (state.crossfade, state.replay_gain, state.single) == (4, ReplayGainMode.ALBUM, Mode.ONCE)
    assert (state.audio_format, state.partition, state.updating) == ("44100:16:1", "default", None)
    before = state.queue_version
    three.mpc("add", ONE)
    assert call_player(three, lambda player: player.state()).queue_version > before
    three.mpc("crossfade", "0")
    three.mpc("replaygain", "off")


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        (lambda player: player.set_modes(random=True, single=Mode.ONCE), "random: on    single: once  consume: off"),
        (
            lambda player: player.set_modes(repeat=True, consume=Mode.ON),
            "repeat: on    random: off   single: off   cons",
        ),
        (lambda player: player.set_modes(single=Mode.ON), "single: on "),
        (lambda player: player.set_modes(), "repeat: off   random: off   single: off   consume: off"),
    ],
)
def test_mpc_sees_the_modes(three: MpdServer, setting: Callable[[Player], Awaitable[None]], says: str) -> None:
    call_player(three, setting)
    assert says in three.mpc("status")


def test_a_feature_of_a_newer_mpd_is_refused_with_the_version(three: MpdServer) -> None:
    with pytest.raises(Refused, match=r"protocol version 0\.23; consume once needs 0\.24"):
        call_player(three, lambda player: player.set_modes(random=True, consume=Mode.ONCE))
    assert "random: off" in three.mpc("status"), "nothing of it was done"


def test_mpc_reads_crossfade_and_replay_gain(three: MpdServer) -> None:
    call_player(three, lambda player: player.change_setting(SETTINGS["crossfade"], 7))
    assert three.mpc("crossfade") == "crossfade: 7"
    call_player(three, lambda player: player.change_setting(SETTINGS["crossfade"], 0))
    assert three.mpc("crossfade") == "crossfade: 0"
    for gain in (ReplayGainMode.TRACK, ReplayGainMode.AUTO, ReplayGainMode.OFF):
        call_player(three, lambda player, gain=gain: player.change_setting(SETTINGS["replay-gain"], gain))
        assert three.mpc("replaygain") == f"replay_gain_mode: {gain}"


def test_outputs_are_switched_individually(three: MpdServer) -> None:
    outputs = call_player(three, lambda player: player.list_outputs())
    assert [(each.name, each.on, each.plugin) for each in outputs] == [
        ("silence", True, "null"),
        ("kitchen", True, "null"),
    ]
    call_player(three, lambda player: player.set_output(outputs[1].id, on=False))
    assert "Output 2 (kitchen) is disabled" in three.mpc("outputs")
    call_player(three, lambda player: player.set_output(outputs[1].id, on=True))
    assert "Output 2 (kitchen) is enabled" in three.mpc("outputs")
    with pytest.raises(Refused):
        call_player(three, lambda player: player.set_output(99, on=True))


def test_a_track_is_played_by_its_id_at_any_position(three: MpdServer) -> None:
    last = call_player(three, lambda player: player.list_queue()).tracks[2]
    assert last.id is not None
    three.mpc("move", "3", "1")
    call_player(three, lambda player: player.play_id(last.id or 0))
    assert "[playing] #1/3" in three.mpc("status")
    three.mpc("del", "1")
    with pytest.raises(Refused, match="No such song; it may not be in the queue any more"):
        call_player(three, lambda player: player.play_id(last.id or 0))


def test_capabilities_match_this_mpd(server: MpdServer, full_library: MpdServer, tmp_path: Path) -> None:
    can = call_player(full_library, lambda player: player.capabilities())
    assert set(Capability) - can == {Capability.MUTE}, "MPD cannot be muted"
    assert set(Capability) - call_player(server, lambda player: player.capabilities()) == {
        Capability.MUTE,
        Capability.STICKERS,
    }
    with running_mpd(tmp_path, music={}, mixer="none", databases=()) as bare:
        cannot = set(Capability) - call_player(bare, lambda player: player.capabilities())
    playlists = {Capability.PLAYLISTS, Capability.EDIT_PLAYLISTS, Capability.SAVE}
    assert cannot == {Capability.MUTE, Capability.STICKERS, Capability.VOLUME, *playlists}


def test_changes_are_reported_at_once_with_their_subsystem(three: MpdServer) -> None:
    async def hear(player: Player) -> list[frozenset[str]]:
        received = []
        async with asyncio.timeout(5):
            async for names in player.watch_changes():
                received.append(names)
                match len(received):
                    case 1:
                        await asyncio.to_thread(three.mpc, "volume", "50")
                    case 2:
                        await player.play(1)
                    case 3:
                        break
        return received

    first, second, third = call_player(three, hear)
    assert {"player", "mixer", "playlist", "options"} <= first
    assert (second, third) == ({"mixer"}, {"player"})


def test_a_change_between_two_watches_is_not_lost(three: MpdServer) -> None:
    async def look_away(player: Player) -> frozenset[str]:
        changes = player.watch_changes()
        await anext(changes)
        await asyncio.to_thread(three.mpc, "volume", "50")
        await asyncio.to_thread(three.mpc, "random", "on")
        async with asyncio.timeout(5):
            return await anext(changes)

    assert call_player(three, look_away) == {"mixer", "options"}


def test_without_a_mixer_there_is_no_volume(tmp_path: Path) -> None:
    with running_mpd(tmp_path, music={}, mixer="none") as server:
        assert call_player(server, lambda player: player.state()).volume is None
        with pytest.raises(Refused, match="has no mixer"):
            call_player(server, lambda player: player.set_volume(50))


def test_a_password_opens_a_protected_mpd(tmp_path: Path) -> None:
    with running_mpd(tmp_path, music={}, password="sécret") as server:
        assert (
            call_player(server, lambda player: player.state(), MPD_PASSWORD="sécret").playback is PlaybackState.STOPPED
        )
        for secrets in ({}, {"MPD_PASSWORD": "wrong"}):
            with pytest.raises(Refused, match="put the right MPD_PASSWORD=… among the secrets") as refused:
                call_player(server, lambda player: player.state(), **secrets)
            assert "wrong" not in str(refused.value)
