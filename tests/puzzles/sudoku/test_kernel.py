"""The sudoku kernel, plain and compiled."""

import random
from array import array
from collections.abc import Callable
from types import ModuleType

from tests.examples import repetitions
from tests.puzzles.sudoku.grids import HARDEST, NONE, SEVERAL, UNIQUE, permute_grid

BothWays = Callable[[str], tuple[ModuleType, ModuleType]]


def solve_batch(kernel: ModuleType, grids: list[str], budget: int) -> tuple[bytes, bytes, list[int]]:
    clues = "".join(grids).encode()
    solutions, counts, guesses = bytearray(len(clues)), bytearray(len(grids)), array("I", bytes(4 * len(grids)))
    kernel.GridSearch().solve_batch(clues, solutions, counts, guesses, budget)
    return bytes(solutions), bytes(counts), list(guesses)


def test_plain_and_compiled_kernels_give_the_same_results(plain_and_compiled: BothWays) -> None:
    plain, compiled = plain_and_compiled("sudoku/kernel")
    rng = random.Random(3)
    grids = [
        permute_grid(grid.replace("0", "."), rng) for grid in [*UNIQUE, *SEVERAL, *NONE] for _ in range(repetitions(10))
    ]
    grids += ["." * 81, "1" * 81, "11" + "." * 79]
    for _ in range(repetitions(200)):
        full = permute_grid(rng.choice(list(UNIQUE.values())), rng)
        grids.append("".join(mark if rng.random() < 0.3 else "." for mark in full))
    for budget in (1, 3, 10_000):
        assert solve_batch(plain, grids, budget) == solve_batch(compiled, grids, budget)
    counts = solve_batch(plain, grids, 10_000)[1]
    assert {0, 1, 2} == set(counts)


def test_plain_and_compiled_kernels_count_branches_the_same(plain_and_compiled: BothWays) -> None:
    grid = max(SEVERAL, key=lambda grid: SEVERAL[grid])
    for kernel in plain_and_compiled("sudoku/kernel"):
        search = kernel.GridSearch()
        search.begin(grid.encode(), 0)
        state = array("I", bytes(120))
        search.save_frame(0, state)
        waiting, results, rounds = [state], 0, 0
        while waiting:
            search.load_frame(waiting.pop())
            results += search.count_next(2**40, 7)
            rounds += 1
            for frame in range(search.top + 1):
                piece = array("I", bytes(120))
                search.save_frame(frame, piece)
                waiting.append(piece)
        assert (results, rounds > 50) == (SEVERAL[grid], True)


def test_a_search_continues_after_its_limit(plain_and_compiled: BothWays) -> None:
    grid, digits = list(UNIQUE.items())[3]
    for kernel in plain_and_compiled("sudoku/kernel"):
        search = kernel.GridSearch()
        search.begin(grid.encode(), 0)
        cells, pauses = bytearray(81), 0
        results = []
        while (result := search.find_next(1)) != kernel.DONE:
            if result == kernel.FOUND:
                search.write_solution(cells, 0)
                results.append(cells.decode())
            else:
                pauses += 1
        assert results == [digits]
        assert pauses == search.guesses


def test_a_batch_reports_unknown_and_contradictory_grids(plain_and_compiled: BothWays) -> None:
    everest, easy = list(UNIQUE)[3], list(UNIQUE)[4]
    conflicts = ["11" + "." * 79, "1" + "." * 8 + "1" + "." * 71, "1" + "." * 9 + "1" + "." * 70]
    for kernel in plain_and_compiled("sudoku/kernel"):
        solutions, counts, guesses = solve_batch(kernel, [everest, easy, *conflicts], 5)
        assert list(counts) == [kernel.UNKNOWN, 1, 0, 0, 0]
        assert list(guesses) == [5, 0, 0, 0, 0]
        assert solutions[81:162].decode() == UNIQUE[easy]


def test_hard_grids_need_few_guesses(plain_and_compiled: BothWays) -> None:
    """Weaker propagation or a worse choice of guesses gives the same answers, only later."""
    for kernel in plain_and_compiled("sudoku/kernel"):
        _, counts, guesses = solve_batch(kernel, HARDEST, 10_000)
        assert set(counts) == {1}
        assert sum(guesses) <= 1_100
