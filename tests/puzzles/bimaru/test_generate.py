"""Generated puzzles have one solution and the level, size and fleet that are asked for."""

import pytest

from pi_appliance.errors import Refused
from pi_appliance.puzzles import bimaru
from pi_appliance.puzzles.bimaru.board import set_mark
from pi_appliance.puzzles.deductions import LEVELS
from tests.puzzles.bimaru import brute_force
from tests.puzzles.bimaru.test_solve import squares_of

SMALL = {"size": "5x5", "fleet": "3,2,1,1"}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_a_generated_puzzle_has_one_solution_by_brute_force(seed: int) -> None:
    generated = bimaru.generate(seed, bimaru.with_rules(bimaru.parse(bimaru.BOARDS["small"]), SMALL))
    board = generated.board
    (pattern,) = brute_force.find_solutions(board.rows, board.row_totals, board.column_totals, (3, 2, 1, 1))
    (solution,) = bimaru.solve(board).solutions
    assert squares_of(solution) == pattern
    assert bimaru.notate(board, solution) == generated.details["solution"]
    assert (board.width, board.height) == (5, 5)
    for square in board.givens:  # none is redundant
        rows = set_mark(board, square, "?").rows
        assert len(brute_force.find_solutions(rows, board.row_totals, board.column_totals, (3, 2, 1, 1))) > 1


@pytest.mark.slow_variants
@pytest.mark.parametrize("level", LEVELS)
def test_a_generated_puzzle_has_the_level_that_is_asked_for(level: str) -> None:
    model = bimaru.with_rules(bimaru.parse(bimaru.BOARDS["eight"]), {"difficulty": level})
    for seed in (1, 2, "a word"):
        generated = bimaru.generate(seed, model)
        answer = bimaru.solve(generated.board)
        assert answer.count == 1
        assert answer.details["difficulty"] == generated.details["difficulty"] == level
        assert answer.details["hardest_step"] == generated.details["hardest_step"]
        assert answer.details["givens"] == generated.details["givens"]


def test_the_size_alone_chooses_a_usual_fleet() -> None:
    for size, fleet in (("6x6", "small"), ("8x8", "standard"), ("10x10", "standard")):
        model = bimaru.with_rules(bimaru.parse(bimaru.BOARDS["several"]), {"size": size})
        assert bimaru.generate(4, model).board.fleet == bimaru.parse(f"fleet: {fleet}\n" + OPEN).fleet


OPEN = "- " * 10 + "\n" + ("- " + "? " * 10 + "\n") * 10


def test_a_new_puzzle_is_like_the_board() -> None:
    board = bimaru.parse(bimaru.BOARDS["small"])
    generated = bimaru.generate(5, board).board
    assert (generated.width, generated.height, generated.fleet) == (6, 6, board.fleet)
    assert generated == bimaru.generate(5, bimaru.BOARDS["small"]).board
    assert generated != bimaru.generate(6, board).board


@pytest.mark.parametrize("number", [1, 6, 12])
def test_totals_are_left_out(number: int) -> None:
    model = bimaru.with_rules(bimaru.parse(bimaru.BOARDS["small"]), {"unknown-totals": str(number)})
    for seed in range(3):
        board = bimaru.generate(seed, model).board
        assert [*board.row_totals, *board.column_totals].count(None) == number
        assert bimaru.is_unique(board)


@pytest.mark.slow
def test_a_large_puzzle_with_unknown_totals_may_be_too_hard_to_prove_minimal() -> None:
    model = bimaru.with_rules(bimaru.parse(bimaru.BOARDS["large"]), {"unknown-totals": "8"})
    generated = bimaru.generate(0, model)
    answer = bimaru.solve(generated.board)
    assert answer.count == 1
    assert answer.details["minimal"] == "not known"
    assert bimaru.notate(generated.board, next(answer.solutions)) == generated.details["solution"]


def test_a_puzzle_that_is_not_found_is_refused() -> None:
    crowded = bimaru.with_rules(
        bimaru.parse(bimaru.BOARDS["small"]), {"size": "3x3", "fleet": "2,1", "difficulty": "extreme"}
    )
    with pytest.raises(Refused, match=r"^no extreme puzzle of 3x3 with 2,1 was found in 100 tries; ask for"):
        bimaru.generate(1, crowded)
    full = bimaru.with_rules(bimaru.parse(bimaru.BOARDS["small"]), {"size": "3x4", "fleet": "3,3,1"})
    with pytest.raises(Refused, match=r"^the fleet 3,3,1 could not be placed at random in 2,000 attempts; use"):
        bimaru.generate(1, full)
