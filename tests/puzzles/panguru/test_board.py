"""Panguru boards and solutions are parsed, rendered and checked."""

from random import Random
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_appliance.errors import ConfigError, InvalidOption, UnknownName
from pi_appliance.puzzles import SolveMode, panguru
from pi_appliance.puzzles.panguru import Board
from pi_appliance.puzzles.runtime import SearchRuntime
from tests.puzzles.panguru.brute_force import SMALL_TABLE, TABLE, is_solution

ORIGINAL = Board("WCBRBOGYGPCORPY", "-PCBRYOGYGBCORP")
DRAWING = panguru.BOARDS["original"]
TRIANGLE = "W\nCB\nRBO\nGYGP\nCORPY\n"


@pytest.mark.parametrize(
    "text",
    [
        DRAWING,
        "WCBRBOGYGPCORPY -PCBRYOGYGBCORP",
        "WCBRBOGYGPCORPY\n-PCBRYOGYGBCORP\n",
        "wcbrbogygpcorpy / .pcbryogygbcorp",
        '"WCBRBOGYGPCORPY"\n"-PCBRYOGYGBCORP"',
        "plates: WCBRBOGYGPCORPY\npebbles: -PCBRYOGYGBCORP",
        "\n\n Pebbles = -PCBRYOGYGBCORP\n\n plates = -CBRBOGYGPCORPY\n moves: original\n",
        TRIANGLE + "\n   _\n  P C\n B R Y\nO G Y G\nB C O R P",
        "plates:\n" + TRIANGLE + "pebbles:\n-\nPC\nBRY\nOGYG\nBCORP",
        f"{DRAWING}moves: {TABLE}",
        f"{DRAWING}moves:\n" + f"{TABLE}".replace("], ", "],\n        "),
    ],
)
def test_every_notation_gives_the_same_board(text: str) -> None:
    assert panguru.parse(text, "mine.txt") == ORIGINAL


def test_moves_match_the_table_of_the_original() -> None:
    assert [list(places) for places in panguru.reachable_places(ORIGINAL)] == TABLE
    small = panguru.parse(panguru.BOARDS["small"], "small")
    assert [list(places) for places in panguru.reachable_places(small)] == SMALL_TABLE


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "mine.txt:1:1: there is no board here"),
        ("  \n W C4", "mine.txt:2:5: '4' is not a colour"),
        ("WAAB -AAB", "mine.txt:1:4: 4 places for plates; a triangle of 2 to 5 rows has 3, 6, 10 or 15"),
        ("WCBRBOGYGPCORPY -PCBRYOGYGBCOR", "mine.txt:1:30: 14 places for pebbles"),
        ("WAB -ABCDE", "mine.txt:1:10: 3 plates, but 6 places for pebbles"),
        ("WAB -AA", "mine.txt:1:7: colour A has 1 plate and 2 pebbles; each colour has as many"),
        ("WAB -AA", "mine.txt:1:3: colour B has 1 plate and 0 pebbles"),
        ("ABA -AB", "mine.txt:1:3: 0 plates W; exactly one plate is W"),
        ("WWA -AW", "mine.txt:1:2: 2 plates W"),
        ("WAB AB-\n", ""),
        ("WAB ABA", "mine.txt:1:7: 0 holes; one place has the hole"),
        ("WAB -AW", "mine.txt:1:7: a pebble is called W"),
        ("WA\nBC\n-A\n", "the rows have 2, 2, 2 places"),
        ("pebbles: -AB", "mine.txt:1:13: the plates are missing; write plates: and 3 letters"),
        ("plates: WAB\npebbles:\n", "mine.txt:1:12: the pebbles are missing; write pebbles: and 3 letters"),
        ("WAB", "mine.txt:1:4: the pebbles are missing; write a space and 3 letters"),
        (" W\nA B\n", "mine.txt:2:4: the pebbles are missing; draw two triangles side by side"),
        ("moves: 0-99\nWAB -AB", "mine.txt:1:8: there is no place 99; places count from 0 to 2"),
        ("W\nplates: WAB\npebbles: -AB", "mine.txt:1:1: this precedes the first header"),
        ("WAB -AB\nmoves: 0-1-3", "mine.txt:2:8: there is no place 3; places count from 0 to 2"),
        ("WAB -AB\nmoves: 0-1-0", "the line 0-1-0 contains a place twice"),
        ("WAB -AB\nmoves: around", "'around' is not a line of moves; write places joined by -"),
        ("WAB -AB\nmoves: [[1], [0, 2], []]", "the table of moves leads from 1 to 2 but not back"),
        ("WAB -AB\nmoves: [[1], [0]]", "the table of moves has 2 rows, but the board 3 places"),
        ("WAB -AB\nmoves: [[1], [0]", "a table of moves must be a list of lists of numbers"),
        (f"WAB -AB\n\nmoves:\n  [{'[]   ' * 30}x", "mine.txt:4:3: a table of moves must be a list of lists of numbers"),
        ("WAB -AB\n\nmoves:\n\n  0-1, 1-7", "mine.txt:5:8: there is no place 7"),
        ("W\u017fB -SB", "mine.txt:1:2: '\u017f' is not a colour"),
    ],
)
def test_an_error_has_its_place(text: str, message: str) -> None:
    if not message:
        panguru.parse(text, "mine.txt")
        return
    with pytest.raises(ConfigError) as caught:
        panguru.parse(text, "mine.txt")
    assert message in str(caught.value)


@given(st.one_of(st.text(), st.text("WAB-\n 0123[],:moves")))
def test_any_text_is_a_board_or_an_error(text: str) -> None:
    try:
        board = panguru.parse(text, "mine.txt")
    except ConfigError as error:
        assert str(error).startswith("mine.txt:")  # noqa: PT017
    else:
        assert panguru.parse(panguru.render(board), "again") == board


@given(st.text("0123456789- x"))
def test_any_text_is_a_solution_or_an_error(text: str) -> None:
    try:
        line = panguru.parse_solution(ORIGINAL, text, "mine.txt")
    except ConfigError as error:
        assert str(error).startswith("mine.txt:1:")  # noqa: PT017
    else:
        assert panguru.parse_solution(ORIGINAL, panguru.notate(ORIGINAL, line), "again") == line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n 0-3\n  -99", "mine.txt:3:4: '99' is not a place of this board"),
        ("\n\n 4-0", "mine.txt:3:2: the hole does not start at 4"),
        ("0--3", "mine.txt:1:3: a place is missing before this -"),
        (" -0-3", "mine.txt:1:2: a place is missing before this -"),
        ("0-3 -\n", "mine.txt:1:5: a place is missing after this -"),
        (" \n", "mine.txt:1:1: there is no solution here"),
    ],
)
def test_an_error_in_a_solution_has_its_place(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        panguru.parse_solution(ORIGINAL, text, "mine.txt")
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("name", panguru.BOARDS)
def test_built_in_boards_render_as_written(name: str) -> None:
    board = panguru.parse(panguru.BOARDS[name], name)
    assert panguru.render(board) == panguru.BOARDS[name]
    assert all(row.strip() for row in panguru.render(board).splitlines())


def test_custom_moves_are_rendered() -> None:
    board = panguru.with_rules(ORIGINAL, {"moves": "0-1-3-6-10, 10-11-12-13-14; 14-9-5-2-0 12-4-0"})
    assert panguru.parse(panguru.render(board), "again") == board
    assert panguru.describe(board) == "14 pebbles in 7 colours, custom table of moves"
    plain = panguru.with_rules(board, {"moves": "no-centre", "random": "20"})
    assert panguru.describe(plain) == "14 pebbles in 7 colours, no move down the middle, and 20 random boards"
    assert panguru.with_rules(plain, {"moves": "original", "random": "0"}) == ORIGINAL


def test_invalid_rules_are_rejected() -> None:
    with pytest.raises(UnknownName, match="did you mean 'moves'"):
        panguru.with_rules(ORIGINAL, {"move": "original"})
    for rules in ({"moves": "everywhere"}, {"random": "many"}, {"random": "-1"}, {"random": "999999"}):
        with pytest.raises(InvalidOption, match=next(iter(rules))):
            panguru.with_rules(ORIGINAL, rules)


def test_an_invalid_board_is_rejected() -> None:
    for plates, pebbles in (("WAB", "-AA"), ("WA", "-A"), ("WAB", "-ABC"), ("AAB", "-AB")):
        with pytest.raises(ValueError, match="plate"):
            Board(plates, pebbles)


def test_check_names_the_wrong_move() -> None:
    line = panguru.parse_solution(ORIGINAL, "0-3-4-0-10-11-6-7-8-9-14-5-12-13-1-2-0", "mine")
    assert panguru.check(ORIGINAL, line)
    assert panguru.check(ORIGINAL, (7, *line)).error == "move 1: no pebble can move from 7 to 0"
    assert panguru.check(ORIGINAL, line[:-1]).error == "the hole ends at 2, not on the plate W"
    assert panguru.check(ORIGINAL, (15,)).error == "move 1: there is no place 15"
    assert panguru.check(ORIGINAL, ()).error == "pebble P ends at 1, on a plate C"


def test_check_agrees_with_a_plain_replay() -> None:
    """Check two thousand solutions with random edits."""
    random = Random(1)
    verdicts = {True: 0, False: 0}
    for name in ("original", "twenty-one", "rainbow"):
        board = panguru.parse(panguru.BOARDS[name], name)
        right = list(panguru.solve(board, SolveMode.FEWEST, SearchRuntime()).solutions)
        for _ in range(700):
            line = list(random.choice(right))
            for _ in range(random.choice((0, 1, 1, 2))):
                at = random.randrange(len(line))
                match random.randrange(4):
                    case 0:
                        line[at] = random.randrange(15)
                    case 1:
                        del line[at]
                    case 2:
                        line.insert(at, random.randrange(15))
                    case _:
                        line[at - 1], line[at] = line[at], line[at - 1]
            verdict = bool(panguru.check(board, line))
            assert verdict == is_solution(board.plates, board.pebbles, line), (name, line)
            verdicts[verdict] += 1
    assert sum(verdicts.values()) > 2_000
    assert min(verdicts.values()) > 500


def test_pictures_name_colours_with_letters() -> None:
    for name, drawing in panguru.BOARDS.items():
        board = panguru.parse(drawing, name)
        svg = ElementTree.fromstring(panguru.render_svg(board))  # noqa: S314 - our own text
        letters = [each.text for each in svg.iter("{http://www.w3.org/2000/svg}text")]
        assert sorted(text for text in letters if text and text.isalpha()) == sorted(
            board.plates + board.pebbles.replace("-", "")
        )


def test_steps_show_every_move() -> None:
    steps = list(panguru.steps(ORIGINAL, (3, 4)))
    assert [step.caption for step in steps] == ["The board; the hole is at 0", "1. B from 3 to 0", "2. R from 4 to 3"]
    assert len({step.svg for step in steps}) == 3


def test_a_listing_is_parsed_back() -> None:
    lines = list(panguru.solve(ORIGINAL, SolveMode.FEWEST, SearchRuntime()).solutions)
    parts = [f"Starting Board\n{panguru.render(ORIGINAL)}\n"]
    parts += [f"Start Solution\n{panguru.render_solution(ORIGINAL, line)}\nEnd Solution\n" for line in lines]
    assert list(panguru.parse_listing("".join(parts), "mine", lambda *_: None)) == [(ORIGINAL, lines)]
