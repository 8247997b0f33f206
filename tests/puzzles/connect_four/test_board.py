"""Connect Four: notations, invalid positions, and winners."""

import random
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_appliance.errors import ConfigError, InvalidOption, UnknownName
from pi_appliance.puzzles import SolveMode, connect_four
from pi_appliance.puzzles.connect_four.board import Board, Colour, End, find_fours
from pi_appliance.puzzles.runtime import SearchRuntime
from tests.examples import repetitions

GAME = """\
F_Yellow, G_Red, D_Yellow, C_Red, A_Yellow, A_Red, E_Yellow, D_Red, D_Yellow, F_Red, B_Yellow
E_Red, C_Yellow, D_Red, F_Yellow, D_Red, D_Yellow, F_Red, G_Yellow, C_Red, F_Yellow, E_Red"""


def problems(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        connect_four.parse(text, "game.txt")
    return str(caught.value).splitlines()


def test_the_winner_of_the_first_list_of_moves_is_red_at_move_22_with_two_fours() -> None:
    board = connect_four.parse(GAME, "game.txt")
    answer = connect_four.solve(board, SolveMode.FIRST, SearchRuntime())
    assert (answer.details["winner"], answer.details["ply"], answer.details["fours"]) == ("Red", 22, 2)
    assert answer.details["four"] == "C1-D2-E3-F4 and D4-E3-F2-G1"
    assert connect_four.describe(board) == "22 discs, Red won with C1-D2-E3-F4 and D4-E3-F2-G1"
    assert board.first is Colour.YELLOW
    assert list(answer.solutions) == [(End.RED,)]
    assert connect_four.render(board) == connect_four.BOARDS["game"]


@pytest.mark.parametrize(
    "text",
    [
        GAME.replace(", ", "\n"),
        GAME.replace(",", ""),
        GAME.replace(", ", " ; ").lower(),
        "[" + ", ".join(repr(move) for move in GAME.replace("\n", ", ").split(", ")) + "]",
    ],
)
def test_a_list_of_moves_is_written_in_several_ways(text: str) -> None:
    assert connect_four.parse(text, "mine") == connect_four.parse(GAME, "game.txt")


def test_digits_are_columns_and_red_begins_unless_the_rule_says_otherwise() -> None:
    board = connect_four.parse("4453\n", "mine")
    assert connect_four.render(board) == ".......\n.......\n.......\n.......\n...Y...\n..YRR..\nMoves 4453\n"
    assert connect_four.parse("4, 4, 5, 3", "mine") == connect_four.parse("[4, 4,\n5, 3]", "mine") == board
    other = connect_four.with_rules(board, {"first": "Yellow"})
    assert other == connect_four.parse("D_Yellow D_Red E_Yellow C_Red", "mine")
    assert connect_four.parse(connect_four.render(other), "mine") == other
    with pytest.raises(InvalidOption, match="Yellow moved first"):
        connect_four.with_rules(connect_four.parse("D_Yellow", "mine"), {"first": "Red"})
    with pytest.raises(UnknownName, match="'Green'"):
        connect_four.with_rules(board, {"first": "Green"})


GRID = """
.......
.......
.......
.......
...Y...
..YRR..
"""


@pytest.mark.parametrize(
    "text",
    [
        GRID,
        GRID.replace(".", "_").lower(),
        "\n".join("|" + "|".join(row) + "|" for row in GRID.split()) + "\n+-+-+-+-+-+-+-+\n 1 2 3 4 5 6 7\n",
        GRID.replace(".", "⚪").replace("R", "🔴").replace("Y", "🟡"),
        GRID.replace("R", "x").replace("Y", "O") + "a b c d e f g",
        GRID + "Red to move\n",
    ],
)
def test_a_grid_is_drawn_in_several_ways(text: str) -> None:
    board = connect_four.parse(text, "mine")
    assert "\n".join(board.rows) == GRID.strip()
    assert board.turn is Colour.RED


def test_a_grid_may_name_the_side_to_move_and_the_moves() -> None:
    board = connect_four.parse(GRID + "Yellow to move", "mine")
    assert (board.turn, board.first, board.moves) == (Colour.YELLOW, Colour.YELLOW, ())
    assert connect_four.render(board) == GRID.lstrip() + "Yellow to move\n"
    assert connect_four.with_rules(connect_four.parse(GRID, "mine"), {"first": "yellow"}) == board
    assert connect_four.parse(GRID + "Moves 4453", "mine") == connect_four.parse("4453", "mine")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("4444444", "game.txt:1:7: column D (4) is full; a column has room for 6 discs"),
        ("[]", "game.txt:1:1: there is no position here"),
        ("4453x", "game.txt:1:5: there is no column 'x'; the columns are 1 to 7"),
        ("4,4,5,3,-1", "game.txt:1:9: there is no column '-'; the columns are 1 to 7"),
        ("44\n8", "game.txt:2:1: there is no column '8'; the columns are 1 to 7"),
        ("F_Yellow, H_Red", "game.txt:1:11: there is no column 'H'; the columns are A to G"),
        ("F_Yellow\nG_Green", "game.txt:2:3: 'Green' is not a colour of this game; the colours are Red and Yellow"),
        ("F_Yellow G_Yellow", "game.txt:1:10: Yellow moves twice; it is the turn of Red"),
        ("F_Yellow G", "game.txt:1:10: 'G' is not a move; a move is a column and a colour, such as F_Yellow"),
        (
            "D_Red E_Yellow D_Red E_Yellow D_Red E_Yellow\nD_Red E_Yellow G_Red",
            "game.txt:2:7: this is played after the end, as Red had won with move 7: D1-D2-D3-D4; end the list there",
        ),
        ("...\n...", "game.txt:1:3: this row has 3 squares; a row has 7"),
        (".......\n" * 5, "game.txt:1:1: the grid has 5 rows; draw 6 rows"),
        (
            GRID.replace("..YRR..", "..YY..."),
            "game.txt:2:1: there are 0 red and 3 yellow discs",
        ),
        (
            GRID.replace("..YRR..", "..Y.RR."),
            "game.txt:6:4: this disc of column D has no disc below it; a disc falls down to the lowest empty square of"
            " its column",
        ),
        (GRID.replace("Y...", "Q..."), "game.txt:6:4: 'Q' is not part of a grid"),
        (GRID.replace("..YRR..", "YYYYRRR"), "game.txt:2:1: there are 3 red and 5 yellow discs"),
        (
            GRID.replace("...Y...\n..YRR..", "RRRR...\nYYYYR.."),
            "game.txt:2:1: both colours have four in a row; the game ends with the first four",
        ),
        (
            GRID.replace("...Y...\n..YRR..", "YYY....\nRRRR.YY"),
            "game.txt:2:1: Red has four in a row, and Yellow moved after that; the game ends with the first four",
        ),
        (GRID + "Moves 4435", "game.txt:8:7: the 4 moves do not lead to this grid"),
        (GRID + "Moves 44\nMoves 53", "game.txt:9:1: row 8 already has the moves; write the whole game in one row"),
        (GRID + "Moves 449", "game.txt:8:9: there is no column '9'"),
        (GRID + "R......\n", "game.txt:2:1: the grid has 7 rows; draw 6 rows"),
        (GRID.replace("R..\n", "...\n") + "Yellow to move", "game.txt:8:1: Yellow does not move next"),
    ],
)
def test_an_impossible_position_is_reported_with_its_place(text: str, wrong: str) -> None:
    assert any(problem.startswith(wrong) for problem in problems(text)), problems(text)


def test_every_problem_of_a_move_list_is_reported() -> None:
    assert [problem.split(";")[0] for problem in problems("H_Red X\nA_Blue\nB_Red B_Red")] == [
        "game.txt:1:1: there is no column 'H'",
        "game.txt:1:7: 'X' is not a move",
        "game.txt:2:3: 'Blue' is not a colour of this game",
        "game.txt:3:7: Red moves twice",
    ]


def test_two_fours_that_one_disc_cannot_have_made_are_refused() -> None:
    grid = ".......\n.......\nR......\nRYY...R\nRYY...R\nRYY.YRR\n"  # a column of Red, and nothing else
    assert connect_four.describe(connect_four.parse(grid, "mine")) == "15 discs, Red won with A1-A2-A3-A4"
    apart = ".......\n.......\nR.....R\nRYY...R\nRYYY..R\nRYYY..R\n"
    assert problems(apart) == [
        "game.txt:1:1: Red has more fours in a row than one last disc can make; the game ends with the first four"
    ]


def read_or_refused(text: str) -> None:
    try:
        board = connect_four.parse(text, "mine")
    except ConfigError as error:
        places = [(problem.line, problem.column) for problem in error.problems]
    else:
        assert connect_four.parse(connect_four.render(board), "mine") == board
        places = [(1, 1)]
    assert places
    assert min(min(place) for place in places) >= 1


@given(st.text())
def test_any_text_is_read_or_rejected(text: str) -> None:
    read_or_refused(text)


@given(st.text(alphabet="RYXO._1234567ABG| \nedYllow,tomv"))
def test_any_text_like_a_position_is_read_or_rejected(text: str) -> None:
    read_or_refused(text)


def random_game(seed: int, discs: int) -> Board:
    """Return a random game, played to its end or to `discs` discs."""
    chance = random.Random(seed)
    board, columns = connect_four.parse(".......\n" * 6, "mine"), []
    while len(columns) < discs and not list(find_fours(board.rows)):
        column = chance.choice([column for column in range(1, 8) if board.height(column) < 6])
        board = board.play(column)
        columns.append(column)
    return Board(board.rows, board.turn, tuple(columns))


@given(st.integers(0, 10**9), st.integers(0, 42), st.booleans())
def test_any_game_is_read_back_from_its_drawing_and_from_its_moves(seed: int, discs: int, known: bool) -> None:
    board = random_game(seed, discs)
    if not known:
        board = Board(board.rows, board.turn)
    assert connect_four.parse(connect_four.render(board), "mine") == board
    assert connect_four.parse("".join(map(str, board.moves)) or ".......\n" * 6, "mine").moves == board.moves


def test_the_winner_is_the_one_of_the_original_on_random_games() -> None:
    """The original method: after each move, check every window of a board with a margin."""
    ends = set()
    for seed in range(repetitions(300)):
        board = random_game(seed, 42)
        names = [f"{'ABCDEFG'[column - 1]}_{('Red', 'Yellow')[at % 2]}" for at, column in enumerate(board.moves)]
        (end,) = next(
            connect_four.solve(connect_four.parse(" ".join(names), "mine"), SolveMode.FIRST, SearchRuntime()).solutions
        )
        assert end.value.split()[0].casefold() == original(names).casefold()
        ends.add(end)
    assert len(ends) >= 2


def original(moves: list[str]) -> str:
    board = [[""] * 10 for _ in range(9)]
    for move in moves:
        column, colour = "ABCDEFG".index(move[0]), move[2:]
        next(row for row in board if not row[column])[column] = colour
        for i in range(6):
            for j in range(7):
                for right, up, from_row in ((1, 0, i), (0, 1, i), (1, 1, i), (1, -1, i + 3)):
                    if all(board[from_row + up * step][j + right * step] == colour for step in range(4)):
                        return colour
    return "draw"


def test_the_picture_rings_the_fours_and_marks_the_last_disc() -> None:
    board = connect_four.parse(GAME, "game.txt")
    root = ElementTree.fromstring(connect_four.render_svg(board))  # noqa: S314 - our own text
    rings = [item for item in root.iter() if item.get("class") == "four-ring"]
    assert len(rings) == 7, "two fours that share a disc"
    *_, before, last = connect_four.steps(board, (End.RED,))
    assert 'class="four-last"' in before.svg
    assert 'class="four-ring"' not in before.svg
    assert last.caption == "22. Red E3: Red wins"
    assert last.svg == connect_four.render_svg(board)
