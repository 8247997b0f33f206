"""How long X says a text is, and which lines are posts."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_appliance.core.posts import lines, weigh


@pytest.mark.parametrize(
    ("text", "weight"),
    [
        ("", 0),
        ("hello", 5),
        ("a" * 280, 280),
        ("Grüße", 5),
        ("e\u0301", 1),  # é in two pieces: one after NFC
        ("日本語", 6),
        ("“quoted” — it’s", 15),
        ("…", 2),
        ("😀", 2),
        ("👨‍👩‍👧‍👦", 2),
        ("👍🏽", 2),
        ("🇬🇧🇩🇪", 4),
        ("1️⃣", 2),
        ("❤️", 2),
        ("🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", 2),
        ("https://example.com", 23),
        ("see https://example.com/a/very/long/path?with=a&query=string#and-more now", 4 + 23 + 4),
        ("example.com", 23),
        ("mail me@example.com", 19),
        ("ends with https://example.com.", 10 + 23 + 1),
        ("v1.2.3 and 3.14", 15),
    ],
)
def test_a_text_is_weighed_as_x_weighs_it(text, weight):
    assert weigh(text) == weight


@given(st.text(), st.text())
def test_the_weight_never_depends_on_the_form_and_never_exceeds_two_a_character_without_addresses(a, b):
    text = (a + b).replace(".", " ").replace(":", " ")
    assert weigh(text) == weigh(unicodedata.normalize("NFD", text))
    assert weigh(text) <= 2 * len(unicodedata.normalize("NFC", text))


def test_blank_lines_comments_and_a_byte_order_mark_are_no_posts():
    text = "\ufeff# a comment\r\n\n  first  \n   # indented comment\n\t\nsecond # with a hash\n"
    assert list(lines(text)) == [(3, "first"), (6, "second # with a hash")]
