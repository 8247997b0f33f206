"""Descriptions of an exit status and the last line of output."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_appliance.system.process import MAX_LINE, describe_exit_status, last_line


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (1, "ended with status 1"),
        (126, "ended with status 126 (a program could not be executed)"),
        (127, "ended with status 127 (a program was not found)"),
        (139, "ended with status 139 (a shell reports SIGSEGV)"),
        (255, "ended with status 255"),
        (-11, "was ended by SIGSEGV"),
        (-40, "was ended by signal 40"),
    ],
)
def test_an_exit_status_is_described(status, words):
    assert describe_exit_status(status) == words


@pytest.mark.parametrize(
    ("output", "line"),
    [
        (b"", ""),
        (b"one\ntwo\n", "two"),
        (b"one\ntwo", "two"),
        (b"two\n\n  \n", "two"),
        (b"\x1b[1;32mall\x1b[0m  good \x1b]0;title\x07\n", "all good"),
        (b"10 %\r50 %\r100 %\r", "100 %"),
        ("grüß dich 世界\n".encode(), "grüß dich 世界"),
        (b"begin\n\x00\x01\xfe\xff\n", ""),
        ("cut in the middle: ü\n".encode()[1:], "ut in the middle: ü"),
        ("üb".encode()[1:], "b"),
        (b"x" * 4096, "x" * 199 + "…"),
    ],
)
def test_the_last_line_is_readable(output, line):
    assert last_line(output) == line


@given(st.binary())
def test_any_output_is_reduced_to_one_printable_line(output):
    line = last_line(output)
    assert line.isprintable()
    assert len(line) <= MAX_LINE
