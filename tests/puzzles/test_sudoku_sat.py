"""Sudoku: grids of other sizes than 9x9, by the library for them, and without it."""

import subprocess
import sys
from itertools import islice

import pytest

from pi_appliance.errors import Refused
from pi_appliance.puzzles import Proof, SolveMode, sudoku
from pi_appliance.puzzles.runtime.interface import Interrupted, SerialRuntime
from pi_appliance.puzzles.sudoku.sat import MISSING_LIBRARY, SatLimitReached, SatSearch
from tests.puzzles.sudokus import Stops

SIZES = [4, 6, 8, 10, 12, 16]


def empty(size: int) -> sudoku.Board:
    return sudoku.Board(("." * size * size,), size)


def plain_count(grid: str, wide: int, high: int) -> int:
    size = wide * high
    at = grid.find(".")
    if at < 0:
        return 1
    row, column = divmod(at, size)
    seen = {
        mark
        for n, mark in enumerate(grid)
        if n // size == row
        or n % size == column
        or (n // size // high == row // high and n % size // wide == column // wide)
    }
    return sum(plain_count(grid[:at] + d + grid[at + 1 :], wide, high) for d in "123456"[:size] if d not in seen)


def test_all_grids_of_four() -> None:
    answer = sudoku.solve(empty(4), SolveMode.ALL, SerialRuntime())
    lines = list(answer.solutions)
    assert len(set(lines)) == answer.count == 288 == plain_count("." * 16, 2, 2)
    assert all(sudoku.check(empty(4), line) for line in lines)
    assert sudoku.solve(empty(4), SolveMode.COUNT, SerialRuntime()).count == 288


def test_counts_of_six_agree_with_a_plain_count() -> None:
    for seed in range(4):
        full = str(sudoku.generate(seed, empty(6), SerialRuntime()).details["solution"])
        grid = full[:12] + "." * 24
        assert sudoku.solve(sudoku.parse(grid, "f"), SolveMode.COUNT, SerialRuntime()).count == plain_count(grid, 3, 2)


@pytest.mark.parametrize("size", SIZES)
def test_every_size_is_made_and_solved(size: int) -> None:
    came = sudoku.generate(5, empty(size), SerialRuntime())
    answer = sudoku.solve(came.board, SolveMode.ALL, SerialRuntime())
    line = next(answer.solutions)
    assert (answer.count, line.digits, answer.details["minimal"]) == (1, came.details["solution"], "yes")
    assert sudoku.check(came.board, line)
    assert answer.details["kernel"] == "sat"
    if size < 16:
        assert list(sudoku.steps(came.board, line))[-1].svg


def test_the_largest_is_solved() -> None:
    lines = list(islice(sudoku.solve(empty(25), SolveMode.FIRST, SerialRuntime()).solutions, 1))
    assert sudoku.check(empty(25), lines[0])


def test_the_largest_is_made_in_some_seconds_and_says_what_nobody_knows() -> None:
    made = sudoku.generate(5, sudoku.with_rules(empty(25), {"clues": "300"}), SerialRuntime())
    grid, solution = made.board.grids[0], str(made.details["solution"])
    assert (made.details["clues"], 625 - grid.count(".")) == (300, 300)
    assert sudoku.check(made.board, sudoku.Solution(1, solution))
    sat = SatSearch(grid, 25, SerialRuntime())
    sat.forbid(solution)
    assert sat.solve() is None, "there is no other solution"
    assert made.details["minimal"] in {"no", "not known"}


def test_a_question_that_is_too_hard_is_given_up() -> None:
    sat = SatSearch("." * 625, 25, SerialRuntime())
    with pytest.raises(SatLimitReached):
        sat.solve(effort=100)
    assert sat.solve(effort=10**9)


def test_the_counts_of_many_of_another_size_are_added_up() -> None:
    board = sudoku.Board(("." * 16, "12" + "." * 8 + "4" + "." * 5, "1234" + "." * 12), 4)
    counts = [plain_count(grid, 2, 2) for grid in board.grids]
    assert min(counts) > 1
    assert sudoku.solve(board, SolveMode.COUNT, SerialRuntime()).count == sum(counts)
    assert sudoku.solve(sudoku.with_rules(board, {"count-to": "20"}), SolveMode.COUNT, SerialRuntime()).count is None


def test_what_has_no_solution_has_none() -> None:
    came = sudoku.generate(5, empty(12), SerialRuntime())
    grid = came.board.grids[0]
    solution = str(came.details["solution"])
    at = grid.index(".")
    seen = {grid[n] for n in range(144) if n // 12 == at // 12 or n % 12 == at % 12}
    wrong = next(mark for mark in "123456789ABC" if mark not in seen and mark != solution[at])
    answer = sudoku.solve(sudoku.Board((grid[:at] + wrong + grid[at + 1 :],), 12), SolveMode.ALL, SerialRuntime())
    assert (answer.count, list(answer.solutions)) == (0, [])
    assert answer.proof in {Proof.EXHAUSTION, Proof.CONTRADICTION}
    clash = sudoku.solve(sudoku.Board(("1" + "." * 10 + "1" + "." * 132,), 12), SolveMode.ALL, SerialRuntime())
    assert "r1c1 and r1c12 are both 1, in row 1" in clash.reason


def test_many_of_another_size() -> None:
    grids = [sudoku.generate(seed, empty(6), SerialRuntime()).board.grids[0] for seed in range(4)]
    board = sudoku.Board((*grids, "." * 36, "11" + "." * 34), 6)
    answer = sudoku.solve(board, SolveMode.ALL, SerialRuntime())
    lines = list(answer.solutions)
    assert [line.grid for line in lines] == [1, 2, 3, 4, 5]
    assert all(sudoku.check(board, line) for line in lines)
    assert [answer.details[name] for name in ("unique", "several", "none")] == [4, 1, 1]


def test_an_end_is_heard() -> None:
    with pytest.raises(Interrupted) as end:
        sudoku.solve(empty(6), SolveMode.COUNT, Stops(after=400))
    assert "counted" in end.value.partial_result


def test_without_the_library_it_says_which_extra_to_install() -> None:
    script = (
        "import sys; sys.modules['pysat'] = sys.modules['pysat.solvers'] = None\n"
        "from pi_appliance.puzzles import SerialRuntime, SolveMode, sudoku\n"
        "print(sudoku.solve(sudoku.parse('.' * 81, 'f'), SolveMode.FIRST, SerialRuntime()).details['verdict'])\n"
        "try:\n    sudoku.solve(sudoku.parse('.' * 16, 'f'), SolveMode.FIRST, SerialRuntime())\n"
        "except Exception as error:\n    print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines() == ["several", f"{Refused.__name__} {MISSING_LIBRARY}"]
