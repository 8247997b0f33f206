"""Panguru: boards are read, drawn and checked."""

from random import Random
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_appliance.errors import ConfigError, UnknownName, WrongArgument
from pi_appliance.puzzles import SolveMode, panguru
from pi_appliance.puzzles.panguru import Board
from pi_appliance.puzzles.runtime.interface import SerialRuntime
from tests.puzzles.panguru_plain import SMALL_TABLE, TABLE, replayed

ORIGINAL = Board("WCBRBOGYGPCORPY", "-PCBRYOGYGBCORP")
DRAWN = panguru.BOARDS["original"]
TRIANGLE = "W\nCB\nRBO\nGYGP\nCORPY\n"


@pytest.mark.parametrize(
    "text",
    [
        DRAWN,
        "WCBRBOGYGPCORPY -PCBRYOGYGBCORP",
        "WCBRBOGYGPCORPY\n-PCBRYOGYGBCORP\n",
        "wcbrbogygpcorpy / .pcbryogygbcorp",
        '"WCBRBOGYGPCORPY"\n"-PCBRYOGYGBCORP"',
        "plates: WCBRBOGYGPCORPY\npebbles: -PCBRYOGYGBCORP",
        "\n\n Pebbles = -PCBRYOGYGBCORP\n\n plates = -CBRBOGYGPCORPY\n moves: original\n",
        TRIANGLE + "\n   _\n  P C\n B R Y\nO G Y G\nB C O R P",
        "plates:\n" + TRIANGLE + "pebbles:\n-\nPC\nBRY\nOGYG\nBCORP",
        f"{DRAWN}moves: {TABLE}",
        f"{DRAWN}moves:\n" + f"{TABLE}".replace("], ", "],\n        "),
    ],
)
def test_all_the_ways_to_write_a_board_down(text: str) -> None:
    assert panguru.parse(text, "mine.txt") == ORIGINAL


def test_the_moves_are_those_of_the_original() -> None:
    assert [list(places) for places in panguru.reach(ORIGINAL)] == TABLE
    small = panguru.parse(panguru.BOARDS["small"], "small")
    assert [list(places) for places in panguru.reach(small)] == SMALL_TABLE


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "mine.txt:1:1: no board is drawn here"),
        ("  \n W C4", "mine.txt:2:5: '4' is no colour"),
        ("WAAB -AAB", "mine.txt:1:4: 4 places for plates; a triangle of 2 to 5 rows has 3, 6, 10 or 15"),
        ("WCBRBOGYGPCORPY -PCBRYOGYGBCOR", "mine.txt:1:30: 14 places for pebbles"),
        ("WAB -ABCDE", "mine.txt:1:10: 3 plates, but 6 places for pebbles"),
        ("WAB -AA", "mine.txt:1:7: colour A has 1 plate and 2 pebbles; each colour has as many"),
        ("WAB -AA", "mine.txt:1:3: colour B has 1 plate and 0 pebbles"),
        ("ABA -AB", "mine.txt:1:3: 0 plates W; one plate is called W"),
        ("WWA -AW", "mine.txt:1:2: 2 plates W"),
        ("WAB AB-\n", ""),
        ("WAB ABA", "mine.txt:1:7: 0 holes; one place has the hole"),
        ("WAB -AW", "mine.txt:1:7: a pebble is called W"),
        ("WA\nBC\n-A\n", "the rows have 2, 2, 2 places"),
        ("pebbles: -AB", "mine.txt:1:1: 0 places for plates"),
        ("W\nplates: WAB\npebbles: -AB", "mine.txt:1:1: this stands before any head"),
        ("WAB -AB\nmoves: 0-1-3", "mine.txt:2:8: there is no place 3; they count from 0 to 2"),
        ("WAB -AB\nmoves: 0-1-0", "the line 0-1-0 names a place twice"),
        ("WAB -AB\nmoves: around", "'around' is no line of moves; write places joined by -"),
        ("WAB -AB\nmoves: [[1], [0, 2], []]", "the table of moves leads from 1 to 2 and not back"),
        ("WAB -AB\nmoves: [[1], [0]]", "the table of moves has 2 rows, and the board 3 places"),
        ("WAB -AB\nmoves: [[1], [0]", "a table of moves is a list of lists of numbers"),
        (f"WAB -AB\n\nmoves:\n  [{'[]   ' * 30}x", "mine.txt:4:3: a table of moves is a list of lists of numbers"),
        ("WAB -AB\n\nmoves:\n\n  0-1, 1-7", "mine.txt:5:8: there is no place 7"),
        ("W\u017fB -SB", "mine.txt:1:2: '\u017f' is no colour"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, said: str) -> None:
    if not said:
        panguru.parse(text, "mine.txt")
        return
    with pytest.raises(ConfigError) as caught:
        panguru.parse(text, "mine.txt")
    assert said in str(caught.value)


@given(st.one_of(st.text(), st.text("WAB-\n 0123[],:moves")))
def test_any_text_is_a_board_or_a_problem(text: str) -> None:
    try:
        board = panguru.parse(text, "mine.txt")
    except ConfigError as error:
        assert str(error).startswith("mine.txt:")  # noqa: PT017
    else:
        assert panguru.parse(panguru.render(board), "again") == board


@given(st.text("0123456789- x"))
def test_any_line_is_read_or_a_problem(text: str) -> None:
    try:
        line = panguru.parse_solution(ORIGINAL, text, "mine.txt")
    except ConfigError as error:
        assert str(error).startswith("mine.txt:1:")  # noqa: PT017
    else:
        assert panguru.parse_solution(ORIGINAL, panguru.notate(ORIGINAL, line), "again") == line


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\n 0-3\n  -99", "mine.txt:3:4: '99' is no place of this board"),
        ("\n\n 4-0", "mine.txt:3:2: the hole does not begin at 4"),
        ("0--3", "mine.txt:1:3: no place stands before this -"),
        (" -0-3", "mine.txt:1:2: no place stands before this -"),
        ("0-3 -\n", "mine.txt:1:5: no place stands behind this -"),
        (" \n", "mine.txt:1:1: there is no line here"),
    ],
)
def test_what_is_wrong_with_a_line_is_told_with_its_place(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        panguru.parse_solution(ORIGINAL, text, "mine.txt")
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize("name", panguru.BOARDS)
def test_a_known_board_is_drawn_as_it_is_read(name: str) -> None:
    board = panguru.parse(panguru.BOARDS[name], name)
    assert panguru.render(board) == panguru.BOARDS[name]
    assert all(row.strip() for row in panguru.render(board).splitlines())


def test_a_board_with_its_own_moves_is_drawn_with_them() -> None:
    board = panguru.with_rules(ORIGINAL, {"moves": "0-1-3-6-10, 10-11-12-13-14; 14-9-5-2-0 12-4-0"})
    assert panguru.parse(panguru.render(board), "again") == board
    assert panguru.describe(board) == "14 pebbles in 7 colours, own table of moves"
    plain = panguru.with_rules(board, {"moves": "no-centre", "random": "20"})
    assert panguru.describe(plain) == "14 pebbles in 7 colours, no move down the middle, and 20 random boards"
    assert panguru.with_rules(plain, {"moves": "original", "random": "0"}) == ORIGINAL


def test_a_rule_that_says_nothing_is_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean 'moves'"):
        panguru.with_rules(ORIGINAL, {"move": "original"})
    for rules in ({"moves": "everywhere"}, {"random": "many"}, {"random": "-1"}, {"random": "999999"}):
        with pytest.raises(WrongArgument, match=next(iter(rules))):
            panguru.with_rules(ORIGINAL, rules)


def test_a_board_that_cannot_be_is_not_made() -> None:
    for plates, pebbles in (("WAB", "-AA"), ("WA", "-A"), ("WAB", "-ABC"), ("AAB", "-AB")):
        with pytest.raises(ValueError, match="plate"):
            Board(plates, pebbles)


def test_the_check_says_which_move_is_wrong() -> None:
    line = panguru.parse_solution(ORIGINAL, "0-3-4-0-10-11-6-7-8-9-14-5-12-13-1-2-0", "mine")
    assert panguru.check(ORIGINAL, line)
    assert panguru.check(ORIGINAL, (7, *line)).error == "move 1: no pebble can move from 7 to 0"
    assert panguru.check(ORIGINAL, line[:-1]).error == "the hole ends at 2, not on the plate W"
    assert panguru.check(ORIGINAL, (15,)).error == "move 1: there is no place 15"
    assert panguru.check(ORIGINAL, ()).error == "pebble P ends at 1, on a plate C"


def test_the_check_refuses_what_a_plain_replay_refuses() -> None:
    """Ten thousand right lines with random edits, each judged twice."""
    dice = Random(1)
    verdicts = {True: 0, False: 0}
    for name in ("original", "twenty-one", "rainbow"):
        board = panguru.parse(panguru.BOARDS[name], name)
        right = list(panguru.solve(board, SolveMode.FEWEST, SerialRuntime()).solutions)
        for _ in range(3400):
            line = list(dice.choice(right))
            for _ in range(dice.choice((0, 1, 1, 2))):
                at = dice.randrange(len(line))
                match dice.randrange(4):
                    case 0:
                        line[at] = dice.randrange(15)
                    case 1:
                        del line[at]
                    case 2:
                        line.insert(at, dice.randrange(15))
                    case _:
                        line[at - 1], line[at] = line[at], line[at - 1]
            verdict = bool(panguru.check(board, line))
            assert verdict == replayed(board.plates, board.pebbles, line), (name, line)
            verdicts[verdict] += 1
    assert sum(verdicts.values()) > 10_000
    assert min(verdicts.values()) > 1_000


def test_pictures_name_every_colour_in_letters() -> None:
    for name, drawing in panguru.BOARDS.items():
        board = panguru.parse(drawing, name)
        svg = ElementTree.fromstring(panguru.render_svg(board))  # noqa: S314 - our own text
        letters = [each.text for each in svg.iter("{http://www.w3.org/2000/svg}text")]
        assert sorted(text for text in letters if text and text.isalpha()) == sorted(
            board.plates + board.pebbles.replace("-", "")
        )


def test_a_line_is_played_in_pictures() -> None:
    steps = list(panguru.steps(ORIGINAL, (3, 4)))
    assert [step.caption for step in steps] == ["The board; the hole is at 0", "1. B from 3 to 0", "2. R from 4 to 3"]
    assert len({step.svg for step in steps}) == 3


def test_a_listing_is_read_back() -> None:
    lines = list(panguru.solve(ORIGINAL, SolveMode.FEWEST, SerialRuntime()).solutions)
    parts = [f"Starting Board\n{panguru.render(ORIGINAL)}\n"]
    parts += [f"Start Solution\n{panguru.render_solution(ORIGINAL, line)}\nEnd Solution\n" for line in lines]
    assert list(panguru.parse_listing("".join(parts), "mine", lambda *_: None)) == [(ORIGINAL, lines)]
