"""Facets of the network `bluesky`: links, tags and mentions, by their bytes."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi_appliance.config.options import NetworkDirs
from pi_appliance.posting.model import Post
from pi_appliance.posting.networks import bluesky
from tests.examples import examples
from tests.fakes.bluesky_account import HANDLE, SECRETS, FakeBluesky
from tests.fakes.bluesky_server import fake_bluesky


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[bluesky.Bluesky, FakeBluesky]]:
    """Return the network and its strict fake server."""
    place = NetworkDirs(tmp_path_factory.mktemp("private"), Path("/nowhere"))
    with fake_bluesky() as server:
        server.handles["mia.example.org"] = "did:plc:mia"
        options = bluesky.Options(handle=HANDLE, server=server.address, timeout=timedelta(seconds=5))
        yield bluesky.connect(options, SECRETS, place), server


def marked(connection: tuple[bluesky.Bluesky, FakeBluesky], text: str) -> list[tuple[str, str]]:
    """Post `text` and return its facets: the marked text and the target."""
    network, server = connection
    sent_post = network.post(Post(text), key="facets")
    record = server.records[sent_post.id.split()[0].rpartition("/")[2]]["value"]
    assert record["text"] == text
    result = []
    for facet in record.get("facets", []):
        (feature,) = facet["features"]
        (target,) = (value for name, value in feature.items() if name != "$type")
        result.append((text.encode()[facet["index"]["byteStart"] : facet["index"]["byteEnd"]].decode(), target))
    return result


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("nothing to see", []),
        ("🍓 https://example.org/a?b=c#d", [("https://example.org/a?b=c#d", "https://example.org/a?b=c#d")]),
        ("(see http://example.org/x).", [("http://example.org/x", "http://example.org/x")]),
        ("https://en.wikipedia.org/wiki/Pi_(film)!", [("https://en.wikipedia.org/wiki/Pi_(film)",) * 2]),
        ("HTTPS://Example.org", [("HTTPS://Example.org",) * 2]),
        ("“https://example.org”", []),
        ("https://example.org/grün", [("https://example.org/grün", "https://example.org/gr%C3%BCn")]),
        ("https://münchen.example/ä", [("https://münchen.example/ä", "https://xn--mnchen-3ya.example/%C3%A4")]),
        ("http://a:b@日本.example:80?é", [("http://a:b@日本.example:80?é", "http://a:b@xn--wgv71a.example:80?%C3%A9")]),
        ("https://ä..example https://" + "ä" * 64 + ".de", []),
        ("https://example.org/a%20b", [("https://example.org/a%20b",) * 2]),
        ("https:// http:///x https://.", []),
        ("example.org", [("example.org", "https://example.org")]),
        (
            "my-pi.example.co.uk/x, bsky.app.",
            [("my-pi.example.co.uk/x", "https://my-pi.example.co.uk/x"), ("bsky.app", "https://bsky.app")],
        ),
        ("example.org:8080/x", [("example.org:8080/x", "https://example.org:8080/x")]),
        ("example.org: look", [("example.org", "https://example.org")]),
        ("me@example.org e.g.this z.B. 3.14 v1.2 a.b.c example.nosuchending Satz.Am", []),
        ("example.orgs example.org-x example.org.nosuchending 1.de", []),
        ("#pi", [("#pi", "pi")]),
        ("Grüße #Möwe #日本 #🍓", [("#Möwe", "Möwe"), ("#日本", "日本"), ("#🍓", "🍓")]),
        ("#pi, (#shelf) #pi's #c++!", [("#pi", "pi"), ("#shelf", "shelf"), ("#pi's", "pi's"), ("#c++", "c++")]),
        ("#1 #2026 #... # a#b #\ufe0f\u20e3 #\u200b", []),
        ("#4pi #pi4", [("#4pi", "4pi"), ("#pi4", "pi4")]),
        ("#" + "x" * 64, [("#" + "x" * 64, "x" * 64)]),
        ("#" + "x" * 65, []),
        ("#" + "🍓" * 32, [("#" + "🍓" * 32, "🍓" * 32)]),
        ("#" + "🍓" * 33, []),
        ("＃pi", [("＃pi", "pi")]),
        (
            "$AAPL $aapl ($A) $BTC, $ABC12!",
            [(each, each.upper()) for each in ["$AAPL", "$aapl", "$A", "$BTC", "$ABC12"]],
        ),
        ("no$SPACE $100 $ $ AAPL $123ABC $TOOLONG $ABC123 $AAPLです $A-B", []),
        ("#pi\n#shelf", [("#pi", "pi"), ("#shelf", "shelf")]),
        ("@mia.example.org!", [("@mia.example.org", "did:plc:mia")]),
        ("(@Mia.Example.Org)", [("@Mia.Example.Org", "did:plc:mia")]),
        ("@nobody.example.org @mia @user@mia.example.org x@mia.example.org", []),
        ("https://example.org/(@mia.example.org", [("https://example.org/(@mia.example.org",) * 2]),
    ],
)
def test_facets_are_marked(connection, text, marks):
    assert marked(connection, text) == marks


def test_a_handle_is_resolved_once_per_occurrence_and_plain_text_needs_none(connection):
    network, server = connection
    before = server.count("resolveHandle")
    network.post(Post("no mention in here"), key="quiet")
    assert server.count("resolveHandle") == before


WORDS = st.one_of(
    st.sampled_from(
        ["https://example.org/", "http://", "example.org", "$pi", "@mia.example.org", "@", "#", "#pi", "＃", ".", "/"]
    ),
    st.sampled_from(
        [
            "(",
            ")",
            " ",
            "\n",
            "\u200d",
            "\ufe0f",
            "🍓",
            "👩‍🚀",
            "é",
            "e\u0301",
            "日本",
            "%",
            "\\",
            '"',
            "\x85",
            "\ufeff",
        ]
    ),
    st.text(max_size=3),
)


@settings(max_examples=examples(400), deadline=None)
@given(st.lists(WORDS, max_size=30).map("".join))
def test_a_facet_covers_exactly_its_target(connection, text):
    limits = connection[0].limits
    if limits.rejection_reason(Post(text)):
        return
    # The server has refused it if a mark takes a character apart, overlaps another or leads to nothing of its kind.
    for shown, target in marked(connection, text):
        match shown[0]:
            case "@":
                assert (shown.lower(), target) == ("@mia.example.org", "did:plc:mia")
            case "#" | "＃":
                assert shown[1:] == target
            case "$":
                assert shown.upper() == target
            case _:
                assert target.isascii()
                assert not (shown.isascii() and shown.isprintable()) or target in (shown, f"https://{shown}")
                assert shown[-1] not in ".,;:!?"


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                ("https://example.org/x", "https://example.org/x"),
                ("bsky.app", "https://bsky.app"),
                ("#pi", "pi"),
                ("#Möwe", "Möwe"),
            ]
        ),
        max_size=8,
    ),
    st.lists(st.sampled_from(["🍓", "Grüße", "👩‍🚀", "a", "日本", "—", "…"]), min_size=9, max_size=9),
)
def test_words_between_spaces_are_recognized_anywhere(connection, expected, between):
    text = between[0] + "".join(f" {shown} {word}" for (shown, _), word in zip(expected, between[1:], strict=False))
    assert marked(connection, text) == expected
