"""Near duplicates: each line that is similar to an earlier one, and no other."""

import difflib
import random
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pi_appliance.posting.lines import parse_lines
from pi_appliance.posting.lint import SIMILARITY_THRESHOLD, find_near_duplicates, similarity


def near(*lines: str) -> list[tuple[int, int]]:
    return [(each.line, each.like) for each in find_near_duplicates(parse_lines("\n".join(lines)))]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Uptime is a kind of patience.", "Uptime is a kind of patience."),
        ("Uptime is a kind of patience.", "uptime  IS a kind of patience."),
        ("Uptime is a kind of patience.", "Uptime is a kind of patience!"),
        ("Uptime is a kind of patience.", "Uptime is the kind of patience."),
        ("They say uptime is a kind of patience.", "They say uptime is of a kind patience."),
        ("The best automation is the one that tells you.", "So the best automation is the one that tells you."),
        ("Good morning", "Good morning!"),
        ("日本語の文章はここにあります", "日本語の文章はここにありまス"),
        ("![a](one.png)", "![b](one.png)"),
    ],
)
def test_similar_lines_are_found(first, second):
    assert near("Something else altogether.", first, "And another thing, too.", second) == [(4, 2)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Uptime is a kind of patience.", "Patience is a kind of uptime, and so is silence."),
        ("Four times a day I think of posting.", "Three times a week I dream of posting."),
        ("yes", "yet"),
        ("![a](one.png)", "![a](two.png)"),
        ("Look ![sky](one.png)", "Look ![sky](two.png)"),
        ("abcdefgh", "hgfedcba"),
    ],
)
def test_different_lines_are_not_found(first, second):
    assert near(first, second) == []


def test_a_line_is_reported_once_with_the_earliest_similar_one():
    assert near("one and the same", "other", "one and the same", "One and the same") == [(3, 1), (4, 1)]


def test_many_lines_with_the_same_beginning_hide_no_pair():
    chance = random.Random(4)
    lines = [f"On this day, in a year that nobody remembers, {chance.getrandbits(200):x}" for _ in range(60)]
    lines[47] = lines[31].replace("nobody", "everybody")
    assert near(*lines) == [(48, 32)]


@given(st.text(max_size=30), st.text(max_size=30))
@example("", "a")
def test_the_ratio_is_symmetric_and_at_least_that_by_blocks(a, b):
    assert similarity(a, b) == similarity(b, a)
    assert (similarity(a, b) == 1) == (a == b)
    blocks = difflib.SequenceMatcher(None, a, b, autojunk=False).ratio()
    assert 0 <= blocks <= similarity(a, b) + 1e-9 <= 1 + 1e-9


@given(st.lists(st.text("abc ", min_size=1, max_size=12), max_size=12))
def test_reported_pairs_are_near_and_equal_lines_are_reported(texts):
    lines = parse_lines("\n".join(texts))
    by_number = {line.number: " ".join(line.text.split()) for line in lines}
    result = find_near_duplicates(lines)
    assert all(each.like < each.line and each.ratio >= SIMILARITY_THRESHOLD for each in result)
    assert all(similarity(by_number[each.line], by_number[each.like]) == each.ratio for each in result)
    output = {each.line for each in result}
    visited: set[str] = set()
    for number, text in by_number.items():
        assert text not in visited or number in output
        visited.add(text)


@pytest.mark.slow_variants
@pytest.mark.parametrize("common", [0, 10, 30])
def test_two_thousand_lines_are_quick(common):
    chance = random.Random(common)
    words = ["".join(chance.choices("etaoinshrdlu", k=chance.randint(2, 9))) for _ in range(800)]
    beginning = " ".join(words[:common])
    lines = parse_lines("\n".join(f"{beginning} {' '.join(chance.choices(words, k=12))}" for _ in range(2000)))
    began = time.process_time()
    find_near_duplicates(lines)
    assert time.process_time() - began < 8  # 0.1 to 1 s where this was written; each with each would take minutes
