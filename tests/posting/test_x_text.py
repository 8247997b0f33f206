"""The weight of a text on X, its links and invalid characters, from the documented limits."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_appliance.posting.x_text import X_LIMIT, forbidden_characters, has_link, text_length

LINK = 23
JOIN, COLOUR = "\u200d", "\ufe0f"

CHARACTERS = [
    ("", 0),
    ("hello", 5),
    ("a" * X_LIMIT, X_LIMIT),
    ("a\nb\tc", 5),
    ("Grüße", 5),
    ("e\u0301", 1),  # é in two pieces: one after NFC
    ("e\u0301" * 280, 280),
    ("x\u0301", 2),  # no single character has this form
    ("\u1112\u1161\u11ab", 2),  # 한 in three pieces, each light on its own side of U+10FF; in one piece it is heavy
    ("привет", 6),
    ("שלום", 4),
    ("สวัสดี", 6),
    ("\u10ff\u1100", 3),  # where the first light range ends
    ("\u1fff\u2000", 3),
    ("\u200d\u200e\u200f\u2010", 6),
    ("\u201f\u2020", 3),
    ("\u2031\u2032\u2037\u2038", 6),
    ("日本語", 6),
    ("ｆｕｌｌ", 8),
    ("“quoted” — it’s", 15),
    ("…", 2),
    ("€", 2),
    ("48 °C", 5),
    ("½ ™", 4),
    ("\U00010000\U0010ffff", 4),
]
EMOJI = [
    ("😀", 2),
    ("a😀b", 4),
    ("❤", 2),  # heavy as every other character there
    ("❤️", 2),
    ("©", 1),  # a letter of Latin-1
    ("©️", 2),  # a picture
    ("⚡️", 2),  # a picture without the mark too, but many write it
    ("😀️", 4),  # no such picture: the mark counts for itself
    ("1️⃣", 2),
    ("1⃣", 2),
    ("#️⃣*️⃣", 4),
    ("👍🏽", 2),
    ("☝🏽", 2),
    ("🍕🏽", 4),  # a pizza has no skin
    ("🇬🇧🇩🇪", 4),
    ("🇽🇽", 4),  # the flag of nowhere
    ("🇨🇶", 2),
    ("🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", 2),
    ("👨‍👩‍👧‍👦", 2),
    ("🧑‍🧑‍🧒‍🧒", 2),
    ("👩🏽‍🚀", 2),
    ("👩🏻‍❤️‍💋‍👨🏿", 2),
    ("🧑🏽‍🤝‍🧑🏽", 2),
    ("🕵️‍♀️", 2),
    ("🏃🏽‍♀️‍➡️", 2),
    ("🏳️‍🌈", 2),
    ("🐈‍⬛", 2),
    ("❤️‍🔥", 2),
    ("😀‍😀", 5),  # joined, but to nothing: two pictures and the joiner
    ("👨‍", 3),
    ("👨‍👩‍👧‍👦" * 140, 280),
]
LINKS = [
    # as twitter-text 3.1.0, X's own library, weighs them
    ("a\u0627.t.de/", 26),
    ("\u200d.co.uk", 25),
    ("a.de\uff61.com", 29),
    ("\u0645example.com", 24),
    ("#\U0001f600.co.uk", 27),
    ("http://pi\u0645.org", 23),
    ("example.com\u3002next.de", 48),
    ("https://example.com", LINK),
    ("http://example.com/", LINK),
    ("HTTPS://EXAMPLE.COM", LINK),
    ("see https://example.com/a/very/long/path?with=a&query=string#and-more now", 4 + LINK + 4),
    ("https://example.com/" + "a" * 500, LINK),
    ("example.com", LINK),
    ("hello.it", LINK),  # every country, since version 2.0.4
    ("a.co", LINK),
    ("www.example.co.uk/path", LINK),
    ("example.museum", LINK),
    ("example.com and example.org", LINK + 5 + LINK),
    ("example.com,example.org", LINK + 1 + LINK),
    ("the end.Next", 4 + LINK),  # a missing space makes a name of it
    ("ends with https://example.com.", 10 + LINK + 1),
    ("(https://example.com/a)", 1 + LINK + 1),
    ("https://en.wikipedia.org/wiki/Pi_(letter)", LINK),
    ("https://example.com/a(b(c)d)", LINK),
    ("“https://example.com/a”", 1 + LINK + 1),
    ("https://example.com?x=1.", LINK + 1),
    ("example.com?x=1", LINK + 4),  # a bare name has a query only after a path
    ("example.com/?x=1", LINK),
    ("https://example.com:8080/x", LINK),
    ("example.com:8080", LINK + 5),
    ("example.com:8080/x", LINK),
    ("https://example.com/@user/status", LINK),
    ("https://example.com/привет", LINK),
    ("https://example.com/日本", LINK + 4),
    ("https://пример.рф", LINK),
    ("пример.рф", 9),  # a bare name is taken only in Latin letters
    ("example.рф", LINK),
    ("https://example.xn--p1ai", LINK),
    ("日本語example.com中国語", 6 + LINK + 6),
    ("twitter.comテストgoogle.com", LINK + 6 + LINK),
    ("https://t.co/abc日", LINK + 2),
    ("https://t.co/abc/def", LINK + 4),
    ("https://t.co/" + "a" * 41, 13 + 41),
    ("https://foo_bar.example.com", LINK),
    ("foo_bar.com", 11),
    ("https://foo_bar.com", 19),
    ("me@example.com", 14),
    ("@example.com", 12),
    ("#example.com", 12),
    ("$example.com", 12),
    ("-example.com", 12),
    ("x.example.com@home", 18),
    ("example.com-x", 13),
    ("http://raspberrypi.local:8080/", 30),
    ("http://192.168.0.10/a", 21),
    ("http://localhost", 16),
    ("ftp://example.com", 17),  # text after a slash is not a bare name
    ("v1.2.3 and 3.14", 15),
    ("e.g. this", 9),
    ("Nice.https://example.com", 5 + LINK),
    ("xhttps://example.com", 20),
    (f"https://{'a' * 63}.com", LINK),
    (f"https://{'a' * 64}.com", 8 + 64 + 4),
    ("https://example.com/" + "a" * 4100, 20 + 4100),  # X shortens nothing as long as that
    ("😀https://example.com😀", 2 + LINK + 2),
    ("👨\u200dhttps://example.com", 3 + LINK),
]


@pytest.mark.parametrize(("text", "weight"), CHARACTERS + EMOJI + LINKS)
def test_a_text_is_weighed_like_x_does(text, weight):
    assert text_length(text) == weight


@pytest.mark.parametrize(
    ("text", "linked"), [("no. Not here", False), ("see example.com", True), ("e\u0301.com", True)]
)
def test_links_are_recognized_like_x_does(text, linked):
    assert has_link(text) is linked


@given(st.text(), st.text())
def test_the_weight_is_independent_of_normalization_and_at_most_two_per_character(a, b):
    text = (a + b).replace(".", " ").replace(":", " ")
    assert text_length(text) == text_length(unicodedata.normalize("NFD", text))
    assert text_length(text) <= 2 * len(unicodedata.normalize("NFC", text))


@given(st.text("ab.:/@é日\u200d\ufe0f👨👩🇬🇧", max_size=30), st.text("ab.:/@é日\u200d\ufe0f👨👩🇬🇧", max_size=30))
def test_the_weight_of_two_texts_with_a_space_is_the_sum(a, b):
    assert text_length(f"{a} {b}") == text_length(a) + 1 + text_length(b)


@pytest.mark.parametrize("character", ["\ufffe", "\uffff", "\ufeff", "\ud800"])
def test_characters_that_x_refuses_are_named(character):
    assert forbidden_characters(f"a{character}b") == f"a character that X rejects: U+{ord(character):04X}"


def test_all_other_characters_are_accepted():
    assert forbidden_characters("Grüße, 日本, \u202e turned round, 👨‍👩‍👧‍👦 and\ta tab") == ""
