"""Sudokus that are not 9x9, with and without the SAT library."""

import subprocess
import sys
from itertools import islice

import pytest

from pi_appliance.errors import Refused
from pi_appliance.puzzles import Proof, SolveMode, sudoku
from pi_appliance.puzzles.deductions import SearchLimitReached
from pi_appliance.puzzles.runtime import Interrupted, SearchRuntime
from pi_appliance.puzzles.sudoku.sat import MISSING_LIBRARY, SatSearch
from tests.puzzles.sudoku.grids import InterruptingRuntime

pytestmark = pytest.mark.usefixtures("sat_library")
SIZES = [4, 6, 8, 10, 12, 16]


def empty_board(size: int) -> sudoku.Board:
    return sudoku.Board(("." * size * size,), size)


def count_by_brute_force(grid: str, wide: int, high: int) -> int:
    size = wide * high
    at = grid.find(".")
    if at < 0:
        return 1
    row, column = divmod(at, size)
    used_digits = {
        mark
        for n, mark in enumerate(grid)
        if n // size == row
        or n % size == column
        or (n // size // high == row // high and n % size // wide == column // wide)
    }
    return sum(
        count_by_brute_force(grid[:at] + d + grid[at + 1 :], wide, high)
        for d in "123456"[:size]
        if d not in used_digits
    )


def test_all_grids_of_4x4_are_counted() -> None:
    answer = sudoku.solve(empty_board(4), SolveMode.ALL, SearchRuntime())
    lines = list(answer.solutions)
    assert len(set(lines)) == answer.count == 288 == count_by_brute_force("." * 16, 2, 2)
    assert all(sudoku.check(empty_board(4), line) for line in lines)
    assert sudoku.solve(empty_board(4), SolveMode.COUNT, SearchRuntime()).count == 288


def test_counts_of_6x6_agree_with_brute_force() -> None:
    for seed in range(4):
        full = str(sudoku.generate(seed, empty_board(6), SearchRuntime()).details["solution"])
        grid = full[:12] + "." * 24
        assert sudoku.solve(sudoku.parse(grid, "f"), SolveMode.COUNT, SearchRuntime()).count == count_by_brute_force(
            grid, 3, 2
        )


@pytest.mark.slow_variants
@pytest.mark.parametrize("size", SIZES)
def test_every_size_is_generated_and_solved(size: int) -> None:
    generated = sudoku.generate(5, empty_board(size), SearchRuntime())
    answer = sudoku.solve(generated.board, SolveMode.ALL, SearchRuntime())
    line = next(answer.solutions)
    assert (answer.count, line.digits, answer.details["minimal"]) == (1, generated.details["solution"], "yes")
    assert sudoku.check(generated.board, line)
    assert answer.details["kernel"] == "sat"
    if size < 16:
        assert list(sudoku.steps(generated.board, line))[-1].svg


def test_the_largest_size_is_solved() -> None:
    lines = list(islice(sudoku.solve(empty_board(25), SolveMode.FIRST, SearchRuntime()).solutions, 1))
    assert sudoku.check(empty_board(25), lines[0])


@pytest.mark.slow
def test_the_largest_size_is_generated_with_unknown_minimality() -> None:
    generated = sudoku.generate(5, sudoku.with_rules(empty_board(25), {"clues": "300"}), SearchRuntime())
    grid, solution = generated.board.grids[0], str(generated.details["solution"])
    assert (generated.details["clues"], 625 - grid.count(".")) == (300, 300)
    assert sudoku.check(generated.board, sudoku.Solution(1, solution))
    sat = SatSearch(grid, 25, SearchRuntime())
    sat.forbid(solution)
    assert sat.solve() is None, "there is no other solution"
    assert generated.details["minimal"] in {"no", "not known"}


def test_a_query_ends_at_its_effort_limit() -> None:
    sat = SatSearch("." * 625, 25, SearchRuntime())
    with pytest.raises(SearchLimitReached):
        sat.solve(effort=100)
    assert sat.solve(effort=10**9)


def test_counts_of_many_grids_are_added_up() -> None:
    board = sudoku.Board(("." * 16, "12" + "." * 8 + "4" + "." * 5, "1234" + "." * 12), 4)
    counts = [count_by_brute_force(grid, 2, 2) for grid in board.grids]
    assert min(counts) > 1
    assert sudoku.solve(board, SolveMode.COUNT, SearchRuntime()).count == sum(counts)
    assert sudoku.solve(sudoku.with_rules(board, {"count-to": "20"}), SolveMode.COUNT, SearchRuntime()).count is None


def test_a_grid_without_solution_is_proven() -> None:
    generated = sudoku.generate(5, empty_board(12), SearchRuntime())
    grid = generated.board.grids[0]
    solution = str(generated.details["solution"])
    at = grid.index(".")
    used_digits = {grid[n] for n in range(144) if n // 12 == at // 12 or n % 12 == at % 12}
    wrong = next(mark for mark in "123456789ABC" if mark not in used_digits and mark != solution[at])
    answer = sudoku.solve(sudoku.Board((grid[:at] + wrong + grid[at + 1 :],), 12), SolveMode.ALL, SearchRuntime())
    assert (answer.count, list(answer.solutions)) == (0, [])
    assert answer.proof in {Proof.EXHAUSTION, Proof.CONTRADICTION}
    clash = sudoku.solve(sudoku.Board(("1" + "." * 10 + "1" + "." * 132,), 12), SolveMode.ALL, SearchRuntime())
    assert "r1c1 and r1c12 are both 1, in row 1" in clash.reason


def test_many_grids_of_another_size_are_solved() -> None:
    grids = [sudoku.generate(seed, empty_board(6), SearchRuntime()).board.grids[0] for seed in range(4)]
    board = sudoku.Board((*grids, "." * 36, "11" + "." * 34), 6)
    answer = sudoku.solve(board, SolveMode.ALL, SearchRuntime())
    lines = list(answer.solutions)
    assert [line.grid for line in lines] == [1, 2, 3, 4, 5]
    assert all(sudoku.check(board, line) for line in lines)
    assert [answer.details[name] for name in ("unique", "several", "none")] == [4, 1, 1]


def test_an_interruption_is_noticed() -> None:
    with pytest.raises(Interrupted) as end:
        sudoku.solve(empty_board(6), SolveMode.COUNT, InterruptingRuntime(after=400))
    assert "counted" in end.value.partial_result


def test_a_missing_library_is_reported_with_its_installation() -> None:
    script = (
        "import sys; sys.modules['pysat'] = sys.modules['pysat.solvers'] = None\n"
        "from pi_appliance.puzzles import SearchRuntime, SolveMode, sudoku\n"
        "print(sudoku.solve(sudoku.parse('.' * 81, 'f'), SolveMode.FIRST, SearchRuntime()).details['verdict'])\n"
        "try:\n    sudoku.solve(sudoku.parse('.' * 16, 'f'), SolveMode.FIRST, SearchRuntime())\n"
        "except Exception as error:\n    print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines() == ["several", f"{Refused.__name__} {MISSING_LIBRARY}"]
