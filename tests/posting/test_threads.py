"""Threads: long texts are split where a reader would pause, and nothing is lost."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_appliance.posting.lines import split_thread
from pi_appliance.posting.x_text import X_LIMIT, text_length


def shorter(limit: int):
    return lambda text: len(text) <= limit


def test_a_short_text_is_one_post_without_a_number():
    assert split_thread("It fits. All of it.", shorter(19)) == ["It fits. All of it."]


def test_a_part_ends_with_a_sentence():
    text = "The first sentence is here. The second one is as long. And a third one follows it!"
    assert split_thread(text, shorter(40)) == [
        "The first sentence is here. (1/3)",
        "The second one is as long. (2/3)",
        "And a third one follows it! (3/3)",
    ]


def test_short_sentences_share_a_part():
    assert split_thread("One. Two. Three. Four. Five. Six. Seven.", shorter(26)) == [
        "One. Two. Three. (1/3)",
        "Four. Five. Six. (2/3)",
        "Seven. (3/3)",
    ]


def test_a_long_sentence_is_split_between_words():
    assert split_thread("a sentence that goes on and on without an end", shorter(24)) == [
        "a sentence that (1/3)",
        "goes on and on (2/3)",
        "without an end (3/3)",
    ]


def test_a_short_sentence_does_not_leave_half_a_post_empty():
    assert split_thread("Hm. what follows is one long sentence of words", shorter(30)) == [
        "Hm. what follows is one (1/2)",
        "long sentence of words (2/2)",
    ]


def test_a_lower_case_continuation_is_not_a_new_sentence():
    assert split_thread("Many things do, e.g. this one here. Others do not.", shorter(42))[0] == (
        "Many things do, e.g. this one here. (1/2)"
    )
    assert split_thread("Many things do so, e.g. this or that one.", shorter(30))[0] == "Many things do so, e.g. (1/2)"


def test_scripts_without_spaces_are_split_after_their_stops():
    assert split_thread("日本語の文章です。これは長いです、とても。", shorter(20)) == [
        "日本語の文章です。 (1/2)",
        "これは長いです、とても。 (2/2)",
    ]


def test_a_word_that_does_not_fit_is_named():
    with pytest.raises(ValueError, match=r"^Donaudampfschifffahrt alone does not fit into a post$"):
        split_thread("a Donaudampfschifffahrt", shorter(20))
    with pytest.raises(ValueError, match=r"^x{39}… alone does not fit"):
        split_thread("x" * 300, shorter(280))


def test_ten_or_more_parts_have_room_for_their_numbers():
    parts = split_thread("word " * 60, shorter(20))
    assert len(parts) > 9
    assert parts[0].endswith(f" (1/{len(parts)})")
    assert max(map(len, parts)) <= 20


def test_an_empty_text_is_one_post():
    assert split_thread("", shorter(0)) == [""]


@given(st.text("ab. !?é\n", max_size=300), st.integers(16, 40))
def test_every_part_fits_and_is_numbered_and_nothing_is_lost(text, limit):
    try:
        parts = split_thread(text, shorter(limit))
    except ValueError:
        assert max(map(len, text.split())) + len(" (1/2)") > limit
        return
    assert all(len(part) <= limit for part in parts)
    if len(parts) > 1:
        ends = [f" ({number}/{len(parts)})" for number in range(1, len(parts) + 1)]
        assert all(part.endswith(end) for part, end in zip(parts, ends, strict=True))
        parts = [part.removesuffix(end) for part, end in zip(parts, ends, strict=True)]
        assert "".join(" ".join(parts).split()) == "".join(text.split())
        assert all(part and part == part.strip() for part in parts)


@given(
    st.lists(
        st.sampled_from(["word", "https://example.com/x", "日本語。", "👨‍👩‍👧", "end.", "example.com"]),
        min_size=1,
        max_size=120,
    )
)
def test_every_part_fits_by_the_count_of_x(words):
    parts = split_thread(" ".join(words), lambda text: text_length(text) <= X_LIMIT)
    assert all(text_length(part) <= X_LIMIT for part in parts)
    assert re.sub(r" \(\d+/\d+\)", "", " ".join(parts)).split() == words
