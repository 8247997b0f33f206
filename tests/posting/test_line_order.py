"""The choice of the next line: none repeats before all were used, despite edits of the file."""

import unicodedata
from collections import Counter
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pi_appliance.posting.lines import LineOrder, line_fingerprint, mark_used, parse_lines, pick_line
from pi_appliance.posting.model import UsedLines
from tests.examples import examples


def prints(*lines: str) -> list[str]:
    return [line_fingerprint(line) for line in parse_lines("\n".join(lines))]


@pytest.mark.parametrize(
    "other",
    ["Grüße vom Regal", "  grüße  vom\tREGAL ", unicodedata.normalize("NFD", "Grüße vom Regal"), "Grüsse vom Regal"],
)
def test_equal_looking_lines_have_one_fingerprint(other):
    assert prints("Grüße vom Regal") == prints(other)
    assert all(len(each) == 16 and int(each, 16) >= 0 for each in prints(other))


def test_other_text_and_other_pictures_have_another_fingerprint():
    lines = ["one", "two", "one!", "one ![a](a.png)", "one ![a](b.png)", "![a](a.png)", "one ![a](a.png) ![b](b.png)"]
    assert len(set(prints(*lines))) == len(lines)
    assert prints("one ![a](a.png)") == prints("![better described](a.png) one")  # its text may be corrected


@pytest.mark.parametrize("how", list(LineOrder))
def test_without_lines_none_is_picked(how):
    assert pick_line([], UsedLines(), how, 0.5) is None


@pytest.mark.parametrize("how", list(LineOrder))
def test_of_equal_lines_the_first_is_picked(how):
    for draw in (0.0, 0.4, 0.6, 0.999):
        assert pick_line(["a", "b", "a", "b", "a"], UsedLines(), how, draw) in (0, 1)


def test_the_draw_is_uniform():
    lines = prints(*(f"line {number}" for number in range(7)))
    drawn = Counter(pick_line(lines, UsedLines(), LineOrder.SHUFFLE, step / 7000) for step in range(7000))
    assert drawn == dict.fromkeys(range(7), 1000)
    assert pick_line(lines, UsedLines(), LineOrder.SHUFFLE, 1 - 2**-53) == 6


def test_random_picks_any_line_regardless_of_use():
    used = UsedLines(frozenset("ab"), ("a", "b"))
    assert {pick_line(["a", "b", "c"], used, LineOrder.RANDOM, draw / 3) for draw in range(3)} == {0, 1, 2}


def test_in_order_goes_through_the_file_once_and_then_picks_none():
    lines, used, order = ["c", "a", "b"], UsedLines(), []
    while (at := pick_line(lines, used, LineOrder.IN_ORDER, 0.9)) is not None:
        order.append(lines[at])
        used = mark_used(used, lines[at])
    assert order == ["c", "a", "b"]
    assert pick_line(["new", *lines], used, LineOrder.IN_ORDER, 0.9) == 0


def test_a_single_line_is_picked_every_time():
    assert pick_line(["a"], UsedLines(frozenset("a"), ("a",)), LineOrder.SHUFFLE, 0.5) == 0


@pytest.mark.parametrize(("count", "resting"), [(1, 0), (2, 1), (3, 1), (5, 1), (6, 2), (12, 4)])
def test_a_new_round_starts_without_the_last_third(count, resting):
    lines = [f"{number:x}" for number in range(count)]
    used = UsedLines(frozenset(lines), tuple(lines))
    begin = {pick_line(lines, used, LineOrder.SHUFFLE, step / 1000) for step in range(1000)}
    assert begin == set(range(count - resting))


def test_a_use_is_recorded():
    used = mark_used(mark_used(mark_used(UsedLines(), "a"), "b"), "c")
    assert used == UsedLines(frozenset("abc"), ("a", "b", "c"))
    assert mark_used(used, "b") == UsedLines(frozenset("b"), ("a", "c", "b"))
    assert mark_used(UsedLines(frozenset("b"), ("a", "b")), "a") == UsedLines(frozenset("ab"), ("b", "a"))


# A few words, so that removed lines often return. Some look the same to a reader.
_WORDS = st.sampled_from(["a", "b", "c", "d", "e", "A", " b ", "# no post", "", "é", "e\u0301", "x y", "x  y"])
_AT = st.integers(0, 9)
_DRAW = st.tuples(st.just("draw"), st.floats(0, 1, exclude_max=True))
_STEPS = st.one_of(
    *[_DRAW] * 8,
    st.tuples(st.just("add"), _AT, _WORDS),
    st.tuples(st.just("remove"), _AT),
    st.tuples(st.just("change"), _AT, _WORDS),
    st.tuples(st.just("move"), _AT, _AT),
    st.tuples(st.just("double"), _AT),
)


def edit(file: list[str], what: str, at: int, more: str | int = 0) -> None:
    if what == "add":
        file.insert(at, str(more))
    elif file:
        at %= len(file)
        match what:
            case "remove":
                del file[at]
            case "change":
                file[at] = str(more)
            case "move":
                file.insert(int(more), file.pop(at))
            case "double":
                file.insert(0, file[at])


@settings(max_examples=examples(500))
@given(st.lists(_WORDS, max_size=8), st.lists(_STEPS, min_size=5, max_size=60))
@example(["b", "a"], [("draw", 0.0), ("remove", 0), ("draw", 0.0), ("add", 0, "b"), ("draw", 0.0)])
def test_after_an_edit_unused_lines_come_first(beginning, steps):
    """Draw lines between any edits of the file: lines added, removed, changed, moved, doubled, commented out.

    Lines are the same if they have one fingerprint. A round is a run of draws; the first draw ever begins one. Then:

    - as long as the file has a line, each draw returns one of its lines;
    - in a round no line is drawn twice;
    - a new round begins only at a draw at which every line that is in the file then was drawn in the round before;
    - no line is drawn twice in a row while the file holds another one.

    The test records the rounds in its own list, independent of `use`.
    """
    file = list(beginning)
    used, drawn, last = UsedLines(), list[str](), None
    for what, *values in steps:
        if what != "draw":
            edit(file, what, *values)
            continue
        lines = prints(*file)
        at = pick_line(lines, used, LineOrder.SHUFFLE, values[0])
        if not lines:
            assert at is None
            continue
        assert at is not None
        chosen = lines[at]
        assert chosen != last or set(lines) == {chosen}
        if chosen in drawn:
            assert set(lines) <= set(drawn), "a round ended early"
            drawn = []
        drawn.append(chosen)
        used, last = mark_used(used, chosen), chosen
        assert used.current_round == set(drawn)
        assert used.by_last_use[-1] == chosen


@given(st.integers(2, 12), st.randoms(use_true_random=False))
def test_over_many_rounds_each_line_is_equally_frequent(count, chance):
    lines, used, drawn = [str(number) for number in range(count)], UsedLines(), Counter[str]()
    for _ in range(5 * count):
        at = pick_line(lines, used, LineOrder.SHUFFLE, chance.random())
        assert at is not None
        drawn[lines[at]] += 1
        used = mark_used(used, lines[at])
    assert set(drawn.values()) == {5}


def test_the_order_of_a_round_is_uniform():
    chance, orders = Random(7), Counter[str]()
    for _ in range(2400):
        used, order = UsedLines(), ""
        for _ in "abc":
            at = pick_line(list("abc"), used, LineOrder.SHUFFLE, chance.random())
            assert at is not None
            order += "abc"[at]
            used = mark_used(used, "abc"[at])
        orders[order] += 1
    assert len(orders) == 6
    assert all(320 < count < 480 for count in orders.values())  # 400, give or take four standard deviations
