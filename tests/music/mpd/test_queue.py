"""The queue of the MPD player, compared with mpc."""

import asyncio
from pathlib import Path

import pytest

from pi_appliance.errors import Refused
from pi_appliance.music.model import LibraryFilter, PlaybackState, QueuePosition, SavedPlaylist, Source, Uri
from pi_appliance.music.mpd.parsing import explain_error
from pi_appliance.music.player import Player
from tests.fakes.mpd_server import MpdServer, needs_mpd, running_mpd, running_radio
from tests.music.mpd.mpd_helpers import EINS, ONE, ZWEI, call_player

pytestmark = needs_mpd


def test_the_queue_is_paged(three: MpdServer) -> None:
    window = call_player(three, lambda player: player.list_queue(1, 1))
    assert (window.start, window.length, [track.uri for track in window.tracks]) == (1, 3, [ZWEI])
    everything = call_player(three, lambda player: player.list_queue())
    assert [track.uri for track in everything.tracks] == three.mpc("playlist", "-f", "%file%").splitlines()
    assert [track.position for track in everything.tracks] == [0, 1, 2]
    beyond = call_player(three, lambda player: player.list_queue(7, 10))
    assert (list(beyond.tracks), beyond.length) == ([], 3)


def files(server: MpdServer) -> list[str]:
    """Return the queue by mpc."""
    return server.mpc("playlist", "-f", "%file%").splitlines()


def test_a_file_a_folder_and_a_stream_are_appended(three: MpdServer) -> None:
    added = call_player(three, lambda player: player.add_source(Uri(uri=ZWEI)))
    assert (added.name, added.position, added.count) == ('Zwei — 二 "q" \\b', 3, 1)
    for name in ("Ärzte", "Ärzte/"):
        added = call_player(three, lambda player, name=name: player.add_source(Uri(uri=name)))
        assert (added.name, added.count) == ("Ärzte", 2)
    assert added.position == 6
    added = call_player(three, lambda player: player.add_source(Uri(uri="http://127.0.0.1:9/radio")))
    assert (added.name, added.position, added.count) == ("radio", 8, 1)
    assert files(three) == [EINS, ZWEI, ONE, ZWEI, EINS, ZWEI, EINS, ZWEI, "http://127.0.0.1:9/radio"]


def test_the_whole_library_is_a_folder(three: MpdServer) -> None:
    added = call_player(three, lambda player: player.add_source(Uri(uri="/")))
    assert (added.name, added.position, added.count) == ("the whole library", 3, 3)
    assert call_player(three, lambda player: player.add_source(LibraryFilter(), QueuePosition.REPLACE)).count == 3
    assert len(files(three)) == 3


def test_a_next_track_follows_the_current_one(three: MpdServer) -> None:
    three.mpc("play", "1")
    added = call_player(three, lambda player: player.add_source(Uri(uri="Ärzte"), QueuePosition.NEXT))
    assert (added.position, added.count) == (1, 2)
    assert files(three) == [EINS, EINS, ZWEI, ZWEI, ONE]
    assert "[playing] #1/5" in three.mpc("status")
    call_player(three, lambda player: player.add_source(Uri(uri=ONE), QueuePosition.NEXT, play=True))
    assert files(three)[1] == ONE
    assert "[playing] #2/6" in three.mpc("status")


def test_a_next_track_is_next_in_random_order_too(three: MpdServer) -> None:
    three.mpc("random", "on")
    three.mpc("play", "1")
    three.mpc("add", *[EINS] * 30)
    call_player(three, lambda player: player.add_source(Uri(uri=ONE, title="no name"), QueuePosition.NEXT))
    three.mpc("next")
    assert three.mpc("current", "-f", "%position% %file%") == f"2 {ONE}"


def test_next_without_a_current_track_is_at_the_front(three: MpdServer) -> None:
    assert call_player(three, lambda player: player.add_source(Uri(uri=ONE), QueuePosition.NEXT)).position == 0
    assert files(three) == [ONE, EINS, ZWEI, ONE]


def test_library_filters_add_in_album_order(three: MpdServer) -> None:
    added = call_player(three, lambda player: player.add_source(LibraryFilter(album="Ünï"), play=True))
    assert (added.name, added.position, added.count) == ("album Ünï", 3, 2)
    assert files(three)[3:] == [EINS, ZWEI]
    assert "[playing] #4/5" in three.mpc("status")
    added = call_player(
        three, lambda player: player.add_source(LibraryFilter(artist="Die Ärzte", text="EI ns"), QueuePosition.REPLACE)
    )
    assert (files(three), added.count) == ([EINS], 1)


def test_a_saved_playlist_is_added_by_its_name(three: MpdServer) -> None:
    three.mpc("save", "Früh & spät")
    added = call_player(
        three, lambda player: player.add_source(SavedPlaylist(playlist="Früh & spät"), QueuePosition.REPLACE, play=True)
    )
    assert (added.name, added.position, added.count) == ("Früh & spät", 0, 3)
    assert files(three) == [EINS, ZWEI, ONE]
    assert "[playing] #1/3" in three.mpc("status")
    three.mpc("rm", "Früh & spät")


@pytest.mark.parametrize(
    "source",
    [
        *(Uri(uri=uri) for uri in ("nothing.wav", "nothing/", "foo://bar", "empty/", "", "nothing.m3u")),
        SavedPlaylist(playlist="nothing"),
        LibraryFilter(album="nothing"),
        LibraryFilter(text="EINS nothing"),
    ],
)
@pytest.mark.parametrize("where", QueuePosition)
def test_an_invalid_source_is_refused_and_the_queue_stays(
    three: MpdServer, source: Source, where: QueuePosition
) -> None:
    three.mpc("play", "2")
    before = three.mpc("playlist")
    with pytest.raises(Refused):
        call_player(three, lambda player: player.add_source(source, where, play=True))
    assert three.mpc("playlist") == before
    assert "[playing] #2/3" in three.mpc("status")


def test_a_missing_source_is_described(three: MpdServer) -> None:
    for source, words in (
        (Uri(uri="nothing.wav"), r"^the library has no 'nothing.wav'$"),
        (SavedPlaylist(playlist="nothing"), r"^there is no playlist called 'nothing'; there are none yet$"),
        (LibraryFilter(album="nothing"), r"^nothing in the library is album nothing$"),
        (Uri(uri="empty"), r"^empty holds nothing that can be played$"),
    ):
        with pytest.raises(Refused, match=words):
            call_player(three, lambda player, source=source: player.add_source(source))


def test_a_line_break_cannot_inject_a_command(three: MpdServer) -> None:
    before = three.mpc("playlist")
    for attack in (
        lambda player: player.add_source(Uri(uri="one.wav\nclear")),
        lambda player: player.add_source(
            Uri(uri="http://127.0.0.1:9/radio", title="title\nclear"), QueuePosition.REPLACE
        ),
        lambda player: player.add_source(SavedPlaylist(playlist="x\rclear")),
        lambda player: player.add_source(LibraryFilter(album='x\nclear"')),
        lambda player: player.save_queue("x\nclear"),
    ):
        with pytest.raises(Refused, match="line break"):
            call_player(three, attack)
    assert three.mpc("playlist") == before


def test_an_unrepresentable_name_is_refused(three: MpdServer) -> None:
    with pytest.raises(Refused, match="too long"):
        call_player(three, lambda player: player.add_source(Uri(uri="x" * 5000)))
    with pytest.raises(Refused, match="half a character"):
        call_player(three, lambda player: player.add_source(Uri(uri="\ud800")))


def test_replacing_with_a_file_or_a_folder_replaces_the_queue(three: MpdServer) -> None:
    three.mpc("play", "2")
    call_player(
        three,
        lambda player: player.add_source(Uri(uri=ONE, title="no title for a file"), QueuePosition.REPLACE, play=True),
    )
    assert three.mpc("playlist", "-f", "%title%") == "One"
    assert "[playing] #1/1" in three.mpc("status")
    call_player(three, lambda player: player.add_source(Uri(uri="Ärzte/"), QueuePosition.REPLACE))
    assert files(three) == [EINS, ZWEI]
    assert "[playing]" not in three.mpc("status"), "it was not asked to play"


def test_two_stations_started_together_leave_one_playing(three: MpdServer) -> None:
    async def both(player: Player) -> None:
        await asyncio.gather(
            *(player.add_source(Uri(uri=uri), QueuePosition.REPLACE, play=True) for uri in (ONE, EINS))
        )

    call_player(three, both)
    assert three.mpc("playlist", "-f", "%file%") in (ONE, EINS)
    assert "[playing] #1/1" in three.mpc("status")


def test_a_station_plays_under_its_name(three: MpdServer) -> None:
    with running_radio(three.music) as radio:
        station = Uri(uri=f"{radio}/one.wav", title="Rädio 二")
        added = call_player(three, lambda player: player.add_source(station, QueuePosition.REPLACE, play=True))
        state = call_player(three, lambda player: player.state())
        assert (state.playback, state.queue_length, state.error) == (PlaybackState.PLAYING, 1, "")
        assert added.name == three.mpc("playlist", "-f", "%title%") == "Rädio 二"
        three.mpc("stop")


def test_a_sound_device_that_does_not_open_is_explained(tmp_path: Path) -> None:
    output = 'auto_update "yes"\naudio_output {\n type "alsa"\n name "DAC"\n device "hw:31"\n}'

    async def play_and_wait(player: Player) -> str:
        await player.play(0)
        async for _ in player.watch_changes():
            if error := (await player.state()).error:
                return error
        raise AssertionError

    with running_mpd(tmp_path, outputs=(), more=output) as server:
        server.mpc("add", EINS)
        message = call_player(server, play_and_wait)
    assert message.startswith(
        "the sound device hw:31 cannot be opened: there is no such card; choose one that is there"
    )


@pytest.mark.parametrize(
    ("reason", "way_out"),
    [
        ("Device or resource busy", "another program uses it"),
        ("Permission denied", "MPD may not use it; run: sudo usermod --append --groups audio mpd"),
        ("Unknown error 524", "nothing is plugged into it"),
        ("Input/output error", "Input/output error"),
    ],
)
def test_each_cause_of_a_closed_device_has_its_way_out(reason: str, way_out: str) -> None:
    error_text = f'Failed to open "DAC" (alsa); Failed to open ALSA device "default": {reason}'
    assert explain_error(error_text).startswith(f"the sound device default cannot be opened: {way_out}")
    jack = 'Failed to enable output "default detected output" (jack); Failed to connect to JACK server, status=17'
    assert explain_error(jack).startswith("this machine has no sound card that MPD can use")


@pytest.mark.parametrize("owner", ["", "me:secret@"], ids=["open", "with a password"])
def test_an_unreachable_station_is_explained_without_its_password(three: MpdServer, owner: str) -> None:
    async def play_and_wait(player: Player) -> str:
        try:
            await player.add_source(
                Uri(uri=f"http://{owner}127.0.0.1:9/radio", title="Silence FM"), QueuePosition.REPLACE, play=True
            )
        except Refused as refused:  # MPD found out before it answered
            return str(refused)
        async for _ in player.watch_changes():
            state = await player.state()
            if state.error:
                break
        assert state.track is None or "secret" not in state.track.label
        return state.error

    assert call_player(three, play_and_wait) == "http://127.0.0.1:9/radio cannot be played: nothing listens there"


def test_tracks_are_moved_and_removed_by_id(three: MpdServer) -> None:
    one, two, last = (track.id or 0 for track in call_player(three, lambda player: player.list_queue()).tracks)
    call_player(three, lambda player: player.move_track(last, 0))
    assert files(three) == [ONE, EINS, ZWEI]
    three.mpc("del", "1")
    call_player(three, lambda player: player.remove_tracks([last, one, 999]))
    assert files(three) == [ZWEI], "what was gone already does not count"
    for attempt in (lambda player: player.move_track(last, 0), lambda player: player.move_track(two, 7)):
        with pytest.raises(Refused):
            call_player(three, attempt)


def test_shuffling_keeps_the_tracks(three: MpdServer) -> None:
    three.mpc("add", *[EINS] * 20, *[ONE] * 20)
    before = files(three)
    call_player(three, lambda player: player.shuffle_queue())
    assert sorted(files(three)) == sorted(before)
    assert files(three) != before


def test_the_queue_is_saved_and_replaces_only_on_request(three: MpdServer) -> None:
    call_player(three, lambda player: player.save_queue('Sónntag "2"'))
    assert three.mpc("playlist", "-f", "%file%", 'Sónntag "2"').splitlines() == [EINS, ZWEI, ONE]
    three.mpc("del", "1")
    with pytest.raises(Refused, match="there is a playlist called 'Sónntag \"2\"' already"):
        call_player(three, lambda player: player.save_queue('Sónntag "2"'))
    for _ in range(2):
        call_player(three, lambda player: player.save_queue('Sónntag "2"', replace=True))
    assert three.mpc("playlist", "-f", "%file%", 'Sónntag "2"').splitlines() == [ZWEI, ONE]
    assert three.mpc("lsplaylists") == 'Sónntag "2"'
    three.mpc("rm", 'Sónntag "2"')
    with pytest.raises(Refused, match="Bad playlist name"):
        call_player(three, lambda player: player.save_queue("a/b"))


def test_a_playlist_file_of_the_library_is_added_too(three: MpdServer) -> None:
    (three.music / "list.m3u").write_text(f"{ONE}\n{EINS}\n", "utf-8")
    three.mpc("update", "--wait")
    assert call_player(three, lambda player: player.add_source(Uri(uri="list.m3u"), QueuePosition.REPLACE)).count == 2
    assert files(three) == [ONE, EINS]
    (three.music / "list.m3u").unlink()
    three.mpc("update", "--wait")


def test_a_full_queue_refuses_tracks_and_can_be_replaced(tmp_path: Path) -> None:
    with running_mpd(tmp_path, more='max_playlist_length "4"') as server:
        server.mpc("add", EINS, ZWEI, ONE)
        with pytest.raises(Refused, match="too long for MPD"):
            call_player(server, lambda player: player.add_source(Uri(uri="Ärzte")))
        assert files(server) == [EINS, ZWEI, ONE]
        added = call_player(
            server, lambda player: player.add_source(Uri(uri="Ärzte"), QueuePosition.REPLACE, play=True)
        )
        assert (files(server), added.count) == ([EINS, ZWEI], 2)
        assert "[playing] #1/2" in server.mpc("status")


def test_an_empty_library_adds_nothing(tmp_path: Path) -> None:
    with running_mpd(tmp_path, music={}) as server, pytest.raises(Refused, match="holds nothing that can be played"):
        call_player(server, lambda player: player.add_source(Uri(uri="/")))
