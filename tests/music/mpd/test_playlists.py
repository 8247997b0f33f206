"""Saved playlists of the MPD player, compared with mpc."""

from collections.abc import Iterator

import pytest

from pi_appliance.errors import Refused
from pi_appliance.music.model import EntryType, LibraryFilter, SavedPlaylist, Source, Uri
from tests.fakes.mpd_server import MpdServer, needs_mpd
from tests.music.mpd.mpd_helpers import SHOUT, call_player

pytestmark = needs_mpd
ALL, OLD, LATE = "Blue/01 All.wav", "Blue/02 Old.wav", "Hits/more/c.wav"
RADIO = "http://127.0.0.1:9/radio"
EVENING = 'Ábend "二"'


@pytest.fixture
def evening(full_library: MpdServer) -> Iterator[MpdServer]:
    """Yield the MPD with one saved playlist: two tracks, a stream, and a deleted track."""
    (full_library.folder / "playlists" / f"{EVENING}.m3u").write_text(
        "\n".join([ALL, RADIO, "gone.wav", LATE, ""]), "utf-8"
    )
    yield full_library
    for each in (full_library.folder / "playlists").iterdir():
        each.unlink()


def entries(server: MpdServer, name: str) -> list[str]:
    """Return the entries of playlist `name` by mpc."""
    return server.mpc("playlist", "-f", "%file%", name).splitlines()


def test_playlists_are_sorted_by_name(evening: MpdServer) -> None:
    evening.mpc("save", "zero")
    evening.mpc("save", "Bach")
    result = call_player(evening, lambda player: player.list_playlists())
    assert [each.name for each in result] == [EVENING, "Bach", "zero"]
    assert sorted(each.name for each in result) == sorted(evening.mpc("lsplaylists").splitlines())
    assert result[0].modified.startswith("20")


def test_a_playlist_is_paged_with_known_tags(evening: MpdServer) -> None:
    whole = call_player(evening, lambda player: player.list_playlist(EVENING))
    assert [entry.uri for entry in whole.items] == entries(evening, EVENING) == [ALL, RADIO, "gone.wav", LATE]
    assert [entry.name for entry in whole.items] == ["All I Want", "radio", "gone.wav", "Late Blue"]
    assert [entry.kind for entry in whole.items] == [
        EntryType.TRACK,
        EntryType.STREAM,
        EntryType.TRACK,
        EntryType.TRACK,
    ]
    assert (whole.length, whole.more) == (4, False)
    part = call_player(evening, lambda player: player.list_playlist(EVENING, 1, 2))
    assert (part.items, part.length, part.more) == (whole.items[1:3], 4, True)


@pytest.mark.parametrize(
    ("source", "comes"),
    [
        (Uri(uri=OLD), [OLD]),
        (Uri(uri="Blue/"), [ALL, OLD]),
        (Uri(uri=RADIO, title="FM"), [RADIO]),
        (LibraryFilter(album="Blue"), [ALL, OLD]),
        (LibraryFilter(text="zoë blue"), [LATE]),
        (LibraryFilter(album=SHOUT), [f"odd/{SHOUT}.wav"]),
        (SavedPlaylist(playlist=EVENING), [ALL, RADIO, LATE]),
    ],
)
def test_every_source_is_appended_to_a_playlist(evening: MpdServer, source: Source, comes: list[str]) -> None:
    call_player(evening, lambda player: player.add_to_playlist("new one", source))
    assert entries(evening, "new one") == comes
    call_player(evening, lambda player: player.add_to_playlist(EVENING, source))
    assert entries(evening, EVENING) == [ALL, RADIO, "gone.wav", LATE, *comes]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (Uri(uri="nothing.wav"), "the library has no 'nothing.wav'"),
        (Uri(uri=""), "no file or address is named"),
        (LibraryFilter(artist="Nobody"), "nothing in the library is artist Nobody"),
        (SavedPlaylist(playlist="nothing"), "there is no playlist called 'nothing'"),
    ],
)
def test_a_missing_source_creates_no_playlist(evening: MpdServer, source: Source, words: str) -> None:
    with pytest.raises(Refused, match=words):
        call_player(evening, lambda player: player.add_to_playlist("new one", source))
    assert evening.mpc("lsplaylists") == EVENING


def test_entries_are_moved_and_removed_by_position(evening: MpdServer) -> None:
    call_player(evening, lambda player: player.move_in_playlist(EVENING, 3, 0))
    assert entries(evening, EVENING) == [LATE, ALL, RADIO, "gone.wav"]
    call_player(evening, lambda player: player.remove_from_playlist(EVENING, [0, 3, 0]))
    assert entries(evening, EVENING) == [ALL, RADIO]
    for question in (
        lambda player: player.remove_from_playlist(EVENING, [0, 2]),
        lambda player: player.remove_from_playlist(EVENING, [0, -1]),
        lambda player: player.move_in_playlist(EVENING, 2, 0),
        lambda player: player.move_in_playlist(EVENING, 0, 2),
    ):
        with pytest.raises(Refused, match=r"there is no entry [30] in the playlist .*; it has 2"):
            call_player(evening, question)
    assert entries(evening, EVENING) == [ALL, RADIO], "all or nothing"


def test_a_playlist_is_renamed_and_deleted(evening: MpdServer) -> None:
    evening.mpc("save", "Bach")
    with pytest.raises(Refused, match="there is a playlist called 'Bach' already"):
        call_player(evening, lambda player: player.rename_playlist(EVENING, "Bach"))
    call_player(evening, lambda player: player.rename_playlist(EVENING, "'s\\"))
    assert set(evening.mpc("lsplaylists").splitlines()) == {"Bach", "'s\\"}
    call_player(evening, lambda player: player.delete_playlist("'s\\"))
    assert evening.mpc("lsplaylists") == "Bach"


def test_a_missing_playlist_is_reported_by_name(full_library: MpdServer) -> None:
    for question in (
        lambda player: player.list_playlist("nothing"),
        lambda player: player.remove_from_playlist("nothing", [0]),
        lambda player: player.move_in_playlist("nothing", 0, 1),
        lambda player: player.rename_playlist("nothing", "x"),
        lambda player: player.delete_playlist("nothing"),
    ):
        with pytest.raises(Refused, match="there is no playlist called 'nothing'"):
            call_player(full_library, question)


def test_a_line_break_in_a_playlist_is_refused(evening: MpdServer) -> None:
    for question in (
        lambda player: player.list_playlist("x\nclear"),
        lambda player: player.add_to_playlist("x\nclear", Uri(uri=ALL)),
        lambda player: player.add_to_playlist("x", Uri(uri=f"{ALL}\nclear")),
        lambda player: player.rename_playlist(EVENING, "x\nclear"),
        lambda player: player.delete_playlist("x\nclear"),
    ):
        with pytest.raises(Refused, match="line break"):
            call_player(evening, question)
    assert evening.mpc("lsplaylists") == EVENING
