"""The addresses in M3U and PLS lists of all styles."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_appliance.music.radio import streams

M3U = "#EXTM3U\n#EXTINF:-1,Groove\nhttp://a.example/one\n\nhttp://b.example/two\n"
PLS = (
    "[playlist]\nNumberOfEntries=2\nFile2=http://b.example/two\nTitle1=Groove\nFile1=http://a.example/one\nVersion=2\n"
)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        (M3U, ["http://a.example/one", "http://b.example/two"]),
        ("\ufeff" + M3U.replace("\n", "\r\n"), ["http://a.example/one", "http://b.example/two"]),
        (PLS, ["http://a.example/one", "http://b.example/two"]),
        (PLS.upper().replace("HTTP", "http"), ["http://A.EXAMPLE/ONE", "http://B.EXAMPLE/TWO"]),
        ("live/high.aac\n/low\n", ["http://r.example/x/live/high.aac", "http://r.example/low"]),
        ("http://a.example/1\nhttp://a.example/1\n", ["http://a.example/1"]),
        ("file:///etc/passwd\nftp://a\njavascript:x\nhttp://\nhttp://[\nhttp://a b/\n", []),
        ("", []),
    ],
)
def test_the_addresses_of_a_list_are_read(text: str, result: list[str]) -> None:
    assert streams.parse_playlist(text, "http://r.example/x/list.m3u") == result


def test_an_hls_stream_is_distinguished_from_a_list() -> None:
    assert streams.is_hls("#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXTINF:6,\npart1.ts\n")
    assert not streams.is_hls(M3U)


@pytest.mark.parametrize(
    ("url", "is_one"),
    [
        ("http://a/b.m3u", True),
        ("http://a/b.PLS?x=1", True),
        ("https://a/b.m3u8#c", True),
        ("http://a/b.mp3", False),
        ("http://a/?list=b.m3u", False),
        ("http://[", False),
    ],
)
def test_list_addresses_are_recognized(url: str, is_one: bool) -> None:
    assert streams.is_playlist_url(url) is is_one


@given(st.text(alphabet=st.sampled_from("[]playistFe1=:/#.\nhtp @?\\\r ä\x00"), max_size=200))
def test_any_input_yields_web_addresses_or_nothing(text: str) -> None:
    for result in streams.parse_playlist(text, "http://r.example/list"):
        assert streams.is_web_address(result)
