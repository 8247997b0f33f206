"""What every puzzle must do, whichever it is: it is found by its name alone."""

from itertools import islice
from typing import cast
from xml.etree import ElementTree

import pytest

from pi_appliance import registry
from pi_appliance.errors import ConfigError, UnknownName
from pi_appliance.puzzles import Answer, Puzzle, list_solutions

BOARDS = [
    pytest.param(registry.load("puzzles", name), board, id=f"{name}-{board}")
    for name in registry.names("puzzles")
    for board in registry.load("puzzles", name).BOARDS
]
PUZZLES = [pytest.param(registry.load("puzzles", name), id=name) for name in registry.names("puzzles")]


def solved(puzzle: Puzzle, name: str) -> tuple[object, Answer]:
    board = puzzle.parse(puzzle.BOARDS[name], name)
    return board, puzzle.solve(board, lambda *_: None)


@pytest.mark.parametrize(("puzzle", "name"), BOARDS)
def test_a_known_board_is_read_back_from_its_own_drawing(puzzle: Puzzle, name: str) -> None:
    board = puzzle.parse(puzzle.BOARDS[name], name)
    assert puzzle.render(board) == puzzle.BOARDS[name]
    assert puzzle.parse(puzzle.render(board), name) == board


@pytest.mark.parametrize(("puzzle", "name"), BOARDS)
def test_an_answer_is_either_lines_or_a_proof_in_words(puzzle: Puzzle, name: str) -> None:
    _, answer = solved(puzzle, name)
    first = next(answer.lines, None)
    assert (first is None) == (answer.proof is not None) == bool(answer.why)
    assert answer.count is None or (answer.count == 0) == (first is None)


@pytest.mark.parametrize(("puzzle", "name"), BOARDS)
def test_every_line_passes_the_check_and_comes_once(puzzle: Puzzle, name: str) -> None:
    board, answer = solved(puzzle, name)
    lines = list(islice(answer.lines, 200))
    assert all(puzzle.check(board, line) for line in lines)
    assert len(lines) == len(set(lines))
    if answer.count is not None:
        assert len(lines) == min(answer.count, 200)


@pytest.mark.parametrize(("puzzle", "name"), BOARDS)
def test_a_line_cut_short_does_not_pass_and_the_check_says_why(puzzle: Puzzle, name: str) -> None:
    board, answer = solved(puzzle, name)
    for line in islice(answer.lines, 20):
        checked = puzzle.check(board, line[:-1])
        assert not checked
        assert checked.wrong


@pytest.mark.parametrize(("puzzle", "name"), BOARDS)
def test_a_listing_is_read_back_as_it_was_written(puzzle: Puzzle, name: str) -> None:
    board, answer = solved(puzzle, name)
    _, again = solved(puzzle, name)
    parts: list[str] = []
    listed = list_solutions(puzzle, board, answer, 20, parts.append)
    ((read, lines),) = puzzle.parse_listing("".join(parts), name, lambda *_: None)
    assert read == board
    assert list(lines) == list(islice(again.lines, 20))
    assert len(lines) == listed


@pytest.mark.parametrize(("puzzle", "name"), BOARDS)
def test_a_picture_is_one_svg_that_needs_nothing_else(puzzle: Puzzle, name: str) -> None:
    picture = puzzle.render_svg(puzzle.parse(puzzle.BOARDS[name], name))
    assert ElementTree.fromstring(picture).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314 - our own text
    assert "href" not in picture
    assert "prefers-color-scheme:dark" in picture


@pytest.mark.parametrize("puzzle", PUZZLES)
def test_what_is_no_board_is_refused_with_its_place(puzzle: Puzzle) -> None:
    for text in ("", "\n \n", "€", "\x00"):
        with pytest.raises(ConfigError) as caught:
            puzzle.parse(text, "mine.txt")
        assert str(caught.value).startswith("mine.txt:")


@pytest.mark.parametrize("puzzle", PUZZLES)
def test_what_is_no_listing_is_refused(puzzle: Puzzle) -> None:
    with pytest.raises(ConfigError, match=r"mine\.txt:1:1"):
        puzzle.parse_listing("Dear diary\n", "mine.txt", lambda *_: None)


@pytest.mark.parametrize("puzzle", PUZZLES)
def test_a_goal_that_a_board_does_not_have_is_refused(puzzle: Puzzle) -> None:
    name, drawing = next(iter(puzzle.BOARDS.items()))
    with pytest.raises(UnknownName, match="the moon"):
        puzzle.aim(puzzle.parse(drawing, name), "the moon")


def test_a_puzzle_is_asked_for_by_name() -> None:
    assert cast(Puzzle, registry.load("puzzles", "peg-solitaire")).TITLE == "Peg solitaire"
    with pytest.raises(UnknownName, match="did you mean 'peg-solitaire'"):
        registry.load("puzzles", "peg-solitare")
