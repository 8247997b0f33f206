"""Compare the check with an independent replay, on right and wrong lines."""

import random
import re
from typing import Any

import pytest

from pi_appliance.puzzles import SolveMode, connect_four
from pi_appliance.puzzles.connect_four.board import Board, End
from pi_appliance.puzzles.runtime import SearchRuntime
from tests.puzzles.connect_four.test_board import random_game

# A column is six letters and a bar, so that a step to the next one is seven; and what leans by one is six or eight.
FOUR = re.compile("|".join(rf"{colour}(?:.{{{gap}}}{colour}){{3}}" for colour in "RY" for gap in (0, 5, 6, 7)))
MUTANTS = 3_000


def ends_as_it_claims(board: Board, line: tuple[Any, ...]) -> bool:
    """Replay `line` on a string: columns from the left, each from the bottom."""
    grid = "|".join("".join(row[column] for row in reversed(board.rows)) for column in range(7)) + "|"
    colours = "RY" if board.turn == "Red" else "YR"
    if not line:
        return False
    for number, column in enumerate(line[:-1]):
        if column not in range(1, 8) or isinstance(column, bool) or FOUR.search(grid):
            return False
        at = grid.find(".", 7 * column - 7, 7 * column - 1)
        if at < 0:
            return False
        grid = grid[:at] + colours[number % 2] + grid[at + 1 :]
    if won := FOUR.search(grid):
        return line[-1] == {"R": "Red wins", "Y": "Yellow wins"}[won[0][0]]
    return line[-1] == "draw" and "." not in grid


def mutated(chance: random.Random, line: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return `line` with one or two changes."""
    moves = list(line)
    for _ in range(chance.choice((1, 1, 2))):
        at = chance.randrange(len(moves)) if moves else 0
        match chance.randrange(7):
            case 0 if moves:
                del moves[at]
            case 1:
                moves.insert(at, chance.randint(0, 8))
            case 2 if moves:
                moves[at] = chance.randint(1, 7)
            case 3 if moves:
                moves[-1] = chance.choice(list(End))
            case 4 if len(moves) > 2:
                other = chance.randrange(len(moves) - 1)
                moves[at], moves[other] = moves[other], moves[at]
            case 5:
                moves = moves[:at]
            case _:
                moves += chance.choice(([1], [End.DRAW], [True], moves[:2]))
    return tuple(moves)


def test_the_check_agrees_with_a_plain_replay_on_mutated_lines() -> None:
    chance = random.Random(4)
    passed = 0
    for seed in range(MUTANTS // 20):
        game = random_game(seed, 42)
        whole = next(connect_four.solve(game, SolveMode.FIRST, SearchRuntime()).solutions)
        cut = chance.randrange(len(game.moves))
        start = connect_four.parse("".join(map(str, game.moves[:cut])) or ".......\n" * 6, "mine")
        line = (*game.moves[cut:], *whole)
        assert connect_four.check(start, line), connect_four.check(start, line).error
        for _ in range(20):
            mutant = mutated(chance, line)
            checked = connect_four.check(start, mutant)
            assert bool(checked) == ends_as_it_claims(start, mutant), (start, mutant, checked.error)
            passed += bool(checked)
    assert MUTANTS * 0.02 < passed < MUTANTS * 0.3, "most mutants are wrong, and some are not"


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("", "the line does not say how the game ends"),
        ((4, 1, 4, 1, 4, 1), "the line does not say how the game ends"),
        ((4, 1, 4, 1, End.RED), "after 4 moves the game is not over"),
        ((4, 1, 4, 1, 4, 1, 4, End.YELLOW), "the line claims 'Yellow wins', but it ends with 'Red wins'"),
        ((4, 1, 4, 1, 4, 1, 4, 1, End.RED), "move 8: Red has won already"),
        ((4, 4, 4, 4, 4, 4, 4, End.RED), "move 7: column 4 is full"),
        ((8, End.RED), "move 1: there is no column 8"),
    ],
)
def test_the_check_names_the_error(line: tuple[Any, ...], wrong: str) -> None:
    assert connect_four.check(connect_four.parse(".......\n" * 6, "mine"), line).error == wrong
