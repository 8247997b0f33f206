"""Solving a file of many sudokus: sequential, parallel, interrupted and resumed."""

import random
from array import array
from pathlib import Path

import pytest

from pi_appliance.puzzles import Proof, SolveMode, sudoku
from pi_appliance.puzzles.runtime import Interrupted, SearchRuntime
from pi_appliance.puzzles.runtime.local import open_runtime
from pi_appliance.puzzles.sudoku.solve import BatchState, iter_solutions, search_hard_grids, solve_batch
from tests.examples import repetitions
from tests.puzzles.sudoku.grids import NONE, SEVERAL, UNIQUE, InterruptingRuntime, permute_grid


def make_board(number: int, seed: int = 1) -> sudoku.Board:
    rng = random.Random(seed)
    known = list(UNIQUE)
    return sudoku.parse(
        "\n".join(permute_grid(known[n % len(known)].replace("0", "."), rng) for n in range(number)), "f"
    )


def test_solutions_are_listed_in_the_order_of_the_grids() -> None:
    board = make_board(number := repetitions(300))
    answer = sudoku.solve(board, SolveMode.ALL, SearchRuntime())
    lines = list(answer.solutions)
    assert [line.grid for line in lines] == list(range(1, number + 1))
    assert all(sudoku.check(board, line) for line in lines)
    assert answer.count == answer.details["unique"] == number
    rows = {table.title: table.rows for table in answer.tables}
    assert sum(int(row[1]) for row in rows["Guesses until all is known"]) == number
    assert sum(int(row[1]) for row in rows["How hard for a person"]) == number
    slowest = [int(row[1]) for row in rows["Those that took the most guesses"]]
    assert slowest == sorted(slowest, reverse=True)
    assert max(slowest) <= answer.nodes_searched()


def test_grids_that_are_not_unique_are_reported() -> None:
    several, none = next(iter(SEVERAL)), NONE[0]
    unique = list(UNIQUE)[2]
    clash = "11" + "." * 79
    board = sudoku.parse("\n".join([unique, several, none, clash, unique]), "f")
    answer = sudoku.solve(board, SolveMode.ALL, SearchRuntime())
    lines = list(answer.solutions)
    assert [line.grid for line in lines] == [1, 2, 5]
    assert all(sudoku.check(board, line) for line in lines)
    assert answer.count is None
    assert [answer.details[name] for name in ("grids", "unique", "several", "none")] == [5, 2, 1, 2]
    not_unique = next(table for table in answer.tables if table.title == "Not unique")
    assert list(not_unique.rows) == [
        (2, "several", ""),
        (3, "none", ""),
        (4, "none", "r1c1 and r1c2 are both 1, in row 1"),
    ]
    counted = sudoku.solve(board, SolveMode.COUNT, SearchRuntime())
    assert (counted.count, list(counted.solutions)) == (2 + SEVERAL[several], [])
    nothing = sudoku.solve(sudoku.parse("\n".join(NONE), "f"), SolveMode.ALL, SearchRuntime())
    assert (nothing.count, nothing.proof, list(nothing.solutions)) == (0, Proof.EXHAUSTION, [])


def test_solutions_in_the_file_are_compared() -> None:
    rows = [f"{grid},{digits}" for grid, digits in UNIQUE.items()]
    assert (
        sudoku.solve(sudoku.parse("\n".join(rows), "f"), SolveMode.ALL, SearchRuntime()).details["solutions_in_file"]
        == "all 11 right"
    )
    grid, digits = list(UNIQUE.items())[3]
    at = grid.index(".")
    rows[3] = f"{grid},{digits[:at]}{1 + int(digits[at]) % 9}{digits[at + 1 :]}"
    facts = sudoku.solve(sudoku.parse("\n".join(rows), "f"), SolveMode.ALL, SearchRuntime()).details
    assert facts["solutions_in_file"] == "1 of 11 wrong, the first of grid 4"


@pytest.mark.slow
def test_parallel_search_gives_the_same_solutions(tmp_path: Path) -> None:
    board = make_board(400)
    with open_runtime(tmp_path, cores=3) as runtime:
        answer = sudoku.solve(board, SolveMode.ALL, runtime)
        assert list(answer.solutions) == list(sudoku.solve(board, SolveMode.ALL, SearchRuntime()).solutions)
        assert not list(runtime.cache.names())


@pytest.mark.slow
def test_an_interrupted_file_resumes() -> None:
    board = make_board(400)
    runtime = InterruptingRuntime(after=60)
    with pytest.raises(Interrupted) as end:
        solve_batch(board, SolveMode.ALL, runtime, chunk_size=20)
    assert "of 400 grids were searched" in end.value.partial_result
    assert len(list(runtime.cache.names())) == 1
    progress = [int(end.value.partial_result.split()[0])]
    for _ in range(3):
        runtime.after = 60
        with pytest.raises(Interrupted) as end:
            solve_batch(board, SolveMode.ALL, runtime, chunk_size=20)
        progress.append(int(end.value.partial_result.split()[0]))
    assert progress == sorted(set(progress))
    runtime.after = 10**6
    answer = solve_batch(board, SolveMode.ALL, runtime)
    assert list(answer.solutions) == list(sudoku.solve(board, SolveMode.ALL, SearchRuntime()).solutions)
    assert not list(runtime.cache.names())


@pytest.mark.slow_variants
@pytest.mark.parametrize("content", [b"", b"pi-state", b"pi-state" + bytes(8) + b"x", b"\xff" * 999])
def test_a_damaged_checkpoint_is_ignored(content: bytes) -> None:
    board = make_board(120)
    runtime = InterruptingRuntime(after=15)
    with pytest.raises(Interrupted):
        solve_batch(board, SolveMode.ALL, runtime, chunk_size=20)
    runtime.cache.save(next(iter(runtime.cache.names())), [content])
    runtime.after = 10_000
    assert sudoku.solve(board, SolveMode.ALL, runtime).count == 120


def test_hard_grids_are_searched_separately() -> None:
    board = sudoku.parse("\n".join([list(UNIQUE)[3], next(iter(SEVERAL)), NONE[0]]), "f")
    result = BatchState(bytearray(b"." * 243), bytearray([3, 3, 3]), array("I", bytes(12)))
    search_hard_grids(board, result, SearchRuntime())
    assert list(result.counts) == [1, 2, 0]
    assert list(iter_solutions(81, result)) == list(sudoku.solve(board, SolveMode.ALL, SearchRuntime()).solutions)
