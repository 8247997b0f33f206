"""Graphemes, compared with the implementations of regex and wcwidth."""

import subprocess
import sys

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from wcwidth import grapheme as plain_wcwidth

from pi_appliance.posting.graphemes import count_graphemes, split_graphemes

ONE = regex.compile(r"\X")

# The parts of clusters, so that random text is full of them.
PARTS = [
    *("a", "Z", "é", "e\u0301", "\r", "\n", "\r\n", "\t", " ", "\u200b", "\u200d", "\u0308", "\ufe0e", "\ufe0f"),
    *("\U0001f1e8", "\U0001f1ed", "\U0001f1fa", "🏴", "\U000e0067", "\U000e007f", "👩", "🚀", "❤", "🏽", "1", "\u20e3"),
    *(
        "\u1100",
        "\u1161",
        "\u11a8",
        "가",
        "각",
        "क",
        "\u094d",
        "त",
        "\u093f",
        "ก",
        "ำ",
        "\u0600",
        "\u0d4e",
        "த",
        "\u0bcd",
    ),
]
# Characters that this Python does not know yet may have become something in a newer Unicode of only one of the two.
known = st.text(st.characters(exclude_categories=("Cn", "Cs")))
dense = st.lists(st.sampled_from(PARTS), max_size=12).map("".join)


@pytest.mark.parametrize(
    ("text", "characters"),
    [
        ("", []),
        ("Pi 5", ["P", "i", " ", "5"]),
        ("a\r\nb", ["a", "\r\n", "b"]),
        ("\r\r\n\n", ["\r", "\r\n", "\n"]),
        ("e\u0301é", ["e\u0301", "é"]),
        ("🇨🇭🇫🇷", ["🇨🇭", "🇫🇷"]),
        ("🇨🇭🇫", ["🇨🇭", "🇫"]),
        (
            "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
            ["🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"],
        ),
        ("👩\u200d🚀👨\u200d👩\u200d👧\u200d👦", ["👩\u200d🚀", "👨\u200d👩\u200d👧\u200d👦"]),
        ("👍🏽❤\ufe0f1\ufe0f\u20e3", ["👍🏽", "❤\ufe0f", "1\ufe0f\u20e3"]),
        ("a\u200d🚀", ["a\u200d", "🚀"]),
        ("\u1112\u1161\u11ab글", ["\u1112\u1161\u11ab", "글"]),
        ("क्षि", ["क्षि"]),
        ("நி", ["நி"]),
        ("\u0600١", ["\u0600١"]),
    ],
)
def test_a_grapheme_is_one_visible_character(text, characters):
    assert split_graphemes(text) == characters
    assert count_graphemes(text) == len(characters)


@given(st.one_of(dense, known, st.text(st.characters(max_codepoint=127))))
def test_two_other_implementations_agree_on_any_text(text):
    assert split_graphemes(text) == ONE.findall(text)
    assert count_graphemes(text) == len(ONE.findall(text)) == len(list(plain_wcwidth.iter_graphemes(text)))


@given(dense)
def test_the_graphemes_form_the_text(text):
    assert "".join(split_graphemes(text)) == text


def test_plain_text_is_counted_without_the_tables():
    script = (
        "import sys; from pi_appliance.posting import graphemes;"
        " graphemes.count_graphemes('plain'); print('wcwidth' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == "False\n"
