"""Library commands of `pi-appliance music`, compared with mpc."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.mpd_server import PICTURE, TRACKS, MpdServer, needs_mpd, running_mpd
from tests.music.cli.music_program import EINS, NO_SERVER, ONE, ZWEI, MusicCli


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MpdServer]:
    genres = {EINS: "Punk", ZWEI: "Punk", ONE: "Jazz"}
    music = {name: (*tags, "", genres[name]) for name, tags in TRACKS.items()}
    with running_mpd(tmp_path_factory.mktemp("mpd"), music=music, databases=["playlists", "stickers"]) as running:
        yield running


@needs_mpd
def test_folders_are_listed(server: MpdServer, cli: MusicCli) -> None:
    result = {name.rstrip("/") for name in cli.column("FILE", "browse")}
    assert result == set(server.mpc("ls").splitlines())
    assert dict(zip(cli.column("FILE", "browse"), cli.column("KIND", "browse"), strict=True))["Ärzte/"] == "folder"
    assert cli.column("FILE", "browse", "Ärzte") == server.mpc("ls", "Ärzte").splitlines()
    assert cli.output("browse", "empty") == "the folder is empty"
    first = cli.values("browse", "Ärzte/")["items"][0]
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
def test_library_lists_match_mpc(server: MpdServer, cli: MusicCli, words: list[str], head: str, mpc: list[str]) -> None:
    expected = sorted(server.mpc(*mpc).splitlines())
    assert sorted(cli.column(head, *words)) == expected
    assert expected
    first = cli.values(*words)["items"]
    assert len(first) == len(expected)


@needs_mpd
def test_library_lists_are_paged(cli: MusicCli) -> None:
    lines = cli.output("tracks", "--count", "2").splitlines()
    assert len(lines) == 4
    assert lines[-1] in ("… 1 more; --start 2", "… more; --start 2")
    assert len(cli.output("tracks", "--start", "2", "--count", "2").splitlines()) == 2
    assert len(cli.values("tracks", "--all")["items"]) == 3


@needs_mpd
def test_an_empty_result_is_reported(cli: MusicCli) -> None:
    assert cli.output("artists", "--genre", "Polka") == "the library has nothing of that"
    assert cli.output("search", "zzz") == "the library has nothing of that"
    result = cli.music("browse", "nowhere")
    assert (result.status, result.out, "\n" in result.err) == (1, "", False)


@needs_mpd
def test_the_library_is_counted(server: MpdServer, cli: MusicCli) -> None:
    first, second = cli.output("stats").splitlines()
    assert first == "3 tracks of 1:00, 2 albums, 2 artists"
    assert second.startswith("updated ")
    output = dict(line.split(":", 1) for line in server.mpc("stats").splitlines() if line)
    assert [output[word].strip() for word in ("Songs", "Albums", "Artists")] == ["3", "2", "2"]
    assert cli.values("stats")["tracks"] == 3
    assert cli.output("stats", "Ärzte").splitlines()[0] == "2 tracks of 0:40"


@needs_mpd
def test_new_music_is_found(server: MpdServer, cli: MusicCli) -> None:
    new = server.music / "new" / "two.wav"
    new.parent.mkdir()
    shutil.copy(server.music / ONE, new)
    assert cli.output("update", "new", "--wait") == "updated: 4 tracks of 1:20, 1 more than before"
    assert "new/two.wav" in server.mpc("listall")
    shutil.rmtree(new.parent)
    assert cli.output("update", "--wait") == "updated: 3 tracks of 1:00, 1 fewer than before"
    assert cli.output("update", "--wait") == "updated: 3 tracks of 1:00, as many as before"
    assert cli.output("update").startswith("the library is being updated")
    server.mpc("update", "--wait")


@needs_mpd
def test_a_picture_is_described_and_saved(server: MpdServer, cli: MusicCli, tmp_path: Path) -> None:
    assert cli.output("art", ONE) == f"{ONE}: image/png, {len(PICTURE):,} bytes"
    target = tmp_path / "cover.png"
    cli.output("art", EINS, "--to", str(target))
    assert target.read_bytes() == PICTURE == server.mpc_bytes("readpicture", EINS)
    assert cli.music("art", EINS, "--to", "-").raw == PICTURE
    assert cli.values("art", EINS) == {"uri": EINS, "mime": "image/png", "bytes": len(PICTURE)}
    server.mpc("clear")
    server.mpc("add", ONE, EINS)
    assert cli.output("art", "2").startswith("Die Ärzte - Eins: image/png")
    result = cli.music("art")
    assert (result.status, result.err) == (
        1,
        "pi-appliance: no track is the current one; name a file, or a number of the queue",
    )
    done = cli.run("music", "art", EINS, "--to", str(tmp_path / "no" / "folder.png"))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith(f"pi-appliance: {tmp_path}/no/folder.png: No such file or directory")


@needs_mpd
def test_favourites_and_ratings_are_stored_and_removed(server: MpdServer, cli: MusicCli) -> None:
    assert cli.output("favourites").startswith("there are no favourites yet")
    server.mpc("clear")
    server.mpc("add", ONE, EINS)
    server.mpc("play", "2")
    server.mpc("pause")
    assert cli.output("like") == "Die Ärzte - Eins is a favourite"
    assert cli.output("like", "1") == "Someone - One is a favourite"
    assert cli.output("rate", "8") == "Die Ärzte - Eins is rated 8 of 10"
    assert cli.output("rate", "3", ZWEI).endswith("is rated 3 of 10")
    assert cli.output("status").splitlines()[-2:] == ["  rating     8 of 10", "  favourite  yes"]
    assert cli.column("FILE", "favourites") == sorted([EINS, ONE])
    assert dict(zip(cli.column("FILE", "favourites"), cli.column("RATING", "favourites"), strict=True))[EINS] == "8"
    assert [
        each["track"]["uri"] if each["track"] else each["uri"] for each in cli.values("favourites")["items"]
    ] == sorted([EINS, ONE])
    assert cli.output("unlike") == "Die Ärzte - Eins is not a favourite"
    assert cli.column("FILE", "favourites") == [ONE]
    cli.output("like", EINS)
    assert "8" in cli.column("RATING", "favourites"), "a rating outlives what is thought besides"
    assert cli.output("rate", "none", EINS) == "eins.wav is not rated"
    assert cli.column("RATING", "favourites") == ["-", "-"]
    for uri in (ONE, EINS):
        cli.output("unlike", uri)


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (["rate"], "Missing argument"),
        (["rate", "11"], "'rating' must be a number from 1 to 10, or none"),
        (["search"], "Missing argument 'WORDS'"),
        (["tracks", "--count", "0"], "'count' must be a whole number from 1"),
        (["art", "a", "b"], "Got unexpected extra argument (b)"),
    ],
)
def test_wrong_use_is_one_line_before_the_player_is_asked(tmp_path: Path, words: list[str], output: str) -> None:
    result = MusicCli(tmp_path, NO_SERVER).music(*words)
    assert (result.status, result.out, "\n" in result.err) == (2, "", False)
    assert output in result.err
