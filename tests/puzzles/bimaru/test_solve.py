"""Solving and counting, compared with every fleet of small grids."""

import random

import pytest

from pi_appliance.errors import ConfigError
from pi_appliance.puzzles import Proof, SolveMode, battleship, bimaru
from pi_appliance.puzzles.runtime import Interrupted
from tests.puzzles.bimaru import brute_force
from tests.puzzles.sudoku.grids import InterruptingRuntime


def squares_of(solution: bimaru.Solution) -> frozenset[tuple[int, int]]:
    return frozenset((square.x, square.y) for ship in solution for square in ship.squares)


def solve_all(text: str) -> list[frozenset[tuple[int, int]]]:
    """Return the squares of each solution; none if the puzzle is rejected as contradictory."""
    try:
        board = bimaru.parse(text)
    except ConfigError:
        return []
    answer = bimaru.solve(board)
    solutions = list(answer.solutions)
    assert answer.count == len(solutions) == bimaru.count_solutions(board)
    assert bimaru.is_unique(board) == (len(solutions) == 1)
    assert answer.details["verdict"] == ("none" if not solutions else "unique" if len(solutions) == 1 else "several")
    assert (answer.proof is None) == bool(solutions)
    for solution in solutions:
        assert bimaru.check(board, solution), bimaru.check(board, solution).error
        assert bimaru.parse_solution(board, bimaru.notate(board, solution)) == solution
    return [squares_of(solution) for solution in solutions]


@pytest.mark.slow_variants
@pytest.mark.parametrize("seed", range(4))
def test_the_solutions_are_those_of_brute_force(seed: int) -> None:
    visited = set()
    for rows, row_totals, column_totals, fleet in brute_force.random_puzzles(seed, 24):
        text = brute_force.to_text(rows, row_totals, column_totals, fleet)
        expected = brute_force.find_solutions(rows, row_totals, column_totals, fleet)
        if len(expected) > 100:
            assert bimaru.count_solutions(text, 1_000) == min(len(expected), 1_000), text
            continue
        solutions = solve_all(text)
        assert len(set(solutions)) == len(solutions), text
        assert set(solutions) == set(expected), text
        visited.add(min(len(expected), 2))
    assert visited == {0, 1, 2}


@pytest.mark.slow_variants
@pytest.mark.parametrize(("width", "height", "fleet"), brute_force.SMALL_GRIDS)
def test_all_fleets_of_an_open_grid_are_counted(width: int, height: int, fleet: tuple[int, ...]) -> None:
    text = brute_force.to_text(["?" * width] * height, [None] * height, [None] * width, fleet)
    assert bimaru.count_solutions(text) == len(brute_force.list_patterns(width, height, fleet))


def test_an_open_grid_has_the_number_of_fleets_that_battleship_counts() -> None:
    sea = battleship.with_rules(battleship.parse("size: 6x6"), {"fleet": "4,3,2", "touching": "never"})
    text = brute_force.to_text(["?" * 6] * 6, [None] * 6, [None] * 6, (4, 3, 2))
    assert bimaru.count_solutions(text) == battleship.solve(sea, SolveMode.COUNT).count


def test_one_unknown_total_follows_from_the_fleet() -> None:
    board = bimaru.parse(bimaru.BOARDS["magazine"])
    hidden = bimaru.parse(bimaru.render(board).replace("\n5 ?", "\n- ?"))
    assert hidden.row_totals[3] is None
    assert list(bimaru.solve(hidden).solutions) == list(bimaru.solve(board).solutions)


def test_a_unique_puzzle_is_rated_and_its_redundant_squares_are_named() -> None:
    answer = bimaru.solve(bimaru.BOARDS["magazine"])
    assert (answer.count, answer.details["difficulty"], answer.details["givens"]) == (1, "medium", 4)
    redundant = str(answer.details["redundant_givens"]).split()
    board = bimaru.parse(bimaru.BOARDS["magazine"])
    for square in board.givens:
        row = board.rows[square.y]
        row = row[: square.x] + "?" + row[square.x + 1 :]
        rows = (*board.rows[: square.y], row, *board.rows[square.y + 1 :])
        without = brute_force.to_text(rows, board.row_totals, board.column_totals, board.fleet)
        assert bimaru.is_unique(without) == (str(square) in redundant)
    (table,) = answer.tables
    assert {name for name, _ in table.rows} >= {answer.details["hardest_step"]}
    assert bimaru.solve(bimaru.BOARDS["small"]).details["minimal"] == "yes"


def test_a_puzzle_with_several_solutions_is_counted_up_to_the_limit() -> None:
    board = bimaru.parse(bimaru.BOARDS["several"])
    assert bimaru.solve(board, SolveMode.COUNT).count == 12
    for limit, count in (("11", None), ("12", 12), ("13", 12)):
        limited = bimaru.with_rules(board, {"count-to": limit})
        answer = bimaru.solve(limited, SolveMode.COUNT)
        assert (answer.count, answer.details.get("solutions_at_least")) == (count, None if count else 11)
        assert list(answer.solutions) == []
    assert len(list(bimaru.solve(bimaru.with_rules(board, {"count-to": "3"})).solutions)) == 12
    assert len(list(bimaru.solve(board, SolveMode.FIRST).solutions)) == 1
    assert bimaru.count_solutions(board, 5) == 5


def test_a_large_number_of_solutions_is_not_counted_without_being_asked() -> None:
    answer = bimaru.solve("fleet: 2,1,1\n- - - - - -\n" + "- ? ? ? ? ? ?\n" * 6)
    assert (answer.count, answer.details["solutions_at_least"]) == (None, 1_000)


def test_a_puzzle_without_a_solution_is_proven() -> None:
    tried = bimaru.solve(bimaru.BOARDS["impossible"])
    assert (tried.proof, tried.count) == (Proof.EXHAUSTION, 0)
    assert tried.reason.startswith("everything was tried, with ")
    followed = bimaru.solve("fleet: 3\n1 1 1\n2 ? ? ?\n0 ? ? ?\n1 ? ? ?")
    assert followed.proof is Proof.CONTRADICTION
    assert followed.reason == "without any guess it follows that there is no room for the ships of 3 that are left"
    assert "contradiction" in followed.pictures


def test_the_partial_result_of_an_interruption() -> None:
    board = bimaru.parse("fleet: 2,1,1\n- - - - - -\n" + "- ? ? ? ? ? ?\n" * 6)
    with pytest.raises(Interrupted) as caught:
        bimaru.solve(board, SolveMode.COUNT, InterruptingRuntime(after=20))
    number, _, rest = caught.value.partial_result.partition(" ")
    assert int(number) > 100
    assert rest == "solutions counted, and there may be more"
    with pytest.raises(Interrupted) as caught:
        bimaru.solve(bimaru.BOARDS["impossible"], SolveMode.ALL, InterruptingRuntime(after=3))
    assert caught.value.partial_result == "no solution is found yet"
    with pytest.raises(Interrupted) as caught:
        bimaru.solve(bimaru.BOARDS["magazine"], SolveMode.ALL, InterruptingRuntime(after=8))
    assert caught.value.partial_result == "it has one solution, and no other"


WRONG = {
    "A1-A4 A6-A8": "the fleet has another ship of 1",
    "D8-G8 B4-B6 E6-G6 G1-H1 E3-E4 A8-B8 C1 E1 A2 G4": "row 3 has 1 ship square, and its total is 2",
    "D8-G8 B4-B6 E6-G6 G1-H1 E3-E4 A8-B8 C1 E1 A2 B3": "A2 touches B3",
    "D8-G8 B4-B6 E6-G6 G1-H1 E3-E4 A8-B8 C1 E1 A2 H2": "G1-H1 touches H2",
    "D8-G8 B4-B6 E6-G6 G1-H1 E3-E4 A8-B8 C1 E1 A2 B5": "B5: B4-B6 already lies on B5",
}


@pytest.mark.parametrize("fleet", WRONG)
def test_a_wrong_fleet_fails_the_check_with_the_reason(fleet: str) -> None:
    board = bimaru.parse(bimaru.BOARDS["eight"])
    assert bimaru.check(board, bimaru.parse_solution(board, fleet)).error == WRONG[fleet]


def test_each_given_mark_is_checked() -> None:
    rng = random.Random(3)
    for width, height, fleet in brute_force.SMALL_GRIDS:
        for pattern in rng.sample(brute_force.list_patterns(width, height, fleet), 3):
            x, y = rng.randrange(width), rng.randrange(height)
            for mark in ".X<>^v#O":
                rows = ["".join(mark if (x, y) == (i, j) else "?" for i in range(width)) for j in range(height)]
                try:
                    board = bimaru.parse(
                        brute_force.to_text(rows, *brute_force.totals_of(pattern, width, height), fleet)
                    )
                except ConfigError:
                    assert not brute_force.agrees(pattern, x, y, mark)
                    continue
                open_board = bimaru.parse(bimaru.render(board).replace(f" {mark}", " ?"))
                solution = next(each for each in bimaru.solve(open_board).solutions if squares_of(each) == pattern)
                assert bool(bimaru.check(board, solution)) == brute_force.agrees(pattern, x, y, mark)
