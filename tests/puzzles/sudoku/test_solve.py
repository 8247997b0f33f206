"""Solving and counting sudokus, compared with brute force and a SAT solver."""

import random
import time
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi_appliance.errors import InvalidOption, UnknownName
from pi_appliance.puzzles import Proof, SolveMode, sudoku
from pi_appliance.puzzles.runtime import Interrupted, SearchRuntime
from pi_appliance.puzzles.sudoku import kernel
from pi_appliance.puzzles.sudoku.count import count_parallel
from pi_appliance.puzzles.sudoku.sat import SatSearch
from pi_appliance.puzzles.sudoku.techniques import rate_difficulty
from tests.examples import examples
from tests.puzzles.sudoku.grids import (
    NONE,
    SEVERAL,
    UNIQUE,
    InterruptingRuntime,
    iter_brute_force_solutions,
    permute_grid,
)


def parse_board(grid: str) -> sudoku.Board:
    return sudoku.parse(grid, "grid")


@pytest.mark.parametrize("grid", UNIQUE)
@pytest.mark.parametrize("mode", sudoku.MODES)
def test_a_unique_grid_is_solved(grid: str, mode: SolveMode) -> None:
    answer = sudoku.solve(parse_board(grid), mode, SearchRuntime())
    lines = list(answer.solutions)
    assert lines == ([] if mode is SolveMode.COUNT else [(1, UNIQUE[grid])])
    assert all(sudoku.check(parse_board(grid), line) for line in lines)
    assert (answer.count, answer.proof, answer.details["verdict"]) == (1, None, "unique")


def test_known_grids_have_their_known_clues_and_solution_counts() -> None:
    clues = [sudoku.solve(parse_board(grid), SolveMode.FIRST, SearchRuntime()).details["clues"] for grid in UNIQUE]
    assert clues[2:] == [23, 21, 17, 24, 25, 23, 25, 25, 24]
    counts = {
        name: sudoku.solve(parse_board(drawn), SolveMode.COUNT, SearchRuntime()).count
        for name, drawn in sudoku.BOARDS.items()
    }
    assert counts.pop("sixteen") == 7_309
    assert counts.pop("impossible") == 0
    assert set(counts.values()) == {1}


def test_guesses_are_reported_once() -> None:
    for grid in [*UNIQUE, *NONE]:
        assert "guesses_needed" not in sudoku.solve(parse_board(grid), SolveMode.ALL, SearchRuntime()).details, (
            "all guesses are reported elsewhere"
        )
    several = sudoku.solve(parse_board(next(iter(SEVERAL))), SolveMode.ALL, SearchRuntime())
    assert int(several.details["guesses_needed"]) < several.nodes_searched()


@pytest.mark.parametrize("grid", SEVERAL)
def test_all_solutions_are_listed_once_and_counted(grid: str) -> None:
    answer = sudoku.solve(parse_board(grid), SolveMode.ALL, SearchRuntime())
    lines = list(answer.solutions)
    assert len(lines) == len(set(lines)) == answer.count == SEVERAL[grid]
    assert all(sudoku.check(parse_board(grid), line) for line in lines)
    counted = sudoku.solve(parse_board(grid), SolveMode.COUNT, SearchRuntime())
    assert (counted.count, list(counted.solutions)) == (SEVERAL[grid], [])
    first = sudoku.solve(parse_board(grid), SolveMode.FIRST, SearchRuntime())
    assert (first.count, len(list(first.solutions)), first.details["verdict"]) == (None, 1, "several")


@pytest.mark.parametrize("grid", NONE)
def test_a_grid_without_solution_is_proven(grid: str) -> None:
    answer = sudoku.solve(parse_board(grid), SolveMode.ALL, SearchRuntime())
    assert (answer.count, list(answer.solutions)) == (0, [])
    assert answer.proof in {Proof.EXHAUSTION, Proof.CONTRADICTION}
    assert answer.reason


def test_the_impossible_grid_takes_few_guesses() -> None:
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
def test_contradicting_clues_are_reported_with_both_cells(grid: str, where: str) -> None:
    answer = sudoku.solve(parse_board(grid), SolveMode.FIRST, SearchRuntime())
    assert (answer.proof, answer.count) == (Proof.CONTRADICTION, 0)
    assert where in answer.reason
    assert answer.pictures["contradiction"].count('class="su-why"') == 1
    assert where in sudoku.hint(parse_board(grid), SearchRuntime())


def test_a_contradiction_without_guesses_is_reported() -> None:
    answer = sudoku.solve(parse_board("12345678." + "." * 17 + "9" + "." * 54), SolveMode.FIRST, SearchRuntime())
    assert answer.proof is Proof.CONTRADICTION
    assert "nothing can stand at r1c9" in answer.reason


def test_counting_the_empty_grid_stops_at_the_limit() -> None:
    answer = sudoku.solve(parse_board("." * 81), SolveMode.ALL, SearchRuntime())
    lines = list(islice(answer.solutions, 100))
    assert len(set(lines)) == 100
    assert all(sudoku.check(parse_board("." * 81), line) for line in lines)
    assert (answer.count, answer.details["solutions_at_least"]) == (None, 10_000)
    limited = sudoku.solve(
        sudoku.with_rules(parse_board("." * 81), {"count-to": "1,500"}), SolveMode.COUNT, SearchRuntime()
    )
    assert (limited.count, limited.details["solutions_at_least"]) == (None, 1500)


@pytest.mark.usefixtures("sat_library")
@given(st.integers(0, 2**32), st.integers(20, 44))
@settings(max_examples=examples(40), deadline=None)
def test_solutions_agree_with_brute_force_and_sat(seed: int, holes: int) -> None:
    rng = random.Random(seed)
    full = permute_grid(rng.choice(list(UNIQUE.values())), rng)
    empty = set(rng.sample(range(81), holes))
    grid = "".join("." if at in empty else mark for at, mark in enumerate(full))
    if rng.random() < 0.3:  # one clue is wrong, so most have no solution
        at = rng.choice([at for at in range(81) if at not in empty])
        grid = grid[:at] + rng.choice("123456789") + grid[at + 1 :]
    right = solve_by_brute_force(grid)
    ours = list(sudoku.solve(parse_board(grid), SolveMode.ALL, SearchRuntime()).solutions)
    assert sorted(line.digits for line in ours) == sorted(right)
    if len(right) < 200:
        assert sorted(SatSearch(grid, 9, SearchRuntime()).solutions()) == sorted(right)


def solve_by_brute_force(grid: str) -> list[str]:
    """Return the solutions of `grid`; brute force fills empty cells only, so check the clues here."""
    full = [(at, mark) for at, mark in enumerate(grid) if mark != "."]
    clash = any(mark == other and share_a_unit(at, there) for at, mark in full for there, other in full if at < there)
    return [] if clash else list(iter_brute_force_solutions(grid))


def share_a_unit(one: int, other: int) -> bool:
    row, column, row_too, column_too = *divmod(one, 9), *divmod(other, 9)
    boxes = row // 3 == row_too // 3 and column // 3 == column_too // 3
    return row == row_too or column == column_too or boxes


@pytest.mark.usefixtures("sat_library")
@given(st.integers(0, 2**32), st.integers(17, 30))
@settings(max_examples=examples(60), deadline=None)
def test_verdicts_agree_with_sat(seed: int, clues: int) -> None:
    rng = random.Random(seed)
    full = permute_grid(rng.choice(list(UNIQUE.values())), rng)
    kept_clues = set(rng.sample(range(81), clues))
    grid = "".join(mark if at in kept_clues else "." for at, mark in enumerate(full))
    ours = {
        line.digits for line in islice(sudoku.solve(parse_board(grid), SolveMode.FIRST, SearchRuntime()).solutions, 1)
    }
    sat = set(islice(SatSearch(grid, 9, SearchRuntime()).solutions(), 2))
    assert len(ours) == 1
    assert sudoku.solve(parse_board(grid), SolveMode.FIRST, SearchRuntime()).details["verdict"] == (
        "unique" if len(sat) == 1 else "several"
    )
    assert ours <= sat if len(sat) == 1 else ours


def test_permuted_grids_stay_unique() -> None:
    rng = random.Random(6)
    for grid in UNIQUE:
        for _ in range(5):
            state = sudoku.solve(parse_board(permute_grid(grid, rng)), SolveMode.ALL, SearchRuntime())
            assert state.count == 1


@pytest.mark.usefixtures("sat_library")
def test_redundant_clues_are_named() -> None:
    grid = next(iter(UNIQUE)).replace("0", ".")
    facts = sudoku.solve(parse_board(grid), SolveMode.FIRST, SearchRuntime()).details
    assert facts["minimal"] == "no"
    for name in str(facts["redundant_clues"]).split():
        row, column = int(name[1]) - 1, int(name[3]) - 1
        at = 9 * row + column
        assert len(first_two_by_sat(grid[:at] + "." + grid[at + 1 :])) == 1
    assert sudoku.solve(parse_board(list(UNIQUE)[4]), SolveMode.FIRST, SearchRuntime()).details["minimal"] == "yes"


def first_two_by_sat(grid: str) -> list[str]:
    return list(islice(SatSearch(grid, 9, SearchRuntime()).solutions(), 2))


def test_difficulty_of_known_grids() -> None:
    levels = [
        rate_difficulty(grid.replace("0", "."), 9, SearchRuntime(), solution).level for grid, solution in UNIQUE.items()
    ]
    assert levels[0] == "easy"
    assert levels[2] == levels[3] == "extreme"


def test_an_interrupted_count_resumes() -> None:
    grid = max(SEVERAL, key=lambda grid: SEVERAL[grid])
    runtime = InterruptingRuntime(after=3)
    with pytest.raises(Interrupted) as end:
        count_parallel(grid, None, runtime, branch_budget=5)
    assert "counted" in end.value.partial_result
    cache_names = list(runtime.cache.names())
    assert len(cache_names) == 1
    interruptions = 0
    while True:
        runtime.after = 3
        try:
            state = count_parallel(grid, None, runtime, branch_budget=5)
        except Interrupted:
            interruptions += 1
            assert interruptions < 500
        else:
            break
    assert interruptions > 5
    assert (state.solutions, state.is_complete) == (SEVERAL[grid], True)
    assert not list(runtime.cache.names())


@pytest.mark.parametrize("content", [b"", b"pi-state", b"pi-state" + b"\xff" * 160, b"\xff" * 99])
def test_a_damaged_checkpoint_is_ignored(content: bytes) -> None:
    grid = next(iter(SEVERAL))
    runtime = InterruptingRuntime(after=1)
    with pytest.raises(Interrupted):
        count_parallel(grid, None, runtime, branch_budget=5)
    runtime.cache.save(next(iter(runtime.cache.names())), [content])
    runtime.after = 10_000
    assert count_parallel(grid, None, runtime, branch_budget=50).solutions == SEVERAL[grid]


def test_counting_the_empty_grid_can_be_interrupted() -> None:
    began = time.monotonic()
    with pytest.raises(Interrupted) as end:
        sudoku.solve(parse_board("." * 81), SolveMode.COUNT, InterruptingRuntime(after=2))
    assert "counted" in end.value.partial_result
    assert time.monotonic() - began < 60


def test_invalid_rules_are_rejected() -> None:
    grid = parse_board("." * 81)
    with pytest.raises(UnknownName, match="difficulty"):
        sudoku.with_rules(grid, {"dificulty": "hard"})
    with pytest.raises(UnknownName, match="did you mean 'hard'"):
        sudoku.with_rules(grid, {"difficulty": "hart"})
    for wrong in ("0", "82", "-3", "many", "1e9", "٣"):
        with pytest.raises(InvalidOption, match="clues"):
            sudoku.with_rules(grid, {"clues": wrong})
    assert sudoku.with_rules(grid, {"count-to": "all", "difficulty": "hard", "clues": "30"}).clues == 30
    assert sudoku.describe(sudoku.with_rules(grid, {"clues": "30"})) == "0 clues in 9x9 cells, new grids with 30 clues"
