"""Peg solitaire boards: parsing, errors, and drawing."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_appliance.errors import ConfigError, UnknownName
from pi_appliance.puzzles.peg_solitaire import Board, Hole, Jump, check, describe, render, render_svg, with_rules
from pi_appliance.puzzles.peg_solitaire.board import BOARDS
from pi_appliance.puzzles.peg_solitaire.notation import parse

MARKS = "XO #"
drawings = st.lists(st.text(MARKS, min_size=1, max_size=8), min_size=1, max_size=8).filter(
    lambda rows: any("X" in row for row in rows)
)


def aimed(board: Board, goal: str) -> Board:
    return with_rules(board, {"goal": goal})


def problems(text: str) -> list[tuple[int, int, str]]:
    with pytest.raises(ConfigError) as caught:
        parse(text, "mine.txt")
    return [(each.line, each.column, each.message) for each in caught.value.problems]


@pytest.mark.parametrize(
    ("name", "pegs"),
    [("full", 32), ("cross", 6), ("plus", 9), ("fireplace", 11), ("pyramid", 16), ("arrow", 17), ("diamond", 25)],
)
def test_the_known_boards_have_the_shape_of_the_english_board(name: str, pegs: int) -> None:
    board = parse(BOARDS[name], name)
    assert len(board.pegs) == pegs
    assert len(board.holes) == 33
    assert Hole(1, 1) not in board.holes
    assert {Hole(2, 0), Hole(4, 6), Hole(0, 2), Hole(6, 4)} <= set(board.holes)


def test_the_full_board_has_its_only_empty_hole_in_the_centre() -> None:
    board = parse(BOARDS["full"], "full")
    assert set(board.holes) - board.pegs == {Hole(3, 3)}


def test_dots_and_hashes_draw_the_same_board_as_letters_and_spaces() -> None:
    assert parse("##X\nX.X\n", "a") == parse("  X\nXOX", "b")


@pytest.mark.parametrize("drawn", ["  xx\nxoxx\n", "  ●●\n●○●●\n", "    X X\nX O X X\n", "     X X\n X . x x"])
def test_lower_case_discs_and_spaced_marks_draw_the_same_board(drawn: str) -> None:
    assert parse(drawn, "a") == parse("  XX\nXOXX\n", "b")


def test_gaps_count_if_other_marks_are_side_by_side() -> None:
    assert len(parse("X X\nXXX\n", "a").holes) == 5
    assert parse("X#X#O\n", "a").holes == (Hole(0, 0), Hole(2, 0), Hole(4, 0))
    for apart in ("X#X#O\n", "X#X\n###\nO#X\n"):
        assert render(parse(apart, "a")) == apart


def test_blank_space_around_a_drawing_does_not_count() -> None:
    assert parse("\n\n     XO \r\n    XXX  \n\n", "a") == parse(" XO\nXXX\n", "b")


@given(drawings)
def test_a_board_that_is_drawn_and_read_again_is_the_same(rows: list[str]) -> None:
    board = parse("\n".join(rows), "random")
    assert parse(render(board), "again") == board
    assert sum(row.count("X") for row in rows) == len(board.pegs)


@given(st.text(max_size=60))
def test_any_text_is_a_board_or_a_problem_with_a_place(text: str) -> None:
    try:
        board = parse(text, "mine.txt")
    except ConfigError as error:
        result = error.problems
    else:
        result = ()
        assert board.pegs
    assert all(each.line >= 1 and each.column >= 1 and each.message for each in result)


def test_an_unknown_mark_is_reported_once_per_line() -> None:
    assert problems("XXO\nXQQ\n XO\n  ?X") == [
        (2, 2, "'Q' is not part of a board"),
        (4, 3, "'?' is not part of a board"),
    ]


def test_a_tab_is_named_as_one() -> None:
    assert problems("X\tO") == [(1, 2, "a tab is not part of a board")]


@pytest.mark.parametrize(("mark", "meant"), [("0", "O"), ("*", "X"), ("_", ".")])
def test_a_similar_mark_is_suggested(mark: str, meant: str) -> None:
    with pytest.raises(ConfigError, match=f"did you mean '[{meant}]'"):
        parse(f"XX{mark}", "mine.txt")


def test_a_board_without_pegs_is_rejected_with_its_place() -> None:
    assert problems("\n  OOO\n  OOO") == [(2, 3, "the board has no peg")]


def test_a_board_that_is_too_large_is_rejected_with_its_place() -> None:
    assert problems(" " + "X" * 16) == [(1, 17, "the board is more than 15 holes wide")]
    assert problems("X\n" * 16) == [(16, 1, "the board is more than 15 rows high")]
    assert problems("XXXXXXXXX\n" * 8) == [(8, 2, "the board has 72 holes")]
    assert len(parse("XXXXXXXX\n" * 8, "largest").holes) == 64


def test_a_goal_is_named_by_its_place() -> None:
    board = aimed(parse(BOARDS["cross"], "cross"), "3, 0")
    assert board.goal == Hole(3, 0)
    assert describe(board) == "6 pegs in 33 holes, the last one at 3,0"


@pytest.mark.parametrize("goal", ["0,0", "7,3", "-1,3", "3", "3;3", "the moon"])
def test_an_invalid_goal_is_reported_with_the_names_of_holes(goal: str) -> None:
    with pytest.raises(UnknownName) as caught:
        aimed(parse(BOARDS["cross"], "cross"), goal)
    how = "write a hole as x,y, both counted from 0 at the top left, such as 3,3"
    assert str(caught.value) == f"no hole of this board is called {goal!r}; {how}"


def test_a_single_peg_is_one_peg_and_a_single_hole_one_hole() -> None:
    assert describe(parse("XO", "tiny")) == "1 peg in 2 holes"
    assert describe(parse("X", "tiniest")) == "1 peg in 1 hole"
    assert "<title>Peg solitaire: 1 peg in 1 hole</title>" in render_svg(parse("X", "tiniest"))


def test_a_picture_has_a_circle_for_each_hole_and_peg_and_one_for_the_goal() -> None:
    picture = ElementTree.fromstring(render_svg(aimed(parse("XXO\n O ", "tiny"), "2,0")))  # noqa: S314 - our own text
    classes = [circle.get("class") for circle in picture.iter("{http://www.w3.org/2000/svg}circle")]
    assert classes.count("peg-hole") == 4
    assert classes.count("peg-body") == 2
    assert classes.count("peg-goal") == 1
    assert picture.get("viewBox") == "0 0 160 120"


STAGGERED = "triangle\n    O    \n   X X   \n  X X X  \n X X X X \nX X X X X\n"


def test_a_triangle_is_drawn_staggered_or_aslant() -> None:
    board = parse(STAGGERED, "staggered")
    assert board == parse("\n Triangle\n\n O\n XX\n XXX\n XXXX\n XXXXX\n", "aslant")
    assert board.triangular
    assert board.holes == tuple(Hole(x, y) for y in range(5) for x in range(y + 1))
    assert render(board) == STAGGERED
    assert describe(board) == "14 pegs in 15 holes of a triangular board"


def test_a_misaligned_mark_of_a_triangle_is_reported() -> None:
    assert problems("triangle\n  O\n X X\n X X X\n") == [(4, 2, "this mark is directly below a mark of another row")]
    assert problems("triangle\n") == [(1, 1, "no board is drawn here")]


def test_jumps_on_triangles_go_in_three_directions() -> None:
    board = parse(STAGGERED, "staggered")
    for end, right in ((Hole(0, 0), True), (Hole(2, 2), False)):
        assert bool(check(aimed(board, "0,0"), ())) is False
        jump = Jump(Hole(2, 2), Hole(0, 0)) if right else Jump(Hole(0, 0), end)
        assert ("jump 1" not in check(board, [jump]).error) == right
    assert "two holes along a line" in check(board, [Jump(Hole(0, 2), Hole(2, 0))]).error
    assert "peg-hole" in render_svg(board)


@given(drawings)
def test_a_triangle_that_is_drawn_and_read_again_is_the_same(rows: list[str]) -> None:
    board = parse("\n".join(["triangle", *(" ".join(row).rjust(40 - y) for y, row in enumerate(rows))]), "random")
    assert parse(render(board), "again") == board


def test_a_rule_without_a_value_means_the_default() -> None:
    board = aimed(parse(BOARDS["cross"], "cross"), "3,0")
    assert with_rules(board, {"goal": "", "positions": ""}) == parse(BOARDS["cross"], "cross")
    assert describe(with_rules(board, {"positions": "all"})).endswith("counted with all positions")
    with pytest.raises(UnknownName, match="'needed'"):
        with_rules(board, {"positions": "neded"})
    with pytest.raises(UnknownName, match="did you mean 'goal'"):
        with_rules(board, {"gaol": "3,3"})
