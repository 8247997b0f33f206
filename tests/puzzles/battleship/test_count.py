"""Battleship's results against brute force, on small seas with random marks and rules."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from math import factorial, prod
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from pi_appliance.puzzles import SolveMode, battleship
from pi_appliance.puzzles.battleship.count import ProfileCount
from pi_appliance.puzzles.runtime import SearchRuntime
from tests.examples import examples
from tests.puzzles.battleship.brute_force import Cells, list_fleets, marks_agree

FLEETS = ((2, 1), (3, 2), (2, 2, 1), (3, 1, 1), (1, 1, 1), (3, 2, 1), (4, 2), (2, 2, 2))
TOUCHING = ("allowed", "corners", "never")


@cache
def open_sea(lengths: tuple[int, ...], width: int, height: int, touching: str) -> list[list[Cells]]:
    return list(list_fleets(lengths, width, height, touching))


@some.composite
def boards(draw: some.DrawFn, wrong: int = 10) -> battleship.Board:
    """Draw a game under way. About one board in `wrong` has random marks, which may be impossible."""
    lengths, touching = draw(some.sampled_from(FLEETS)), draw(some.sampled_from(TOUCHING))
    width, height = draw(some.integers(2, 5)), draw(some.integers(2, 4))
    sinking = draw(some.sampled_from(("silent", "announced")))
    there = open_sea(lengths, width, height, touching)
    marks = some.sampled_from("??.X#" if not there or draw(some.integers(1, wrong)) == 1 else "?!")
    rows = [[draw(marks) for _ in range(width)] for _ in range(height)]
    if there:
        fleet = draw(some.sampled_from(there))
        hit = {cell for ship in fleet for cell in ship}
        shot = {(x, y) for y, row in enumerate(rows) for x, mark in enumerate(row) if mark == "!"}
        for x, y in shot:
            rows[y][x] = "X" if (x, y) in hit else "."
        for ship in fleet:
            if shot >= ship and (sinking == "announced" or draw(some.booleans())):
                for x, y in ship:
                    rows[y][x] = "#"
    return battleship.Board(
        rows=tuple("".join(row) for row in rows),
        fleet=lengths,
        touching=touching,
        sinking=sinking,
        ships=draw(some.sampled_from(("identical", "distinct"))),
    )


def brute_force(board: battleship.Board) -> list[list[Cells]]:
    there = open_sea(board.fleet, board.width, board.height, board.touching)
    return [fleet for fleet in there if marks_agree(fleet, board.rows, board.sinking)]


def to_cells(line: battleship.Solution) -> tuple[Cells, ...]:
    return tuple(frozenset(ship.squares) for ship in line)


@settings(max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(boards())
def test_results_match_brute_force(board: battleship.Board) -> None:
    result = brute_force(board)
    names = (
        prod(factorial(board.fleet.count(length)) for length in set(board.fleet)) if board.ships != "identical" else 1
    )
    answer = battleship.solve(board, SolveMode.ALL, SearchRuntime())
    lines = list(answer.solutions)

    assert answer.count == len(result) * names == len(lines) == len(set(lines))
    assert {frozenset(to_cells(line)) for line in lines} == {frozenset(fleet) for fleet in result}
    assert all(battleship.check(board, line) for line in lines)
    assert all(tuple(map(len, to_cells(line))) == board.fleet for line in lines)
    assert bool(battleship.solve(board, SolveMode.FIRST, SearchRuntime()).proof) == (not result) == bool(answer.reason)
    if answer.tables:
        for y, (_, *numbers) in enumerate(answer.tables[1].rows):
            for x, number in enumerate(numbers):
                assert number == names * sum((x, y) in ship for fleet in result for ship in fleet)
    assert bool(answer.tables) == bool(answer.pictures) == (bool(result) and bool(board.find_marks("?")))


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(boards(wrong=1))
def test_the_core_is_minimal_and_single_wrong_marks_are_complete(board: battleship.Board) -> None:
    answer = battleship.solve(board, SolveMode.FIRST, SearchRuntime())
    if not answer.proof or "contradiction" not in answer.details:
        return
    if not board.find_marks("?X"):  # a finished grid: sunk squares count as separate hits
        board = replace(board, rows=tuple(row.replace("#", "X") for row in board.rows), sinking="silent")
    together = str(answer.details["contradiction"]).split(", ")
    assert not brute_force(keep_clues(board, together))
    for clue in together:
        assert brute_force(keep_clues(board, [each for each in together if each != clue])), f"{clue} could be left out"
    # Adjacent sunk squares are one clue: a ship on some of them lies on no other square.
    everything = [
        f"{square} {word}" for word, mark in WORDS.items() for square in board.find_marks(mark) if mark != "#"
    ]
    everything += [f"{'+'.join(map(str, group))} sunk" for group in split_groups(set(board.find_marks("#")))]
    wrong = {
        clue for clue in everything if brute_force(keep_clues(board, [each for each in everything if each != clue]))
    }
    reported = set(str(answer.details.get("one_wrong_mark", "")).split(", ")) - {""}
    assert {frozenset(clue_squares(clue)) for clue in wrong} == {frozenset(clue_squares(clue)) for clue in reported}


def split_groups(sunk: set[battleship.Square]) -> list[set[battleship.Square]]:
    """Split `sunk` into groups that are not adjacent."""
    result: list[set[battleship.Square]] = []
    for square in sunk:
        near = [group for group in result if any(abs(square.x - x) + abs(square.y - y) == 1 for x, y in group)]
        result = [group for group in result if group not in near] + [{square}.union(*near)]
    return result


def clue_squares(clue: str) -> list[battleship.Square]:
    """Return the squares of a clue such as "B5 miss", "B5-B7 sunk" or "B5+B6+C6 sunk"."""
    names = clue.partition(" ")[0].split("+")
    ships = [battleship.parse(f"{name} sunk", clue).find_marks("#") for name in names]
    return [square for ship in ships for square in ship]


WORDS = {"miss": ".", "hit": "X", "sunk": "#"}


def keep_clues(board: battleship.Board, clues: list[str]) -> battleship.Board:
    """Return `board` with only `clues` on it, such as "B5 miss"."""
    marks = {str(square): WORDS[clue.split()[1]] for clue in clues for square in clue_squares(clue)}
    rows = tuple(
        "".join(marks.get(str(battleship.Square(x, y)), "?") for x in range(board.width)) for y in range(board.height)
    )
    return battleship.Board(rows=rows, fleet=board.fleet, touching=board.touching, sinking=board.sinking)


@pytest.mark.parametrize("touching", TOUCHING)
@pytest.mark.parametrize(
    "fleet", [(3, 2, 2, 1), pytest.param((5, 4, 3, 3, 2), marks=pytest.mark.slow), (15, 2, 1), (1,) * 20], ids=str
)
def test_plain_and_compiled_kernels_count_the_same(
    plain_and_compiled: Callable[[str], tuple[ModuleType, ModuleType]], fleet: tuple[int, ...], touching: str
) -> None:
    rows = ("?" * 15, "?" * 13 + "..", "." * 4 + "?" * 11, "?" * 15) if 15 in fleet else ("?????.?",) * 6
    board = battleship.Board(rows=rows, fleet=fleet, touching=touching)
    plain, compiled = (
        ProfileCount(board, SearchRuntime(), way).count_marginals() for way in plain_and_compiled("battleship/kernel")
    )
    assert plain == compiled
