"""Benchmark of battleship against the original program's validator and plain enumeration.

No installable solver for these questions is known, so the peers are written here from their description: a
validator that removes ships, longest first, in reading order, and a count that lists every solution.
"""

import time
from collections.abc import Callable, Iterator
from random import Random

from pi_appliance.puzzles import SolveMode, battleship
from pi_appliance.puzzles.battleship.board import DEFAULT_FLEET
from pi_appliance.puzzles.battleship.solve import FleetSearch
from pi_appliance.puzzles.runtime import SearchRuntime
from tests.puzzles.battleship.brute_force import list_fleets

SEED = 20261121
GRIDS = 200
SMALL = ((7, 7, "never"), (6, 6, "corners"), (6, 6, "allowed"))
SMALL_FLEET = (3, 2, 2)


def rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield the measure, our time, the peer's time, and the ratio."""
    yield _compare_validation()
    for width, height, touching in SMALL:
        yield _compare_count(width, height, touching)


def _compare_validation() -> tuple[str, str, str, str]:
    """Compare the validation of finished grids, most of which are crowded."""
    grids = [_make_crowded_grid(Random(SEED + number)) for number in range(GRIDS)]
    boards = [
        battleship.parse("\n".join("".join("#" if cell else "." for cell in row) for row in grid), "grid")
        for grid in grids
    ]
    searches = [FleetSearch(board, lambda _: None).find_solutions for board in boards]
    ours, our_results = _measure(lambda: [next(search(), None) is not None for search in searches])
    theirs, their_results = _measure(
        lambda: [can_remove_ships(_add_border(grid), list(DEFAULT_FLEET)) for grid in grids]
    )
    assert our_results == their_results, "both are right"
    what = f"is a finished grid a fleet, {GRIDS} grids ({sum(our_results)} are)"
    return (
        what,
        f"{1000 * ours / GRIDS:.2f} ms each",
        f"original's method {1000 * theirs / GRIDS:.2f} ms",
        f"{theirs / ours:.1f}x",
    )


def _compare_count(width: int, height: int, touching: str) -> tuple[str, str, str, str]:
    sea = battleship.with_rules(
        battleship.parse(f"size: {width}x{height}", "sea"), {"fleet": "3,2,2", "touching": touching}
    )
    ours, answer = _measure(lambda: battleship.solve(sea, SolveMode.COUNT, SearchRuntime()))
    theirs, number = _measure(lambda: sum(1 for _ in list_fleets(SMALL_FLEET, width, height, touching)))
    assert answer.count == number, "both are right"
    what = f"{number:,} placements of 3,2,2 on {width}×{height}, touching {touching}; ours with the map"
    return what, f"{ours:.3f} s", f"one by one {theirs:.3f} s", f"{theirs / ours:.0f}x"


def _measure(work: Callable[[], object]) -> tuple[float, object]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def _make_crowded_grid(random: Random) -> list[list[int]]:
    """Make a grid of 20 ship squares in one corner; in half of them one square is moved."""
    grid = [[0] * 10 for _ in range(10)]
    for length in DEFAULT_FLEET:
        while True:
            down = random.random() < 0.5
            x, y = random.randrange(7), random.randrange(7)
            cells = [(x, y + n) if down else (x + n, y) for n in range(length)]
            if all(a < 8 and b < 8 and not grid[b][a] for a, b in cells):
                break
        for a, b in cells:
            grid[b][a] = 1
    if random.random() < 0.5:
        ships = [(x, y) for y in range(10) for x in range(10) if grid[y][x]]
        x, y = random.choice(ships)
        grid[y][x] = 0
        a, b = random.choice([(a, b) for b in range(10) for a in range(10) if not grid[b][a]])
        grid[b][a] = 1
    return grid


def _add_border(grid: list[list[int]]) -> list[list[int]]:
    return [[0] * 12, *([0, *row, 0] for row in grid), [0] * 12]


def can_remove_ships(grid: list[list[int]], lengths: list[int]) -> bool:
    """Return whether the ships of the lengths `lengths` can be removed from `grid`, with backtracking."""
    if not lengths:
        return not any(map(any, grid))
    length = lengths[0]
    for y in range(12):
        for x in range(12):
            for right, down in ((0, 1), (1, 0)):
                cells = []
                while len(cells) < length and grid[y + down * len(cells)][x + right * len(cells)]:
                    cells.append((x + right * len(cells), y + down * len(cells)))
                if len(cells) < length:
                    continue
                for a, b in cells:
                    grid[b][a] = 0
                if can_remove_ships(grid, lengths[1:]):
                    return True
                for a, b in cells:
                    grid[b][a] = 1
    return False
