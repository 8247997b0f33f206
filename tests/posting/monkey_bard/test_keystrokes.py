"""The keystroke stream, the progress of a text in it, and the mean time to the next letter."""

import hashlib
import re
from fractions import Fraction
from statistics import mean

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pi_appliance.errors import ConfigError
from pi_appliance.posting import monkey_bard_job
from pi_appliance.posting.monkey_bard_state import (
    BLOCK,
    Keyboard,
    LengthRecord,
    Progress,
    Target,
    advance,
    expected_keystrokes,
    prepare_target,
)
from pi_appliance.posting.monkey_bard_state import keystroke_block as hits
from tests.installation import ROOT

LETTERS, TYPEWRITER = Keyboard.LETTERS, Keyboard.TYPEWRITER
SEED = 7


def error_places(error: pytest.ExceptionInfo[ConfigError]) -> list[tuple[int, int, str]]:
    return [(each.line, each.column, each.message) for each in error.value.problems]


def letters(text: str) -> Target:
    return Target(LETTERS, text, text.encode("ascii"))


def by_definition(keyboard: Keyboard, blocks: int) -> bytes:
    """Return the beginning of the stream as the docs describe it, byte by byte."""
    keys, first_unused = keyboard.keys, 256 - 256 % len(keyboard.keys)
    drawn = b"".join(hashlib.shake_256(f"monkey {SEED} {block}".encode()).digest(65_536) for block in range(blocks))
    return bytes(keys[byte % len(keys)] for byte in drawn if byte < first_unused)


STREAM = by_definition(LETTERS, 3)
FIRST_BLOCK = len(hits(SEED, LETTERS, 0))


def type_in_pieces(target: Target, total: int, pieces: list[int]) -> tuple[Progress, list[LengthRecord]]:
    """Type `total` keys in runs of `pieces`."""
    place, records = Progress(), []
    for number in range(10**6):
        goal = min(place.keystrokes + pieces[number % len(pieces)], total)
        while place.keystrokes < goal and place.matched < len(target.keys):
            place, result = advance(place, target, SEED, goal - place.keystrokes)
            records += result
        if goal == total or place.matched == len(target.keys):
            break
    return place, records


# --- the text


def test_the_keyboards_have_their_documented_keys():
    assert len(LETTERS.keys) == 27
    assert len(TYPEWRITER.keys) == 96
    assert all(len(set(keyboard.keys)) == len(keyboard.keys) for keyboard in Keyboard)


def test_letters_excludes_capitals_punctuation_and_line_ends():
    text = "Shall I compare thee to a summer's day?\n\n  Thou art “more lovely” –\tdéjà\xa0vu, self-same…\n"
    target = prepare_target(text, LETTERS, "poem.txt")
    assert target.lines == "shall i compare thee to a summers day\nthou art more lovely deja vu self same"
    assert target.keys == b"shall i compare thee to a summers day thou art more lovely deja vu self same"


def test_a_typewriter_types_all_of_ascii():
    target = prepare_target("\n“It’s” — déjà…  \n\n\ttwo\n\n", TYPEWRITER, "poem.txt")
    assert target.lines == '"It\'s" -- deja...\n\n two'.strip("\n")
    assert target.keys == target.lines.encode()


@pytest.mark.parametrize(
    ("keyboard", "text", "problems"),
    [
        (LETTERS, "ab\ncd 7", [(2, 4, "the monkey has no key for '7'")]),
        (LETTERS, "a\n\nbæ€€7\n", [(3, 2, "the monkey has no key for 'æ' (nor for 2 more)")]),
        (TYPEWRITER, "ab\n\nж", [(3, 1, "the monkey has no key for 'ж'")]),
        (LETTERS, " .\n", [(1, 1, "there is nothing to type in here")]),
        (TYPEWRITER, "\n\n", [(1, 1, "there is nothing to type in here")]),
    ],
)
def test_a_character_without_a_key_is_reported_with_its_place(keyboard, text, problems):
    with pytest.raises(ConfigError) as error:
        prepare_target(text, keyboard, "poem.txt")
    assert error_places(error) == problems


@given(st.text(), st.sampled_from(Keyboard))
def test_every_accepted_text_can_be_typed(text, keyboard):
    try:
        target = prepare_target(text, keyboard, "any.txt")
    except ConfigError:
        return
    assert set(target.keys) <= set(keyboard.keys)
    assert len(target.keys) == len(target.lines)
    assert prepare_target(target.lines, keyboard, "again.txt") == target


def test_the_bundled_sonnet_can_be_typed():
    text = (ROOT / "config" / "sonnet.txt").read_text("utf-8")
    assert len(text.splitlines()) == 14
    assert prepare_target(text, TYPEWRITER, "sonnet.txt").lines == text.strip("\n")
    assert prepare_target(text, LETTERS, "sonnet.txt").keys.startswith(
        b"shall i compare thee to a summers day thou art"
    )


# --- the stream


@pytest.mark.parametrize("keyboard", Keyboard)
def test_the_stream_matches_the_docs(keyboard):
    assert b"".join(hits(SEED, keyboard, block) for block in range(2)) == by_definition(keyboard, 2)


def test_another_seed_gives_another_stream():
    assert hits(SEED, LETTERS, 0)[:50] != hits(SEED + 1, LETTERS, 0)[:50]


@pytest.mark.parametrize("keyboard", Keyboard)
def test_every_key_is_equally_likely(keyboard):
    stream = b"".join(hits(SEED, keyboard, block) for block in range(16))
    share = len(stream) / len(keyboard.keys)
    squares = sum((stream.count(key) - share) ** 2 / share for key in keyboard.keys)
    freedom = len(keyboard.keys) - 1
    assert abs(squares - freedom) < 4 * (2 * freedom) ** 0.5  # chi-squared: its mean, and four of its deviations


# --- how far it has come

BEGINNINGS = st.one_of(
    st.integers(0, 300),
    st.integers(FIRST_BLOCK - 12, FIRST_BLOCK + 3),  # across two blocks
    st.integers(0, len(STREAM) - 20),
)


@given(
    beginning=BEGINNINGS,
    length=st.integers(1, 12),
    other=st.text("abc ", max_size=2),
    total=st.integers(1, len(STREAM)),
    pieces=st.lists(st.one_of(st.integers(1000, 200_000), st.integers(BLOCK, BLOCK)), min_size=1, max_size=4),
)
@example(beginning=FIRST_BLOCK - 3, length=6, other="", total=len(STREAM), pieces=[BLOCK])
@example(beginning=0, length=1, other="", total=1, pieces=[1])
def test_the_longest_prefix_matches_the_definition(beginning, length, other, total, pieces):
    target = letters(STREAM[beginning : beginning + length].decode() + other)
    place, records = type_in_pieces(target, total, pieces)

    typed = STREAM[:total]
    first = {n: typed.find(target.keys[:n]) + n for n in range(1, len(target.keys) + 1) if target.keys[:n] in typed}
    assert {each.length: each.keystroke for each in records} == first
    assert place.matched == max(first, default=0)
    assert place.keystrokes == (first[place.matched] if place.matched == len(target.keys) else total)


@settings(deadline=None)  # each run computes its block again
@given(total=st.integers(1, 3000), pieces=st.lists(st.integers(20, 700), min_size=1, max_size=5))
def test_splitting_the_typing_into_runs_changes_nothing(total, pieces):
    target = letters(STREAM[500:503].decode() + "zzz")
    assert type_in_pieces(target, total, pieces) == type_in_pieces(target, total, [total])


@given(cut=st.integers(1, 2000), beginning=st.integers(0, 2000), length=st.integers(1, 8))
def test_the_state_is_the_newest_keystrokes(cut, beginning, length):
    target = letters(STREAM[beginning : beginning + length].decode())
    place, _ = type_in_pieces(target, cut, [cut])
    typed = STREAM[: place.keystrokes]
    assert place.overlap == max(n for n in range(length + 1) if typed.endswith(target.keys[:n]))


def test_it_stops_at_the_end_of_the_text():
    target = letters(STREAM[40:46].decode())
    place, records = type_in_pieces(target, 10_000, [10_000])
    assert (place.keystrokes, place.matched) == (46, 6)
    assert records[-1] == LengthRecord(6, 46)
    assert advance(place, target, SEED, 1000) == (place, [])
    assert expected_keystrokes(target, place) == 0


# --- the time to the next letter


def by_equations(keys: str, standing: int, size: int) -> Fraction:
    """Return the mean time from `standing` to `keys` by solving the equations of all states."""
    goal = len(keys)

    def after(state: int, key: str) -> int:
        typed = keys[:state] + key
        return max(n for n in range(len(typed) + 1) if n <= goal and typed.endswith(keys[:n]))

    rows = []
    for state in range(goal):
        row = [Fraction(0)] * goal + [Fraction(1)]
        row[state] += 1
        known = sorted(set(keys))
        for reached in [*(after(state, key) for key in known), *([0] * (size - len(known)))]:
            if reached < goal:
                row[reached] -= Fraction(1, size)
        rows.append(row)
    for column in range(goal):
        pivot = next(row for row in rows[column:] if row[column])
        rows.remove(pivot)
        rows.insert(column, [value / pivot[column] for value in pivot])
        for number, row in enumerate(rows):
            if number != column and row[column]:
                rows[number] = [value - row[column] * by for value, by in zip(row, rows[column], strict=True)]
    return rows[standing][goal]


@given(keys=st.text("ab", min_size=1, max_size=7), data=st.data())
def test_the_mean_time_solves_the_equations(keys, data):
    standing = data.draw(st.integers(0, len(keys) - 1))
    place = Progress(matched=len(keys) - 1, overlap=standing)
    assert expected_keystrokes(letters(keys + "c"), place) == by_equations(keys, standing, 27)


@pytest.mark.parametrize(
    ("text", "place", "keystrokes"),
    [
        ("a", Progress(), 27),
        ("ab", Progress(matched=1), 27**2),
        ("ab", Progress(matched=1, overlap=1), 27**2 - 27),
        ("aa", Progress(matched=1), 27**2 + 27),
        ("aa", Progress(matched=1, overlap=1), 27**2),
        ("abracadabra", Progress(matched=10), 27**11 + 27**4 + 27),
        ("abracadabra", Progress(matched=10, overlap=8), 27**11 + 27**4 - 27**8),
    ],
)
def test_the_mean_time_matches_known_cases(text, place, keystrokes):
    assert expected_keystrokes(letters(text), place) == keystrokes


def test_a_typewriter_takes_longer():
    assert expected_keystrokes(prepare_target("ab", TYPEWRITER, "ab.txt"), Progress()) == 96


def test_simulated_monkeys_take_the_expected_time():
    target, took = letters("aa"), []
    for seed in range(600):
        place = Progress()
        while place.matched < 2:
            place, _ = advance(place, target, seed, BLOCK)
        took.append(place.keystrokes)
    assert mean(took) == pytest.approx(27**2 + 27, rel=0.1)


def test_the_table_in_the_docs_is_correct():
    page = (ROOT / "docs" / "monkey-bard.md").read_text("utf-8")
    rows = re.findall(r"^\| `([a-z ]+)` \| ([^|]+) \| ([^|]+) \|$", page, re.MULTILINE)
    rows = [row for row in rows if row[0].startswith("sh")]
    assert len(rows) == 7
    for text, keystrokes, time in rows:
        expected = expected_keystrokes(letters(text), Progress(matched=len(text) - 1))
        assert (monkey_bard_job.format_count(expected), monkey_bard_job.format_span(expected * 3600 // 100_000)) == (
            keystrokes,
            time,
        )
