"""The steps of a person: each is implied by the puzzle, and says so in words."""

import random
from collections import Counter

import pytest

from pi_appliance.errors import ConfigError
from pi_appliance.puzzles import bimaru
from pi_appliance.puzzles.bimaru.board import Board, set_mark
from pi_appliance.puzzles.bimaru.techniques import CONTRADICTION, TECHNIQUES, SolvingGrid, iter_deductions
from tests.puzzles.bimaru import brute_force


def masks_of(board: Board, patterns: list[frozenset[tuple[int, int]]]) -> list[int]:
    return [sum(1 << y * board.width + x for x, y in pattern) for pattern in patterns]


@pytest.mark.slow
def test_every_deduction_holds_for_every_solution_by_brute_force() -> None:
    counts: Counter[str] = Counter()
    for seed in range(4):
        for rows, row_totals, column_totals, fleet in brute_force.random_puzzles(seed, 80):
            solutions = brute_force.find_solutions(rows, row_totals, column_totals, fleet)
            text = brute_force.to_text(rows, row_totals, column_totals, fleet)
            try:
                board = bimaru.parse(text)
            except ConfigError:
                assert not solutions, text
                continue
            masks = masks_of(board, solutions)
            for deduction in iter_deductions(SolvingGrid(board)):
                counts[deduction.technique] += 1
                assert deduction.technique != CONTRADICTION or not solutions, (text, deduction)
                assert deduction.technique in ("guess", CONTRADICTION) or deduction.ships or deduction.water
                for mask in masks:
                    assert deduction.ships & ~mask == 0, (text, deduction)
                    assert deduction.water & mask == 0, (text, deduction)
    assert set(counts) == {*TECHNIQUES, CONTRADICTION}


def test_the_deductions_lead_from_the_given_squares_to_the_solution() -> None:
    for name in ("magazine", "small", "eight", "stubborn", "hidden-totals", "large"):
        board = bimaru.parse(bimaru.BOARDS[name])
        (solution,) = bimaru.solve(board).solutions
        (mask,) = masks_of(board, [frozenset((x, y) for ship in solution for x, y in ship.squares)])
        grid = SolvingGrid(board)
        for deduction in iter_deductions(grid, solution):
            assert (deduction.ships | deduction.water) & ~grid.open == 0, "only what is not known yet"
            assert deduction.ships & ~mask == deduction.water & mask == 0, (name, deduction)
        assert (grid.open, grid.ships) == (0, mask)


HINTS = {
    "- - -\n- O ? ?\n- ? ? ?\n- ? ? ?": "given piece: A1 is a ship of 1, so the squares around it are water",
    "- - -\n- ? ? ?\n- ? ^ ?\n- ? ? ?": (
        "given piece: B2 is the upper end of a ship: it goes on at B3, and the other squares around it are water"
    ),
    "- - -\n- ? ? ?\n- ? ? ?\n- ? # ?": (
        "given piece: B3 is the middle of a ship, which can only go on left and right: A3 and C3 are ship squares,"
        " B2 water"
    ),
    "- - -\n- ? ? ?\n- ? X ?\n- ? ? ?": (
        "no contact: ships do not touch, so the squares diagonal to B2 are water: A1, C1, A3 and C3"
    ),
    "- - -\n0 ? ? ?\n- ? ? ?\n- ? ? ?": "full line: row 1 has no ship squares, so it is water: A1-C1",
    "1 - -\n- X . ?\n- . . ?\n- ? ? ?": ("full line: column A has all of its ship squares, so the rest is water: A3"),
    "- - -\n2 ? . ?\n- ? ? ?\n- ? ? ?": (
        "needed squares: row 1 needs all of its open squares: A1 and C1 are ship squares"
    ),
}


@pytest.mark.parametrize("text", HINTS)
def test_a_hint_says_the_next_step_in_words(text: str) -> None:
    fleet = "3" if "#" in text else "2" if "^" in text else "2,1"
    assert bimaru.hint(f"fleet: {fleet}\n{text}") == HINTS[text]


def test_a_total_that_follows_from_the_others_is_explained() -> None:
    text = "fleet: 3\n- - -\n0 ? ? ?\n- ? ? ?\n0 ? ? ?".replace("0 ? ? ?", "0 . . .")
    assert bimaru.hint(text) == (
        "needed squares: row 2, whose total must be 3, needs all of its open squares: A2-C2 are ship squares"
    )


def hints_of(text: str) -> dict[str, str]:
    """Return the first text of each technique of a puzzle, as the steps show it."""
    board = bimaru.parse(text)
    solution = next(bimaru.solve(board).solutions)
    captions = [step.caption for step in bimaru.steps(board, solution)]
    return {caption.partition(":")[0]: caption.partition(": ")[2] for caption in reversed(captions)}


def test_the_harder_techniques_name_their_reason() -> None:
    hints = hints_of(bimaru.BOARDS["eight"])
    assert hints["line arrangement"] == (
        "row 8 needs 2 more ship squares: in every way to place them, F8 is a ship square"
    )
    assert hints["trial"] == (
        "suppose that C1 is water: in the end, there are more ships of 3 than in the fleet; so it is a ship square"
    )
    assert hints_of(bimaru.BOARDS["stubborn"])["a guess"]


def test_the_arrangements_of_a_line_respect_the_fleet() -> None:
    columns, water = "- - - - -\n", "0 . . . . .\n"
    two_pairs = f"{columns}4 ? ? ? ? ?\n{water}{water}"  # only XX.XX has no ship of 3
    assert bimaru.hint(f"fleet: 2,1,1\n{two_pairs}") == (
        "there is no solution: row 1 needs 4 more ship squares, and there is no way to place them"
    )
    assert bimaru.hint(f"fleet: 2,2\n{two_pairs}") == (
        "line arrangement: row 1 needs 4 more ship squares: in every way to place them, A1-B1 and D1-E1 are"
        " ship squares and C1 is water"
    )


def test_a_hint_for_a_puzzle_that_is_finished_or_has_no_solution() -> None:
    board = bimaru.parse(bimaru.BOARDS["small"])
    drawing = bimaru.render_solution(board, next(bimaru.solve(board).solutions)).partition("\n\n")[2]
    assert bimaru.hint(drawing) == "all squares are known"
    assert bimaru.hint("fleet: 3\n1 1 1\n2 ? ? ?\n0 . . .\n1 ? ? ?").startswith("there is no solution: ")


def test_a_hint_goes_on_from_the_squares_that_are_filled_in() -> None:
    board = bimaru.parse(bimaru.BOARDS["magazine"])
    (solution,) = bimaru.solve(board).solutions
    occupied = {square for ship in solution for square in ship.squares}
    squares = list(board.find_marks("?"))
    random.Random(2).shuffle(squares)
    for square in squares:
        assert bimaru.hint(board) != "all squares are known"
        board = set_mark(board, square, "X" if square in occupied else ".")
    assert bimaru.hint(board) == "all squares are known"
