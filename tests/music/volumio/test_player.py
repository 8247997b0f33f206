"""The Volumio player with a fake Volumio, which pyvolumio verifies."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, TypeVar

import pytest

from pi_appliance import plugins
from pi_appliance.errors import Refused
from pi_appliance.music.model import (
    Capability,
    EntryType,
    LibraryFilter,
    Mode,
    PlaybackState,
    QueuePosition,
    SavedPlaylist,
    TrackRating,
    Uri,
)
from pi_appliance.music.player import Player
from pi_appliance.music.player_settings import SETTINGS
from tests.fakes.volumio_library import MORNING, PICTURE, ROADS, SONGS
from tests.fakes.volumio_server import VolumioServer
from tests.music.volumio.volumio_helpers import Clock, clock, server

ONE, TWO, ALONE = ("music-library/" + path for path in ("USB/Blue/one.mp3", "USB/Blue/two.mp3", "NAS/alone.flac"))
EINS, ZWEI = "music-library/USB/Ärzte/eins.flac", "music-library/USB/Ärzte/zwei — 100%.flac"
RADIO = Uri(uri="http://127.0.0.1:9/fm", title="Rädio 二")
T = TypeVar("T")
__all__ = ["clock", "server"]


@pytest.fixture
def three(server: VolumioServer) -> VolumioServer:
    """Return a Volumio with three tracks in its queue, stopped."""
    server.box.add([{"uri": uri, "service": "mpd"} for uri in (ONE, EINS, ALONE)])
    return server


def connect(server: VolumioServer, **options: Any) -> Player:
    volumio = plugins.load("players", "volumio")
    player: Player = volumio.connect(volumio.Options(address=server.address, **options), {})
    return player


def call_player(server: VolumioServer, method: Callable[[Player], Awaitable[T]], **options: Any) -> T:
    async def call() -> T:
        player = connect(server, **options)
        try:
            return await method(player)
        finally:
            await player.close()

    return asyncio.run(call())


def uris(server: VolumioServer) -> list[str]:
    return [item["uri"].replace("mnt/", "music-library/") for item in server.box.queue]


def test_an_unused_volumio_is_empty(server: VolumioServer) -> None:
    state = call_player(server, lambda player: player.state())
    assert (state.playback, state.track, state.elapsed, state.queue_length) == (PlaybackState.STOPPED, None, None, 0)
    assert (state.volume, state.muted, state.random, state.repeat, state.single) == (40, False, False, False, Mode.OFF)


def test_the_state_is_converted_to_our_units(three: VolumioServer, clock: Clock) -> None:
    three.box.play(1)
    three.box.single = three.box.consume = three.box.updating = True
    clock.now += 7.5
    state = call_player(three, lambda player: player.state())
    assert (state.playback, state.elapsed, state.audio_format) == (PlaybackState.PLAYING, 7.5, "44100:16:2")
    assert (state.single, state.consume, state.updating, state.queue_length) == (Mode.ON, Mode.ON, 1, 3)
    assert state.track is not None
    assert (state.track.uri, state.track.title, state.track.artist, state.track.album) == (
        EINS,
        "Eins",
        "Die Ärzte",
        "Ünï",
    )
    assert (state.track.position, state.track.duration) == (1, 200)


def test_a_radio_has_no_duration(server: VolumioServer) -> None:
    added = call_player(server, lambda player: player.add_source(RADIO, QueuePosition.REPLACE, play=True))
    assert (added.name, added.position, added.count) == ("Rädio 二", 0, 1)
    state = call_player(server, lambda player: player.state())
    assert (state.playback, state.track and state.track.duration, state.audio_format) == (
        PlaybackState.PLAYING,
        None,
        "",
    )
    assert state.track is not None
    assert (state.track.title, state.track.uri) == ("Rädio 二", RADIO.uri)


def test_a_track_played_by_a_phone_is_not_in_the_queue(three: VolumioServer) -> None:
    answer = {**three.box.state(), "status": "play", "volatile": True, "uri": "", "title": "AirPlay", "stream": False}
    three.box.state = lambda: answer
    state = call_player(three, lambda player: player.state())
    assert state.track is not None
    assert (state.track.title, state.track.position, state.track.id) == ("AirPlay", None, None)


def test_the_state_after_a_command_is_the_new_one(three: VolumioServer) -> None:
    """Volumio reports success before its state has changed."""

    async def scenario(player: Player) -> None:
        for button, expected in (
            (player.play, (PlaybackState.PLAYING, ONE)),
            (player.next, (PlaybackState.PLAYING, EINS)),
            (player.pause, (PlaybackState.PAUSED, EINS)),
            (player.toggle, (PlaybackState.PLAYING, EINS)),
            (lambda: player.play(2), (PlaybackState.PLAYING, ALONE)),
            (player.previous, (PlaybackState.PLAYING, EINS)),
            (player.stop, (PlaybackState.STOPPED, EINS)),
            (player.next, (PlaybackState.PLAYING, ALONE)),
        ):
            await button()
            state = await player.state()
            assert (state.playback, state.track and state.track.uri) == expected
        await player.seek(20)
        assert (await player.state()).elapsed == 20

    three.lag = 2
    call_player(three, scenario)


@pytest.mark.parametrize(
    ("button", "before", "shows"),
    [
        (lambda player: player.play(2), [], {"status": "play", "position": 2}),
        (lambda player: player.play(), [], {"status": "play", "position": 0}),
        (lambda player: player.pause(), ["play"], {"status": "pause"}),
        (lambda player: player.pause(), [], {"status": "stop"}),
        (lambda player: player.toggle(), ["play"], {"status": "pause"}),
        (lambda player: player.toggle(), ["play", "pause"], {"status": "play"}),
        (lambda player: player.stop(), ["play"], {"status": "stop"}),
        (lambda player: player.next(), ["play"], {"status": "play", "position": 1}),
        (lambda player: player.previous(), ["play", "next"], {"position": 0}),
        (lambda player: player.seek(70.4), ["play", "pause"], {"seek": 70_000}),
        (lambda player: player.seek(-3), ["play", "pause"], {"seek": 0}),
        (lambda player: player.set_volume(0), [], {"volume": 0}),
        (lambda player: player.set_volume(77), [], {"volume": 77}),
        (lambda player: player.set_mute(True), [], {"mute": True, "volume": 40}),
        (lambda player: player.set_modes(random=True, repeat=True), [], {"random": True, "repeat": True}),
        (lambda player: player.set_modes(random=False), [], {"random": False}),
    ],
)
def test_volumio_follows_each_command(
    three: VolumioServer, button: Callable[[Player], Awaitable[None]], before: list[str], shows: dict[str, Any]
) -> None:
    for command in before:
        getattr(three.box, command)()
    call_player(three, button)
    assert {key: three.box.state()[key] for key in shows} == shows


def test_toggle_and_pause_stop_the_radio(server: VolumioServer) -> None:
    call_player(server, lambda player: player.add_source(RADIO, QueuePosition.REPLACE, play=True))
    for button in (lambda player: player.toggle(), lambda player: player.pause()):
        server.box.play()
        call_player(server, button)
        assert server.box.status == "stop"
    assert server.count("GET commands/stop") == 2


def test_a_track_keeps_its_id_while_the_queue_changes(three: VolumioServer) -> None:
    async def scenario(player: Player) -> None:
        before = await player.list_queue()
        assert [track.position for track in before.tracks] == [0, 1, 2]
        three.box.queue.insert(0, three.box.queue[2])  # the same track once more
        after = await player.list_queue()
        ids = [track.id for track in after.tracks]
        assert len(set(ids)) == 4
        assert ids[1:3] == [track.id for track in before.tracks[:2]]
        assert after.version > before.version
        assert (await player.list_queue()).version == (await player.state()).queue_version == after.version
        assert before.tracks[1].id is not None
        await player.play_id(before.tracks[1].id)
        assert three.box.position == 2

    call_player(three, scenario)
    first, second = (call_player(three, lambda player: player.list_queue()) for _ in range(2))
    assert [track.id for track in first.tracks] == [track.id for track in second.tracks], "for every program"
    with pytest.raises(Refused, match="not in the queue any more"):
        call_player(three, lambda player: player.play_id(1))


def test_the_queue_is_paged(three: VolumioServer) -> None:
    window = call_player(three, lambda player: player.list_queue(1, 1))
    assert (window.start, window.length, [track.uri for track in window.tracks]) == (1, 3, [EINS])
    assert list(call_player(three, lambda player: player.list_queue(7, 10)).tracks) == []


@pytest.mark.parametrize(
    ("source", "name", "expected"),
    [
        (Uri(uri=ZWEI), "Zwei", [ZWEI]),
        (Uri(uri="USB/Ärzte/zwei — 100%.flac"), "Zwei", [ZWEI]),
        (Uri(uri="music-library/USB/Blue/"), "Blue", [ONE, TWO]),
        (Uri(uri="NAS"), "NAS", [ALONE]),
        (Uri(uri="artists://AC%2FDC"), "AC/DC", [ONE, TWO]),
        (SavedPlaylist(playlist=MORNING), MORNING, [ONE, ALONE]),
        (SavedPlaylist(playlist=ROADS), ROADS, [EINS]),
        (Uri(uri=f"playlists/{ROADS}"), ROADS, [EINS]),
        (LibraryFilter(album="Blue"), "Blue", [ONE, TWO]),
        (LibraryFilter(album="Ünï", artist="Die Ärzte"), "Ünï", [EINS, ZWEI]),
        (LibraryFilter(artist="AC/DC"), "AC/DC", [ONE, TWO]),
        (LibraryFilter(genre="Punk"), "Punk", [ZWEI]),
        (LibraryFilter(genre="Jazz", artist="AC/DC", album="Blue"), "Blue", [ONE, TWO]),
        (LibraryFilter(text="one"), "one", [ONE, ALONE]),
        (RADIO, "Rädio 二", [RADIO.uri]),
    ],
)
def test_every_source_is_appended_or_replaces_the_queue(
    three: VolumioServer, source: Any, name: str, expected: list[str]
) -> None:
    three.box.play(0)
    before = uris(three)
    if before[-len(expected) :] != expected:
        added = call_player(three, lambda player: player.add_source(source))
        assert (added.name, added.position, added.count) == (name, 3, len(expected))
        assert uris(three) == before + expected
        assert three.box.position == 0
    added = call_player(three, lambda player: player.add_source(source, QueuePosition.REPLACE, play=True))
    assert (added.name, added.position, added.count) == (name, 0, len(expected))
    assert (uris(three), three.box.status, three.box.position) == (expected, "play", 0)
    call_player(three, lambda player: player.add_source(Uri(uri="NAS/alone.flac"), QueuePosition.REPLACE))
    assert (uris(three), three.box.status) == ([ALONE], "stop")


def test_adding_and_playing_starts_with_the_first_added_track(three: VolumioServer) -> None:
    added = call_player(three, lambda player: player.add_source(SavedPlaylist(playlist=MORNING), play=True))
    assert (added.position, added.count, three.box.position, three.box.status) == (3, 2, 3, "play")
    again = call_player(three, lambda player: player.add_source(SavedPlaylist(playlist=MORNING), play=True))
    assert (again.position, again.count, len(three.box.queue)) == (3, 0, 5)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (Uri(uri="USB/none.mp3"), "the library has no 'USB/none.mp3'"),
        (Uri(uri="none"), "the library has no 'none'"),
        (Uri(uri="albums://No/One"), "the library has no"),
        (Uri(uri=" "), "no file or address is named"),
        (SavedPlaylist(playlist="none"), f"there is no playlist 'none'; there are: {MORNING}, {ROADS}"),
        (LibraryFilter(album="none"), "nothing is found for 'none'"),
        (LibraryFilter(artist="none"), "nothing is found for 'none'"),
        (LibraryFilter(text="none"), "nothing is found for 'none'"),
        (LibraryFilter(), "does not list all its tracks at once"),
    ],
)
def test_an_unknown_source_is_refused_and_the_queue_stays(three: VolumioServer, source: Any, why: str) -> None:
    before = uris(three)
    for where in (QueuePosition.END, QueuePosition.REPLACE):
        with pytest.raises(Refused, match=why):
            call_player(three, lambda player, where=where: player.add_source(source, where, play=True))
    assert uris(three) == before
    assert not [asked for asked in three.requests if asked.command.startswith("POST")]


@pytest.mark.slow
def test_a_success_reported_by_volumio_is_verified(three: VolumioServer) -> None:
    three.ignored_commands |= {"volume", "random", "repeat", "play", "clearQueue"}
    buttons: list[tuple[Callable[[Player], Awaitable[Any]], str]] = [
        (lambda player: player.set_volume(12), "the volume is a different one"),
        (lambda player: player.set_mute(True), "it is not muted"),
        (lambda player: player.set_modes(random=True), "random has not changed"),
        (lambda player: player.set_modes(repeat=True), "repeat has not changed"),
        (lambda player: player.play(2), "does not play track 3"),
        (lambda player: player.clear_queue(), "its queue is not empty"),
        (lambda player: player.add_source(Uri(uri=ALONE)), "is not added"),  # the queue ends with it
    ]
    for button, why in buttons:
        with pytest.raises(Refused, match=f"^Volumio reported success, but .*{why}"):
            call_player(three, button)
    three.box.max_volume, three.ignored_commands = 60, set()
    with pytest.raises(Refused, match="check the maximum volume in its settings"):
        call_player(three, lambda player: player.set_volume(80))


def test_invalid_input_is_refused_before_any_request(three: VolumioServer) -> None:
    for volume in (-1, 101):
        with pytest.raises(Refused, match="it goes from 0 to 100"):
            call_player(three, lambda player, volume=volume: player.set_volume(volume))
    with pytest.raises(Refused, match="there is no track 4 in the queue; it ends with 3"):
        call_player(three, lambda player: player.play(3))
    with pytest.raises(Refused, match="nothing plays"):
        call_player(three, lambda player: player.seek(3))
    three.box.clear()
    for button in (Player.play, Player.toggle, Player.next, Player.previous):
        with pytest.raises(Refused, match="the queue is empty"):
            call_player(three, lambda player, button=button: getattr(player, button.__name__)())
    assert not [asked for asked in three.requests if "commands" in asked.command]


def test_muting_twice_sends_one_request(three: VolumioServer) -> None:
    for on in (True, True, False, False):
        call_player(three, lambda player, on=on: player.set_mute(on))
    assert three.count("GET commands/volume") == 2
    assert (three.box.mute, three.box.volume) == (False, 40)


def test_repeat_one_can_be_ended_and_not_started(three: VolumioServer) -> None:
    with pytest.raises(Refused, match="API cannot repeat one track"):
        call_player(three, lambda player: player.set_modes(random=True, single=Mode.ON))
    assert three.box.random is None, "nothing of it was done"
    three.box.repeat = three.box.single = True
    call_player(three, lambda player: player.set_modes(repeat=True, single=Mode.ON))
    assert three.box.single, "it was so already, and Volumio would end it"
    call_player(three, lambda player: player.set_modes(single=Mode.OFF))
    assert (three.box.repeat, three.box.single) == (True, False)
    for mode in (Mode.ON, Mode.ONCE):
        with pytest.raises(Refused, match="set consume"):
            call_player(three, lambda player, mode=mode: player.set_modes(consume=mode))
    call_player(three, lambda player: player.set_modes(consume=Mode.OFF))


def test_without_a_mixer_there_is_no_volume(server: VolumioServer) -> None:
    server.box.no_mixer = True
    assert call_player(server, lambda player: player.state()).volume is None
    assert not {Capability.VOLUME, Capability.MUTE} & call_player(server, lambda player: player.capabilities())
    for button in (lambda player: player.set_volume(3), lambda player: player.set_mute(True)):
        with pytest.raises(Refused, match="has its volume control switched off; choose a mixer in Settings"):
            call_player(server, button)


def test_capabilities_are_listed_and_others_refused(three: VolumioServer) -> None:
    can = call_player(three, lambda player: player.capabilities())
    seen = {
        Capability.VOLUME,
        Capability.MUTE,
        Capability.SEEK,
        Capability.PLAYLISTS,
        Capability.FOLDERS,
        Capability.TAGS,
        Capability.SEARCH,
        Capability.ART,
    }
    assert can == seen
    lacks: dict[Capability, list[Callable[[Player], Awaitable[Any]]]] = {
        Capability.SINGLE: [lambda player: player.set_modes(single=Mode.ON)],
        Capability.CONSUME: [lambda player: player.set_modes(consume=Mode.ON)],
        **{
            Capability(name): [lambda player, setting=setting: player.change_setting(setting, setting.example)]
            for name, setting in SETTINGS.items()
        },
        Capability.OUTPUTS: [lambda player: player.list_outputs(), lambda player: player.set_output(0, True)],
        Capability.NEXT: [lambda player: player.add_source(Uri(uri=ONE), QueuePosition.NEXT)],
        Capability.MOVE: [lambda player: player.move_track(1, 2)],
        Capability.REMOVE: [lambda player: player.remove_tracks([1])],
        Capability.PRIORITY: [lambda player: player.set_priority([1], 9)],
        Capability.SHUFFLE: [lambda player: player.shuffle_queue()],
        Capability.SAVE: [lambda player: player.save_queue("x")],
        Capability.EDIT_PLAYLISTS: [
            lambda player: player.add_to_playlist("x", Uri(uri=ONE)),
            lambda player: player.remove_from_playlist("x", [0]),
            lambda player: player.move_in_playlist("x", 0, 1),
            lambda player: player.rename_playlist("x", "y"),
            lambda player: player.delete_playlist("x"),
        ],
        Capability.STICKERS: [
            lambda player: player.ratings([ONE]),
            lambda player: player.set_rating(ONE, TrackRating(rating=3)),
            lambda player: player.list_favourites(),
        ],
        Capability.UPDATE: [lambda player: player.update_library()],
        Capability.PARTITIONS: [
            lambda player: player.list_partitions(),
            lambda player: player.use_partition("x"),
            lambda player: player.create_partition("x"),
            lambda player: player.delete_partition("x"),
            lambda player: player.move_output("x"),
        ],
    }
    assert set(lacks) | seen == set(Capability)
    for calls in lacks.values():
        for call in calls:
            with pytest.raises(Refused, match=r"^(Volumio('s REST API cannot| has no)|this player cannot) .+; .+"):
                call_player(three, call)


def test_the_library_has_folders_and_tracks(server: VolumioServer) -> None:
    top = call_player(server, lambda player: player.list_directory())
    assert [(entry.kind, entry.name) for entry in top.items] == [
        (EntryType.FOLDER, name) for name in ("INTERNAL", "NAS", "USB")
    ]
    for path in ("USB/Ärzte", "music-library/USB/Ärzte/", top.items[2].uri + "/Ärzte"):
        inside = call_player(server, lambda player, path=path: player.list_directory(path))
        assert [entry.track and entry.track.uri for entry in inside.items] == [EINS, ZWEI]
    part = call_player(server, lambda player: player.list_directory("USB/Blue", 1, 1))
    assert ([entry.name for entry in part.items], part.start, part.length, part.more) == (["Two"], 1, 2, False)
    assert call_player(server, lambda player: player.list_directory("USB/Blue", 0, 1)).more
    saved = call_player(server, lambda player: player.list_directory("playlists"))
    assert [(entry.kind, entry.name) for entry in saved.items] == [
        (EntryType.PLAYLIST, MORNING),
        (EntryType.PLAYLIST, ROADS),
    ]
    assert call_player(server, lambda player: player.list_directory("INTERNAL")).length == 0
    for path in ("USB/none", "none"):
        with pytest.raises(Refused, match="the library has no folder"):
            call_player(server, lambda player, path=path: player.list_directory(path))


@pytest.mark.parametrize(
    ("kind", "library_filter", "names"),
    [
        (EntryType.ARTIST, LibraryFilter(), ["AC/DC", "Björk", "Die Ärzte"]),
        (EntryType.ARTIST, LibraryFilter(artist="Björk"), ["Björk"]),
        (EntryType.ARTIST, LibraryFilter(genre="Rock"), ["Björk", "Die Ärzte"]),
        (EntryType.ARTIST, LibraryFilter(text="ärz"), ["Die Ärzte"]),
        (EntryType.ALBUM, LibraryFilter(), ["Blue", "Solo", "Ünï"]),
        (EntryType.ALBUM, LibraryFilter(artist="AC/DC"), ["Blue"]),
        (EntryType.ALBUM, LibraryFilter(album="Solo"), ["Solo"]),
        (EntryType.ALBUM, LibraryFilter(genre="Rock"), ["Solo", "Ünï"]),
        (EntryType.ALBUM, LibraryFilter(genre="Rock", artist="Björk"), ["Solo"]),
        (EntryType.ALBUM, LibraryFilter(text="BLUE"), ["Blue"]),
        (EntryType.ALBUM, LibraryFilter(text="blue", artist="Björk"), []),
        (EntryType.GENRE, LibraryFilter(), ["Jazz", "Punk", "Rock"]),
        (EntryType.TRACK, LibraryFilter(album="Blue"), ["One", "Two"]),
        (EntryType.TRACK, LibraryFilter(album="Blue", artist="Björk"), []),
        (EntryType.TRACK, LibraryFilter(genre="Rock", artist="Björk"), ["Alone"]),
        (EntryType.TRACK, LibraryFilter(text="one", artist="Björk"), ["Alone"]),
        (EntryType.TRACK, LibraryFilter(text="one", album="Blue"), ["One"]),
        (EntryType.TRACK, LibraryFilter(text="100%"), []),
    ],
)
def test_the_library_is_searched_by_tags_and_words(
    server: VolumioServer, kind: EntryType, library_filter: LibraryFilter, names: list[str]
) -> None:
    result = call_player(server, lambda player: player.list_library(kind, library_filter))
    assert ([entry.name for entry in result.items], result.length, result.more) == (names, len(names), False)
    assert {entry.kind for entry in result.items} <= {kind}


def test_an_album_has_its_artist_and_a_track_its_duration(server: VolumioServer) -> None:
    (album,) = call_player(
        server, lambda player: player.list_library(EntryType.ALBUM, LibraryFilter(album="Blue"))
    ).items
    assert (album.artist, album.date) == ("AC/DC", "1999")
    one, _ = call_player(
        server, lambda player: player.list_library(EntryType.TRACK, LibraryFilter(album="Blue", artist="AC/DC"))
    ).items
    assert one.track is not None
    assert (one.track.duration, one.track.artist) == (100, "AC/DC")


def test_paging_through_a_list_sends_one_request(server: VolumioServer) -> None:
    async def page(player: Player) -> list[str]:
        return [(await player.list_library(EntryType.ALBUM, start=start, count=1)).items[0].name for start in range(3)]

    assert call_player(server, page) == ["Blue", "Solo", "Ünï"]
    assert server.count("GET browse") == 1


def test_a_list_that_volumio_lacks_is_refused(server: VolumioServer) -> None:
    for question, why in (
        (lambda player: player.list_library(EntryType.TRACK), "does not list all its tracks at once"),
        (
            lambda player: player.list_library(EntryType.GENRE, LibraryFilter(artist="Björk")),
            "the genres of its whole library only",
        ),
        (lambda player: player.list_library(EntryType.FOLDER), "not sorted by folder"),
        (lambda player: player.library_stats("USB"), "counts only its whole library"),
    ):
        with pytest.raises(Refused, match=why):
            call_player(server, question)


def test_the_library_is_counted(server: VolumioServer) -> None:
    counts = call_player(server, lambda player: player.library_stats())
    assert (counts.artists, counts.albums, counts.tracks) == (3, 3, len(SONGS))
    assert counts.seconds == sum(song.seconds for song in SONGS)


def test_saved_playlists_are_listed_and_read(server: VolumioServer) -> None:
    assert [each.name for each in call_player(server, lambda player: player.list_playlists())] == [MORNING, ROADS]
    entries = call_player(server, lambda player: player.list_playlist(MORNING, 1, 5))
    assert ([entry.name for entry in entries.items], entries.length) == (["Alone"], 2)
    with pytest.raises(Refused, match=f"there is no playlist 'none'; there are: {MORNING}, {ROADS}"):
        call_player(server, lambda player: player.list_playlist("none"))


def test_a_picture_is_read_and_the_placeholder_is_not(three: VolumioServer) -> None:
    for uri in (ONE, TWO):  # one in the queue, one not
        art = call_player(three, lambda player, uri=uri: player.album_art(uri))
        assert art is not None
        assert (art.data, art.mime) == (PICTURE, "image/png")
    for uri in (ALONE, "http://127.0.0.1:9/fm", "nothing"):
        assert call_player(three, lambda player, uri=uri: player.album_art(uri)) is None
    three.box.queue[0]["albumart"] = "https://elsewhere.test/cover.png"
    assert call_player(three, lambda player: player.album_art(ONE)) is None


def test_changes_are_reported_at_once_with_their_kind(three: VolumioServer) -> None:
    doings: list[tuple[Callable[[], object], set[str]]] = [
        (lambda: three.box.set_volume("50"), {"mixer"}),
        (lambda: three.box.set_random(True), {"options"}),
        (lambda: three.box.play(1), {"player"}),
        (lambda: three.box.seek_to("90"), {"player"}),
        (lambda: three.box.add({"uri": ZWEI}), {"playlist"}),
    ]

    async def hear(player: Player) -> None:
        changes = player.watch_changes()
        async with asyncio.timeout(20):
            assert {"player", "mixer", "playlist", "options", "database"} <= await anext(changes)
            for do, names in doings:
                with three.lock:
                    do()
                assert await anext(changes) == names

    call_player(three, hear, poll=timedelta(hours=1))
    assert three.box.urls == [], "it asked to be told no more"


def test_a_change_between_two_watches_is_not_lost(three: VolumioServer) -> None:
    async def look_away(player: Player) -> frozenset[str]:
        changes = player.watch_changes()
        await anext(changes)
        with three.lock:
            three.box.set_volume("50")
            three.box.set_random(True)
        async with asyncio.timeout(10):
            return await anext(changes)

    assert call_player(three, look_away, poll=timedelta(hours=1)) == {"mixer", "options"}


def test_a_finished_update_is_a_change_of_the_library(three: VolumioServer) -> None:
    async def hear(player: Player) -> list[frozenset[str]]:
        changes, received = player.watch_changes(), []
        await anext(changes)
        async with asyncio.timeout(10):
            for updating in (True, False):
                with three.lock:
                    three.box.updating = updating
                    three.box.set_volume(str(three.box.volume))
                received.append(await anext(changes))
        return received

    assert call_player(three, hear, poll=timedelta(hours=1)) == [{"update"}, {"update", "database"}]
