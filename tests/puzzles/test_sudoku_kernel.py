"""Sudoku: the kernel, in both ways."""

import random
from array import array
from collections.abc import Callable
from types import ModuleType

from tests.puzzles.sudokus import NONE, SEVERAL, UNIQUE, varied

BothWays = Callable[[str], tuple[ModuleType, ModuleType]]


def outcome(kernel: ModuleType, grids: list[str], budget: int) -> tuple[bytes, bytes, list[int]]:
    clues = "".join(grids).encode()
    solutions, counts, guesses = bytearray(len(clues)), bytearray(len(grids)), array("I", bytes(4 * len(grids)))
    kernel.GridSearch().solve_batch(clues, solutions, counts, guesses, budget)
    return bytes(solutions), bytes(counts), list(guesses)


def test_both_ways_guess_the_same_and_find_the_same(both_ways: BothWays) -> None:
    plain, compiled = both_ways("sudoku/kernel")
    chance = random.Random(3)
    grids = [varied(grid.replace("0", "."), chance) for grid in [*UNIQUE, *SEVERAL, *NONE] for _ in range(8)]
    grids += ["." * 81, "1" * 81, "11" + "." * 79]
    for _ in range(200):
        full = varied(chance.choice(list(UNIQUE.values())), chance)
        grids.append("".join(mark if chance.random() < 0.3 else "." for mark in full))
    for budget in (1, 3, 10_000):
        assert outcome(plain, grids, budget) == outcome(compiled, grids, budget)
    counts = outcome(plain, grids, 10_000)[1]
    assert {0, 1, 2} == set(counts)


def test_both_ways_count_in_pieces_the_same(both_ways: BothWays) -> None:
    grid = max(SEVERAL, key=lambda grid: SEVERAL[grid])
    for kernel in both_ways("sudoku/kernel"):
        search = kernel.GridSearch()
        search.begin(grid.encode(), 0)
        state = array("I", bytes(120))
        search.save_frame(0, state)
        waiting, found, looks = [state], 0, 0
        while waiting:
            search.load_frame(waiting.pop())
            found += search.count_next(2**40, 7)
            looks += 1
            for frame in range(search.top + 1):
                piece = array("I", bytes(120))
                search.save_frame(frame, piece)
                waiting.append(piece)
        assert (found, looks > 50) == (SEVERAL[grid], True)


def test_a_search_that_is_tired_goes_on(both_ways: BothWays) -> None:
    grid, digits = list(UNIQUE.items())[3]
    for kernel in both_ways("sudoku/kernel"):
        search = kernel.GridSearch()
        search.begin(grid.encode(), 0)
        cells, tired = bytearray(81), 0
        found = []
        while (came := search.find_next(1)) != kernel.DONE:
            if came == kernel.FOUND:
                search.write_solution(cells, 0)
                found.append(cells.decode())
            else:
                tired += 1
        assert found == [digits]
        assert tired == search.guesses


def test_a_batch_says_what_it_does_not_know_and_what_clashes(both_ways: BothWays) -> None:
    everest, easy = list(UNIQUE)[3], list(UNIQUE)[4]
    clashes = ["11" + "." * 79, "1" + "." * 8 + "1" + "." * 71, "1" + "." * 9 + "1" + "." * 70]
    for kernel in both_ways("sudoku/kernel"):
        solutions, counts, guesses = outcome(kernel, [everest, easy, *clashes], 5)
        assert list(counts) == [kernel.UNKNOWN, 1, 0, 0, 0]
        assert list(guesses) == [5, 0, 0, 0, 0]
        assert solutions[81:162].decode() == UNIQUE[easy]
