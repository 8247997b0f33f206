"""The library of the MPD player, compared with mpc."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pi_appliance.errors import Refused
from pi_appliance.music.model import Entry, EntryType, LibraryFilter, LibraryStats, Page, QueuePosition, Uri
from tests.fakes.big_library import FLAT, Size, write_database
from tests.fakes.mpd_server import SECONDS, MpdServer, needs_mpd
from tests.installation import wait_until
from tests.music.mpd.mpd_helpers import SHOUT, call_player

pytestmark = needs_mpd
MANY = 5000


@pytest.fixture(scope="module")
def large_library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MpdServer]:
    """Yield an MPD with albums and a folder of very many tracks."""
    server = MpdServer(tmp_path_factory.mktemp("many"), more='auto_update "no"')
    server.music.mkdir()
    write_database(server.folder / "database", Size(tracks=600, flat=MANY))
    try:
        server.start()
        yield server
    finally:
        server.kill()


def names(window: Page[Entry]) -> list[str]:
    return [entry.name for entry in window.items]


def uris(window: Page[Entry]) -> list[str]:
    return [entry.uri for entry in window.items]


def test_a_folder_lists_folders_then_tracks(full_library: MpdServer) -> None:
    top = call_player(full_library, lambda player: player.list_directory())
    assert sorted(uris(top)) == sorted(full_library.mpc("ls").splitlines())
    assert [entry.kind for entry in top.items] == [EntryType.FOLDER] * 4 + [EntryType.TRACK]
    assert (top.length, top.more) == (5, False)
    inside = call_player(full_library, lambda player: player.list_directory("Hits/"))
    assert uris(inside) == ["Hits/more", "Hits/b.wav", "Hits/a.wav"], "tracks in the order of their album"
    assert names(inside) == ["more", "Ägypten", "Zebra"]
    with pytest.raises(Refused, match="the library has no folder 'nothing'"):
        call_player(full_library, lambda player: player.list_directory("nothing"))


def test_a_folder_is_paged(full_library: MpdServer) -> None:
    whole = call_player(full_library, lambda player: player.list_directory("Hits"))
    pieces = [
        call_player(full_library, lambda player, start=start: player.list_directory("Hits", start, 2))
        for start in (0, 2, 4)
    ]
    assert [entry for piece in pieces for entry in piece.items] == list(whole.items)
    assert [(piece.start, piece.length, piece.more) for piece in pieces] == [
        (0, 3, True),
        (2, 3, False),
        (4, 3, False),
    ]


def test_every_tag_of_a_track_is_read(full_library: MpdServer) -> None:
    (entry, _) = call_player(full_library, lambda player: player.list_directory("Blue")).items
    track = entry.track
    assert track is not None
    assert (track.title, track.artist, track.album, track.album_artist) == ("All I Want", "Joni", "Blue", "Joni")
    assert (track.genre, track.date, track.number, track.duration) == ("Folk", "1971", "1", SECONDS)
    assert (track.position, track.id) == (None, None)


def test_playlist_files_and_saved_playlists_differ(full_library: MpdServer) -> None:
    full_library.mpc("save", "saved one")
    (full_library.music / "sunday.m3u").write_text("untagged.wav\n", "utf-8")
    full_library.mpc("update", "--wait")
    last = call_player(full_library, lambda player: player.list_directory()).items[-1]
    assert (last.kind, last.name, last.uri) == (EntryType.PLAYLIST, "sunday.m3u", "sunday.m3u")
    (full_library.music / "sunday.m3u").unlink()
    full_library.mpc("rm", "saved one")
    full_library.mpc("update", "--wait")
    assert len(call_player(full_library, lambda player: player.list_directory()).items) == 5


@pytest.mark.parametrize(
    ("kind", "tags"),
    [(EntryType.ARTIST, ("albumartist", "artist")), (EntryType.ALBUM, ("album",)), (EntryType.GENRE, ("genre",))],
)
def test_the_lists_match_mpc(full_library: MpdServer, kind: EntryType, tags: tuple[str, ...]) -> None:
    result = call_player(full_library, lambda player: player.list_library(kind))
    assert sorted(set(names(result))) == sorted(
        {name for tag in tags for name in full_library.mpc("list", tag).splitlines() if name}
    )
    assert {entry.kind for entry in result.items} == {kind}


def test_names_are_sorted_for_people(full_library: MpdServer) -> None:
    artists = call_player(full_library, lambda player: player.list_library(EntryType.ARTIST))
    assert names(artists) == ["Die Ärzte", SHOUT, "Joni", "Various", "Zoë", "世界"], "also a guest of a compilation"


def test_an_album_has_its_artist_and_the_date_of_its_first_track(full_library: MpdServer) -> None:
    albums = call_player(full_library, lambda player: player.list_library(EntryType.ALBUM))
    assert [(each.name, each.artist, each.date) for each in albums.items] == [
        ("Blue", "Joni", "1971"),
        (SHOUT, SHOUT, ""),
        ("Hits", "Various", "1999-05-01"),
        ("Hits", "Zoë", "2001"),
        ("Ünï", "世界", ""),
    ]


def test_a_filter_matches_the_album_artist_or_the_track_artist(full_library: MpdServer) -> None:
    def result(kind: EntryType, library_filter: LibraryFilter) -> list[str]:
        return names(call_player(full_library, lambda player: player.list_library(kind, library_filter)))

    assert result(EntryType.ALBUM, LibraryFilter(artist="Joni")) == ["Blue", "Hits"]
    assert result(EntryType.TRACK, LibraryFilter(artist="Various")) == ["Ägypten", "Zebra"]
    assert result(EntryType.TRACK, LibraryFilter(artist="Die Ärzte")) == ["Ägypten"]
    assert result(EntryType.ALBUM, LibraryFilter(genre="Folk")) == ["Blue", "Hits"]
    assert result(EntryType.ARTIST, LibraryFilter(genre="Rock")) == ["Die Ärzte", "Various", "Zoë"]
    assert result(EntryType.TRACK, LibraryFilter(album="Blue")) == ["All I Want", "My Old Man"]
    assert result(EntryType.TRACK, LibraryFilter(album="Hits", artist="Zoë")) == ["Late Blue"]
    assert result(EntryType.TRACK, LibraryFilter(artist="joni")) == [], "a tag is matched whole, capitals and all"
    assert result(EntryType.TRACK, LibraryFilter(artist="Jon")) == []


def test_a_search_matches_anywhere_and_ignores_case(full_library: MpdServer) -> None:
    def result(kind: EntryType, text: str) -> list[str]:
        return sorted(
            names(call_player(full_library, lambda player: player.list_library(kind, LibraryFilter(text=text))))
        )

    assert result(EntryType.TRACK, "BLUE") == ["All I Want", "Late Blue", "My Old Man"]
    assert result(EntryType.TRACK, "zoë blue") == ["Late Blue"]
    assert result(EntryType.TRACK, "ÄGYPTEN") == ["Ägypten"]
    assert result(EntryType.ALBUM, "ÄGYPTEN") == ["Hits"]
    assert result(EntryType.ALBUM, "late ZOË") == ["Hits"]
    assert result(EntryType.ARTIST, "rock hits") == ["Die Ärzte", "Various", "Zoë"]
    for words in ("zoe BLUE", "ZÖË late", "Zoe\u0308"):
        assert result(EntryType.TRACK, words) == ["Late Blue"], "accents do not matter"
    assert result(EntryType.ALBUM, "aGYPTEN") == ["Hits"]
    assert result(EntryType.TRACK, "late " * 40) == ["Late Blue"]
    assert result(EntryType.GENRE, "blue") == ["Folk", "Rock"]
    assert result(EntryType.TRACK, "(.*)") == result(EntryType.ALBUM, ".") == [], "a text is no pattern"


def test_a_name_with_quotes_is_found_and_played(full_library: MpdServer) -> None:
    library_filter = LibraryFilter(artist=SHOUT, album=SHOUT, genre=SHOUT, text=SHOUT.partition(" ")[2])
    for kind in (EntryType.ARTIST, EntryType.ALBUM, EntryType.GENRE, EntryType.TRACK):
        assert names(
            call_player(full_library, lambda player, kind=kind: player.list_library(kind, library_filter))
        ) == [SHOUT]
    (track,) = call_player(full_library, lambda player: player.list_library(EntryType.TRACK, library_filter)).items
    for source in (library_filter, Uri(uri=track.uri)):
        call_player(full_library, lambda player, source=source: player.add_source(source, QueuePosition.REPLACE))
        assert full_library.mpc("playlist", "-f", "%title%") == SHOUT


@pytest.mark.parametrize(
    "name",
    ['") OR (artist != "', "\\", "\\\\", '"', "'", "x') AND (", '\\")', "%s $(reboot) `id`", "世界\u2028", "a\tb", " "],
)
def test_a_name_cannot_change_the_query(full_library: MpdServer, name: str) -> None:
    for kind in (EntryType.ARTIST, EntryType.ALBUM, EntryType.TRACK):
        library_filter = LibraryFilter(artist=name, album=name)
        assert (
            names(
                call_player(
                    full_library,
                    lambda player, kind=kind, library_filter=library_filter: player.list_library(kind, library_filter),
                )
            )
            == []
        )


@pytest.mark.parametrize("name", ["a\nclear", "a\r\nclear", "a\0", "\n"])
def test_a_line_break_in_a_name_is_refused(full_library: MpdServer, name: str) -> None:
    for question in (
        lambda player: player.list_library(EntryType.ALBUM, LibraryFilter(artist=name)),
        lambda player: player.list_library(EntryType.TRACK, LibraryFilter(album=name)),
        lambda player: player.list_directory(name),
        lambda player: player.library_stats(name),
        lambda player: player.update_library(name),
    ):
        with pytest.raises(Refused, match="line break"):
            call_player(full_library, question)


def test_the_library_is_counted(full_library: MpdServer) -> None:
    counts = call_player(full_library, lambda player: player.library_stats())
    stats = full_library.mpc("stats")
    assert f"Artists: {counts.artists:6}" in stats
    assert f"Albums:  {counts.albums:6}" in stats
    assert f"Songs:   {counts.tracks:6}" in stats
    assert (counts.seconds, counts.updated is not None) == (8 * SECONDS, True)
    inside = call_player(full_library, lambda player: player.library_stats("Hits"))
    assert inside == LibraryStats(artists=0, albums=0, tracks=3, seconds=3 * SECONDS)


def test_an_update_finds_new_files_in_its_folder_only(full_library: MpdServer) -> None:
    for folder in ("Blue", "Hits"):
        (full_library.music / folder / "new.wav").write_bytes((full_library.music / "untagged.wav").read_bytes())
    call_player(full_library, lambda player: player.update_library("Blue"))
    wait_until(lambda: "Blue/new.wav" in full_library.mpc("ls", "Blue"))
    assert "Hits/new.wav" not in full_library.mpc("ls", "Hits")
    for folder in ("Blue", "Hits"):
        (full_library.music / folder / "new.wav").unlink()
    full_library.mpc("update", "--wait")


def test_a_folder_of_very_many_tracks_is_paged(large_library: MpdServer) -> None:
    first = call_player(large_library, lambda player: player.list_directory(FLAT, 0, 3))
    assert uris(first) == [f"{FLAT}/more", f"{FLAT}/take 000000.flac", f"{FLAT}/take 000001.flac"]
    assert (first.items[1].name, first.length, first.more) == ("Take 0", MANY + 1, True)
    last = call_player(large_library, lambda player: player.list_directory(FLAT, MANY - 1, 100))
    assert uris(last) == [f"{FLAT}/take {number:06}.flac" for number in (MANY - 2, MANY - 1)]
    assert (last.length, last.more) == (MANY + 1, False)
    beyond = call_player(large_library, lambda player: player.list_directory(FLAT, MANY + 50, 100))
    assert (list(beyond.items), beyond.length, beyond.more) == ([], MANY + 1, False)


def test_a_folder_too_large_for_mpd_is_listed_anyway(tmp_path: Path) -> None:
    server = MpdServer(tmp_path, more='max_output_buffer_size "128"')
    server.music.mkdir()
    write_database(server.folder / "database", Size(tracks=12, flat=1500))
    try:
        server.start()
        window = call_player(server, lambda player: player.list_directory(FLAT, 1000, 2))
    finally:
        server.kill()
    assert (names(window), window.length) == (["Take 999", "Take 1000"], 1501)


def test_lists_are_paged_and_say_whether_there_is_more(large_library: MpdServer) -> None:
    pieces = [
        call_player(large_library, lambda player, at=at: player.list_library(EntryType.ALBUM, start=at, count=20))
        for at in (0, 20, 40)
    ]
    assert [(len(piece.items), piece.length, piece.more) for piece in pieces] == [
        (20, 51, True),
        (20, 51, True),
        (11, 51, False),
    ]
    result = call_player(
        large_library, lambda player: player.list_library(EntryType.TRACK, LibraryFilter(text="key life"), 10, 5)
    )
    assert (len(result.items), result.length, result.more) == (5, None, True), "nobody has counted them"
    end = call_player(
        large_library, lambda player: player.list_library(EntryType.TRACK, LibraryFilter(text="key life"), 595, 5)
    )
    assert (len(end.items), end.length, end.more) == (5, 600, False)


def test_streams_are_not_listed(full_library: MpdServer) -> None:
    with pytest.raises(Refused, match="no list of each stream"):
        call_player(full_library, lambda player: player.list_library(EntryType.STREAM))
