"""The owner's text file: which lines are posts, which words and pictures they use, and what is wrong with them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_appliance.posting.lines import WORDS, Line, fill, parse, words


def one(text: str) -> Line:
    (line,) = parse(text)
    return line


def test_blank_lines_comments_and_a_byte_order_mark_are_no_posts():
    text = "\ufeff# a comment\r\n\n  first  \n   # indented comment\n\t\nsecond # with a hash\n"
    assert [(line.number, line.text) for line in parse(text)] == [(3, "first"), (6, "second # with a hash")]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_as_an_editor_counts_them(end):
    text = end.join(["one", "two\x0b\x0c\x1c\u2028\x85still two", "", "four"])
    assert [line.number for line in parse(text)] == [1, 2, 4]


def test_an_empty_file_holds_no_line():
    assert parse("") == parse("\ufeff") == parse("\n# nothing\n") == []


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
    assert (line.text, line.pictures, line.wrong) == (text, pictures, "")


def test_a_picture_without_a_file_is_wrong():
    assert one("![the sky]( )").wrong == "a picture has no file; write ![what it shows](sky.png)"


def test_words_are_known_by_their_braces():
    assert words(one("{date}, {time}: {temperature} on {hostname} {date} {{time}}")) == {
        *("date", "time", "temperature", "hostname")
    }


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("{temprature}", "no word is called {temprature}; did you mean {temperature}?"),
        ("{Date}", "no word is called {Date}; did you mean {date}?"),
        ("{last_report}", "no word is called {last_report}; did you mean {last-report}?"),
        (
            "{shrug}",
            "no word is called {shrug}; write {{shrug}} to have it as it stands, or one of"
            " {date}, {time}, {temperature}, {hostname}, {last-report}",
        ),
    ],
)
def test_a_word_that_stands_for_nothing_is_told_with_the_nearest(text, wrong):
    assert one(f"It is {text} now").wrong == wrong


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
def test_only_words_are_filled_in(text, filled):
    assert one(text).wrong == ""
    assert fill(text, {"date": "today", "time": "now"}) == filled


def test_what_is_filled_in_is_not_read_again():
    assert fill("{date}", {"date": "{time} {{"}) == "{time} {{"


def test_a_word_of_which_nothing_is_known_is_no_silent_hole():
    with pytest.raises(KeyError):
        fill("{temperature}", {"date": "today"})


def test_every_word_says_what_it_stands_for():
    assert all(WORDS.values())
    assert one(" ".join(f"{{{word}}}" for word in WORDS)).wrong == ""


@given(st.text())
def test_any_text_is_read_and_doubled_braces_come_out_as_they_were(text):
    for line in parse(text):
        assert line.text == line.text.strip()
        assert line.text or line.pictures
    doubled = text.replace("{", "{{").replace("}", "}}")
    assert fill(doubled, {}) == text
