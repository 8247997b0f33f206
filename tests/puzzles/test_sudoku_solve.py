"""Sudoku: one solution, several or none; every count against a plain solver and against a SAT solver."""

import random
import time
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi_appliance.errors import InvalidOption, UnknownName
from pi_appliance.puzzles import Proof, SolveMode, sudoku
from pi_appliance.puzzles.runtime.interface import Interrupted, SerialRuntime
from pi_appliance.puzzles.sudoku import kernel
from pi_appliance.puzzles.sudoku.count import count_parallel
from pi_appliance.puzzles.sudoku.sat import SatSearch
from pi_appliance.puzzles.sudoku.techniques import rate_difficulty
from tests.puzzles.sudokus import NONE, SEVERAL, UNIQUE, Stops, plain_solutions, varied


def board(grid: str) -> sudoku.Board:
    return sudoku.parse(grid, "grid")


@pytest.mark.parametrize("grid", UNIQUE)
@pytest.mark.parametrize("mode", sudoku.MODES)
def test_a_grid_with_one_solution(grid: str, mode: SolveMode) -> None:
    answer = sudoku.solve(board(grid), mode, SerialRuntime())
    lines = list(answer.solutions)
    assert lines == ([] if mode is SolveMode.COUNT else [(1, UNIQUE[grid])])
    assert all(sudoku.check(board(grid), line) for line in lines)
    assert (answer.count, answer.proof, answer.details["verdict"]) == (1, None, "unique")


def test_the_known_grids_have_as_many_clues_as_is_known_and_the_named_ones_as_many_solutions() -> None:
    clues = [sudoku.solve(board(grid), SolveMode.FIRST, SerialRuntime()).details["clues"] for grid in UNIQUE]
    assert clues[2:] == [23, 21, 17, 24, 25, 23, 25, 25, 24]
    counts = {
        name: sudoku.solve(board(drawn), SolveMode.COUNT, SerialRuntime()).count
        for name, drawn in sudoku.BOARDS.items()
    }
    assert counts.pop("sixteen") == 7_309
    assert counts.pop("impossible") == 0
    assert set(counts.values()) == {1}


def test_a_number_stands_among_the_facts_once() -> None:
    for grid in [*UNIQUE, *NONE]:
        assert "guesses_needed" not in sudoku.solve(board(grid), SolveMode.ALL, SerialRuntime()).details, (
            "all that were tried are told"
        )
    several = sudoku.solve(board(next(iter(SEVERAL))), SolveMode.ALL, SerialRuntime())
    assert int(several.details["guesses_needed"]) < several.nodes_searched()


@pytest.mark.parametrize("grid", SEVERAL)
def test_all_solutions_are_listed_each_once_and_counted(grid: str) -> None:
    answer = sudoku.solve(board(grid), SolveMode.ALL, SerialRuntime())
    lines = list(answer.solutions)
    assert len(lines) == len(set(lines)) == answer.count == SEVERAL[grid]
    assert all(sudoku.check(board(grid), line) for line in lines)
    counted = sudoku.solve(board(grid), SolveMode.COUNT, SerialRuntime())
    assert (counted.count, list(counted.solutions)) == (SEVERAL[grid], [])
    first = sudoku.solve(board(grid), SolveMode.FIRST, SerialRuntime())
    assert (first.count, len(list(first.solutions)), first.details["verdict"]) == (None, 1, "several")


@pytest.mark.parametrize("grid", NONE)
def test_no_solution_is_proven(grid: str) -> None:
    answer = sudoku.solve(board(grid), SolveMode.ALL, SerialRuntime())
    assert (answer.count, list(answer.solutions)) == (0, [])
    assert answer.proof in {Proof.EXHAUSTION, Proof.CONTRADICTION}
    assert answer.reason


def test_the_grid_that_takes_others_millions_of_guesses_takes_a_few() -> None:
    search = kernel.GridSearch()
    search.begin(NONE[-1].encode(), 0)
    assert search.count_next(2, 1000) == 0
    assert search.top < 0
    assert search.guesses < 50


@pytest.mark.parametrize(
    ("grid", "where"),
    [
        ("5...5" + "." * 76, "r1c1 and r1c5 are both 5, in row 1"),
        ("." * 8 + "7" + "." * 71 + "7", "r1c9 and r9c9 are both 7, in column 9"),
        ("3" + "." * 19 + "3" + "." * 60, "r1c1 and r3c3 are both 3, in box 1"),
    ],
)
def test_clues_that_contradict_each_other_are_told_with_both_places(grid: str, where: str) -> None:
    answer = sudoku.solve(board(grid), SolveMode.FIRST, SerialRuntime())
    assert (answer.proof, answer.count) == (Proof.CONTRADICTION, 0)
    assert where in answer.reason
    assert answer.pictures["contradiction"].count('class="su-why"') == 1
    assert where in sudoku.hint(board(grid), SerialRuntime())


def test_a_contradiction_that_follows_is_told() -> None:
    answer = sudoku.solve(board("12345678." + "." * 17 + "9" + "." * 54), SolveMode.FIRST, SerialRuntime())
    assert answer.proof is Proof.CONTRADICTION
    assert "nothing can stand at r1c9" in answer.reason


def test_the_empty_grid_has_more_than_anybody_counts() -> None:
    answer = sudoku.solve(board("." * 81), SolveMode.ALL, SerialRuntime())
    lines = list(islice(answer.solutions, 100))
    assert len(set(lines)) == 100
    assert all(sudoku.check(board("." * 81), line) for line in lines)
    assert (answer.count, answer.details["solutions_at_least"]) == (None, 10_000)
    limited = sudoku.solve(sudoku.with_rules(board("." * 81), {"count-to": "1,500"}), SolveMode.COUNT, SerialRuntime())
    assert (limited.count, limited.details["solutions_at_least"]) == (None, 1500)


@given(st.integers(0, 2**32), st.integers(20, 44))
@settings(max_examples=60, deadline=None)
def test_counts_agree_with_the_plainest_solver_and_with_sat(seed: int, holes: int) -> None:
    chance = random.Random(seed)
    full = varied(chance.choice(list(UNIQUE.values())), chance)
    empty = set(chance.sample(range(81), holes))
    grid = "".join("." if at in empty else mark for at, mark in enumerate(full))
    if chance.random() < 0.3:  # one clue is wrong, so most have no solution
        at = chance.choice([at for at in range(81) if at not in empty])
        grid = grid[:at] + chance.choice("123456789") + grid[at + 1 :]
    right = plain_clash_free(grid)
    ours = list(sudoku.solve(board(grid), SolveMode.ALL, SerialRuntime()).solutions)
    assert sorted(line.digits for line in ours) == sorted(right)
    if len(right) < 200:
        assert sorted(SatSearch(grid, 9, SerialRuntime()).solutions()) == sorted(right)


def plain_clash_free(grid: str) -> list[str]:
    """Return the solutions of GRID; the plain solver looks at empty squares only, so the clues are looked at here."""
    full = [(at, mark) for at, mark in enumerate(grid) if mark != "."]
    clash = any(mark == other and sees(at, there) for at, mark in full for there, other in full if at < there)
    return [] if clash else list(plain_solutions(grid))


def sees(one: int, other: int) -> bool:
    row, column, row_too, column_too = *divmod(one, 9), *divmod(other, 9)
    boxes = row // 3 == row_too // 3 and column // 3 == column_too // 3
    return row == row_too or column == column_too or boxes


@given(st.integers(0, 2**32), st.integers(17, 30))
@settings(max_examples=150, deadline=None)
def test_few_clues_agree_with_a_library(seed: int, clues: int) -> None:
    chance = random.Random(seed)
    full = varied(chance.choice(list(UNIQUE.values())), chance)
    kept = set(chance.sample(range(81), clues))
    grid = "".join(mark if at in kept else "." for at, mark in enumerate(full))
    ours = {line.digits for line in islice(sudoku.solve(board(grid), SolveMode.FIRST, SerialRuntime()).solutions, 1)}
    sat = set(islice(SatSearch(grid, 9, SerialRuntime()).solutions(), 2))
    assert len(ours) == 1
    assert sudoku.solve(board(grid), SolveMode.FIRST, SerialRuntime()).details["verdict"] == (
        "unique" if len(sat) == 1 else "several"
    )
    assert ours <= sat if len(sat) == 1 else ours


def test_what_a_grid_is_does_not_depend_on_its_digits_and_rows() -> None:
    chance = random.Random(6)
    for grid in UNIQUE:
        for _ in range(5):
            came = sudoku.solve(board(varied(grid, chance)), SolveMode.ALL, SerialRuntime())
            assert came.count == 1


def test_a_clue_that_is_not_needed_is_named() -> None:
    grid = next(iter(UNIQUE)).replace("0", ".")
    facts = sudoku.solve(board(grid), SolveMode.FIRST, SerialRuntime()).details
    assert facts["minimal"] == "no"
    for name in str(facts["redundant_clues"]).split():
        row, column = int(name[1]) - 1, int(name[3]) - 1
        at = 9 * row + column
        assert len(two_by_sat(grid[:at] + "." + grid[at + 1 :])) == 1
    assert sudoku.solve(board(list(UNIQUE)[4]), SolveMode.FIRST, SerialRuntime()).details["minimal"] == "yes"


def two_by_sat(grid: str) -> list[str]:
    return list(islice(SatSearch(grid, 9, SerialRuntime()).solutions(), 2))


def test_how_hard_they_are() -> None:
    levels = [
        rate_difficulty(grid.replace("0", "."), 9, SerialRuntime(), solution).level for grid, solution in UNIQUE.items()
    ]
    assert levels[0] == "easy"
    assert levels[2] == levels[3] == "extreme"


def test_a_count_that_is_cut_off_goes_on_from_there() -> None:
    grid = max(SEVERAL, key=lambda grid: SEVERAL[grid])
    runtime = Stops(after=3)
    with pytest.raises(Interrupted) as end:
        count_parallel(grid, None, runtime, branch_budget=5)
    assert "counted" in end.value.partial_result
    kept = list(runtime.cache.names())
    assert len(kept) == 1
    spent = 0
    while True:
        runtime.after = 3
        try:
            came = count_parallel(grid, None, runtime, branch_budget=5)
        except Interrupted:
            spent += 1
            assert spent < 500
        else:
            break
    assert spent > 5
    assert (came.solutions, came.branches) == (SEVERAL[grid], [])
    assert not list(runtime.cache.names())


@pytest.mark.parametrize("rubbish", [b"", b"sudoku count 1\n", b"sudoku count 1\n" + b"\xff" * 160, b"\xff" * 99])
def test_a_damaged_checkpoint_is_no_checkpoint(rubbish: bytes) -> None:
    grid = next(iter(SEVERAL))
    runtime = Stops(after=1)
    with pytest.raises(Interrupted):
        count_parallel(grid, None, runtime, branch_budget=5)
    runtime.cache.save(next(iter(runtime.cache.names())), [rubbish])
    runtime.after = 10_000
    assert count_parallel(grid, None, runtime, branch_budget=50).solutions == SEVERAL[grid]


def test_an_end_is_heard_while_the_empty_grid_is_counted() -> None:
    began = time.monotonic()
    with pytest.raises(Interrupted) as end:
        sudoku.solve(board("." * 81), SolveMode.COUNT, Stops(after=2))
    assert "counted" in end.value.partial_result
    assert time.monotonic() - began < 60


def test_rules_that_do_not_exist() -> None:
    grid = board("." * 81)
    with pytest.raises(UnknownName, match="difficulty"):
        sudoku.with_rules(grid, {"dificulty": "hard"})
    with pytest.raises(UnknownName, match="did you mean 'hard'"):
        sudoku.with_rules(grid, {"difficulty": "hart"})
    for wrong in ("0", "82", "-3", "many", "1e9", "٣"):
        with pytest.raises(InvalidOption, match="clues"):
            sudoku.with_rules(grid, {"clues": wrong})
    assert sudoku.with_rules(grid, {"count-to": "all", "difficulty": "hard", "clues": "30"}).clues == 30
    assert sudoku.describe(sudoku.with_rules(grid, {"clues": "30"})) == "0 clues in 9x9 cells, new grids with 30 clues"
