"""Benchmark of Rubik's cube against `kociemba` (C): solves per second and mean length on the same cubes.

`kociemba` is a separate program under the GPL, which is only run. If it is not installed, its column is empty.
"""

import importlib
import random
import time
from collections.abc import Callable, Iterator
from statistics import mean

from pi_appliance.puzzles import kernel_mode
from pi_appliance.puzzles.rubiks_cube import kernel
from pi_appliance.puzzles.rubiks_cube.board import TURN_NAMES, Board, apply_turn, parse_turn
from pi_appliance.puzzles.rubiks_cube.coordinates import POCKET_ORDERS, POCKET_TWISTS, State, facelets_of
from pi_appliance.puzzles.rubiks_cube.kernel import SearchTables
from pi_appliance.puzzles.rubiks_cube.pruning_tables import build_large_table, load_tables
from pi_appliance.puzzles.rubiks_cube.search import TwoPhaseSearch
from pi_appliance.puzzles.rubiks_cube.solve import load_distances, random_state, solve_many
from pi_appliance.puzzles.runtime import SearchRuntime

COMPILED = kernel_mode(kernel) == "compiled"
CUBES = 100 if COMPILED else 10
TIMED_CUBES = 20  # cubes that are solved with a time budget
BUDGETS = (0.01, 0.1, 0.3, 1.0)

Row = tuple[str, str, str, str]


def rows() -> Iterator[Row]:
    """Yield the measure, our result, the result of the peer, and the ratio."""
    rng = random.Random(20261121)
    cubes = [random_state(rng, 3) for _ in range(CUBES)]
    theirs = _peer(cubes)
    runtime = SearchRuntime(time.perf_counter)
    seconds = _seconds(lambda: load_tables(runtime))
    yield f"small tables (15 MB), {kernel_mode(kernel)}", f"{seconds:.1f} s", "-", "-"
    yield from _at_once("small tables", cubes, load_tables(runtime), theirs)
    if COMPILED:
        yield "large table (141 MB)", f"{_seconds(lambda: build_large_table(runtime)):.1f} s", "-", "-"
        yield from _at_once("large table", cubes, load_tables(runtime), theirs)
        for budget in BUDGETS:
            length = mean(_solved(cube, load_tables(runtime), budget) for cube in cubes[:TIMED_CUBES])
            peer = f"{mean(theirs[1][:TIMED_CUBES]):.2f}" if theirs else "-"
            ratio = f"{length / mean(theirs[1][:TIMED_CUBES]):.3f}" if theirs else "-"
            yield f"mean moves, large table, {budget:g} s each", f"{length:.2f}", peer, ratio
        boards = [Board(3, facelets_of(random_state(rng, 3), 3), seconds=0) for _ in range(1000)]
        seconds = _seconds(lambda: list(solve_many(boards, runtime)))
        yield "1,000 cubes in one call, one core, at once", f"{seconds:.1f} s", "-", "-"
    yield _pocket(runtime)


def _seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def _solved(cube: State, read: SearchTables, budget: float) -> int:
    """Return the number of moves of the best solution within `budget` seconds of a core, at least the first one."""
    start, best = time.process_time(), 0
    for result in TwoPhaseSearch(cube, read).run():
        best = len(result.turns) if result else best
        if best and time.process_time() - start >= budget:
            break
    return best


def _peer(cubes: list[State]) -> tuple[float, list[int]] | None:
    """Return cubes per second, and their lengths."""
    try:
        kociemba = importlib.import_module("kociemba")
    except ImportError:
        return None
    kociemba.solve(facelets_of(cubes[0], 3))  # loads its tables
    lengths: list[int] = []
    seconds = _seconds(lambda: lengths.extend(len(kociemba.solve(facelets_of(cube, 3)).split()) for cube in cubes))
    return len(cubes) / seconds, lengths


def _at_once(
    what: str, cubes: list[State], read: SearchTables, theirs: tuple[float, list[int]] | None
) -> Iterator[Row]:
    lengths: list[int] = []
    speed = len(cubes) / _seconds(lambda: lengths.extend(_solved(cube, read, 0) for cube in cubes))
    peer, ratio = (f"{theirs[0]:.1f}", f"{speed / theirs[0]:.2f}") if theirs else ("-", "-")
    yield f"first solutions per second, {what}", f"{speed:.1f}", peer, ratio
    peer, ratio = (f"{mean(theirs[1]):.2f}", f"{mean(lengths) / mean(theirs[1]):.3f}") if theirs else ("-", "-")
    yield f"their mean moves (most: {max(lengths)}), {what}", f"{mean(lengths):.2f}", peer, ratio


def _pocket(runtime: SearchRuntime) -> Row:
    """Compare the complete 2x2x2 search with a plain breadth-first search on stickers."""
    seconds = _seconds(lambda: load_distances(runtime))
    ours = POCKET_ORDERS * POCKET_TWISTS / seconds
    visited: set[str] = set()
    slow = _seconds(lambda: visited.update(_positions(5)))
    theirs = len(visited) / slow
    return (
        "positions of the 2x2x2 per second",
        f"{ours:,.0f}",
        f"{theirs:,.0f} (stickers)",
        f"{ours / theirs:.0f}",
    )


def _positions(depth: int) -> set[str]:
    seen = level = {"".join(face * 4 for face in "URFDLB")}
    turns = [turn for move in TURN_NAMES[:9] if (turn := parse_turn(move, 2))]
    for _ in range(depth):
        level = {apply_turn(each, 2, turn) for each in level for turn in turns} - seen
        seen = seen | level
    return seen


if __name__ == "__main__":
    for row in rows():
        print(" | ".join(row), flush=True)
