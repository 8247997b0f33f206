"""Battleship for `tests.benchmarks.puzzles`: the original's validator and plain enumeration beside ours.

No solver of these questions that installs by name is known to us, so the peers are methods, written here from their
description: a validator that takes ships away, the longest first, in reading order, and a count that lists every way.
"""

import time
from collections.abc import Callable, Iterator
from random import Random

from pi_appliance.puzzles import SolveMode, battleship
from pi_appliance.puzzles.battleship.board import DEFAULT_FLEET
from pi_appliance.puzzles.battleship.search import FleetSearch
from pi_appliance.puzzles.runtime.serial import SerialRuntime
from tests.puzzles.brute_force_battleship import list_fleets

SEED = 20261121
GRIDS = 200
SMALL = ((7, 7, "never"), (6, 6, "corners"), (6, 6, "allowed"))
FEW = (3, 2, 2)


def rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield what is measured, ours, the peer's, and how many times faster ours is."""
    yield _validator()
    for width, height, touching in SMALL:
        yield _count(width, height, touching)


def _validator() -> tuple[str, str, str, str]:
    """Compare the yes or no for finished grids, most of which are crowded."""
    grids = [_crowded(Random(SEED + number)) for number in range(GRIDS)]
    boards = [
        battleship.parse("\n".join("".join("#" if cell else "." for cell in row) for row in grid), "grid")
        for grid in grids
    ]
    ours, said = _timed(lambda: [FleetSearch(board, lambda _: None).has_solution() for board in boards])
    theirs, say = _timed(lambda: [taken_away(_bordered(grid), list(DEFAULT_FLEET)) for grid in grids])
    assert said == say, "both are right"
    what = f"is a finished grid a fleet, {GRIDS} grids ({sum(said)} are)"
    return (
        what,
        f"{1000 * ours / GRIDS:.2f} ms each",
        f"original's method {1000 * theirs / GRIDS:.2f} ms",
        f"{theirs / ours:.1f}x",
    )


def _count(width: int, height: int, touching: str) -> tuple[str, str, str, str]:
    sea = battleship.with_rules(
        battleship.parse(f"size: {width}x{height}", "sea"), {"fleet": "3,2,2", "touching": touching}
    )
    ours, answer = _timed(lambda: battleship.solve(sea, SolveMode.COUNT, SerialRuntime()))
    theirs, number = _timed(lambda: sum(1 for _ in list_fleets(FEW, width, height, touching)))
    assert answer.count == number, "both are right"
    what = f"{number:,} placements of 3,2,2 on {width}×{height}, touching {touching}; ours with the map"
    return what, f"{ours:.3f} s", f"one by one {theirs:.3f} s", f"{theirs / ours:.0f}x"


def _timed(runtime: Callable[[], object]) -> tuple[float, object]:
    begun = time.perf_counter()
    done = runtime()
    return time.perf_counter() - begun, done


def _crowded(random: Random) -> list[list[int]]:
    """Return a grid of 20 ship squares in one corner: ships laid at random side by side, at times one square moved."""
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


def _bordered(grid: list[list[int]]) -> list[list[int]]:
    return [[0] * 12, *([0, *row, 0] for row in grid), [0] * 12]


def taken_away(grid: list[list[int]], left: list[int]) -> bool:
    """Say whether the ships LEFT can be taken from GRID, the first of them wherever it fits, then the others."""
    if not left:
        return not any(map(any, grid))
    length = left[0]
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
                if taken_away(grid, left[1:]):
                    return True
                for a, b in cells:
                    grid[b][a] = 1
    return False
