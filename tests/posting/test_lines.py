"""The text file of a tweet job: posts, placeholders, pictures and problems."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_appliance.posting.lines import PLACEHOLDERS, PostLine, fill_placeholders, find_placeholders, parse_lines


def one(text: str) -> PostLine:
    (line,) = parse_lines(text)
    return line


def test_blank_lines_comments_and_a_byte_order_mark_are_not_posts():
    text = "\ufeff# a comment\r\n\n  first  \n   # indented comment\n\t\nsecond # with a hash\n"
    assert [(line.number, line.text) for line in parse_lines(text)] == [(3, "first"), (6, "second # with a hash")]


@pytest.mark.parametrize(
    ("written", "posted"),
    [
        ("# a comment", []),
        ("#", []),
        ("  #\tindented", []),
        ("## a heading", []),
        ("#####", []),
        ("#MondayMotivation is here", ["#MondayMotivation is here"]),
        ("#1 of the list", ["#1 of the list"]),
        ("\\# 1 tip", ["# 1 tip"]),
        ("\\#tag", ["#tag"]),
        ("\\\\# a backslash", ["\\# a backslash"]),
        ("\\n is a newline", ["\\n is a newline"]),
    ],
)
def test_a_comment_is_a_hash_before_a_space(written, posted):
    assert [line.text for line in parse_lines(written)] == posted


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_numbered_like_in_an_editor(end):
    text = end.join(["one", "two\x0b\x0c\x1c\u2028\x85still two", "", "four"])
    assert [line.number for line in parse_lines(text)] == [1, 2, 4]


def test_an_empty_file_has_no_line():
    assert parse_lines("") == parse_lines("\ufeff") == parse_lines("\n# nothing\n") == []


@pytest.mark.parametrize(
    ("written", "text", "pictures"),
    [
        ("![the sky](sky.png)", "", (("sky.png", "the sky"),)),
        ("Look: ![the sky](pictures/sky.png)", "Look:", (("pictures/sky.png", "the sky"),)),
        ("![a](a.png) between ![b](b.png)", "between", (("a.png", "a"), ("b.png", "b"))),
        ("before ![a](my pictures/a.png) after", "before after", (("my pictures/a.png", "a"),)),
        ("no words ![](a.png)", "no words", (("a.png", ""),)),
        ("not one: [a](b) ! [a](b) ![a] (b)", "not one: [a](b) ! [a](b) ![a] (b)", ()),
    ],
)
def test_a_picture_is_taken_out_of_the_text(written, text, pictures):
    line = one(written)
    assert (line.text, line.pictures, line.error) == (text, pictures, "")


def test_a_picture_without_a_file_is_an_error():
    assert one("![the sky]( )").error == "a picture has no file; write ![description](sky.png)"


def test_placeholders_have_braces():
    assert find_placeholders(one("{date}, {time}: {temperature} on {hostname} {date} {{time}}")) == {
        *("date", "time", "temperature", "hostname")
    }


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("{temprature}", "{temprature} is not a placeholder; did you mean {temperature}?"),
        ("{Date}", "{Date} is not a placeholder; did you mean {date}?"),
        ("{last_report}", "{last_report} is not a placeholder; did you mean {last-report}?"),
        (
            "{shrug}",
            "{shrug} is not a placeholder; write {{shrug}} for the text in braces itself, or use one of"
            " {date}, {time}, {temperature}, {hostname}, {last-report}",
        ),
    ],
)
def test_an_unknown_placeholder_is_reported_with_the_most_similar_one(text, wrong):
    assert one(f"It is {text} now").error == wrong


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{date}", "today"),
        ("It is {date}, {time}.", "It is today, now."),
        ("{{date}}", "{date}"),
        ("{{{date}}}", "{today}"),
        ("{} {a b} { date } {1} { }} {{", "{} {a b} { date } {1} { } {"),
        ('json: {"x": 1}', 'json: {"x": 1}'),
        ("{", "{"),
        ("}", "}"),
    ],
)
def test_only_placeholders_are_filled_in(text, filled):
    assert one(text).error == ""
    assert fill_placeholders(text, {"date": "today", "time": "now"}) == filled


def test_inserted_text_is_not_parsed_again():
    assert fill_placeholders("{date}", {"date": "{time} {{"}) == "{time} {{"


def test_a_placeholder_without_a_value_is_an_error():
    with pytest.raises(KeyError):
        fill_placeholders("{temperature}", {"date": "today"})


def test_every_placeholder_has_a_description():
    assert all(PLACEHOLDERS.values())
    assert one(" ".join(f"{{{word}}}" for word in PLACEHOLDERS)).error == ""


@given(st.text())
def test_any_text_is_parsed_and_doubled_braces_become_single(text):
    for line in parse_lines(text):
        assert line.text == line.text.strip()
        assert line.text or line.pictures
    doubled = text.replace("{", "{{").replace("}", "}}")
    assert fill_placeholders(doubled, {}) == text
