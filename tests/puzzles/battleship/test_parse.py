"""Battleship boards and solutions are parsed and rendered."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from pi_appliance.errors import ConfigError
from pi_appliance.puzzles import SolveMode, battleship
from pi_appliance.puzzles.runtime import SearchRuntime
from tests.puzzles.battleship.test_count import boards

SMALL = ("?.X#", ".#??", "?#?X")


def parse_errors(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        battleship.parse(text, "mine")
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    "drawing",
    [
        "?.X#\n.#??\n?#?X\n",
        "\n\n   ?.X#\n   .#??\n   ?#?X  \n\n",
        "? ~ x #\no # ? ?\n? # ? X\n",
        "  A B C D\n1 ? . X #\n2 . # ? ?\n3 ? # ? X\n",
        "ABCD\n1?.X#\n2.#??\n3?#?X\n",
        "  1 2 3 4\n1 ? . X #\n2 . # ? ?\n3 ? # ? X\n",
        "size: 4x3\nB1 miss\nC1 hit\nD1 sunk\nA2 miss\nB2 sunk\nB3 sunk\nD3 hit\n",
        "size: 4 x 3\nmiss: B1, A2; hit: C1 d3\nD1 sunk, B2 sunk, B3 sunk",
        "SIZE: 4x3\nb1 a2 miss, c1 d1 d3 hit, d1 sunk\nb2 sunk\nb3 hit, b3 sunk",
    ],
)
def test_every_notation_gives_the_same_board(drawing: str) -> None:
    assert battleship.parse(drawing, "mine") == battleship.Board(rows=SMALL)


@pytest.mark.parametrize(
    "drawing",
    [
        "[[1, 0, 0], [1, 0, 1]]",
        "field = [[1,0,0],\n         [1,0,1]]\n",
        "[1 0 0]\n[1 0 1]",
        "100\n101\n",
        "1 0 0\n1, 0, 1\n",
        "row1 = 100\nrow2 = 101\n",
    ],
)
def test_a_finished_grid_is_read_from_lists_of_0_and_1(drawing: str) -> None:
    assert battleship.parse(drawing, "mine") == battleship.Board(rows=("#..", "#.#"))


def test_ships_sunk_as_a_whole_are_kept_and_rendered() -> None:
    board = battleship.parse("fleet: 3,3,2\nsize: 5x3\nC3-A3 sunk\nE1 E2 sunk\nA1 sunk, C1 sunk\n", "mine")
    assert board.rows == ("#?#?#", "????#", "###??")
    assert [str(ship) for ship in board.sunk_ships] == ["A3-C3", "E1-E2"]
    assert battleship.render(board) == "fleet: 3,3,2\nwhole: A3-C3, E1-E2\n#?#?#\n????#\n###??\n"
    twice = "fleet: 3,3,2\nwhole: A3-C3\nsize: 5x3\nC3-A3 sunk\nE1 E2 sunk\nA1 sunk, C1 sunk\n"
    assert battleship.parse(twice, "mine") == board


@given(boards(), some.booleans())
def test_a_rendered_board_is_parsed_back(board: battleship.Board, known: bool) -> None:
    if known:
        lines = battleship.solve(board, SolveMode.FIRST, SearchRuntime()).solutions
        sunk = [ship for line in lines for ship in line if all(board.rows[y][x] == "#" for x, y in ship.squares)]
        board = battleship.Board(
            rows=board.rows,
            sunk_ships=tuple(sorted(sunk)),
            fleet=board.fleet,
            touching=board.touching,
            ships=board.ships,
        )
    drawn = battleship.render(board)
    assert battleship.parse(drawn, "mine") == board
    assert all(row.strip() for row in drawn.splitlines())
    assert battleship.describe(board)
    assert battleship.render_svg(board).count("<rect") >= board.width * board.height


@given(boards())
def test_a_solution_is_parsed_back_from_notation_and_listing(board: battleship.Board) -> None:
    for line in battleship.solve(board, SolveMode.FIRST, SearchRuntime()).solutions:
        assert battleship.parse_solution(board, battleship.notate(board, line), "mine") == line
        drawn = battleship.render_solution(board, line)
        listing = f"Starting Board\n{battleship.render(board)}\nStart Solution\n{drawn}\nEnd Solution\n"
        assert battleship.parse_listing(listing, "mine", lambda *_: None) == [(board, [line])]


@given(some.text() | some.text("?.X#~01[], \nABJ-19:hitmsunkfleozw", min_size=1, max_size=60))
def test_any_text_is_a_board_or_an_error_with_its_place(text: str) -> None:
    try:
        board = battleship.parse(text, "mine")
    except ConfigError as error:
        result = error.problems
    else:
        assert battleship.parse(battleship.render(board), "mine") == board
        return
    assert result
    rows = text.splitlines() or [""]
    for problem in result:
        assert 1 <= problem.line <= len(rows)
        assert 1 <= problem.column <= len(rows[problem.line - 1]) + 1
        assert "\n" not in str(problem)


@given(some.text() | some.text("ABJ-1902 ,\n", max_size=30))
def test_any_text_is_a_solution_or_an_error(text: str) -> None:
    board = battleship.parse("size: 10x10", "mine")
    try:
        line = battleship.parse_solution(board, text, "mine")
    except ConfigError:
        return
    assert battleship.parse_solution(board, battleship.notate(board, line), "mine") == line


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("??*\n?_?\n", ["mine:1:3: '*' is not a mark; did you mean 'X'?", "mine:2:2: '_' is not a mark"]),
        ("???\n??\n????\n", ["mine:2:3: this row has 2 squares, the first one 3", "mine:3:4: this row has 4 squares"]),
        ("?" * 16, ["mine:1:16: the board is too large; it may have 15 columns and 15 rows"]),
        ("??\n" * 16, ["mine:16:1: the board is too large"]),
        ("? ? ?\n ? ?\n? ? ? ?\n", ["mine:2:5: this row has 2 squares", "mine:3:7: this row has 4 squares"]),
        ("1 ? ?\n2 ?\n", ["mine:2:4: this row has 1 square, the first one 2"]),
        ("[[0, 1], [1]]", ["mine:1:12: this row has 1 square, the first one 2"]),
        ("[[0,1],[2,0]]", ["mine:1:9: '2' is neither 0 nor 1; a row is a list of 0 (miss) and 1"]),
        ("A1 hitt", ["mine:1:4: 'hitt' is neither a square nor a mark; did you mean 'hit'? write squares"]),
        ("100\n , \n101", ["mine:2:1: this row has 0 squares, the first one 3"]),
        ("[0, 1], 1", ["mine:1:9: a number outside the rows"]),
        ("B5 hit\nB5 miss", ["mine:2:1: B5 is a miss and a hit"]),
        ("B5 hit\nK5 miss", ["mine:2:1: K5 is outside the sea; it has 10 columns and 10 rows"]),
        ("B5 hit\nsomewhere miss", ["mine:2:1: 'somewhere' is neither a square nor a mark"]),
        ("B5 hit, C6", ["mine:1:9: C6 is neither hit nor miss here"]),
        ("hit", ["mine:1:1: this mark has no square; write squares and hit, miss or sunk"]),
        ("hit: B5, miss\nC6 miss, hit, sunk D1", ["mine:1:10: this mark has no", "mine:2:10: this mark has no"]),
        ("A1-A3 sunk\nA3-B3 sunk", ["mine:2:1: A3-B3 overlaps A1-A3"]),
        ("size: 3x16\nA1 hit", ["mine:1:7: the size cannot be '3x16'; write columns x rows, 1 to 15"]),
        ("size: 2x2\n??\n??", ["mine:1:7: a size is given, and a grid follows"]),
        ("fleet: 5,x\n??", ["mine:1:8: the fleet cannot have a ship of length 'x', only of 1 to 15 squares"]),
        ("touching: sometimes\n??", ["mine:1:11: no value of touching is called 'sometimes'; known: allowed"]),
        ("fleat: 3\n??", ["mine:1:1: unknown header 'fleat'; did you mean 'fleet'?"]),
        ("fleet: 3\nfleet: 2\n??", ["mine:2:1: fleet is given twice"]),
        ("whole: A1-B1\n#?\n", ["mine:1:8: A1-B1 is not drawn as sunk"]),
        ("whole: A1-B2\n#?\n", ["mine:1:8: 'A1-B2' is not a valid ship"]),
        ("whole: A1-C1\n##\n", ["mine:1:8: A1-C1 is outside the sea"]),
        ("whole: A1-B1, B1-B2\n##\n##\n", ["mine:1:15: B1-B2 overlaps another sunk ship"]),
        ("whole: A1-B1\nwhole: A2, B2, C2\n##\n##\n", ["mine:2:16: C2 is outside the sea"]),
        ("whole: D4-D5\nD4-D6 sunk", ["mine:1:8: D4-D5 overlaps another sunk ship"]),
    ],
)  # fmt: skip
def test_every_error_has_its_place(text: str, problems: list[str]) -> None:
    result = parse_errors(text)
    assert len(result) == len(problems)
    for one, problem in zip(result, problems, strict=True):
        assert one.startswith(problem)


def test_an_invalid_solution_is_rejected() -> None:
    board = battleship.parse("size: 5x5", "mine")
    for text, problem in (
        ("A1 B9", "mine:1:4: B9 is outside the sea; the sea has 5 columns and 5 rows"),
        ("A1\nB2-C3", "mine:2:1: 'B2-C3' is not a valid ship"),
        ("A3-A1", "mine:1:1: 'A3-A1' is not a valid ship; name its first and last square"),
        (" A1-A9, A9", "mine:1:2: A1-A9 is outside the sea; the sea has 5 columns and 5 rows\nmine:1:9: A9 is outside"),
        (" ", "mine:1:1: no ship is named here"),
    ):
        with pytest.raises(ConfigError) as caught:
            battleship.parse_solution(board, text, "mine")
        assert str(caught.value).startswith(problem)
