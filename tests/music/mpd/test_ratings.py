"""Ratings, favourites and pictures of the MPD player, compared with the stickers of mpc."""

from pathlib import Path

import pytest

from pi_appliance.errors import Refused
from pi_appliance.music.model import CoverArt, TrackRating
from tests.fakes.mpd_server import PICTURE, MpdServer, needs_mpd, running_mpd
from tests.music.mpd.mpd_helpers import JPEG, SHOUT, call_player

pytestmark = needs_mpd
ALL, OLD, ODD = "Blue/01 All.wav", "Blue/02 Old.wav", f"odd/{SHOUT}.wav"


@pytest.fixture
def plain(full_library: MpdServer) -> MpdServer:
    """Return the MPD without stickers."""
    for uri in (ALL, OLD, ODD):
        for sticker in full_library.mpc("sticker", uri, "list").splitlines():
            full_library.mpc("sticker", uri, "delete", sticker.partition("=")[0])
    return full_library


def test_a_rating_is_stored_where_other_programs_find_it(plain: MpdServer) -> None:
    for uri in (ALL, ODD):
        call_player(plain, lambda player, uri=uri: player.set_rating(uri, TrackRating(rating=8, favourite=True)))
        assert sorted(plain.mpc("sticker", uri, "list").splitlines()) == ["like=2", "rating=8"]
    plain.mpc("sticker", OLD, "set", "rating", "3")
    result = call_player(
        plain, lambda player: player.ratings([ALL, OLD, ODD, "untagged.wav", "nothing.wav", "http://x/", "/x"])
    )
    assert result == {ALL: (both := TrackRating(rating=8, favourite=True)), OLD: TrackRating(rating=3), ODD: both}


def test_a_rating_replaces_the_former_one(plain: MpdServer) -> None:
    for opinion, stickers in (
        (TrackRating(rating=8, favourite=True), ["like=2", "rating=8"]),
        (TrackRating(rating=2), ["rating=2"]),
        (TrackRating(favourite=True), ["like=2"]),
        (TrackRating(), []),
        (TrackRating(), []),
    ):
        call_player(plain, lambda player, opinion=opinion: player.set_rating(ALL, opinion))
        assert sorted(plain.mpc("sticker", ALL, "list").splitlines()) == stickers


def test_invalid_ratings_of_other_programs_are_ignored(plain: MpdServer) -> None:
    plain.mpc("sticker", ALL, "set", "like", "0")
    plain.mpc("sticker", ALL, "set", "playCount", "12")
    plain.mpc("sticker", OLD, "set", "rating", "ten")
    assert call_player(plain, lambda player: player.ratings([ALL, OLD])) == {}
    call_player(plain, lambda player: player.set_rating(ALL, TrackRating(rating=1)))
    assert sorted(plain.mpc("sticker", ALL, "list").splitlines()) == ["like=0", "playCount=12", "rating=1"]


def test_favourites_are_paged_and_sorted(plain: MpdServer) -> None:
    for uri in (ODD, OLD, ALL):
        plain.mpc("sticker", uri, "set", "like", "2")
    plain.mpc("sticker", "untagged.wav", "set", "like", "1")
    whole = call_player(plain, lambda player: player.list_favourites())
    assert [entry.uri for entry in whole.items] == [ALL, OLD, ODD]
    assert [entry.name for entry in whole.items] == ["All I Want", "My Old Man", SHOUT]
    part = call_player(plain, lambda player: player.list_favourites(1, 1))
    assert (list(part.items), part.length, part.more) == ([whole.items[1]], 3, True)


def test_an_invalid_rating_is_refused(plain: MpdServer, server: MpdServer) -> None:
    for uri, opinion, words in (
        (ALL, TrackRating(rating=11), "from 1 to 10"),
        (ALL, TrackRating(rating=0), "from 1 to 10"),
        ("nothing.wav", TrackRating(rating=5), "the library has no track 'nothing.wav'"),
        ("http://127.0.0.1:9/radio", TrackRating(favourite=True), "only for tracks in its library"),
        ("a\nclear", TrackRating(favourite=True), "line break"),
    ):
        with pytest.raises(Refused, match=words):
            call_player(plain, lambda player, uri=uri, opinion=opinion: player.set_rating(uri, opinion))
    with pytest.raises(Refused):
        call_player(server, lambda player: player.set_rating("one.wav", TrackRating(rating=5)))


def test_an_embedded_picture_is_preferred_to_that_of_the_folder(full_library: MpdServer) -> None:
    (full_library.music / "Blue" / "cover.jpg").write_bytes(JPEG)
    (full_library.music / "Hits" / "cover.jpg").write_bytes(JPEG)
    assert call_player(full_library, lambda player: player.album_art(ALL)) == CoverArt(data=PICTURE, mime="image/png")
    assert full_library.mpc_bytes("readpicture", ALL) == PICTURE
    for uri in (OLD, "Hits/a.wav"):
        assert call_player(full_library, lambda player, uri=uri: player.album_art(uri)) == CoverArt(
            data=JPEG, mime="image/jpeg"
        )
        assert full_library.mpc_bytes("albumart", uri) == JPEG


def test_a_large_picture_is_complete(full_library: MpdServer) -> None:
    big = b"\xff\xd8\xff" + bytes(range(256)) * 5000
    (full_library.music / "odd" / "cover.jpg").write_bytes(big)
    assert call_player(full_library, lambda player: player.album_art(ODD)) == CoverArt(data=big, mime="image/jpeg")
    (full_library.music / "odd" / "cover.jpg").unlink()


@pytest.mark.parametrize("uri", ["Hits/more/c.wav", ODD, "odd/nothing.wav", "http://127.0.0.1:9/radio", "/etc/passwd"])
def test_a_track_without_a_picture_has_none(full_library: MpdServer, uri: str) -> None:
    assert call_player(full_library, lambda player: player.album_art(uri)) is None


def test_a_picture_too_large_for_a_cover_is_ignored(full_library: MpdServer) -> None:
    huge = full_library.music / "odd" / "cover.jpg"
    with huge.open("wb") as file:
        file.truncate(17 << 20)
    assert call_player(full_library, lambda player: player.album_art(ODD)) is None
    huge.unlink()


def test_a_missing_password_is_reported_before_any_picture(tmp_path: Path) -> None:
    with running_mpd(tmp_path, password="sécret") as server, pytest.raises(Refused, match="MPD_PASSWORD"):
        call_player(server, lambda player: player.album_art("one.wav"))
