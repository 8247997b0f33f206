"""Listings of peg solitaire: the exact layout, and errors when one is parsed."""

import sys
import tracemalloc
from types import FrameType

import pytest

from pi_appliance.errors import ApplianceError, ConfigError, Refused
from pi_appliance.puzzles import SolveMode, peg_solitaire
from pi_appliance.puzzles.board_report import BoardReport
from pi_appliance.puzzles.peg_solitaire import solve
from pi_appliance.puzzles.peg_solitaire.board import BOARDS
from pi_appliance.puzzles.peg_solitaire.notation import parse, parse_listing, render
from pi_appliance.puzzles.runtime import SearchRuntime


def list_solutions(drawing: str, limit: int = 10, mode: SolveMode = SolveMode.FIRST) -> str:
    board = parse(drawing, "drawn")
    parts: list[str] = []
    answer = solve(board, mode, SearchRuntime())
    report = BoardReport(puzzle=peg_solitaire, name="drawn", board=board, mode=mode, answer=answer)
    report.list_solutions(limit, parts.append)
    return f"Starting Board\n{render(board)}\n" + "".join(parts) + report.render()


def refused(text: str, kind: type[ApplianceError] = ConfigError) -> str:
    with pytest.raises(kind) as caught:
        parse_listing(text, "result.txt", lambda *_: None)
    return str(caught.value)


def test_a_listing_draws_each_board_after_its_jump_and_ends_with_a_blank_line() -> None:
    assert list_solutions("XXO\n  X\n  O", mode=SolveMode.ALL).startswith(
        "Starting Board\nXXO\n  X\n  O\n\n"
        "Start Solution\n\n"
        "OOX\n  X\n  O\n\n"
        "OOO\n  O\n  X\n\n"
        "End Solution\n\n"
        "Board: 3 pegs in 5 holes\n"
        "Solutions: 1\n"
        "Solutions listed: 1\n"
        "Jumps tried: 4\n"
    )


def test_a_listing_of_a_known_board_keeps_the_blank_corners() -> None:
    text = list_solutions(BOARDS["cross"])
    assert "Starting Board\n  OOO  \n  OXO  \nOOXXXOO\nOOOXOOO\nOOOXOOO\n  OOO  \n  OOO  \n\nStart Solution\n\n" in text
    assert text.count("Start Solution\n\n") == text.count("End Solution\n\n") == 4


def test_a_listing_stops_at_the_limit_and_reports_the_count() -> None:
    text = list_solutions(BOARDS["pyramid"], limit=3, mode=SolveMode.ALL)
    assert "Solutions: 10,142,448\n" in text
    assert "Solutions listed: 3\n" in text
    assert text.count("Start Solution") == 3


def test_a_listing_without_solutions_reports_the_proof() -> None:
    text = list_solutions(BOARDS["diamond"], mode=SolveMode.ALL)
    assert "Solutions: none, proven by parity (the rule of three" in text
    assert "Start Solution" not in text


def test_a_listing_reports_that_a_board_is_too_large_to_count() -> None:
    assert "Solutions: at least 1; not counted\n" in list_solutions(BOARDS["full"], limit=1)


def test_several_boards_are_read_back_from_one_file() -> None:
    text = list_solutions(BOARDS["cross"]) + "\n\nplus\n====\n" + list_solutions(BOARDS["plus"], limit=100)
    assert [len(lines) for _, lines in parse_listing(text, "result.txt", lambda *_: None)] == [4, 32]


@pytest.mark.parametrize(
    "instead",
    [
        "XOX\n  X\n  O\n\nO",  # the peg that jumped is still there
        "OXX\n  X\n  O\n\nO",  # the one jumped over too
        "OOX\n  X\n  X\n\nO",  # a peg from nowhere
        "OOO\n  X\n  O\n\nO",  # a peg vanished
        "O",  # a board left out
    ],
)
def test_a_board_that_does_not_follow_from_the_one_before_is_a_wrong_solution(instead: str) -> None:
    reported = refused(changed(instead), Refused)
    assert reported.startswith("result.txt:8:1: this board does not follow from the one before")


@pytest.mark.parametrize(
    ("instead", "reported"),
    [
        ("OOX\n  X\n O\n\nO", "8:1: this board has a different shape"),
        ("OOX\n  O\n\nO", "8:1: this board has a different shape"),  # a line left out
        ("OOX\n  X\n  O\nO", "8:1: this board has a different shape"),  # the line between two boards
        ("OOX\n  X\n  ?\n\nO", "10:3: '?' is not part of a board"),
    ],
)
def test_a_board_that_is_not_the_one_of_the_listing_cannot_be_read(instead: str, reported: str) -> None:
    assert refused(changed(instead)).startswith(f"result.txt:{reported}")


def test_a_leap_too_far_is_not_a_jump() -> None:
    text = "Starting Board\nXXOO\n\nStart Solution\n\nOOOX\n\nEnd Solution\n"
    assert refused(text, Refused).startswith("result.txt:6:1: this board does not follow")


def changed(instead: str) -> str:
    """Return a listing with `instead` in place of the board after its first jump."""
    before, old, after = list_solutions("XXO\n  X\n  O").partition("OOX\n  X\n  O\n\nO")
    assert old
    return before + instead + after


def test_reading_a_listing_twice_as_long_takes_twice_the_work() -> None:
    def calls(solutions: int) -> int:
        text, call_count = list_solutions(BOARDS["pyramid"], solutions), 0

        def count(_: FrameType, event: str, __: object) -> None:
            nonlocal call_count
            call_count += event in {"call", "c_call"}

        before = sys.getprofile()
        sys.setprofile(count)
        try:
            parse_listing(text, "result.txt", lambda *_: None)
        finally:
            sys.setprofile(before)
        return call_count

    assert calls(40) == pytest.approx(2 * calls(20), rel=0.1)


def test_reading_a_listing_takes_less_memory_than_its_text() -> None:
    text = list_solutions(BOARDS["pyramid"], 50)
    tracemalloc.start()
    try:
        parse_listing(text, "result.txt", lambda *_: None)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < len(text)


def test_lines_may_end_as_on_windows() -> None:
    text = list_solutions(BOARDS["cross"])
    read = parse_listing(text, "result.txt", lambda *_: None)
    assert parse_listing(text.replace("\n", "\r\n"), "result.txt", lambda *_: None) == read


def test_reading_a_long_listing_shows_how_far_it_is() -> None:
    reported: list[tuple[float | None, str]] = []
    parse_listing(list_solutions(BOARDS["pyramid"], 101), "result.txt", lambda *each: reported.append(each))
    assert [note for _, note in reported] == ["0 solutions read", "50 solutions read", "100 solutions read"]
    assert [part for part, _ in reported] == pytest.approx([0, 0.5, 0.99], abs=0.01)


@pytest.mark.parametrize(
    ("drawn", "reported"),
    [
        ("X" * 16, "result.txt:4:16: the board is more than 15 holes wide"),
        ("X\n" * 16, "result.txt:19:1: the board is more than 15 rows high"),
        ("XXXXXXXXX\n" * 8, "result.txt:11:2: the board has 72 holes"),
        (" OO\n", "result.txt:4:2: the board has no peg"),
        ("   \n", "result.txt:4:1: no board is drawn here"),
    ],
)
def test_a_wrong_board_is_reported_with_its_line(drawn: str, reported: str) -> None:
    assert refused(f"cross\n=====\nStarting Board\n{drawn}\n").startswith(reported)


def test_a_solution_without_an_end_is_reported_where_it_starts() -> None:
    text = list_solutions("XXO\n  X\n  O").partition("End Solution")[0]
    assert refused(text).startswith("result.txt:6:1: this solution does not end")


def test_a_solution_without_a_board_is_refused() -> None:
    assert "a solution without a board" in refused("Start Solution\n\nEnd Solution\n")


def test_a_starting_board_that_is_not_drawn_is_refused() -> None:
    assert "no board is drawn here" in refused("Starting Board\n\n")
