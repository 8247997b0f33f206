"""Long searches by one worker and by two: `python -m tests.benchmarks.scaling`.

`--size 0.1` takes a tenth of the work, `--only NAME` one kind of it. Each time is that of new workers.
"""

import argparse
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from pi_appliance.puzzles import SolveMode, connect_four, rubiks_cube, sudoku
from pi_appliance.puzzles.connect_four import book
from pi_appliance.puzzles.connect_four.search import position_of
from pi_appliance.puzzles.rubiks_cube.coordinates import facelets_of
from pi_appliance.puzzles.rubiks_cube.solve import random_state
from pi_appliance.puzzles.runtime import SearchRuntime
from pi_appliance.puzzles.runtime.local import open_runtime
from tests.puzzles.sudoku.grids import HARDEST, permute_grid

HEADS = ("work", "by", "1 worker, s", "2 workers, s", "ratio")
Search = Callable[[SearchRuntime], object]
Work = Callable[[float], Search]  # makes the search of a size, with its input


def solve_sudokus(size: float) -> Search:
    """Solve a file of hard grids, from its text to the list of solutions."""
    chance = random.Random(7)
    text = "\n".join(permute_grid(HARDEST[at % len(HARDEST)], chance) for at in range(round(20_000 * size)))
    return lambda runtime: list(sudoku.solve(text, SolveMode.FIRST, runtime).solutions)


def build_book(size: float) -> Search:
    """Build the book of four plies after each of `size` positions of 10 discs, or of the first ply if it is small."""
    starts = [position_of(connect_four.parse(f"33311573{moves}", "scaling")) for moves in ("33", "44", "22", "66")]
    starts, stages = starts[: max(1, round(size))], (2, 4) if size >= 1 else (1,)
    return lambda runtime: [book.build_book(runtime, start, stages) for start in starts]


def solve_cubes(size: float) -> Search:
    """Find all shortest solutions of a cube that needs 14 turns, or fewer if `size` is small."""
    turns = ["R", "U2", "F'", "D", "L", "B2", "U", "R2", "D'", "F", "L2", "B", "U'", "F2"]
    cube = " ".join(turns[: 14 if size >= 1 else 8])
    return lambda runtime: list(rubiks_cube.solve(cube, SolveMode.FEWEST, runtime).solutions)


def solve_many_cubes(size: float) -> Search:
    """Solve random cubes within a tenth of a second each."""
    chance = random.Random(3)
    states = [random_state(chance, 3) for _ in range(round(200 * size))]
    cubes = [rubiks_cube.Board(3, facelets_of(each, 3), seconds=0.1) for each in states]
    return lambda runtime: list(rubiks_cube.solve_many(cubes, runtime))


WORK: dict[str, Work] = {
    "20,000 hard sudokus": solve_sudokus,
    "an opening book": build_book,
    "all shortest solutions of a cube": solve_cubes,
    "200 cubes, 0.1 s each": solve_many_cubes,
}


@contextmanager
def processes(workers: int, folder: Path) -> Iterator[SearchRuntime]:
    """Yield a runtime with so many processes of this machine."""
    with open_runtime(folder, cores=workers) as runtime:
        yield runtime


@contextmanager
def dask(workers: int, folder: Path) -> Iterator[SearchRuntime]:
    """Yield a runtime with so many workers of Dask."""
    from distributed import Client, LocalCluster  # noqa: PLC0415 - it is optional

    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50
        ) as cluster,
        Client(cluster) as client,
        open_runtime(folder, cores=1, executor=client.get_executor()) as runtime,
    ):
        client.run(import_module, __spec__.name)  # the workers of a cluster have done so long ago
        yield runtime


WAYS = {"processes": processes, "Dask": dask}


def measure(work: Work, way: str, workers: int, folder: Path, size: float) -> float:
    """Return the seconds of `work`, for cubes after a small piece of it, which builds and sends the tables."""
    search = work(size)
    with WAYS[way](workers, folder) as runtime:
        if work is not build_book:  # its workers would know the positions
            work(size / 100)(runtime)
        began = time.perf_counter()
        search(runtime)
        runtime.cache.remove(book.CACHE_NAME)
        return time.perf_counter() - began


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table, each row as it is measured."""
    parser = argparse.ArgumentParser(description="How long searches scale from one worker to two.")
    parser.add_argument("--size", type=float, default=1.0, help="the part of the work")
    parser.add_argument("--only", metavar="NAME", choices=WORK, help="one kind of work")
    parser.add_argument("--by", choices=WAYS, help="one kind of workers")
    given = parser.parse_args(argv)
    print(f"| {' | '.join(HEADS)} |\n|---|---|{'--:|' * (len(HEADS) - 2)}")
    with TemporaryDirectory() as folder:
        for name in [given.only] if given.only else WORK:
            for way in [given.by] if given.by else WAYS:
                one, two = (measure(WORK[name], way, workers, Path(folder), given.size) for workers in (1, 2))
                print(f"| {name} | {way} | {one:.1f} | {two:.1f} | {one / two:.2f} |", flush=True)


if __name__ == "__main__":
    main()
