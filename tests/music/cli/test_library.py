"""pi-appliance music browse, artists, albums, genres, tracks, search, stats, update, art, favourites: beside mpc."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.mpd_server import PICTURE, TRACKS, MpdServer, needs_mpd, running_mpd
from tests.music.cli.music_program import EINS, NOWHERE, ONE, ZWEI, Room


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MpdServer]:
    genres = {EINS: "Punk", ZWEI: "Punk", ONE: "Jazz"}
    music = {name: (*tags, "", genres[name]) for name, tags in TRACKS.items()}
    with running_mpd(tmp_path_factory.mktemp("mpd"), music=music, keeps=["playlists", "stickers"]) as running:
        yield running


@pytest.fixture
def room(tmp_path: Path, server: MpdServer) -> Room:
    return Room(tmp_path, server.address)


@needs_mpd
def test_folders_are_browsed(server: MpdServer, room: Room) -> None:
    found = {name.rstrip("/") for name in room.column("FILE", "browse")}
    assert found == set(server.mpc("ls").splitlines())
    assert dict(zip(room.column("FILE", "browse"), room.column("KIND", "browse"), strict=True))["Ärzte/"] == "folder"
    assert room.column("FILE", "browse", "Ärzte") == server.mpc("ls", "Ärzte").splitlines()
    assert room.told("browse", "empty") == "the folder is empty"
    first = room.values("browse", "Ärzte/")["items"][0]
    assert (first["kind"], first["track"]["title"]) == ("track", "Eins")


@needs_mpd
@pytest.mark.parametrize(
    ("words", "head", "mpc"),
    [
        (["artists"], "ARTIST", ["list", "artist"]),
        (["artists", "--genre", "Punk"], "ARTIST", ["list", "artist", "genre", "Punk"]),
        (["albums"], "ALBUM", ["list", "album"]),
        (["albums", "--artist", "Someone"], "ALBUM", ["list", "album", "artist", "Someone"]),
        (["genres"], "GENRE", ["list", "genre"]),
        (["genres", "--album", "Ünï"], "GENRE", ["list", "genre", "album", "Ünï"]),
        (["tracks"], "FILE", ["search", "-f", "%file%", "filename", "wav"]),
        (["tracks", "--genre", "Punk", "--artist", "Die Ärzte"], "FILE", ["find", "-f", "%file%", "genre", "Punk"]),
        (["search", "zwei"], "FILE", ["search", "-f", "%file%", "title", "zwei"]),
        (["search", "ONE", "someone"], "FILE", ["search", "-f", "%file%", "artist", "Someone"]),
    ],
)
def test_lists_of_the_library_are_those_of_mpc(
    server: MpdServer, room: Room, words: list[str], head: str, mpc: list[str]
) -> None:
    wanted = sorted(server.mpc(*mpc).splitlines())
    assert sorted(room.column(head, *words)) == wanted
    assert wanted
    first = room.values(*words)["items"]
    assert len(first) == len(wanted)


@needs_mpd
def test_lists_of_the_library_come_in_windows(room: Room) -> None:
    lines = room.told("tracks", "--count", "2").splitlines()
    assert len(lines) == 4
    assert lines[-1] in ("… 1 more; --start 2", "… more; --start 2")
    assert len(room.told("tracks", "--start", "2", "--count", "2").splitlines()) == 2
    assert len(room.values("tracks", "--all")["items"]) == 3


@needs_mpd
def test_nothing_found_is_said(room: Room) -> None:
    assert room.told("artists", "--genre", "Polka") == "the library has nothing of that"
    assert room.told("search", "zzz") == "the library has nothing of that"
    said = room.music("browse", "nowhere")
    assert (said.status, said.out, "\n" in said.err) == (1, "", False)


@needs_mpd
def test_how_big_the_library_is(server: MpdServer, room: Room) -> None:
    first, second = room.told("stats").splitlines()
    assert first == "3 tracks of 1:00, 2 albums, 2 artists"
    assert second.startswith("updated ")
    told = dict(line.split(":", 1) for line in server.mpc("stats").splitlines() if line)
    assert [told[word].strip() for word in ("Songs", "Albums", "Artists")] == ["3", "2", "2"]
    assert room.values("stats")["tracks"] == 3
    assert room.told("stats", "Ärzte").splitlines()[0] == "2 tracks of 0:40"


@needs_mpd
def test_new_music_is_found(server: MpdServer, room: Room) -> None:
    new = server.music / "new" / "two.wav"
    new.parent.mkdir()
    shutil.copy(server.music / ONE, new)
    assert room.told("update", "new", "--wait") == "updated: 4 tracks of 1:20, 1 more than before"
    assert "new/two.wav" in server.mpc("listall")
    shutil.rmtree(new.parent)
    assert room.told("update", "--wait") == "updated: 3 tracks of 1:00, 1 fewer than before"
    assert room.told("update", "--wait") == "updated: 3 tracks of 1:00, as many as before"
    assert room.told("update").startswith("the library is being updated")
    server.mpc("update", "--wait")


@needs_mpd
def test_a_picture_is_described_and_written(server: MpdServer, room: Room, tmp_path: Path) -> None:
    assert room.told("art", ONE) == f"{ONE}: image/png, {len(PICTURE):,} bytes"
    target = tmp_path / "cover.png"
    room.told("art", EINS, "--to", str(target))
    assert target.read_bytes() == PICTURE == server.mpc_bytes("readpicture", EINS)
    assert room.music("art", EINS, "--to", "-").raw == PICTURE
    assert room.values("art", EINS) == {"uri": EINS, "mime": "image/png", "bytes": len(PICTURE)}
    server.mpc("clear")
    server.mpc("add", ONE, EINS)
    assert room.told("art", "2").startswith("Die Ärzte - Eins: image/png")
    said = room.music("art")
    assert (said.status, said.err) == (
        1,
        "pi-appliance: no track is the current one; name a file, or a number of the queue",
    )
    done = room.run("music", "art", EINS, "--to", str(tmp_path / "no" / "folder.png"))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith(f"pi-appliance: {tmp_path}/no/folder.png: No such file or directory")


@needs_mpd
def test_favourites_and_ratings_are_kept_and_taken_back(server: MpdServer, room: Room) -> None:
    assert room.told("favourites").startswith("there are no favourites yet")
    server.mpc("clear")
    server.mpc("add", ONE, EINS)
    server.mpc("play", "2")
    server.mpc("pause")
    assert room.told("like") == "Die Ärzte - Eins is a favourite"
    assert room.told("like", "1") == "Someone - One is a favourite"
    assert room.told("rate", "8") == "Die Ärzte - Eins is rated 8 of 10"
    assert room.told("rate", "3", ZWEI).endswith("is rated 3 of 10")
    assert room.told("status").splitlines()[-2:] == ["  rating     8 of 10", "  favourite  yes"]
    assert room.column("FILE", "favourites") == sorted([EINS, ONE])
    assert dict(zip(room.column("FILE", "favourites"), room.column("RATING", "favourites"), strict=True))[EINS] == "8"
    assert [
        each["track"]["uri"] if each["track"] else each["uri"] for each in room.values("favourites")["items"]
    ] == sorted([EINS, ONE])
    assert room.told("unlike") == "Die Ärzte - Eins is not a favourite"
    assert room.column("FILE", "favourites") == [ONE]
    room.told("like", EINS)
    assert "8" in room.column("RATING", "favourites"), "a rating outlives what is thought besides"
    assert room.told("rate", "none", EINS) == "eins.wav is not rated"
    assert room.column("RATING", "favourites") == ["-", "-"]
    for uri in (ONE, EINS):
        room.told("unlike", uri)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["rate"], "Missing argument"),
        (["rate", "11"], "'rating' must be a number from 1 to 10, or none"),
        (["search"], "Missing argument 'WORDS'"),
        (["tracks", "--count", "0"], "'count' must be a whole number from 1"),
        (["art", "a", "b"], "Got unexpected extra argument (b)"),
    ],
)
def test_wrong_use_is_told_in_one_line_before_the_player_is_asked(tmp_path: Path, words: list[str], told: str) -> None:
    said = Room(tmp_path, NOWHERE).music(*words)
    assert (said.status, said.out, "\n" in said.err) == (2, "", False)
    assert told in said.err
