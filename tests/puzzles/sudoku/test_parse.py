"""Reading sudokus: notations, reported parse_problems, and drawings read back."""

import contextlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pi_appliance.errors import ConfigError
from pi_appliance.puzzles import sudoku
from pi_appliance.puzzles.sudoku.board import BOXES, SYMBOLS
from tests.puzzles.sudoku.grids import UNIQUE

GRID, SOLUTION = list(UNIQUE.items())[2]
CLUE = next(at for at, symbol in enumerate(GRID) if symbol != ".")
WRONG = "1" if GRID[CLUE] == "2" else "2"
CONTRADICTION = SOLUTION[:CLUE] + WRONG + SOLUTION[CLUE + 1 :]
ROWS = [GRID[start : start + 9] for start in range(0, 81, 9)]
SIMPLE_SUDOKU = "\n".join(
    ["*-----------*"]
    + [
        "|" + "|".join(row[n : n + 3] for n in (0, 3, 6)) + "|" + "\n|---+---+---|" * (number in (2, 5))
        for number, row in enumerate(ROWS)
    ]
    + ["*-----------*"]
)


def parse_problems(text: str) -> list[str]:
    with pytest.raises(ConfigError) as error:
        sudoku.parse(text, "f")
    return [str(problem) for problem in error.value.problems]


@pytest.mark.parametrize(
    "text",
    [
        GRID,
        f"\n\n  {GRID}  \n",
        GRID.replace(".", "0"),
        GRID.replace(".", "*"),
        GRID.replace(".", "_") + "\r\n",
        f"# the escargot\n[Puzzle]\n{GRID} # by Arto Inkala",
        "\n".join(ROWS),
        "\n\n".join(ROWS),
        "\n".join(" ".join(row) for row in ROWS),
        "\n".join("|".join(row) for row in ROWS),
        "\n".join(",".join(row.replace(".", "0")) for row in ROWS),
        SIMPLE_SUDOKU,
        "+---+---+---+\n" + "\n".join(ROWS) + "\n+===+===+===+",
        f"id,puzzle,clues,difficulty\n7,{GRID},23,8.5",
        f'"{GRID}"',
        " ".join(ROWS),
        ",".join(GRID.replace(".", "0")),
        "\n".join(row.replace(".", " ") for row in ROWS),
        "\r\n".join(row.replace(".", " ").rstrip() for row in ROWS) + "\r\n\r\n",
        "\n".join("|" + "|".join(row.replace(".", " ")) + "|" for row in ROWS),
        "\n".join("| " + " | ".join(row.replace(".", " ")) + " |" for row in ROWS),
        "\n".join(",".join(row).replace(".", "") for row in ROWS),
        "[" + ",\n".join(str([int(mark) for mark in row.replace(".", "0")]) for row in ROWS) + "]",
        str([[int(mark) for mark in row.replace(".", "0")] for row in ROWS]),
        "┌───┬───┬───┐\n"
        + "\n".join(f"│{row[:3]}│{row[3:6]}│{row[6:]}│".replace(".", "·") for row in ROWS)
        + "\n└───┴───┴───┘",
    ],
)
def test_one_grid_is_read_in_many_notations(text: str) -> None:
    assert sudoku.parse(text, "f") == sudoku.Board((GRID,))


def test_a_table_with_solutions_is_read() -> None:
    first = next(iter(UNIQUE))
    board = sudoku.parse(f"puzzle,solution\n{GRID},{SOLUTION}\n{first},{UNIQUE[first]}\n{GRID}\n", "f")
    assert board.grids == (GRID, first.replace("0", "."), GRID)
    assert board.known_solutions == (SOLUTION, UNIQUE[first], "")
    assert sudoku.parse(sudoku.render(board), "f") == board


def test_drawn_grids_below_each_other_are_read() -> None:
    assert sudoku.parse("\n".join([*ROWS, "", *ROWS, *ROWS]) + f"\n{GRID}", "f").grids == (GRID,) * 4


def test_listed_solutions_can_be_read_as_grids() -> None:
    board = sudoku.parse(f"{GRID}\n{GRID}", "f")
    line = sudoku.notate(board, sudoku.Solution(2, SOLUTION))
    assert line == f"{SOLUTION} # 2"
    assert sudoku.parse(line, "f").grids == (SOLUTION,)
    assert sudoku.parse_solution(board, line, "f") == (2, SOLUTION)


@pytest.mark.parametrize("size", BOXES)
def test_every_size_is_drawn_and_read_back(size: int) -> None:
    grid = (SYMBOLS[:size] + "." * size) * size
    board = sudoku.Board((grid[: size * size],), size)
    assert sudoku.parse(sudoku.render(board), "f") == board
    two = sudoku.Board(board.grids * 2, size)
    assert sudoku.parse(sudoku.render(two), "f") == two
    assert "\n\n" not in sudoku.render(board)


def test_large_grids_are_read_as_numbers_or_letters() -> None:
    row = "10 11 12 . 1 0 * _ 2 3 4 9"
    board = sudoku.parse("\n".join([row] * 12), "f")
    assert (board.size, board.grids[0][:12]) == (12, "ABC.1...2349")
    assert sudoku.parse("\n".join(["abc.10*_2349"] * 12), "f") == board


def test_sixteen_rows_of_sixteen_cells_are_one_grid() -> None:
    assert sudoku.parse("\n".join(["1234............"] * 3), "f").size == 4
    assert sudoku.parse("\n".join(["G234............"] * 16), "f").size == 16
    assert sudoku.parse("\n".join(["................"] * 16), "f").size == 16


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (
            "",
            ["f:1:1: no grid is drawn here; a grid is 81 digits in one line, or 9 rows of 9, with 0"],
        ),
        (GRID[:80], ["f:1:1: this row has 80 cells; a grid is 81 digits in one line"]),
        (
            GRID[:40] + "x" + GRID[41:],
            ["f:1:41: 'x' is not a symbol of a 9x9 grid; use 1 to 9, and 0 . * or _ for an empty"],
        ),
        ("\n" + GRID + "\n  " + GRID[:5] + "A" + GRID[6:], ["f:3:8: 'A' is not a symbol of a 9x9 grid"]),
        ("\n".join([*ROWS[:4], "12345678", *ROWS[5:]]), ["f:5:8: this row has 8 cells; the rows above it have 9"]),
        (
            "\n".join([*ROWS[:4], "1234567890", *ROWS[5:]]),
            ["f:5:10: this row has 10 cells; the rows above it have 9"],
        ),
        ("\n".join([*ROWS[:4], "1.. | ..? | ...", *ROWS[5:]]), ["f:5:9: '?' is not a symbol of a 9x9 grid"]),
        (
            "\n".join(ROWS[:7]),
            ["f:1:1: the grid that begins here has 7 rows of 9 cells; draw the 2 that are missing"],
        ),
        (
            f"{GRID}\n" + "12341234........",
            ["f:2:1: this grid is 4x4; the one in line 1 is 9x9: give each size its own"],
        ),
        (f"{GRID}\n123456789\n{GRID}\n{GRID}", ["f:2:1: the grid that begins here has 1 row of 9 cells"]),
        (f"{GRID}\r\n{GRID[:-1]}\r\n{GRID}\r\n{GRID}1\r\n", ["f:2:1: this row has 80 ce", "f:4:1: this row has 82 ce"]),
        (f"{GRID},{SOLUTION[:-1]}", ["f:1:83: this solution has 80 cells, and its grid 81"]),
        (f"{GRID}\n{GRID};{SOLUTION[:-1]}x", ["f:2:163: 'x' is not a cell of a solution; use 1 to 9"]),
        (f"{GRID},{GRID}", [f"f:1:{83 + GRID.index('.')}: '.' is not a cell of a solution"]),
        (f"{GRID} {CONTRADICTION}", [f"f:1:{83 + CLUE}: the solution says {WRONG} here, but the clue is {GRID[CLUE]}"]),
        (f"x{GRID[1:]}\n{GRID}\n{GRID[:-1]}?", ["f:1:1: 'x' is not a symbol", "f:3:81: '?' is not a symbol"]),
    ],
)
def test_problems_are_reported_with_line_and_column(text: str, wrong: list[str]) -> None:
    result = parse_problems(text)
    assert len(result) == len(wrong)
    assert all(one.startswith(begins) for one, begins in zip(result, wrong, strict=True)), result


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", "1:1"),
        (SOLUTION[:-1], "1:81"),
        (SOLUTION[:3] + "0" + SOLUTION[4:], "1:4"),
        (SOLUTION + " # 3", "1:83"),
        (SOLUTION + "7", "1:82"),
        ("  " + SOLUTION[:3] + "x" + SOLUTION[4:], "1:6"),
        ("\t" + SOLUTION[:-1], "1:82"),
    ],
)
def test_an_invalid_solution_is_reported_with_its_column(text: str, where: str) -> None:
    with pytest.raises(ConfigError, match=f"f:{where}: "):
        sudoku.parse_solution(sudoku.parse(f"{GRID}\n{GRID}", "f"), text, "f")


def test_a_solution_without_number_is_matched_by_its_clues() -> None:
    grids = [grid.replace("0", ".") for grid in UNIQUE]
    board = sudoku.parse("\n".join(grids), "f")
    for number, grid in enumerate(UNIQUE, 1):
        assert sudoku.parse_solution(board, UNIQUE[grid], "f") == (number, UNIQUE[grid])


@pytest.mark.parametrize("name", sudoku.BOARDS)
def test_known_boards_are_drawn_as_they_are_read(name: str) -> None:
    board = sudoku.parse(sudoku.BOARDS[name], name)
    assert sudoku.render(board) == sudoku.BOARDS[name]
    assert sudoku.describe(board).endswith("in 9x9 cells")


@example("1234\n,")
@given(st.text() | st.text(alphabet="123456789.0*_|-+ \n\t,#[]AGz", max_size=400))
def test_any_text_is_a_board_or_a_reported_problem(text: str) -> None:
    try:
        board = sudoku.parse(text, "f")
    except ConfigError as error:
        places = [(problem.line, problem.column) for problem in error.problems]
    else:
        places = [(1, 1)]
        assert all(len(grid) == board.size**2 for grid in board.grids)
        assert sudoku.parse(sudoku.render(board), "f") == board
    assert places
    assert all(1 <= line <= len(text.split("\n")) and column >= 1 for line, column in places)


@given(st.text() | st.text(alphabet="123456789# \n", max_size=120))
def test_any_text_is_a_solution_or_a_reported_problem(text: str) -> None:
    with contextlib.suppress(ConfigError):
        assert len(sudoku.parse_solution(sudoku.parse(GRID, "f"), text, "f").digits) == 81


@given(st.lists(st.sampled_from(list(UNIQUE)), min_size=1, max_size=3))
def test_a_listing_is_read_back(grids: list[str]) -> None:
    board = sudoku.parse("\n".join(grids), "f")
    lines = [sudoku.Solution(number, UNIQUE[grid]) for number, grid in enumerate(grids, 1)]
    listing = "Starting Board\n" + sudoku.render(board) + "\n"
    for line in lines:
        listing += f"Start Solution\n{sudoku.render_solution(board, line)}\nEnd Solution\n\n"
    assert sudoku.parse_listing(listing, "f", lambda *_: None) == [(board, lines)]


PLAIN_LINE = st.tuples(
    st.sampled_from(["", " ", "\t"]),
    st.sampled_from(list(UNIQUE.items())),
    st.sampled_from([".", "0", "*", "_"]),
    st.sampled_from(["{grid}", "{grid},{solution}", "{grid} {solution}", "{grid} ; {solution}\t", "", "{grid}# 17"]),
    st.sampled_from(["", "  ", "\r", " # a comment; 1, 2"]),
)
UNUSUAL = "+-------+-------+\n"  # a ruled line, which has no meaning here


@given(
    st.lists(PLAIN_LINE, min_size=1, max_size=12),
    st.sampled_from(["", "puzzle,solution\n", "quizzes,solutions\r\n", "grid,solution\n"]),
    st.sampled_from(["", "\n", "\n\n"]),
)
def test_a_plain_file_is_read_as_the_same_file_with_an_unusual_line(
    lines: list[tuple[str, tuple[str, str], str, str, str]], header: str, end: str
) -> None:
    texts = []
    for indent, (grid, solution), empty, form, after in lines:
        words = form.format(grid=grid.replace("0", ".").replace(".", empty), solution=solution)
        texts.append(f"{indent}{words}{after}")
    text = header + "\n".join(texts) + end
    if any("{grid}" in form for *_, form, _ in lines):
        board = sudoku.parse(text, "f")
        assert board == sudoku.parse(f"{text}\n{UNUSUAL}", "f")
        assert len(board.grids) == sum("{grid}" in form for *_, form, _ in lines)
    else:
        assert parse_problems(text) == parse_problems(text + UNUSUAL)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (GRID[:-1], "f:500:1: this row has 80 cells"),
        (GRID[:40] + "x" + GRID[41:], "f:500:41: 'x' is not a symbol"),
        (f"{GRID},{CONTRADICTION}", f"f:500:{83 + CLUE}: the solution says {WRONG} here"),
        (f"{GRID},{SOLUTION[:-1]}", "f:500:83: this solution has 80 cells"),
    ],
)
def test_a_mistake_among_many_plain_lines_has_its_place(line: str, problem: str) -> None:
    (only_problem,) = parse_problems(f"{GRID},{SOLUTION}\n" * 499 + f"{line}\n" + f"{GRID},{SOLUTION}\n" * 500)
    assert only_problem.startswith(problem)
