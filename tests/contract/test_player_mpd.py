"""The MPD player beside mpc: whatever one does, the other sees, with a real MPD between them."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from pi_appliance.errors import Refused
from pi_appliance.model.music import Play
from pi_appliance.players import mpd
from pi_appliance.ports_player import Player
from tests.fakes.mpd_server import SECONDS, MpdServer, needs_mpd, running_mpd, running_radio

pytestmark = needs_mpd
EINS, ZWEI, ONE = "Ärzte/eins.wav", "Ärzte/zwei — 二.wav", "one.wav"
T = TypeVar("T")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MpdServer]:
    with running_mpd(tmp_path_factory.mktemp("mpd")) as running:
        yield running


@pytest.fixture
def three(server: MpdServer) -> MpdServer:
    """Return the MPD with three tracks in its queue, stopped, every mode off."""
    server.mpc("clear")
    for mode in ("random", "repeat", "single", "consume"):
        server.mpc(mode, "off")
    server.mpc("volume", "100")
    server.mpc("add", EINS, ZWEI, ONE)
    return server


def ask(server: MpdServer, question: Callable[[Player], Awaitable[T]], **secrets: str) -> T:
    async def asked() -> T:
        player: Player = mpd.connect(mpd.Options(address=server.address), secrets)
        try:
            return await question(player)
        finally:
            await player.close()

    return asyncio.run(asked())


def test_the_state_is_what_mpc_made_it(three: MpdServer) -> None:
    for arguments in (
        ["play", "2"],
        ["volume", "35"],
        ["seek", "0:07"],
        ["pause"],
        ["random", "on"],
        ["consume", "on"],
    ):
        three.mpc(*arguments)
    state = ask(three, lambda player: player.state())
    assert (state.play, state.volume, state.queue_length) == (Play.PAUSED, 35, 3)
    assert (state.random, state.repeat, state.single, state.consume) == (True, False, False, True)
    assert state.track is not None
    assert (state.track.uri, state.track.position, state.track.duration) == (ZWEI, 1, SECONDS)
    assert state.elapsed == pytest.approx(7, abs=1)


def test_titles_come_as_they_are_whatever_their_letters(three: MpdServer) -> None:
    three.mpc("play", "2")
    track = ask(three, lambda player: player.state()).track
    assert track is not None
    assert (track.title, track.artist, track.album) == ('Zwei — 二 "q" \\b', "Die Ärzte", "Ünï")
    assert track.label == three.mpc("current", "-f", "%title%")


def test_a_stopped_player_with_nothing_in_its_queue_has_no_track(three: MpdServer) -> None:
    three.mpc("clear")
    state = ask(three, lambda player: player.state())
    assert (state.play, state.track, state.elapsed, state.queue_length) == (Play.STOPPED, None, None, 0)


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
        (lambda player: player.seek(-3), ["play 2", "seek 0:09", "pause"], "0:00/0:20"),
        (lambda player: player.set_volume(42), [], "volume: 42%"),
        (lambda player: player.set_volume(0), [], "volume:  0%"),
    ],
)
def test_mpc_sees_each_button(
    three: MpdServer, button: Callable[[Player], Awaitable[None]], before: list[str], says: str
) -> None:
    for command in before:
        three.mpc(*command.split())
    ask(three, button)
    assert says in three.mpc("status")


def test_pausing_what_does_not_play_does_nothing(three: MpdServer) -> None:
    before = three.mpc("status")
    ask(three, lambda player: player.pause())
    assert three.mpc("status") == before


def test_stop_and_clear_leave_a_silent_and_an_empty_player(three: MpdServer) -> None:
    three.mpc("play", "2")
    ask(three, lambda player: player.stop())
    assert "[playing]" not in three.mpc("status")
    ask(three, lambda player: player.clear())
    assert three.mpc("playlist") == ""


def test_the_queue_comes_in_windows(three: MpdServer) -> None:
    window = ask(three, lambda player: player.queue(1, 1))
    assert (window.start, window.length, [track.uri for track in window.tracks]) == (1, 3, [ZWEI])
    everything = ask(three, lambda player: player.queue())
    assert [track.uri for track in everything.tracks] == three.mpc("playlist", "-f", "%file%").splitlines()
    assert [track.position for track in everything.tracks] == [0, 1, 2]
    beyond = ask(three, lambda player: player.queue(7, 10))
    assert (list(beyond.tracks), beyond.length) == ([], 3)


def test_playing_what_is_not_there_is_refused_in_words_that_count_from_one(three: MpdServer) -> None:
    with pytest.raises(Refused, match="there is no track 4 in the queue; it ends with 3"):
        ask(three, lambda player: player.play(3))
    three.mpc("clear")
    for button in (lambda player: player.play(), lambda player: player.toggle()):
        with pytest.raises(Refused, match="the queue is empty"):
            ask(three, button)


def test_what_mpd_does_not_want_is_refused_in_its_own_words(three: MpdServer) -> None:
    with pytest.raises(Refused, match=r"^MPD says: Not playing; play the queue or a station first$"):
        ask(three, lambda player: player.next())
    with pytest.raises(Refused, match=r"^MPD says: Number too large: 300$"):
        ask(three, lambda player: player.set_volume(300))


def test_a_file_a_folder_and_a_stream_go_to_the_end_of_the_queue(three: MpdServer) -> None:
    file = ask(three, lambda player: player.add(ZWEI))
    assert (file.uri, file.position, file.artist) == (ZWEI, 3, "Die Ärzte")
    for name in ("Ärzte", "Ärzte/"):
        folder = ask(three, lambda player, name=name: player.add(name))
        assert (folder.uri, folder.label) == ("Ärzte/", "Ärzte")
    assert folder.position == 6
    stream = ask(three, lambda player: player.add("http://127.0.0.1:9/radio"))
    assert (stream.uri, stream.position, stream.duration) == ("http://127.0.0.1:9/radio", 8, None)
    queue = three.mpc("playlist", "-f", "%file%").splitlines()
    assert queue == [EINS, ZWEI, ONE, ZWEI, EINS, ZWEI, EINS, ZWEI, "http://127.0.0.1:9/radio"]


def test_the_whole_library_is_a_folder_too(three: MpdServer) -> None:
    added = ask(three, lambda player: player.add("/"))
    assert (added.label, added.position) == ("the whole library", 3)
    assert len(three.mpc("playlist").splitlines()) == 6


@pytest.mark.parametrize("uri", ["nothing.wav", "nothing/", "foo://bar", "empty/", ""])
def test_what_cannot_be_added_is_refused_and_leaves_the_queue(three: MpdServer, uri: str) -> None:
    before = three.mpc("playlist")
    with pytest.raises(Refused):
        ask(three, lambda player: player.add(uri))
    with pytest.raises(Refused):
        ask(three, lambda player: player.play_uri(uri))
    assert three.mpc("playlist") == before


def test_a_line_break_smuggles_no_command_in(three: MpdServer) -> None:
    before = three.mpc("playlist")
    for attack in (
        lambda player: player.add("one.wav\nclear"),
        lambda player: player.library("x\nclear"),
        lambda player: player.play_uri("http://127.0.0.1:9/radio", "title\nclear"),
    ):
        with pytest.raises(Refused, match="line break"):
            ask(three, attack)
    assert three.mpc("playlist") == before


def test_playing_a_file_or_a_folder_replaces_the_queue(three: MpdServer) -> None:
    three.mpc("play", "2")
    ask(three, lambda player: player.play_uri(ONE, "no title for a file"))
    assert three.mpc("playlist", "-f", "%title%") == "One"
    assert "[playing] #1/1" in three.mpc("status")
    ask(three, lambda player: player.play_uri("Ärzte/"))
    assert three.mpc("playlist", "-f", "%file%").splitlines() == [EINS, ZWEI]
    assert "[playing] #1/2" in three.mpc("status")


def test_two_stations_at_once_leave_one_of_them_playing(three: MpdServer) -> None:
    async def both(player: Player) -> None:
        await asyncio.gather(player.play_uri(ONE), player.play_uri(EINS))

    ask(three, both)
    assert three.mpc("playlist", "-f", "%file%") in (ONE, EINS)
    assert "[playing] #1/1" in three.mpc("status")


def test_a_station_plays_under_its_name(three: MpdServer) -> None:
    with running_radio(three.music) as radio:
        ask(three, lambda player: player.play_uri(f"{radio}/one.wav", "Rädio 二"))
        state = ask(three, lambda player: player.state())
        assert (state.play, state.queue_length, state.error) == (Play.PLAYING, 1, "")
        assert three.mpc("playlist", "-f", "%title%") == "Rädio 二"
        three.mpc("stop")


def test_a_station_that_cannot_be_reached_is_told_in_the_words_of_mpd(three: MpdServer) -> None:
    async def play_and_wait(player: Player) -> str:
        try:
            await player.play_uri("http://127.0.0.1:9/radio", "Silence FM")
        except Refused as refused:  # MPD found out before it answered
            return str(refused)
        async for _ in player.changes():
            state = await player.state()
            if state.error:
                break
        return state.error

    assert "Failed to decode http://127.0.0.1:9/radio" in ask(three, play_and_wait)


def test_the_library_is_folders_and_tracks(server: MpdServer) -> None:
    top = ask(server, lambda player: player.library())
    assert {entry.uri for entry in top} == {"Ärzte/", "empty/", "one.wav"}
    inside = ask(server, lambda player: player.library("Ärzte/"))
    assert [(entry.uri, entry.title) for entry in inside] == [(EINS, "Eins"), (ZWEI, 'Zwei — 二 "q" \\b')]
    with pytest.raises(Refused, match="No such directory"):
        ask(server, lambda player: player.library("nothing"))


def test_changes_begin_at_once_and_name_what_mpc_did(three: MpdServer) -> None:
    async def hear(player: Player) -> list[frozenset[str]]:
        heard = []
        async with asyncio.timeout(5):
            async for names in player.changes():
                heard.append(names)
                match len(heard):
                    case 1:
                        await asyncio.to_thread(three.mpc, "volume", "50")
                    case 2:
                        await player.play(1)
                    case 3:
                        break
        return heard

    first, second, third = ask(three, hear)
    assert {"player", "mixer", "playlist", "options"} <= first
    assert (second, third) == ({"mixer"}, {"player"})


def test_a_change_made_while_nobody_looked_is_not_lost(three: MpdServer) -> None:
    async def look_away(player: Player) -> frozenset[str]:
        changes = player.changes()
        await anext(changes)
        await asyncio.to_thread(three.mpc, "volume", "50")
        await asyncio.to_thread(three.mpc, "random", "on")
        async with asyncio.timeout(5):
            return await anext(changes)

    assert ask(three, look_away) == {"mixer", "options"}


def test_without_music_there_is_nothing_to_add(tmp_path: Path) -> None:
    with running_mpd(tmp_path, music={}) as server, pytest.raises(Refused, match="holds nothing that can be played"):
        ask(server, lambda player: player.add("/"))


def test_without_a_mixer_there_is_no_volume(tmp_path: Path) -> None:
    with running_mpd(tmp_path, music={}, mixer="none") as server:
        assert ask(server, lambda player: player.state()).volume is None
        with pytest.raises(Refused, match="has no mixer"):
            ask(server, lambda player: player.set_volume(50))


def test_a_password_opens_a_closed_mpd(tmp_path: Path) -> None:
    with running_mpd(tmp_path, music={}, password="sécret") as server:
        assert ask(server, lambda player: player.state(), MPD_PASSWORD="sécret").play is Play.STOPPED
        for secrets in ({}, {"MPD_PASSWORD": "wrong"}):
            with pytest.raises(Refused, match="put the right MPD_PASSWORD=… among the secrets") as refused:
                ask(server, lambda player: player.state(), **secrets)
            assert "wrong" not in str(refused.value)
