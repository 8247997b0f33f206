"""Parsing of sources."""

import pytest

from pi_appliance.errors import UnknownName
from pi_appliance.music.model import (
    LibraryFilter,
    SavedPlaylist,
    Source,
    Station,
    Uri,
    describe_source,
    describe_text,
    parse_source,
)

FIP = Station(name="FIP", url="http://radio.example/fip")


@pytest.mark.parametrize(
    ("text", "source", "called"),
    [
        ("fip", Uri(uri=FIP.url, title="FIP"), "FIP"),
        ("station: FIP", Uri(uri=FIP.url, title="FIP"), "FIP"),
        ("playlist:Morning", SavedPlaylist(playlist="Morning"), "the playlist Morning"),
        ("album:Kind of Blue", LibraryFilter(album="Kind of Blue"), "album Kind of Blue"),
        ("artist: Nina Simone ", LibraryFilter(artist="Nina Simone"), "artist Nina Simone"),
        ("genre:Jazz", LibraryFilter(genre="Jazz"), "genre Jazz"),
        ("search:blue train", LibraryFilter(text="blue train"), "search blue train"),
        ("http://radio.example/fip", Uri(uri="http://radio.example/fip"), "http://radio.example/fip"),
        ("Albums/Blue/", Uri(uri="Albums/Blue/"), "Albums/Blue/"),
        ("Disc 1: Live/a.ogg", Uri(uri="Disc 1: Live/a.ogg"), "Disc 1: Live/a.ogg"),
    ],
)
def test_each_kind_of_source_is_parsed(text: str, source: Source, called: str) -> None:
    assert parse_source(text, [FIP]) == source
    assert describe_source(parse_source(text, [FIP])) == called


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("station: Nobody FM", "Nobody FM"),
        ("playlist:Morning", "the playlist Morning"),
        ("Albums/Blue/", "Albums/Blue/"),
        ("http://radio.example:80/", "http://radio.example:80/"),
    ],
)
def test_each_kind_of_source_has_messages_for_found_and_missing(text: str, words: str) -> None:
    assert describe_text(text) == words


@pytest.mark.parametrize("text", ["", "  ", "album:", "station: "])
def test_an_empty_source_is_reported(text: str) -> None:
    with pytest.raises(ValueError, match=r"nothing is named to play; write a station, playlist:NAME"):
        parse_source(text, [FIP])


def test_an_unknown_station_is_reported_with_the_most_similar() -> None:
    with pytest.raises(UnknownName, match="FIP"):
        parse_source("station:FIB", [FIP])
