"""Changes of a text file of posts: one line is changed, and all other bytes stay."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_appliance.errors import InvalidOption, UnknownName
from pi_appliance.posting.line_file import add_line, delete_line, move_line, replace_line
from pi_appliance.posting.lines import parse_lines

ROWS = st.lists(
    st.tuples(st.sampled_from(["", "  ", "# note", "one", " two ", "\tthrée", "日本", "a  b"]), st.sampled_from("\n"))
    | st.tuples(st.sampled_from(["four", "# \u2028", "five\x0b"]), st.sampled_from(["\r\n", "\n"]))
)
TEXTS = st.builds(
    lambda mark, rows, last: mark + "".join(row + end for row, end in rows) + last,
    *(st.sampled_from(["", "\ufeff"]), ROWS, st.sampled_from(["", "last", "# end"])),
)


def changed_place(text: str, number: int) -> tuple[str, str]:
    """Return the bytes before and after the words of line `number`, found without the code under test."""
    rows = text.removeprefix("\ufeff").split("\n")  # each row end of the strategy has one
    before = text[: len(text) - len(text.removeprefix("\ufeff"))] + "".join(f"{row}\n" for row in rows[: number - 1])
    row = rows[number - 1]
    words = row.strip()
    start = row.index(words)
    after = text[len(before) + start + len(words) :]
    return before + row[:start], after


@given(TEXTS, st.data())
def test_an_edited_line_leaves_all_other_bytes(text: str, data: st.DataObject) -> None:
    lines = parse_lines(text)
    if not lines:
        return
    number = data.draw(st.sampled_from([each.number for each in lines]))
    before, after = changed_place(text, number)
    assert replace_line(text, number, " quite new ") == f"{before}quite new{after}"


@given(TEXTS)
def test_an_added_line_follows_all_other_bytes(text: str) -> None:
    result = add_line(text, "quite new")
    assert result.startswith(text)
    assert result.removeprefix(text).strip("\r\n") == "quite new"
    assert [each.text for each in parse_lines(result)] == [*(each.text for each in parse_lines(text)), "quite new"]


@given(TEXTS, st.data())
def test_a_deleted_line_leaves_all_other_bytes(text: str, data: st.DataObject) -> None:
    lines = parse_lines(text)
    if not lines:
        return
    number = data.draw(st.sampled_from([each.number for each in lines]))
    rows = text.removeprefix("\ufeff").split("\n")
    del rows[number - 1]
    expected = text[: len(text) - len(text.removeprefix("\ufeff"))] + "\n".join(rows)
    result = delete_line(text, number)
    assert result in (
        expected,
        expected + "\n",
        expected + "\r\n",
    )  # without a line end at its end, the one before it stays
    assert [each.text for each in parse_lines(result)] == [each.text for each in lines if each.number != number]


@given(TEXTS, st.data())
def test_a_moved_line_changes_the_order_only(text: str, data: st.DataObject) -> None:
    lines = parse_lines(text)
    if not lines:
        return
    numbers = [each.number for each in lines]
    number, to = data.draw(st.sampled_from(numbers)), data.draw(st.sampled_from(numbers))
    result = move_line(text, number, to)
    assert sorted(result) == sorted(text)
    order = [each.text for each in lines if each.number != number]
    order.insert(numbers.index(to), next(each.text for each in lines if each.number == number))
    assert [each.text for each in parse_lines(result)] == order
    assert move_line(result, to, number) == text


@pytest.mark.parametrize("text", ["", "  ", "a\nb", "a\rb"])
def test_only_a_line_to_post_is_added(text: str) -> None:
    with pytest.raises(InvalidOption, match="a line to post is not empty"):
        add_line("one\n", text)


@pytest.mark.parametrize(("text", "code"), [("a\0b", "0000"), ("\x1b[31mred", "001B"), ("a\x9bb", "009B")])
def test_a_control_character_is_not_added(text: str, code: str) -> None:
    with pytest.raises(InvalidOption, match=f"the control character U\\+{code}"):
        add_line("one\n", text)
    with pytest.raises(InvalidOption, match=f"the control character U\\+{code}"):
        replace_line("one\n", 1, text)
    assert add_line("one\n", "a\tb") == "one\na\tb\n"


@pytest.mark.parametrize("text", ["# 1 tip", "#", "## heading", "#tag", "\\# 1 tip", "\\\\# x"])
def test_a_text_with_a_hash_is_posted_as_it_was_given(text: str) -> None:
    expected = text.removeprefix("\\") if text.startswith("\\") else text
    assert [each.text for each in parse_lines(add_line("one\n# two\n", text))] == ["one", expected]
    assert [each.text for each in parse_lines(replace_line("one\n# two\n", 1, text))] == [expected]


@pytest.mark.parametrize(
    "change",
    [lambda text: replace_line(text, 2, "x"), lambda text: delete_line(text, 2), lambda text: move_line(text, 1, 2)],
)
def test_a_comment_is_not_changed(change: Callable[[str], str]) -> None:
    with pytest.raises(UnknownName, match="no line is called '2'"):
        change("one\n# two\n")


def test_the_same_text_is_not_added_twice() -> None:
    with pytest.raises(InvalidOption, match="line 2 is the same"):
        add_line("# a\nHello  there\n", "hello there")
    assert replace_line("# a\nHello  there\n", 2, "hello there") == "# a\nhello there\n"
