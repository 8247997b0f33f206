"""The check of sudoku solutions."""

import random
from itertools import islice

import pytest

from pi_appliance.puzzles import SolveMode, sudoku
from pi_appliance.puzzles.runtime import SearchRuntime
from pi_appliance.puzzles.sudoku.board import BOXES
from tests.examples import repetitions
from tests.puzzles.sudoku.grids import SEVERAL, UNIQUE

MUTATIONS = repetitions(12_000)


def is_correct(grid: str, digits: str, size: int = 9) -> bool:
    """Check by sets whether `digits` fill `grid`, independently of the tested code."""
    wide, high = BOXES[size]
    visited = set()
    for at, mark in enumerate(digits):
        row, column = divmod(at, size)
        visited |= {("row", row, mark), ("column", column, mark), ("box", row // high, column // wide, mark)}
    known = set("123456789ABCDEFG"[:size])
    is_kept = all(clue in (".", mark) for clue, mark in zip(grid, digits, strict=False))
    return len(digits) == size * size and set(digits) <= known and len(visited) == 3 * size * size and is_kept


def mutate(digits: str, rng: random.Random) -> str:
    """Return `digits` with a random change."""
    at, other = rng.sample(range(81), 2)
    row, row_too = 9 * rng.randrange(9), 9 * rng.randrange(9)
    one, two = rng.sample("123456789", 2)
    marks = list(digits)
    match rng.randrange(7):
        case 0:
            marks[at] = rng.choice("123456789")
        case 1:
            marks[at], marks[other] = marks[other], marks[at]
        case 2:
            marks[row : row + 9], marks[row_too : row_too + 9] = marks[row_too : row_too + 9], marks[row : row + 9]
        case 3:
            return digits.translate(str.maketrans(one + two, two + one))
        case 4:
            marks[at] = rng.choice("0. Ax٣")
        case 5:
            del marks[at]
        case _:
            marks[0::9], marks[1::9] = marks[1::9], marks[0::9]
    return "".join(marks)


@pytest.mark.parametrize("few_clues", [True, False])
def test_mutated_solutions_are_judged_like_an_independent_check(few_clues: bool) -> None:
    rng = random.Random(17)
    grids = [(grid, digits) for grid, digits in UNIQUE.items()]
    for grid in SEVERAL:
        lines = sudoku.solve(sudoku.parse(grid, "f"), SolveMode.ALL, SearchRuntime()).solutions
        grids += [(grid, line.digits) for line in islice(lines, 20)]
    if few_clues:  # without clues, many mutations of rows and digits are correct
        grids = [("." * 81, digits) for _, digits in grids]
    accepted = 0
    for _ in range(MUTATIONS // 2):
        grid, digits = rng.choice(grids)
        board = sudoku.parse(grid, "f")
        assert sudoku.check(board, sudoku.Solution(1, digits))
        wrong = mutate(digits, rng)
        checked = sudoku.check(board, sudoku.Solution(1, wrong))
        assert bool(checked) == is_correct(board.grids[0], wrong), (grid, wrong, checked)
        assert checked or checked.error
        accepted += bool(checked)
    assert 0 < accepted < MUTATIONS // 3


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (lambda digits: digits[:80], "it has 80 cells, the grid has 81"),
        (lambda digits: "7" + digits[1:], "row 1, column 1: it says 7, but the clue there is 1"),
        (lambda digits: digits[0] + "x" + digits[2:], "row 1, column 2: 'x' is not from 1 to 9"),
        (lambda digits: digits[0] + digits[2] + digits[2:], "row 1: 2 stands there 2 times"),
    ],
)
def test_the_error_names_the_wrong_cell_or_unit(change: object, wrong: str) -> None:
    grid, digits = list(UNIQUE.items())[2]
    assert callable(change)
    assert sudoku.check(sudoku.parse(grid, "f"), sudoku.Solution(1, change(digits))).error == wrong


def test_a_solution_of_another_grid_is_rejected() -> None:
    (one, digits), (other, _) = islice(UNIQUE.items(), 2)
    board = sudoku.parse(f"{one}\n{other}", "f")
    assert sudoku.check(board, sudoku.Solution(1, digits))
    assert not sudoku.check(board, sudoku.Solution(2, digits))
    assert sudoku.check(board, sudoku.Solution(3, digits)).error == "there is no grid 3: there are 2"
    assert not sudoku.check(board, sudoku.Solution(0, digits))


def test_columns_and_boxes_are_checked() -> None:
    board = sudoku.parse("." * 81, "f")
    rows = "123456789" * 9
    assert sudoku.check(board, sudoku.Solution(1, rows)).error == "column 1: 1 stands there 9 times"
    latin = "".join("123456789"[(row + column) % 9] for row in range(9) for column in range(9))
    assert sudoku.check(board, sudoku.Solution(1, latin)).error.startswith("box 1: 2 stands there 2 times")
